"""Short rules by forward selection: beside a slow twin, beside the programs, and on tables too wide for these."""

from __future__ import annotations

import numpy as np
import pytest

import aspca.rules.search
from aspca import ASPCA
from aspca.rules.forward import WIDE, forward_vectors
from aspca.rules.readable import readable_basis, short_loadings


def sums(n: int, p: int, seed: int, noise: float = 0.05) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Rows whose first 30 % of columns are sums and differences of three of the others; and who belongs together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    m = int(0.3 * p)
    rules = []
    for i in range(m):
        terms = m + rng.choice(p - m, 3, replace=False)
        X[:, i] = X[:, terms] @ rng.choice([-1, 1], 3) + noise * rng.normal(size=n)
        rules.append(tuple(sorted([i, *terms.tolist()])))
    return X, sorted(rules)


def test_nothing_is_found_where_nothing_is_related() -> None:
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(500, 80)), np.zeros((5, 3)), rng.normal(size=(5, 1))):
        scatter = X.T @ X
        size = np.sqrt(np.diag(scatter))
        assert forward_vectors(scatter / np.outer(size, size) if size.all() else scatter)[1].size == 0


@pytest.mark.parametrize("seed", range(2))
def test_where_they_are_all_there_is_the_programs_find_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, planted = sums(1500, 80, seed)
    C = np.cov(X.T)
    V = np.linalg.eigh(C)[1][:, :24]
    quick = readable_basis(V, C).loadings
    monkeypatch.setattr(aspca.rules.search, "_MANY", 10**9)
    slow = readable_basis(V, C).loadings
    np.testing.assert_allclose(quick, slow, atol=1e-9)
    assert sorted(tuple(np.flatnonzero(w).tolist()) for w in quick.T) == planted


def test_a_wide_table_with_fewer_rows_than_columns() -> None:
    X, planted = sums(500, WIDE + 60, 1)
    X[:, -1] = X[:, -2]
    X[:, -3] = 7.0
    model = ASPCA().fit(X)
    found = {tuple(sorted(model.model_.names.index(name) for name in rule.features)) for rule in model.rules_}
    known = {rule for rule in planted if not {len(X.T) - 1, len(X.T) - 3} & set(rule)}
    p = X.shape[1]
    assert str(model.rules_[0]) == f"x{p - 2} = x{p - 1} (exactly, all rows)"
    # Rules name one of the two, which are the same.
    same = {tuple(sorted(p - 2 if j == p - 1 else j for j in rule)) for rule in found}
    assert len(known & same) >= 0.99 * len(known)
    assert not [rule for rule in found if {p - 2, p - 1} < set(rule)]
    assert (p - 3,) in found
    # What chance alone may make is left out.
    assert all(len(rule) <= 9 for rule in found)
    assert f"more than {WIDE}, only rules of at most 9 columns were looked for" in model.model_.warnings[0]
    broken = X[:20].copy()
    broken[:, 0] += 3.0
    assert (model.predict(broken) == -1).all()
    # Among few rows also the one that was regressed on it may be held to be moved.
    assert np.mean([0 in np.argsort(row)[-3:] for row in model.explain(broken).feature_contributions]) >= 0.9


def test_no_short_rule_varies_by_more_than_allowed() -> None:
    X, _ = sums(300, 40, 2, noise=1.0)
    C = np.cov(X.T)
    for most in (0.1, 0.3, 1.0):
        W = short_loadings(C, most, 300)
        assert (np.einsum("ij,ij->j", W, C @ W) <= most * (1 + 1e-12)).all()
        np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0, rtol=1e-12)
        assert np.linalg.matrix_rank(W) == W.shape[1]
