"""The projection onto the simplex against bisection, and against what characterises it."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.linalg.small import project_simplex


def twin(w: np.ndarray) -> np.ndarray:
    """max(w - t, 0) sums to one for one t: halve the interval until it is found."""
    low, high = w.min() - 1.0, w.max()
    for _ in range(200):
        t = 0.5 * (low + high)
        low, high = (t, high) if np.maximum(w - t, 0).sum() > 1 else (low, t)
    return np.maximum(w - high, 0)


@pytest.mark.parametrize("size", [1, 2, 5, 40])
@pytest.mark.parametrize("spread", [0.01, 1.0, 100.0])
def test_it_is_what_bisection_finds(size: int, spread: float) -> None:
    rng = np.random.default_rng(size)
    for _ in range(20):
        w = np.sort(rng.normal(size=size) * spread)
        x = project_simplex(w)
        assert np.abs(x - twin(w)).max() <= 1e-12 * max(1.0, spread)
        assert (x >= 0).all()
        assert abs(x.sum() - 1) <= 1e-13 * max(1.0, spread) * size
        # No point of the simplex is nearer: the angle to every corner is obtuse.
        assert ((w - x) @ (np.eye(size) - x).T <= 1e-12 * max(1.0, spread) ** 2 * size).all()


def test_points_of_the_simplex_stay() -> None:
    for x in ([1.0], [0.0, 1.0], [0.25, 0.25, 0.5], [0.0, 0.0, 0.4, 0.6]):
        assert np.abs(project_simplex(np.array(x)) - x).max() <= 1e-15


def test_ties_share_equally() -> None:
    assert project_simplex(np.full(4, 7.0)).tolist() == [0.25] * 4
    assert project_simplex(np.array([-9.0, 3.0, 3.0])).tolist() == [0.0, 0.5, 0.5]


@pytest.mark.parametrize("size", [1e6, 1e15, 1e30, 1e300, -1e30])
def test_huge_values_lose_no_sum(size: float) -> None:
    for w in (np.array([size]), np.array([size, size, size]), size + np.array([-3.0, -0.5, 0.0])):
        x = project_simplex(np.sort(w))
        assert abs(x.sum() - 1) <= 1e-9
        assert (x >= 0).all()
    # A shift changes nothing that can still be seen.
    assert project_simplex(2.0**40 + np.array([0.0, 0.25, 0.75])).tolist() == [0.0, 0.25, 0.75]
