"""Scales from moments against scales from the rows; and whether rows span more directions than some."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.moments import Moments
from aspca.moments.space import ScaledSpace, column_scale, scaled_covariance
from aspca.preparation.feature import Feature
from aspca.settings import SCALINGS


def rows(n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.exp(rng.normal(size=(n, 4))) * [1.0, 1e-3, 50.0, 1.0] + [0.0, 0.0, 1e6, -3.0]


def twin(X: np.ndarray, scaling: str) -> np.ndarray:
    """From the rows, in extended precision."""
    wide = X.astype(np.longdouble)
    centred = wide - wide.mean(axis=0)
    scale = {
        "maxabs": np.abs(centred).max(axis=0),
        "standard": np.sqrt(np.square(centred).mean(axis=0)),
        "none": np.ones(X.shape[1]),
    }[scaling]
    return np.where(np.ptp(X, axis=0) == 0, 1.0, scale)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_scales_are_those_of_the_rows(scaling: str) -> None:
    X = rows()
    expected = twin(X, scaling)
    assert np.abs(column_scale(Moments.from_array(X), scaling) / expected - 1).max() <= 1e-12


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_covariance_is_that_of_the_scaled_rows(scaling: str) -> None:
    X = rows()
    moments = Moments.from_array(X)
    scale = column_scale(moments, scaling)
    A = scaled_covariance(moments, scale)
    Y = (X - X.mean(axis=0)) / scale
    size = np.sqrt(np.outer(np.diag(A), np.diag(A)))
    assert (np.abs(A - Y.T @ Y / len(Y)) <= 1e-9 * size).all()
    assert (np.abs(A - A.T) <= 4e-16 * size).all()
    if scaling == "standard":
        assert np.abs(np.diag(A) - 1).max() <= 1e-12
    if scaling == "maxabs":
        assert np.abs(Y).max() <= 1 + 1e-12
        assert np.abs(np.abs(Y).max(axis=0) - 1).max() <= 1e-12


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e10 + 0.1, 1e150])
def test_a_constant_column_keeps_its_units(scaling: str, value: float) -> None:
    X = np.column_stack([rows()[:, 0], np.full(60, value)])
    moments = Moments.from_array(X)
    scale = column_scale(moments, scaling)
    assert scale[1] == 1.0
    assert scaled_covariance(moments, scale)[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scaling", ["maxabs", "standard"])
def test_extreme_units_neither_vanish_nor_overflow(scaling: str) -> None:
    X = rows()
    X = X / np.abs(X).max(axis=0)
    plain = Moments.from_array(X)
    extreme = Moments.from_array(X * [1e-150, 1e150, 1e-100, 1e100])
    one, other = (scaled_covariance(m, column_scale(m, scaling)) for m in (plain, extreme))
    assert np.isfinite(other).all()
    assert np.abs(one - other).max() <= 1e-9


def test_an_offset_of_1e10_leaves_the_scale() -> None:
    X = np.round(rows() % 7, 3)
    moved = Moments.from_array(X + 1e10)
    exact = Moments.from_array((X + 1e10) - 1e10)
    for scaling in SCALINGS:
        assert np.abs(column_scale(moved, scaling) / column_scale(exact, scaling) - 1).max() <= 1e-12


@pytest.mark.parametrize("rank", [3, 40, 150])
def test_some_features_say_what_all_of_them_do(rank: int) -> None:
    rng = np.random.default_rng(rank)
    X = rng.normal(size=(200, rank)) @ rng.normal(size=(rank, 150))
    X[:, 7] = 1.0
    features = tuple(Feature(f"c{k}") for k in range(150))
    space = ScaledSpace.of(Moments.from_array(X), "maxabs", features)
    assert space.rank == min(rank, 149)
    for directions in (-1.0, 0, 2, 2.5, 3, 39, 40, 100, 148, 149, 500):
        assert space.spans_more_than(directions) == (space.rank > directions)
    assert space.short_of_rows == (5 * (space.rank + 1) > 200)
