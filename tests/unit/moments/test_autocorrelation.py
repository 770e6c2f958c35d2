"""How rows follow each other, against correlations computed from all rows at once."""

from __future__ import annotations

import numpy as np
import pytest

from aspca import Moments
from aspca.moments.accumulator import Rows
from aspca.moments.autocorrelation import LagSums, compute_lag_one_correlation, count_effective_rows


def follows(batches: list[np.ndarray], moments: Moments) -> np.ndarray:
    """In one go; and, where there are several, the same from parts, each by itself."""
    found = Rows.here(lambda: batches).reduce(lambda: LagSums.empty(moments.minimum, moments.maximum))
    merged = LagSums.empty(moments.minimum, moments.maximum)
    for batch in batches:
        part = Rows.here(lambda batch=batch: [batch])
        merged.merge(part.reduce(lambda: LagSums.empty(moments.minimum, moments.maximum)))
    np.testing.assert_array_equal(
        compute_lag_one_correlation(merged, moments), compute_lag_one_correlation(found, moments)
    )
    return compute_lag_one_correlation(found, moments)


def autoregression(n: int, r: float, p: int = 4) -> np.ndarray:
    rows = np.random.default_rng(n).normal(size=(n, p))
    for row in range(1, n):
        rows[row] = r * rows[row - 1] + np.sqrt(1.0 - r * r) * rows[row]
    return rows


@pytest.mark.parametrize("r", [0.3, 0.9, 0.99])
def test_an_autoregression_is_recognised(r: float) -> None:
    rows = 1e9 + 1e3 * autoregression(20_000, r)
    assert follows([rows], Moments.from_array(rows)) == pytest.approx(np.full(4, r), abs=0.03)


def test_independent_rows_and_a_sorted_column() -> None:
    rows = np.random.default_rng(1).normal(size=(500, 5))
    assert (follows([rows], Moments.from_array(rows)) == 0.0).all()
    rows = rows[np.argsort(rows[:, 2])]
    found = follows([rows], Moments.from_array(rows))
    assert found[2] > 0.97
    assert (np.delete(found, 2) == 0.0).all()


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_the_same_in_batches_of_any_size(size: int) -> None:
    rows = autoregression(300, 0.6)
    rows[40:44, 1] = np.nan
    moments = Moments.from_array(np.nan_to_num(rows))
    batches = [rows[start : start + size] for start in range(0, 300, size)]
    batches.insert(1, rows[:0])
    assert follows(batches, moments).tolist() == follows([rows], moments).tolist()


def test_a_gross_value_hides_no_autocorrelation() -> None:
    rows = autoregression(400, 0.9)
    moments = Moments.from_array(rows)
    spoiled = rows.copy()
    spoiled[200] = 1e140
    assert follows([spoiled], moments) == pytest.approx(follows([rows], moments), abs=0.05)


def test_constants_and_no_rows() -> None:
    rows = np.ones((10, 2))
    assert follows([rows], Moments.from_array(rows)).tolist() == [0.0, 0.0]
    assert follows([], Moments.from_array(rows)).tolist() == [0.0, 0.0]


def test_effective_rows_are_those_whose_covariances_scatter_as_much() -> None:
    """The variance of the covariance of two autoregressions, over many draws, against that of independent rows."""
    n, r = 400, 0.8
    rows = autoregression(n, r, p=4000)
    rows -= rows.mean(axis=0)
    products = (rows[:, ::2] * rows[:, 1::2]).mean(axis=0)
    assert 1.0 / products.var() == pytest.approx(float(count_effective_rows(n, r)), rel=0.15)
    assert count_effective_rows(100, np.array([0.0, 1.0])).tolist() == [100.0, 2.0]
