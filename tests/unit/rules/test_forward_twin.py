"""Forward selection of many features at once beside one regression after the other."""

from __future__ import annotations

import numpy as np
import pytest

import aspca.rules.forward
from aspca.linalg.arrays import Floats
from aspca.rules.forward import forward_vectors


def _slowly(R: Floats, j: int, most: int) -> tuple[list[int], list[float]]:
    """Terms in the order in which each explains most beside those before it, and what is left after each."""
    terms: list[int] = []
    left: list[float] = []
    for _ in range(most):
        best: tuple[float, int] = (np.inf, -1)
        for i in range(len(R)):
            if i != j and i not in terms:
                S = [*terms, i]
                rest = R[j, j] - R[j, S] @ np.linalg.solve(R[np.ix_(S, S)], R[S, j])
                best = min(best, (float(rest), i))
        terms.append(best[1])
        left.append(best[0])
    return terms, left


@pytest.mark.parametrize("together", [1, 7, 32])
def test_terms_and_what_they_leave(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 20)) @ rng.normal(size=(20, 20))
    X[:, 0] = X[:, 5] - X[:, 9] + 0.01 * rng.normal(size=200)
    R = np.corrcoef(X.T)
    monkeypatch.setattr(aspca.rules.forward, "_TOGETHER", together)
    for j in range(0, 20, 4):
        terms, left = aspca.rules.forward._selected(R, np.arange(20), 4)
        slow_terms, slow_left = _slowly(R, j, 4)
        assert terms[:, j].tolist() == slow_terms
        np.testing.assert_allclose(left[:, j], slow_left, rtol=1e-8)
    vectors, pivots = forward_vectors(R)
    # The rule is found from its first feature, with what a regression gives.
    found = vectors[:, pivots.tolist().index(0)]
    slope = np.linalg.lstsq(X[:, [5, 9]] / X[:, [5, 9]].std(axis=0), X[:, 0] / X[:, 0].std(), rcond=None)[0]
    assert np.flatnonzero(found).tolist() == [0, 5, 9]
    np.testing.assert_allclose(found[[5, 9]], -slope, rtol=1e-2)
