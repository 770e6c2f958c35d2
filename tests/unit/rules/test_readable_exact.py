"""Identities: what holds in every row is found, sparsest, with coefficients to nine digits, and nothing besides."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.moments.space import unresolved_variances
from aspca.rules.readable import readable_basis
from aspca.sparse_pca.defaults import choose_n_components

Identity = dict[int, float]


def readable_loadings(V: np.ndarray, C: np.ndarray) -> np.ndarray:
    return readable_basis(V, C).loadings


def covariance_of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the columns divided by their largest size, as the detector scales them; and these sizes."""
    centred = rows - rows.mean(axis=0)
    scale = np.abs(centred).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return np.cov((centred / scale).T, bias=True), scale


def exact_rules(V: np.ndarray, C: np.ndarray, scale: np.ndarray) -> list[Identity]:
    """Rules that hold as far as the covariance tells, in the columns' own units; the first coefficient is 1."""
    W = readable_loadings(V, C)
    variances = np.einsum("ij,ij->j", W, C @ W)
    exact = variances <= unresolved_variances(W, C)
    return [
        {int(j): float(w[j] / w[used[0]]) for j in used} for w in W[:, exact].T / scale for used in [np.flatnonzero(w)]
    ]


def assert_same(found: list[Identity], expected: list[Identity], digits: float = 1e-9) -> None:
    assert sorted(tuple(one) for one in found) == sorted(tuple(sorted(one)) for one in expected)
    for one in expected:
        match = next(other for other in found if set(other) == set(one))
        first = one[min(one)]
        assert all(abs(match[j] / (one[j] / first) - 1) <= digits for j in one)


def lowest(C: np.ndarray) -> np.ndarray:
    return np.linalg.eigh(C)[1][:, : choose_n_components(C)]


def total(result: int, *terms: int) -> Identity:
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


def test_an_exact_sum_of_nearly_equal_columns() -> None:
    rng = np.random.default_rng(2)
    g = 100 + rng.normal(size=(500, 1)) + 0.05 * rng.normal(size=(500, 10))
    C, scale = covariance_of(np.column_stack([g, g[:, :5].sum(axis=1), 2 * g[:, 6] - g[:, 7], np.full(500, 7.0)]))
    expected = [total(10, 0, 1, 2, 3, 4), {11: 1.0, 6: -2.0, 7: 1.0}, {12: 1.0}]
    assert_same(exact_rules(lowest(C), C, scale), expected)


def clock(n: int = 3000) -> np.ndarray:
    """Times of day as a number, its hour and its minute; beside them what hangs together loosely."""
    rng = np.random.default_rng(3)
    hour, minute = rng.integers(5, 23, size=n), rng.integers(0, 60, size=n)
    time = 100 * hour + minute
    late = rng.exponential(30, size=n)
    flight = rng.uniform(30, 300, size=n)
    later = time + 1.6 * flight + 40 * rng.normal(size=n)
    return np.column_stack([time, hour, minute, late, late + 15 * rng.normal(size=n), flight, 8 * flight, later])


def test_an_identity_with_a_term_that_hardly_matters() -> None:
    """Beside time = 100 hour, sparser and nearly as tight."""
    C, scale = covariance_of(clock())
    expected = [{0: 1.0, 1: -100.0, 2: -1.0}, {6: 1.0, 5: -8.0}]
    assert_same(exact_rules(np.linalg.eigh(C)[1][:, :4], C, scale), expected)


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
