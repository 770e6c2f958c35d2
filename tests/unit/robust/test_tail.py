"""Where tails end and errors begin, and what is lawful because it comes back."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.robust.tail import Tail


def tail(sizes: np.ndarray, step: int = 10_000) -> Tail:
    found = Tail(len(sizes), 25.0)
    for start in range(0, len(sizes), step):
        part = sizes[start : start + step]
        found.add(part, np.arange(start, start + len(part)))
    return found


def merged(sizes: np.ndarray, cuts: list[int]) -> Tail:
    """The same out of parts, each gathered by itself."""
    found = Tail(len(sizes), 25.0)
    for first, end in zip([0, *cuts], [*cuts, len(sizes)], strict=True):
        part = Tail(len(sizes), 25.0)
        if end > first:
            part.add(sizes[first:end], np.arange(first, end))
        found.merge(part)
    return found


def body(n: int, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).chisquare(10, n) / 46.0)


@pytest.mark.parametrize("law", ["t3", "lognormal", "gauss"])
def test_tails_have_no_end(law: str) -> None:
    rng = np.random.default_rng(1)
    draws = {"t3": rng.standard_t(3, (3000, 10)), "lognormal": rng.lognormal(size=(3000, 10))}
    rows = draws.get(law, rng.normal(size=(3000, 10)))
    squares = np.square((rows - rows.mean(axis=0)) / rows.std(axis=0)).sum(axis=1) / 46.0
    assert tail(squares).limits().size == 0


def test_errors_begin_beyond_a_valley() -> None:
    sizes = body(2000)
    sizes[::50] = np.geomspace(3.0, 300.0, 40)
    first = tail(sizes).limits()[0]
    assert np.delete(sizes, np.s_[::50]).max() <= first <= 6.0


def test_one_enormous_error_makes_no_errors_of_a_tail() -> None:
    rng = np.random.default_rng(2)
    sizes = np.square(rng.standard_t(3, (3000, 10)) / np.sqrt(3.0)).sum(axis=1) / 46.0
    largest = sizes.max()
    sizes[17] = 1e12
    assert tail(sizes).limits()[0] > largest


def test_far_rows_that_come_back_in_runs_are_lawful_and_those_alone_are_not() -> None:
    rng = np.random.default_rng(3)
    places = rng.choice(np.arange(0, 9000, 10), 60, replace=False)
    runs, alone = body(9000), body(9000)
    for k in range(3):
        runs[places + k] = 100.0
        alone[rng.choice(9000, 60)] = 100.0
    assert tail(runs).limits().size == 0
    assert tail(alone).limits().size
    # One burst, however long, has not come back.
    once = body(9000)
    once[500:512] = 100.0
    assert tail(once).limits().size


def test_a_long_state_is_told_and_many_are_not() -> None:
    sizes = body(5000)
    sizes[1000:1200] = 30.0
    assert tail(sizes).states() == ((1000, 1200),)
    sizes[4900:] = 30.0
    assert tail(sizes).states() == ((1000, 1200), (4900, 5000))
    for start in range(0, 5000, 250):
        sizes[start : start + 60] = 30.0
    assert tail(sizes).states() == ()


@pytest.mark.parametrize("step", [1, 7, 999])
def test_parts_do_not_matter(step: int) -> None:
    sizes = body(3000)
    sizes[100:160] = 30.0
    sizes[::100] = 1e5
    whole = tail(sizes)
    for parts in (
        tail(sizes, step),
        merged(sizes, list(range(step, 3000, max(step, 30)))),
        merged(sizes, [0, 130, 130]),
    ):
        _same(whole, parts)
    # The slow, obvious twin: neighbours that are both beyond a power of two.
    for power in range(8):
        far = sizes >= 2.0**power
        assert whole.pairs[power + 2 :].sum() == (far[1:] & far[:-1]).sum()


def _same(whole: Tail, parts: Tail) -> None:
    assert np.array_equal(whole.counts, parts.counts)
    assert np.array_equal(whole.pairs, parts.pairs)
    assert np.array_equal(whole.limits(), parts.limits())
    assert whole.states() == parts.states()
