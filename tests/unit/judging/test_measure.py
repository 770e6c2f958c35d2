"""Refits without a block of rows: all rules at once beside one after the other; moments of all but each block."""

from __future__ import annotations

import numpy as np

from aspca import ASPCA, Moments
from aspca.judging.folds import _without_each
from aspca.judging.measure import Measure, on_same_features
from aspca.linalg.arrays import Floats
from aspca.rules.table import RuleTable
from aspca.subspace.space import ScaledSpace


def _rows(seed: int, n: int = 400) -> Floats:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12))
    X[:, 0] = X[:, 4] + X[:, 5] + 0.1 * rng.normal(size=n)
    X[:, 1] = X[:, 6] - 2.0 * X[:, 7] + 0.1 * rng.normal(size=n)
    X[:, 2] = X[:, 8] + 0.1 * rng.normal(size=n)
    X[:, 3] = X[:, 9] + X[:, 10]
    return np.asarray(X)


def _slowly(table: RuleTable, before: ScaledSpace, space: ScaledSpace) -> Floats:
    """One step of inverse iteration, rule by rule."""
    loadings = np.array(table.loadings)
    for k in np.flatnonzero(~table.exact):
        used = np.flatnonzero(loadings[:, k])
        if used.size > 1:
            inner = np.ix_(used, used)
            moved = np.linalg.solve(space.covariance[inner], before.covariance[inner] @ loadings[used, k])
            loadings[used, k] = moved / np.linalg.norm(moved)
    return loadings


def test_rules_are_refitted_together_as_one_by_one() -> None:
    X = _rows(0)
    # Of moments alone: of rows, what is exact is an identity, and no rule that is refitted.
    model = ASPCA().fit_moments(Moments.from_array(X)).model_
    moments = Moments.from_array(X[:300])
    space = ScaledSpace.scaled(moments, model.space.scale, model.space.features, model.space.succession)
    found = on_same_features(model.table, model.space, space)
    assert len(model.table) == 4
    assert model.table.exact.sum() == 1
    np.testing.assert_allclose(found.loadings, _slowly(model.table, model.space, space), atol=1e-9)
    assert np.array_equal(found.loadings[:, model.table.exact], model.table.loadings[:, model.table.exact])


def test_a_refit_measures_rows_from_its_own_mean() -> None:
    X = _rows(1) + 1e6
    model = ASPCA().fit(X).model_
    part = Moments.from_array(X[:300])
    other = Measure.of(model).refitted(part, model.settings)
    seen = (X - X[:300].mean(axis=0)) / model.space.scale
    deviations = other.deviations(model.space.centred(X))
    np.testing.assert_allclose(deviations, seen @ other.table.loadings, atol=1e-8)
    # The complete score without what holds exactly is the distance in the directions that vary.
    C = np.cov(seen[:300].T, bias=True)
    values, vectors = np.linalg.eigh(C)
    varying = vectors[:, values > 1e-9]
    whole = np.square(seen @ (varying / np.sqrt(values[values > 1e-9]))).sum(axis=1)
    inside = np.square(deviations[:, ~other.table.exact] @ other.weights[np.ix_(*2 * [~other.table.exact])]).sum(axis=1)
    beside = np.square(seen @ np.asarray(other.beside)).sum(axis=1)
    np.testing.assert_allclose(inside + beside, whole, rtol=1e-5)


def test_moments_without_each_block_are_those_of_the_other_rows() -> None:
    X = _rows(2, n=103)
    blocks = np.arange(len(X)) % 5
    parts = tuple(Moments.from_array(X[blocks == k]) for k in range(5))
    for k, found in enumerate(_without_each(parts, Moments.empty(12))):
        others = Moments.from_array(X[blocks != k])
        assert found.n_rows == others.n_rows
        np.testing.assert_allclose(found.mean, others.mean, atol=1e-12)
        np.testing.assert_allclose(found.scatter, others.scatter, atol=1e-10)
