"""Order statistics by counting bits, beside numpy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aspca.moments.rows import Rows
from aspca.robust.order import median_sizes, medians, quantile, sizes_and_others

NUMBERS = st.floats(-1e150, 1e150, allow_nan=False, allow_subnormal=False)


def lower_median(column: np.ndarray) -> float:
    """The middle value, the lower one of two."""
    return float(np.sort(column)[(column.size + 1) // 2 - 1])


@settings(deadline=None, max_examples=60)
@given(arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=NUMBERS), st.integers(1, 7))
def test_medians_are_those_of_sorting_in_any_parts(rows: np.ndarray, step: int) -> None:
    parts = [rows[k : k + step] for k in range(0, len(rows), step)]
    found = medians(Rows.here(lambda: parts), rows.shape[1])
    assert np.array_equal(found, medians(Rows.here(lambda: parts[::-1]), rows.shape[1]))
    for value, column in zip(found, rows.T, strict=True):
        middle = lower_median(column)
        # Leading bits: below by one part in 2^20 at most, and never above in size.
        assert abs(value - middle) <= 2.0**-20 * abs(middle) + 1e-300


@settings(deadline=None, max_examples=40)
@given(arrays(np.float64, st.tuples(st.integers(1, 40), st.just(2)), elements=NUMBERS))
def test_sizes_are_known_to_one_part_in_sixteen(rows: np.ndarray) -> None:
    for value, column in zip(median_sizes(Rows.here(lambda: [rows]), 2), np.abs(rows).T, strict=True):
        middle = lower_median(column)
        assert abs(value - middle) <= middle / 16 + 1e-300


def test_gaps_are_passed_over() -> None:
    rows = np.array([[1.0], [np.nan], [3.0], [2.0], [np.nan]])
    assert abs(medians(Rows.here(lambda: [rows]), 1)[0] - 2.0) < 1e-5


def test_a_quantile_of_batches() -> None:
    values = np.random.default_rng(0).gamma(2.0, size=10_000)
    found = quantile(Rows.here(lambda: np.array_split(values[:, None], 7)), 0.9)
    exact = float(np.quantile(values, 0.9))
    assert exact <= found <= exact * (1 + 1 / 8)


def test_a_quantile_is_reached_by_its_share_of_the_values_also_just_below_the_end_of_a_bin() -> None:
    values = np.full((10, 1), np.nextafter(3.0, 0.0))
    assert quantile(Rows.here(lambda: [values]), 0.5) == values[0, 0]


@settings(deadline=None, max_examples=60)
@given(
    arrays(
        np.float64, st.tuples(st.integers(1, 40), st.just(3)), elements=st.one_of(NUMBERS, st.sampled_from([0, -0.0]))
    ),
    st.integers(1, 40),
)
def test_sizes_and_those_of_the_others_in_one_pass(rows: np.ndarray, step: int) -> None:
    parts = [rows[k : k + step] for k in range(0, len(rows), step)]
    sizes, others, counts = sizes_and_others(Rows.here(lambda: parts), 3)
    assert np.array_equal(sizes, median_sizes(Rows.here(lambda: [rows]), 3))
    assert np.array_equal(
        others, median_sizes(Rows.here(lambda: [np.where(rows == 0.0, np.nan, rows)]), 3), equal_nan=True
    )
    assert np.array_equal(counts, (rows != 0.0).sum(axis=0))


def test_more_rows_than_are_counted_at_once() -> None:
    rows = np.random.default_rng(0).normal(size=(150_000, 2))
    for value, column in zip(medians(Rows.here(lambda: np.array_split(rows, 3)), 2), rows.T, strict=True):
        assert abs(value - lower_median(column)) <= 2.0**-20 * abs(value)
