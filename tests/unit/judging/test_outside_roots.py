"""What lies outside the rules does not depend on the root that its directions are made of."""

from __future__ import annotations

import numpy as np
import pytest

import aspca.judging.outside
from aspca.judging.outside import outside_directions


@pytest.mark.parametrize("blur", [0.0, 0.7])
@pytest.mark.parametrize("m", [0, 3])
def test_the_quick_root_measures_as_eigenvectors_do(m: int, blur: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(m)
    p = 20
    C = np.cov((rng.normal(size=(200, p)) @ rng.normal(size=(p, p))).T)
    rules = np.linalg.eigh(C)[1][:, :m]
    weights = np.diag(1.0 / np.sqrt(np.einsum("ij,ij->j", rules, C @ rules)))
    exact = np.zeros(m, dtype=np.bool_)
    found = {}
    for large in (1, 10**9):
        monkeypatch.setattr(aspca.judging.outside, "LARGE", large)
        N = outside_directions(C, rules, weights, exact, still=True, blur=blur)
        assert N.shape == (p, p - m)
        found[large] = N @ N.T
    np.testing.assert_allclose(found[1], found[10**9], rtol=1e-8, atol=1e-8 * np.abs(found[1]).max())
    if not blur:
        # Rules and the rest together are the whole distance.
        whole = found[1] + (rules @ weights) @ (rules @ weights).T
        np.testing.assert_allclose(whole, np.linalg.inv(C), rtol=1e-6, atol=1e-7 * np.abs(whole).max())


def test_where_a_direction_does_not_vary_eigenvectors_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aspca.judging.outside, "LARGE", 1)
    X = np.random.default_rng(0).normal(size=(100, 5))
    X[:, 4] = X[:, 0] + X[:, 1]
    C = np.cov(X.T)
    none = np.zeros((5, 0))
    N = outside_directions(C, none, np.zeros((0, 0)), np.zeros(0, dtype=np.bool_), still=False)
    assert N.shape == (5, 4)
    np.testing.assert_allclose(N.T @ C @ N, np.eye(4), atol=1e-9)
