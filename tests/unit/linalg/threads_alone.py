"""The caller's BLAS threads: one while small problems are solved, untouched after. Run by `test_threads.py`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread

import numpy as np
import pytest

# Brings a BLAS of its own, which must be there before threads are counted.
import scipy.linalg  # noqa: F401
import threadpoolctl

from aspca import sparse_subspace
from aspca.linalg.threads import blas_threads_for

OURS = 3


def threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}


def set_threads(number: int) -> None:
    """For the whole process, by a thread that is gone: some versions of threadpoolctl obey only the first that asks."""
    setter = Thread(target=threadpoolctl.threadpool_limits, args=(number, "blas"))
    setter.start()
    setter.join()


@pytest.fixture(autouse=True)
def _the_callers_setting() -> Iterator[None]:
    before = max(threads())
    set_threads(OURS)
    assert threads() == {OURS}
    yield
    set_threads(before)


def test_small_problems_are_solved_by_one_thread() -> None:
    with blas_threads_for(10):
        assert threads() == {1}
        with blas_threads_for(20):
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {OURS}


def test_large_problems_are_left_alone() -> None:
    with blas_threads_for(1000):
        assert threads() == {OURS}
    with blas_threads_for(10), blas_threads_for(1000):
        assert threads() == {1}
    assert threads() == {OURS}


def test_an_error_restores_it_too() -> None:
    seen: list[set[int]] = []

    def fail(step: int, steps: int, gap: float) -> None:
        seen.append(threads())
        raise KeyboardInterrupt

    A = np.diag([1.0, 2.0, 3.0]) + 0.5
    with pytest.raises(KeyboardInterrupt):
        sparse_subspace(A, 2, 0.1, "B", callback=fail)
    with pytest.raises(ValueError, match="variant"):
        sparse_subspace(A, 2, 0.1, "X")
    assert seen == [{1}]
    assert threads() == {OURS}


@pytest.mark.parametrize("first_leaves_first", [True, False])
def test_overlapping_solves_may_end_in_any_order(first_leaves_first: bool) -> None:
    """If each restored what it found, the second in would leave one thread behind whenever it is the last out."""
    first_in, both_in, one_out = Event(), Barrier(2, timeout=30), Event()

    def stay(last: bool) -> None:
        both_in.wait()
        assert threads() == {1}
        both_in.wait()
        if last:
            assert one_out.wait(30)

    def first() -> None:
        with blas_threads_for(10):
            first_in.set()
            stay(last=not first_leaves_first)
        one_out.set()

    def second() -> None:
        assert first_in.wait(30)
        with blas_threads_for(10):
            stay(last=first_leaves_first)
        one_out.set()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result()
    assert threads() == {OURS}
    # And the next one holds it again.
    test_small_problems_are_solved_by_one_thread()


def test_many_solves_at_once() -> None:
    rng = np.random.default_rng(0)
    G = rng.normal(size=(40, 8))
    A = G.T @ G

    def solve(number: int) -> str:
        return sparse_subspace(A, 1 + number % 4, 2.0, "B").witness.seal

    alone = [solve(number) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(solve, range(24)))
    assert together == alone * 6
    assert threads() == {OURS}
