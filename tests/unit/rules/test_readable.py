"""Readable rules: planted, overlapping rules come back, in the same subspace, as sparse as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aspca.paper.datasets import load_synthetic
from aspca.rules.readable import readable_basis
from aspca.rules.search import Search
from aspca.sparse_pca.defaults import choose_n_components


def readable_loadings(V: np.ndarray, C: np.ndarray) -> np.ndarray:
    return readable_basis(V, C).loadings


def planted(p: int, seed: int, n: int = 1000, noise: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and rules (d, p) in whole numbers: each sum shares one of its two terms with the next."""
    rng = np.random.default_rng(seed)
    d = p // 3
    free = p - d
    rows = np.zeros((n, p))
    rows[:, :free] = rng.normal(size=(n, free))
    rules = np.zeros((d, p))
    for k in range(d):
        rules[k, [k, k + 1]] = rng.choice([-3, -2, -1, 1, 2, 3], size=2)
        rows[:, free + k] = rows @ rules[k] + noise * rng.normal(size=n)
        rules[k, free + k] = -1
    shuffled = rng.permutation(p)
    return rows[:, shuffled], rules[:, shuffled]


def sums(p: int, seed: int, noise: float, n: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of standardised rows with p / 4 sums of three columns each, and these rules in its units."""
    rng = np.random.default_rng([seed, p])
    m = p // 4
    rows = np.zeros((n, p))
    rows[:, : p - m] = rng.normal(size=(n, p - m)) * rng.uniform(0.5, 2.0, size=p - m)
    rules = np.zeros((m, p))
    for k in range(m):
        terms = rng.choice(p - m, size=3, replace=False)
        total = rows[:, terms].sum(axis=1)
        rows[:, p - m + k] = total + noise * total.std() * rng.normal(size=n)
        rules[k, terms], rules[k, p - m + k] = 1.0, -1.0
    deviations = rows.std(axis=0)
    return np.cov((rows / deviations).T, bias=True), rules * deviations


def lowest(C: np.ndarray, d: int | None = None) -> np.ndarray:
    return np.linalg.eigh(C)[1][:, : choose_n_components(C) if d is None else d]


def sines(W: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Of the angles between the spans of the columns."""
    Q = np.linalg.qr(W)[0]
    return np.linalg.svd(Q - V @ (V.T @ Q), compute_uv=False)


def found(W: np.ndarray, rules: np.ndarray) -> list[bool]:
    """Per rule, whether a column of W has its features and, to a cosine of 0.999, its coefficients."""
    unit = rules / np.linalg.norm(rules, axis=1, keepdims=True)
    return [any(np.array_equal(w != 0, rule != 0) and abs(float(w @ rule)) >= 0.999 for w in W.T) for rule in unit]


def condition(W: np.ndarray, C: np.ndarray) -> float:
    """Of the correlations between the rules' deviations."""
    inside = W.T @ C @ W
    spread = np.sqrt(np.diag(inside))
    return float(np.linalg.cond(inside / np.outer(spread, spread)))


@pytest.mark.parametrize("p", [10, 30])
@pytest.mark.parametrize("seed", range(3))
def test_planted_rules_come_back_from_a_dense_basis_of_their_subspace(p: int, seed: int) -> None:
    rows, rules = planted(p, seed)
    scale = rows.std(axis=0)
    C = np.cov((rows / scale).T, bias=True)
    W = readable_loadings(lowest(C, len(rules)), C)
    assert all(found(W, rules * scale))
    for w in W.T / scale:
        ratios = w[w != 0] / next(rule for rule in rules if np.array_equal(rule != 0, w != 0))[w != 0]
        # To about the noise of a hundredth, over the root of a thousand rows.
        assert np.abs(ratios / ratios.mean() - 1).max() <= 0.003


@pytest.mark.parametrize(("p", "noise"), [(40, 0.001), (40, 0.1), (100, 0.01), (200, 0.05), (300, 0.01)])
def test_planted_sums_come_back_at_any_size(p: int, noise: float) -> None:
    C, rules = sums(p, seed=1, noise=noise)
    V = lowest(C)
    basis = readable_basis(V, C)
    assert all(found(basis.loadings, rules))
    assert basis.sparsest.all()
    assert np.linalg.norm(basis.loadings - V @ (V.T @ basis.loadings), axis=0).max() <= 0.1
    assert condition(basis.loadings, C) <= 300


@settings(max_examples=30, deadline=None)
@example(9, 5, 103, False)
@example(9, 2, 1, True)
@given(st.integers(2, 9), st.integers(1, 8), st.integers(0, 2**32 - 1), st.booleans())
def test_the_same_subspace_no_less_sparse_and_independent(p: int, d: int, seed: int, sparse: bool) -> None:
    """On any basis, also of a subspace without a sparse vector, rank-deficient or not."""
    d = min(d, p)
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, p)) * rng.uniform(0.05, 2.0, size=p)
    if sparse:
        rows[:, p - 1] = rows[:, 0] + 0.01 * rng.normal(size=40)
    C = np.cov(rows.T, bias=True)
    V = lowest(C, d)
    W = readable_loadings(V, C)
    assert W.shape == (p, d)
    assert np.abs(np.linalg.norm(W, axis=0) - 1).max() <= 1e-12
    assert (W != 0).sum() <= (V != 0).sum()
    assert np.linalg.norm(W - V @ (V.T @ W), axis=0).max() <= 0.1 + 1e-9
    assert np.linalg.matrix_rank(V.T @ W, tol=1e-3) == d
    assert W.tolist() == readable_loadings(V, C).tolist()


@pytest.mark.parametrize(("rows", "p"), [(12, 30), (25, 60)])
def test_fewer_rows_than_features_still_give_independent_rules(rows: int, p: int) -> None:
    C = np.cov(np.random.default_rng(p).normal(size=(rows, p)).T, bias=True)
    V = lowest(C)
    W = readable_loadings(V, C)
    assert np.linalg.matrix_rank(V.T @ W, tol=1e-3) == V.shape[1]
    # A vector of so large a subspace never needs more.
    assert (W != 0).sum(axis=0).max() <= p - V.shape[1] + 1


def test_a_factor_model_without_sparse_rules_has_well_conditioned_ones() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 20)) @ rng.normal(size=(20, 60)) / 4 + 0.2 * rng.normal(size=(1000, 60))
    C = np.cov((rows / rows.std(axis=0)).T, bias=True)
    V = lowest(C)
    W = readable_loadings(V, C)
    assert (W != 0).sum(axis=0).max() <= 60 - V.shape[1] + 1
    assert condition(W, C) <= 300
    assert np.linalg.norm(W - V @ (V.T @ W), axis=0).max() <= 0.1


def test_the_span_is_the_loadings_up_to_the_noise() -> None:
    for p, bound in ((10, 0.01), (30, 0.01)):
        rows, rules = planted(p, seed=1)
        C = np.cov(rows.T, bias=True)
        V = lowest(C, len(rules))
        assert sines(readable_loadings(V, C), V).max() <= bound


def test_more_noise_than_rules_drops_no_term_that_matters() -> None:
    """D = A + B + 0.15 C with noise 0.01 keeps C, with noise 0.5 need not; A and B stay in either case."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(2000, 4))
    for noise, kept in ((0.01, [True, True, True, True]), (0.5, [True, True, False, True])):
        rows[:, 3] = rows[:, :3] @ [1.0, 1.0, 0.15] + noise * rng.normal(size=2000)
        C = np.cov(rows.T, bias=True)
        assert (readable_loadings(lowest(C, 1), C)[:, 0] != 0).tolist() == kept


def test_the_synthetic_data_read_as_they_were_planted() -> None:
    planted_rules = np.array([[1, -1, 0, 0, 0, 0, 0], [1, 0, 1, -1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0], [0] * 6 + [1]])
    for seed in range(5):
        C = np.cov(load_synthetic(seed).data.T, bias=True)
        W = readable_loadings(lowest(C, 4), C)
        unit = planted_rules / np.linalg.norm(planted_rules, axis=1, keepdims=True)
        cosines = np.abs(unit @ W)
        assert cosines.max(axis=1).min() >= 0.999
        assert (W != 0).sum() == np.count_nonzero(planted_rules)


def test_a_component_stands_where_nothing_simpler_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a search no candidate but the loadings is left, and the result says so."""
    monkeypatch.setattr(Search, "run", Search._choose)
    rows, rules = planted(10, 0)
    C = np.cov(rows.T, bias=True)
    V = lowest(C, len(rules))
    basis = readable_basis(V, C)
    assert not basis.sparsest.any()
    assert np.abs(np.abs(basis.loadings.T @ V).max(axis=1) - 1).max() <= 1e-9


# Rules in whole numbers, by feature. Of the first three, l1 programs with a pivot alone miss one.
HARD = {
    10: [{1: -1, 6: 3, 7: -1, 8: 1}, {0: 1, 4: 1, 8: 1}, {0: 1, 1: -2, 7: -3, 9: 1}],
    30: [
        {1: 1, 13: -3},
        {3: -3, 18: 2, 25: 2},
        {4: 2, 8: 2, 12: 1, 15: -1},
        {3: -1, 4: 1, 14: 1, 15: 3},
        {8: -1, 15: 1, 17: 1, 18: 2},
        {15: 1, 19: 3, 29: 1},
        {0: 1, 16: 1, 20: -1},
        {2: 1, 8: -1, 17: 3, 21: -1},
        {4: -1, 9: 1, 22: 1},
        {5: -3, 26: -1},
    ],
}
# Of each rule, the feature that follows from the others.
RESULTS = {10: [6, 4, 9], 30: [1, 25, 12, 14, 18, 19, 20, 21, 22, 26]}


def obeying(p: int, seed: int, common: float = 0.0, noise: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of rows that obey the rules above up to noise in all features, of variance one; and the rules (d, p).

    A share `common` of the free features' variance comes from one factor: then they are nearly dependent too.
    """
    rng = np.random.default_rng(seed)
    rules = np.zeros((len(HARD[p]), p))
    for row, rule in zip(rules, HARD[p], strict=True):
        row[list(rule)] = list(rule.values())
    results = RESULTS[p]
    free = [j for j in range(p) if j not in results]
    rows = np.zeros((2000, p))
    rows[:, free] = np.sqrt(1 - common) * rng.normal(size=(2000, len(free)))
    rows[:, free] += np.sqrt(common) * rng.normal(size=(2000, 1)) * rng.choice([-1, 1], size=len(free))
    rows[:, results] = -np.linalg.solve(rules[:, results], rules[:, free] @ rows[:, free].T).T
    deviations = rows.std(axis=0)
    rows = rows / deviations + noise * rng.normal(size=rows.shape)
    return np.cov(rows.T, bias=True), rules * deviations


@pytest.mark.parametrize("p", [10, 30])
@pytest.mark.parametrize("seed", range(3))
def test_all_rules_are_found_even_those_no_pivot_shows(p: int, seed: int) -> None:
    C, rules = obeying(p, seed)
    V = lowest(C, len(rules))
    W = readable_loadings(V, C)
    assert all(found(W, rules))
    # The same span: what is orthogonal to V is orthogonal to W, and W has full rank.
    complement = np.linalg.eigh(C)[1][:, len(rules) :]
    assert np.abs(complement.T @ W).max() <= 0.01
    assert np.linalg.matrix_rank(W, tol=0.01) == len(rules)


@pytest.mark.parametrize("p", [10, 30])
@pytest.mark.parametrize("extra", [0, 3])
def test_only_the_span_matters_and_not_the_order_of_features(p: int, extra: int) -> None:
    C, rules = obeying(p, 1)
    d = len(rules) + extra
    V = lowest(C, d)
    W = readable_loadings(V, C)
    rng = np.random.default_rng(p)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    assert np.abs(readable_loadings(V @ Q, C) - W).max() <= 1e-7
    order = rng.permutation(p)
    assert np.abs(readable_loadings(V[order] @ Q, C[np.ix_(order, order)]) - W[order]).max() <= 1e-7


def test_the_order_of_rows_does_not_matter() -> None:
    rows, rules = planted(30, seed=4)
    one, other = (np.cov(part.T, bias=True) for part in (rows, rows[::-1]))
    first, second = (readable_loadings(lowest(C, len(rules)), C) for C in (one, other))
    assert np.abs(first - second).max() <= 1e-7


@pytest.mark.parametrize("common", [0.3, 0.9])
@pytest.mark.parametrize("extra", [1, 3, 5])
def test_a_subspace_larger_than_its_rules_shows_them_all(common: float, extra: int) -> None:
    C, rules = obeying(10, 2, common)
    V = lowest(C, len(rules) + extra)
    W = readable_loadings(V, C)
    assert all(found(W, rules))
    assert np.linalg.matrix_rank(V.T @ W, tol=1e-3) == V.shape[1]
    # In ascending variance the planted ones are the first.
    assert all(found(W[:, : len(rules)], rules))
