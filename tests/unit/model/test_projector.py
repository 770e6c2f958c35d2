"""Projections against the plain formula, block by block, type by type, and at offsets where it is all about digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from aspca.model import projector as scoring
from aspca.model.projector import Projector


def projector(p: int = 5, d: int = 3, seed: int = 0) -> Projector:
    rng = np.random.default_rng(seed)
    loadings = np.linalg.qr(rng.normal(size=(p, d)))[0]
    return Projector(rng.normal(size=p), 1e-17 * rng.normal(size=p), np.exp(rng.normal(size=p)), loadings)


def twin(one: Projector, X: np.ndarray) -> np.ndarray:
    return (((X - one.centre) - one.residual) / one.scale) @ one.loadings


def test_projections_follow_the_formula() -> None:
    one, X = projector(), np.random.default_rng(1).normal(size=(100, 5))
    assert np.abs(one.project(X) - twin(one, X)).max() <= 1e-13
    assert np.abs(one.score(X) - np.square(twin(one, X)).sum(axis=1)).max() <= 1e-12


@pytest.mark.parametrize("values", [1, 7, 50, 10_000])
def test_the_size_of_blocks_does_not_matter(values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one, X = projector(), np.random.default_rng(2).normal(size=(333, 5))
    whole = one.project(X)
    monkeypatch.setattr(scoring, "_BLOCK_VALUES", values)
    parts = one.project(X)
    assert parts.shape == whole.shape
    assert np.abs(parts - whole).max() <= 1e-14
    assert np.abs(one.score(X) - np.square(whole).sum(axis=1)).max() <= 1e-13


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int64, np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_layouts_give_the_same_numbers(dtype: type, order: str) -> None:
    X = np.random.default_rng(3).integers(0, 2, size=(40, 5))
    one = projector()
    given = np.array(X, dtype=dtype, order=order)  # type: ignore[call-overload]
    before = given.copy()
    assert one.project(given).dtype == np.float64
    assert np.abs(one.project(given) - one.project(X.astype(float))).max() <= 1e-15
    assert (given == before).all()


def test_integers_do_not_wrap_around() -> None:
    one = Projector(np.array([200.0, 0.0]), np.zeros(2), np.ones(2), np.eye(2))
    assert one.project(np.array([[0, 255]], dtype=np.uint8)).tolist() == [[-200.0, 255.0]]


def test_features_of_no_rule_are_not_even_read() -> None:
    one = projector()
    loadings = one.loadings.copy()
    loadings[[1, 3]] = 0.0
    sparse = Projector(one.centre, one.residual, one.scale, loadings)
    X = np.random.default_rng(4).normal(size=(30, 5))
    expected = sparse.project(X)
    assert np.abs(expected - twin(sparse, X)).max() <= 1e-13
    X[:, [1, 3]] = 1e150
    assert sparse.project(X).tolist() == expected.tolist()


def test_no_rule_at_all_scores_zero() -> None:
    one = Projector(np.zeros(3), np.zeros(3), np.ones(3), np.zeros((3, 2)))
    assert one.score(np.ones((4, 3))).tolist() == [0.0] * 4


def test_at_an_offset_of_1e10_every_digit_of_the_data_counts() -> None:
    """Exact rational arithmetic as the twin: the error is that of numbers of size one, not of size 1e10."""
    rng = np.random.default_rng(5)
    X = 1e10 + rng.normal(size=(20, 3))
    centre = X[0].copy()
    mean = [sum((Fraction(x) for x in column), Fraction(0)) / 20 for column in X.T.tolist()]
    residual = np.array([float(m - Fraction(c)) for m, c in zip(mean, centre.tolist(), strict=True)])
    loadings = np.array([[1.0], [0.0], [-1.0]]) / np.sqrt(2)
    one = Projector(centre, residual, np.array([2.0, 1.0, 0.5]), loadings)
    for row, found in zip(X.tolist(), one.project(X)[:, 0], strict=True):
        y = [(Fraction(x) - m) / Fraction(s) for x, m, s in zip(row, mean, one.scale.tolist(), strict=True)]
        exact = float(sum(a * Fraction(float(b)) for a, b in zip(y, loadings[:, 0], strict=True)))
        assert abs(found - exact) <= 4e-15


@pytest.mark.parametrize("unit", [1e-150, 1e-10, 1.0, 1e140])
def test_scores_of_the_largest_rows_allowed_are_finite(unit: float) -> None:
    one = projector()
    small = Projector(one.centre * 0, one.residual * 0, np.full(5, unit), one.loadings)
    for row in (np.full((1, 5), 1e150), np.array([[1e150, -1e150, 1e150, -1e150, 1e150]])):
        assert np.isfinite(small.project(row)).all()
        assert np.isfinite(small.score(row)).all()
