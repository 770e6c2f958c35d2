"""Regressions from one factorisation, beside the same solved one by one."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.rules.sweeping import Nested, Sweep


def correlations(k: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(200, k)) @ np.random.default_rng(seed + 1).normal(size=(k, k))
    return np.corrcoef(rows.T)


def regressed(R: np.ndarray, pivot: int, terms: list[int]) -> tuple[np.ndarray, float]:
    """The slow twin: least squares by the normal equations."""
    b = np.linalg.solve(R[np.ix_(terms, terms)], R[terms, pivot])
    return b, float(R[pivot, pivot] - R[pivot, terms] @ b)


@pytest.mark.parametrize("seed", range(5))
def test_on_the_first_terms(seed: int) -> None:
    R = correlations(12, seed)
    nested = Nested.of(R[1:, 1:], R[1:, 0])
    assert nested is not None
    for m in range(1, 12):
        b, left = regressed(R, 0, list(range(1, m + 1)))
        np.testing.assert_allclose(nested.coefficients(m), b, rtol=1e-7, atol=1e-10)
        assert R[0, 0] - nested.explained(m) == pytest.approx(left, rel=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_without_some_terms(seed: int) -> None:
    R = correlations(12, seed)
    sweep = Sweep.of(R)
    assert sweep is not None
    left = list(range(1, 12))
    for dropped in ([3], [0, 5], [2, 1, 7], [0]):
        b, variance = regressed(R, 0, left)
        np.testing.assert_allclose(sweep.entries, -b, rtol=1e-7, atol=1e-10)
        assert sweep.variance == pytest.approx(variance, rel=1e-8)
        for position, loss in enumerate(sweep.losses):
            fewer = [term for k, term in enumerate(left) if k != position]
            assert loss == pytest.approx(regressed(R, 0, fewer)[1] - variance, rel=1e-6, abs=1e-10)
        sweep = sweep.without(np.array(dropped))
        left = [term for k, term in enumerate(left) if k not in dropped]
    np.testing.assert_allclose(sweep.entries, -regressed(R, 0, left)[0], rtol=1e-7, atol=1e-10)


def test_what_is_not_definite_is_left_to_others() -> None:
    R = np.ones((3, 3))
    R[0, 0] = 0.5
    assert Sweep.of(R) is None
    assert Nested.of(R, np.ones(3)) is None
    assert Nested.of(np.zeros((0, 0)), np.zeros(0)) is None
