"""What must hold for the moments of any table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from aspca.moments import Moments, blocks

# Multiples of 2^-10 up to 2^20: differences, and shifts by up to 2^33, are exact.
GRID = 2.0**-10
integers = st.integers(-(2**30), 2**30) | st.integers(-8, 8)


@st.composite
def tables(draw: st.DrawFn, min_rows: int = 1, p: int | None = None) -> np.ndarray:
    columns = draw(st.integers(1, 4)) if p is None else p
    shape = (draw(st.integers(min_rows, 12)), columns)
    return draw(npst.arrays(np.int64, shape, elements=integers)) * GRID


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Blocks of about four rows, for the tables here to go through merges."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_VALUES", 8)
        patch.setattr(blocks, "ENOUGH_ROWS", 1)
        yield


def assert_same(a: Moments, b: Moments, tol: float = 1e-13) -> None:
    """Equal to rounding, in the units of the columns' own spread."""
    assert a.weight == pytest.approx(b.weight, rel=1e-15)
    scale = np.sqrt(np.diagonal(b.scatter))
    assert (np.abs(a.scatter - b.scatter) <= tol * np.outer(scale, scale)).all()
    gap = (a.centre - b.centre) + (a.residual - b.residual)
    assert (np.abs(gap) <= tol * scale).all()
    assert np.array_equal(a.minimum, b.minimum)
    assert np.array_equal(a.maximum, b.maximum)


@given(tables(p=3, min_rows=0), tables(p=3, min_rows=0), tables(p=3, min_rows=0))
def test_merge_is_associative_and_commutative(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
    a, b, c = (Moments.from_array(part) for part in (x, y, z))
    whole = Moments.from_array(np.vstack([x, y, z]))
    assert_same(a.merge(b).merge(c), whole)
    assert_same(a.merge(b.merge(c)), whole)
    assert_same(c.merge(b).merge(a), whole)
    assert a.merge(b).merge(c).n_rows == whole.n_rows
    assert np.array_equal(a.merge(b).scatter, b.merge(a).scatter)


@given(tables(), st.data())
def test_integer_weights_are_repeated_rows(x: np.ndarray, data: st.DataObject) -> None:
    counts = data.draw(npst.arrays(np.int64, len(x), elements=st.integers(0, 4)))
    repeated = np.repeat(x, counts, axis=0)
    weighted = Moments.from_array(x, counts)
    assert_same(weighted, Moments.from_array(repeated))
    assert weighted.n_rows == np.count_nonzero(counts)


@given(tables(), st.data())
def test_permuting_rows_and_columns(x: np.ndarray, data: st.DataObject) -> None:
    rows = data.draw(st.permutations(range(x.shape[0])))
    columns = data.draw(st.permutations(range(x.shape[1])))
    m, permuted = Moments.from_array(x), Moments.from_array(x[np.ix_(rows, columns)])
    back = np.argsort(columns)
    rebuilt = Moments(
        permuted.weight,
        permuted.n_rows,
        permuted.centre[back],
        permuted.residual[back],
        permuted.scatter[np.ix_(back, back)],
        permuted.minimum[back],
        permuted.maximum[back],
    )
    assert_same(rebuilt, m)


@given(tables())
def test_duplicating_every_row_doubles_scatter(x: np.ndarray) -> None:
    m = Moments.from_array(x)
    twice = Moments.from_array(np.vstack([x, x]))
    doubled = Moments(2 * m.weight, 2 * m.n_rows, m.centre, m.residual, 2 * m.scatter, m.minimum, m.maximum)
    assert_same(twice, doubled)
    assert_same(m.merge(m), doubled)
    scale = np.sqrt(np.diagonal(m.covariance))
    assert (np.abs(twice.covariance - m.covariance) <= 1e-13 * np.outer(scale, scale)).all()


@given(tables(), st.sampled_from([2.0**30, -(2.0**33), 1e10, 3.0, -1e5]))
def test_an_exact_shift_changes_the_mean_only(x: np.ndarray, offset: float) -> None:
    shifted = x + offset
    assert np.array_equal(shifted - offset, x)  # the shift is exact, so the answer may not move
    m, moved = Moments.from_array(x), Moments.from_array(shifted)
    scale = np.sqrt(np.diagonal(m.scatter))
    assert (np.abs(moved.scatter - m.scatter) <= 1e-13 * np.outer(scale, scale)).all()
    gap = ((moved.centre - offset) - m.centre) + (moved.residual - m.residual)
    assert (np.abs(gap) <= 1e-13 * scale).all()


@given(tables(), st.integers(-300, 300), st.sampled_from([1.0, -1.0]))
def test_a_power_of_two_scales_exactly(x: np.ndarray, exponent: int, sign: float) -> None:
    factor = sign * 2.0**exponent
    m, scaled = Moments.from_array(x), Moments.from_array(x * factor)
    assert np.array_equal(scaled.scatter, m.scatter * factor**2)
    assert np.array_equal(scaled.centre, m.centre * factor)
    assert np.array_equal(scaled.residual, m.residual * factor)


@given(tables(), st.lists(st.integers(0, 12), max_size=4))
def test_updates_equal_the_whole(x: np.ndarray, cuts: list[int]) -> None:
    m = Moments.empty(x.shape[1])
    for part in np.split(x, sorted(min(cut, len(x)) for cut in cuts)):
        m = m.update(part)
    assert_same(m, Moments.from_array(x))


@given(tables(min_rows=2), st.data())
def test_scatter_is_a_sum_of_squares(x: np.ndarray, data: st.DataObject) -> None:
    m = Moments.from_array(x)
    v = data.draw(npst.arrays(np.float64, x.shape[1], elements=st.floats(-1, 1)))
    projected = (x - m.centre) @ v - m.residual @ v
    scale = np.sqrt(np.diagonal(m.scatter)) @ np.abs(v)
    assert abs(v @ m.scatter @ v - projected @ projected) <= 1e-12 * scale**2
    constant = m.minimum == m.maximum
    assert np.array_equal(np.diagonal(m.scatter) == 0.0, constant)


wild = st.floats(-1e150, 1e150) | st.sampled_from([0.0, -0.0, 1e150, -1e150, 5e-324, 1.0])


@settings(max_examples=200)
@given(npst.arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=wild))
def test_all_finite_tables_within_range_have_finite_moments(x: np.ndarray) -> None:
    m = Moments.from_array(x)
    assert np.isfinite(m.scatter).all()
    assert (np.diagonal(m.scatter) >= 0).all()
    slack = 1e-15 * np.maximum(np.abs(m.minimum), np.abs(m.maximum))
    assert (m.minimum - slack <= m.mean).all()
    assert (m.mean <= m.maximum + slack).all()
    constant = m.minimum == m.maximum
    assert not m.scatter[constant].any()
    assert np.array_equal(m.mean[constant], x[0, constant])
