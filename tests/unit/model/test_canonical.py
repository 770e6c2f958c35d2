"""Canonical rules: planted, overlapping rules come back, in the same subspace, as sparse as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aspca import ASPCA
from aspca.datasets.synthetic import load_synthetic
from aspca.model.canonical import canonical_loadings, canonical_rules
from aspca.model.rules import Rule, rules_of


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
    monkeypatch.setattr("aspca.model.canonical._MOST_LOADINGS", 20)
    rows, rules = planted(10, 0)
    C = np.cov(rows.T, bias=True)
    V = np.linalg.eigh(C)[1][:, : len(rules)]
    W = canonical_loadings(V, C)
    assert np.abs(np.abs(np.sum(W * V, axis=0)) - 1).max() <= 1e-12
