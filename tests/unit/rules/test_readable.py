"""Readable rules: planted, overlapping rules come back, in the same subspace, as sparse as they were; exact ones with
coefficients to nine digits; short ones of wide tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import aspca.rules.forward
import aspca.rules.search
from aspca import ASPCA
from aspca.linalg.arrays import Floats
from aspca.moments.space import unresolved_variances
from aspca.paper.datasets import load_synthetic
from aspca.rules.forward import WIDE, select_forward
from aspca.rules.readable import find_readable_basis, find_short_loadings
from aspca.rules.search import Search
from aspca.sparse_pca.defaults import choose_n_components


def readable_loadings(V: np.ndarray, C: np.ndarray) -> np.ndarray:
    return find_readable_basis(V, C).loadings


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


def found(W: np.ndarray, rules: np.ndarray) -> list[bool]:
    """Per rule, whether a column of W has its features and, to a cosine of 0.999, its coefficients."""
    unit = rules / np.linalg.norm(rules, axis=1, keepdims=True)
    return [any(np.array_equal(w != 0, rule != 0) and abs(float(w @ rule)) >= 0.999 for w in W.T) for rule in unit]


def condition(W: np.ndarray, C: np.ndarray) -> float:
    """Of the correlations between the rules' deviations."""
    inside = W.T @ C @ W
    spread = np.sqrt(np.diag(inside))
    return float(np.linalg.cond(inside / np.outer(spread, spread)))


@pytest.mark.parametrize(("p", "noise"), [(40, 0.001), (40, 0.1), (100, 0.01), (200, 0.05), (300, 0.01)])
def test_planted_sums_come_back_at_any_size(p: int, noise: float) -> None:
    C, rules = sums(p, seed=1, noise=noise)
    V = lowest(C)
    basis = find_readable_basis(V, C)
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
    C, rules = sums(12, 0, 0.01)
    V = lowest(C, len(rules))
    basis = find_readable_basis(V, C)
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


# ---- exact rules


def covariance_of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the columns divided by their largest size, as the detector scales them; and these sizes."""
    centred = rows - rows.mean(axis=0)
    scale = np.abs(centred).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return np.cov((centred / scale).T, bias=True), scale


def exact_rules(V: np.ndarray, C: np.ndarray, scale: np.ndarray) -> list[dict[int, float]]:
    """Rules that hold as far as the covariance tells, in the columns' own units; the first coefficient is 1."""
    W = readable_loadings(V, C)
    variances = np.einsum("ij,ij->j", W, C @ W)
    exact = variances <= unresolved_variances(W, C)
    return [
        {int(j): float(w[j] / w[used[0]]) for j in used} for w in W[:, exact].T / scale for used in [np.flatnonzero(w)]
    ]


def assert_same(found: list[dict[int, float]], expected: list[dict[int, float]], digits: float = 1e-9) -> None:
    assert sorted(tuple(one) for one in found) == sorted(tuple(sorted(one)) for one in expected)
    for one in expected:
        match = next(other for other in found if set(other) == set(one))
        first = one[min(one)]
        assert all(abs(match[j] / (one[j] / first) - 1) <= digits for j in one)


def total(result: int, *terms: int) -> dict[int, float]:
    return {result: 1.0, **dict.fromkeys(terms, -1.0)}


def test_totals_of_totals_and_duplicates() -> None:
    """28 columns, eight identities that share features; some columns are a thousand times smaller than others."""
    rng = np.random.default_rng(0)
    b = rng.lognormal(size=(1000, 20)) * 10 ** rng.uniform(0, 3, size=20)
    parts = [b[:, k : k + 5].sum(axis=1) for k in (0, 5, 10, 15)]
    halves = [b[:, :10].sum(axis=1), b[:, 10:].sum(axis=1)]
    C, scale = covariance_of(np.column_stack([b, *parts, *halves, b.sum(axis=1), 3.0 * b[:, 3]]))
    expected = [total(20 + k, *range(5 * k, 5 * k + 5)) for k in range(4)]
    expected += [total(24, 20, 21), total(25, 22, 23), total(26, 24, 25), {27: 1.0, 3: -3.0}]
    assert_same(exact_rules(lowest(C), C, scale), expected)


def test_columns_six_decades_apart() -> None:
    rng = np.random.default_rng(1)
    a = rng.lognormal(size=(1000, 4)) * [1e6, 1e3, 1.0, 1e-3]
    sums = [a[:, k] + a[:, k + 1] for k in range(3)]
    C, scale = covariance_of(np.column_stack([a, *sums, 1e6 * a[:, 3], rng.normal(size=(1000, 3))]))
    expected = [total(4, 0, 1), total(5, 1, 2), total(6, 2, 3), {7: 1.0, 3: -1e6}]
    assert_same(exact_rules(lowest(C), C, scale), expected)


def test_a_product_among_many_logarithms() -> None:
    rng = np.random.default_rng(4)
    common = rng.normal(size=(420, 2))
    logs = common @ rng.normal(size=(2, 14)) + 0.3 * rng.normal(size=(420, 14))
    logs[:, 5] = logs[:, 2] + 0.1 * logs[:, 9] + np.log(3.0)
    logs[:, 9] *= 0.1
    C, scale = covariance_of(logs)
    assert_same(exact_rules(lowest(C), C, scale), [total(5, 2, 9)])


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_rounded_totals_are_found_beside_loose_rules(noise: float) -> None:
    rng = np.random.default_rng(5)
    b = 1000 * (2 * rng.normal(size=(800, 1)) + 0.5 * rng.normal(size=(800, 9)))
    b[:, 8] = b[:, 7] * (1 + 0.02 * rng.normal(size=800))
    rows = np.round(
        np.column_stack([b, b[:, :4].sum(axis=1), b[:, 3:7].sum(axis=1)]) + noise * rng.normal(size=(800, 11))
    )
    C, scale = covariance_of(rows)
    W = readable_loadings(lowest(C), C) / scale[:, None]
    for identity in (total(9, 0, 1, 2, 3), total(10, 3, 4, 5, 6)):
        w = next(w for w in W.T[:2] if set(np.flatnonzero(w)) == set(identity))
        assert np.abs(np.abs(w[w != 0]) / np.abs(w).max() - 1).max() <= 0.01


def test_identities_among_four_hundred_columns() -> None:
    rng = np.random.default_rng(6)
    b = rng.lognormal(size=(1000, 340)) * 10 ** rng.uniform(-2, 2, size=340)
    # Disjoint terms: no combination of totals is as sparse as they are.
    terms = np.split(rng.permutation(340)[:240], 60)
    C, scale = covariance_of(np.column_stack([b, *(b[:, some].sum(axis=1) for some in terms)]))
    expected = [total(340 + k, *some.tolist()) for k, some in enumerate(terms)]
    assert_same(exact_rules(np.linalg.eigh(C)[1][:, : len(terms)], C, scale), expected)


def test_two_exact_copies_need_two_rules_of_two_terms() -> None:
    """The subspace of three equal columns has no orthogonal basis of two-term rules."""
    rng = np.random.default_rng(0)
    C = np.cov(np.column_stack([np.tile(rng.normal(size=(200, 1)), 3), rng.normal(size=200)]).T, bias=True)
    W = readable_loadings(np.linalg.eigh(C)[1][:, :2], C)
    assert [np.flatnonzero(w).tolist() for w in W.T] == [[0, 1], [0, 2]]
    assert np.abs(C @ W).max() <= 1e-12


@pytest.mark.parametrize("d", [3, 5, 6])
def test_exact_rules_come_out_exact_beside_loose_ones_with_fewer_features(d: int) -> None:
    """An exact total of five beside features that are nearly equal: the loose pairs span no part of the exact level."""
    rng = np.random.default_rng(11)
    rows = rng.normal(size=(500, 1)) + 0.3 * rng.normal(size=(500, 8))
    rows[:, 4] = rows[:, :4].sum(axis=1)
    rows[:, 6] = 2.0 * rows[:, 5]
    rows[:, 7] = 7.0
    scale = np.where(rows.std(axis=0) > 1e-12, rows.std(axis=0), 1.0)
    C = np.cov((rows / scale).T, bias=True)
    # A covariance of a constant that rounding left behind is none.
    C[7] = C[:, 7] = 0.0
    found = exact_rules(np.linalg.eigh(C)[1][:, :d], C, scale)
    assert_same(found, [total(4, 0, 1, 2, 3), {6: 1.0, 5: -2.0}, {7: 1.0}])


# ---- short rules by forward selection


def select_slowly(R: Floats, j: int, most: int) -> tuple[list[int], list[float]]:
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
        slow_terms, slow_left = select_slowly(R, j, 4)
        assert terms[:, j].tolist() == slow_terms
        np.testing.assert_allclose(left[:, j], slow_left, rtol=1e-8)
    vectors, pivots = select_forward(R)
    # The rule is found from its first feature, with what a regression gives.
    found = vectors[:, pivots.tolist().index(0)]
    slope = np.linalg.lstsq(X[:, [5, 9]] / X[:, [5, 9]].std(axis=0), X[:, 0] / X[:, 0].std(), rcond=None)[0]
    assert np.flatnonzero(found).tolist() == [0, 5, 9]
    np.testing.assert_allclose(found[[5, 9]], -slope, rtol=1e-2)


def wide_sums(n: int, p: int, seed: int, noise: float = 0.05) -> tuple[np.ndarray, list[tuple[int, ...]]]:
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
        assert select_forward(scatter / np.outer(size, size) if size.all() else scatter)[1].size == 0


@pytest.mark.parametrize("seed", range(2))
def test_where_they_are_all_there_is_the_programs_find_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, planted = wide_sums(1500, 80, seed)
    C = np.cov(X.T)
    V = np.linalg.eigh(C)[1][:, :24]
    quick = find_readable_basis(V, C).loadings
    monkeypatch.setattr(aspca.rules.search, "_MANY", 10**9)
    slow = find_readable_basis(V, C).loadings
    np.testing.assert_allclose(quick, slow, atol=1e-9)
    assert sorted(tuple(np.flatnonzero(w).tolist()) for w in quick.T) == planted


def test_a_wide_table_with_fewer_rows_than_columns() -> None:
    X, planted = wide_sums(500, WIDE + 60, 1)
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
    X, _ = wide_sums(300, 40, 2, noise=1.0)
    C = np.cov(X.T)
    for most in (0.1, 0.3, 1.0):
        W = find_short_loadings(C, most, 300)
        assert (np.einsum("ij,ij->j", W, C @ W) <= most * (1 + 1e-12)).all()
        np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0, rtol=1e-12)
        assert np.linalg.matrix_rank(W) == W.shape[1]
