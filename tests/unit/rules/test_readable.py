"""Canonical rules: planted, overlapping rules come back, in the same subspace, as sparse as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aspca import ASPCA
from aspca.datasets.synthetic import load_synthetic
from aspca.rules.readable import canonical_loadings, canonical_rules
from aspca.rules.rule import Rule, rules_of


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


def sines(W: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Of the angles between the spans of the columns."""
    Q = np.linalg.qr(W)[0]
    return np.linalg.svd(Q - V @ (V.T @ Q), compute_uv=False)


def canonical_of(model: ASPCA, names: tuple[str, ...]) -> tuple[Rule, ...]:
    return canonical_rules(model.components_.T, model.mean_, model.scale_, model.covariance_, names)


@pytest.mark.parametrize("p", [10, 30])
@pytest.mark.parametrize("seed", range(3))
def test_planted_rules_come_back_from_a_dense_basis_of_their_subspace(p: int, seed: int) -> None:
    rows, rules = planted(p, seed)
    units = 10.0 ** np.random.default_rng(seed).integers(-3, 4, size=p)
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    C = np.cov(((rows - mean) / scale).T, bias=True)
    V = np.linalg.eigh(C)[1][:, : len(rules)]
    names = tuple(f"x{j}" for j in range(p))
    # The same rows in other units: the rules are stated in those.
    found = canonical_rules(V, mean * units, scale * units, C, names)
    expected = {tuple(names[j] for j in np.flatnonzero(rule)): rule[rule != 0] / units[rule != 0] for rule in rules}
    assert {one.features for one in found} == set(expected)
    for one in found:
        exact = expected[one.features]
        # The text says the planted rule to the digit: a multiple of it, without an intercept.
        ratio = one.equation.coefficients / exact
        assert np.abs(ratio / ratio[0] - 1).max() <= 1e-12
        assert one.equation.intercept == 0.0
        # Noise of a hundredth in the planted scale.
        assert 0.008 <= one.spread / np.abs(one.coefficients / exact).mean() <= 0.012


@pytest.mark.parametrize("p", [10, 30])
def test_planted_rules_come_back_from_a_fitted_model_in_whole_numbers(p: int) -> None:
    rows, rules = planted(p, seed=7)
    names = tuple(f"x{j}" for j in range(p))
    found = canonical_of(ASPCA(n_components=len(rules), alpha=1e-4).fit(rows), names)
    said = {tuple(one.equation.coefficients[one.equation.coefficients != 0].tolist()) for one in found}
    # Up to the sign: D = A + B or A + B = D.
    whole = {tuple(rule[rule != 0].tolist()) for rule in rules}
    assert {max(one, tuple(-x for x in one)) for one in said} == {max(one, tuple(-x for x in one)) for one in whole}


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
    V = np.linalg.eigh(C)[1][:, :d]
    W = canonical_loadings(V, C)
    assert W.shape == (p, d)
    assert np.abs(np.linalg.norm(W, axis=0) - 1).max() <= 1e-12
    assert (W != 0).sum() <= (V != 0).sum()
    assert np.linalg.norm(W - V @ (V.T @ W), axis=0).max() <= 0.1 + 1e-12
    assert np.linalg.matrix_rank(V.T @ W, tol=1e-3) == d
    assert W.tolist() == canonical_loadings(V, C).tolist()


def test_the_span_is_the_loadings_up_to_the_noise() -> None:
    for p, bound in ((10, 0.01), (30, 0.01)):
        rows, rules = planted(p, seed=1)
        C = np.cov(rows.T, bias=True)
        V = np.linalg.eigh(C)[1][:, : len(rules)]
        assert sines(canonical_loadings(V, C), V).max() <= bound


def test_more_noise_than_rules_drops_no_term_that_matters() -> None:
    """D = A + B + 0.15 C with noise 0.01 keeps C, with noise 0.5 need not; A and B stay in either case."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(2000, 4))
    for noise, kept in ((0.01, [True, True, True, True]), (0.5, [True, True, False, True])):
        rows[:, 3] = rows[:, :3] @ [1.0, 1.0, 0.15] + noise * rng.normal(size=2000)
        C = np.cov(rows.T, bias=True)
        V = np.linalg.eigh(C)[1][:, :1]
        assert (canonical_loadings(V, C)[:, 0] != 0).tolist() == kept


@pytest.mark.parametrize(
    "settings_", [{"alpha": 0.01, "scaling": "none"}, {}, {"variant": "B"}, {"variant": "G"}, {"variant": "F"}]
)
def test_the_synthetic_data_read_as_they_were_planted(settings_: dict[str, object]) -> None:
    data = load_synthetic()
    found = canonical_of(ASPCA(n_components=4, **settings_).fit(data.data), data.feature_names)
    said = {one.text.split(" (±")[0] for one in found}
    assert said == {"A = B", "D = A + C", "F = 0", "G = 0"}
    assert all(one.canonical and "no part of the score" in repr(one) for one in found)
    assert "(± 0.1" in min(one.text for one in found if one.features == ("G",))


def test_the_synthetic_data_read_so_for_other_seeds_too() -> None:
    for seed in range(10):
        data = load_synthetic(seed)
        model = ASPCA(n_components=4, alpha=0.01, scaling="none").fit(data.data)
        said = {one.text.split(" (±")[0] for one in canonical_of(model, data.feature_names)}
        assert said == {"A = B", "D = A + C", "F = 0", "G = 0"}


def test_exact_totals_duplicates_and_constants_are_said_to_be_so() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(300, 7)) * [1.0, 2.0, 3.0, 1.0, 3.0, 1.0, 1.0] + 10.0
    rows[:, 3] = rows[:, 0] + rows[:, 1] + rows[:, 2]
    rows[:, 5] = 1000.0 * rows[:, 4]
    rows[:, 6] = 3.0
    names = ("a", "b", "c", "total", "kW", "W", "F")
    model = ASPCA(n_components=3, variant="G").fit(rows)
    assert {one.text for one in canonical_of(model, names)} == {
        "total = a + b + c (exactly)",
        "kW = 0.001 W (exactly)",
        "F = 3 (constant)",
    }


def test_two_exact_copies_need_two_rules_of_two_terms() -> None:
    """The subspace of three equal columns has no orthogonal basis of two-term rules."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.tile(rng.normal(size=(200, 1)), 3), rng.normal(size=200)])
    C = np.cov(rows.T, bias=True)
    V = np.linalg.eigh(C)[1][:, :2]
    W = canonical_loadings(V, C)
    assert (W != 0).sum(axis=0).tolist() == [2, 2]
    assert np.abs(C @ W).max() <= 1e-12
    assert [one.text for one in rules_of(W, rows.mean(axis=0), np.ones(4), C, tuple("ABCD"))] == [
        "A = B (exactly)",
        "A = C (exactly)",
    ]


def test_a_block_too_large_to_search_keeps_its_orthogonal_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aspca.rules.readable._MOST_LOADINGS", 20)
    rows, rules = planted(10, 0)
    C = np.cov(rows.T, bias=True)
    V = np.linalg.eigh(C)[1][:, : len(rules)]
    W = canonical_loadings(V, C)
    assert np.abs(np.abs(np.sum(W * V, axis=0)) - 1).max() <= 1e-12


# Rules in whole numbers, by feature. Of the three, l1 programs with a pivot alone miss one.
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


def found(W: np.ndarray, rules: np.ndarray) -> list[bool]:
    """Per rule, whether a column of W has its features and, to a cosine of 0.999, its coefficients."""
    unit = rules / np.linalg.norm(rules, axis=1, keepdims=True)
    return [any(np.array_equal(w != 0, rule != 0) and abs(float(w @ rule)) >= 0.999 for w in W.T) for rule in unit]


@pytest.mark.parametrize("p", [10, 30])
@pytest.mark.parametrize("seed", range(3))
def test_all_rules_are_found_even_those_no_pivot_shows(p: int, seed: int) -> None:
    C, rules = obeying(p, seed)
    V = np.linalg.eigh(C)[1][:, : len(rules)]
    W = canonical_loadings(V, C)
    assert all(found(W, rules))
    # The same span: what is orthogonal to V is orthogonal to W, and W has full rank.
    complement = np.linalg.eigh(C)[1][:, len(rules) :]
    assert np.abs(complement.T @ W).max() <= 0.01
    assert np.linalg.matrix_rank(W, tol=0.01) == len(rules)


def test_pivots_alone_miss_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above is about deflation and branching."""
    monkeypatch.setattr("aspca.rules.search._EXTRA", 0)
    C, rules = obeying(10, 0)
    assert not all(found(canonical_loadings(np.linalg.eigh(C)[1][:, : len(rules)], C), rules))


@pytest.mark.parametrize("p", [10, 30])
@pytest.mark.parametrize("extra", [0, 3])
def test_only_the_span_matters_and_not_the_order_of_features(p: int, extra: int) -> None:
    C, rules = obeying(p, 1)
    d = len(rules) + extra
    V = np.linalg.eigh(C)[1][:, :d]
    W = canonical_loadings(V, C)
    rng = np.random.default_rng(p)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    assert np.abs(canonical_loadings(V @ Q, C) - W).max() <= 1e-7
    order = rng.permutation(p)
    assert np.abs(canonical_loadings(V[order] @ Q, C[np.ix_(order, order)]) - W[order]).max() <= 1e-7


@pytest.mark.parametrize("common", [0.3, 0.9])
@pytest.mark.parametrize("extra", [1, 3, 5])
def test_a_subspace_larger_than_its_rules_shows_them_all(common: float, extra: int) -> None:
    C, rules = obeying(10, 2, common)
    V = np.linalg.eigh(C)[1][:, : len(rules) + extra]
    W = canonical_loadings(V, C)
    assert all(found(W, rules))
    assert np.linalg.matrix_rank(V.T @ W, tol=1e-3) == V.shape[1]
    # In ascending variance the planted ones are the first.
    assert all(found(W[:, : len(rules)], rules))


def test_exact_rules_come_out_exact_beside_loose_ones_with_fewer_features() -> None:
    """An exact total of five beside features that are nearly equal: the loose pairs span no part of the exact level."""
    rng = np.random.default_rng(11)
    rows = rng.normal(size=(500, 1)) + 0.3 * rng.normal(size=(500, 8))
    rows[:, 4] = rows[:, :4].sum(axis=1)
    rows[:, 6] = 2.0 * rows[:, 5]
    rows[:, 7] = 7.0
    names = ("a", "b", "c", "d", "total", "e", "twice", "k")
    for d in (3, 5, 6):
        mean, scale = rows.mean(axis=0), np.where(rows.std(axis=0) > 1e-12, rows.std(axis=0), 1.0)
        C = np.cov(((rows - mean) / scale).T, bias=True)
        V = np.linalg.eigh(C)[1][:, :d]
        said = canonical_rules(V, mean, scale, C, names)
        assert {one.text for one in said if one.exact} == {
            "total = a + b + c + d (exactly)",
            "twice = 2 e (exactly)",
            "k = 7 (constant)",
        }
        assert [one.exact for one in said] == [True] * 3 + [False] * (d - 3)
