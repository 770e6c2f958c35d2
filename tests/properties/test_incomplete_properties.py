"""What must hold for the moments of any table with gaps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from aspca.moments import IncompleteMoments, Moments


@st.composite
def gapped(draw: st.DrawFn) -> np.ndarray:
    """Correlated rows, enough of them for the likeliest Gaussian to be one, with up to a quarter of the values gone."""
    p, n, seed = draw(st.integers(1, 5)), draw(st.integers(60, 120)), draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    rows = np.where(rng.random((n, p)) < draw(st.floats(0.0, 0.25)), np.nan, mixed)
    rows[:3] = mixed[:3]
    return rows


def assert_close(a: Moments, b: Moments, tol: float) -> None:
    """Equal to rounding, in the units of the columns' own spread."""
    scale = np.sqrt(np.diagonal(b.scatter))
    assert (np.abs(a.scatter - b.scatter) <= tol * np.outer(scale, scale)).all()
    gap = (a.centre - b.centre) + (a.residual - b.residual)
    assert (np.abs(gap) <= tol * scale).all()
    assert (a.n_rows, a.minimum.tolist(), a.maximum.tolist()) == (b.n_rows, b.minimum.tolist(), b.maximum.tolist())


@given(gapped(), st.data())
@settings(max_examples=40, deadline=None)
def test_parts_merged_in_any_order_are_the_whole(rows: np.ndarray, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    parts = [IncompleteMoments.from_array(rows[a:b]) for a, b in pairwise([0, *cuts, len(rows)])]
    total = IncompleteMoments.empty(rows.shape[1])
    for part in data.draw(st.permutations(parts)):
        total = part.merge(total)
    whole = IncompleteMoments.from_array(rows)
    assert (total.n_rows, total.weight) == (whole.n_rows, whole.weight)
    assert np.array_equal(total.n_missing, whole.n_missing)
    assert_close(total.completed().moments, whole.completed().moments, 1e-12)


@given(gapped(), st.data())
@settings(max_examples=40, deadline=None)
def test_a_permutation_of_columns_permutes_the_result(rows: np.ndarray, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(rows.shape[1]))))
    one, other = (IncompleteMoments.from_array(table).completed().moments for table in (rows, rows[:, order]))
    back = np.argsort(order)
    arrays = (getattr(other, name)[back] for name in ("centre", "residual"))
    extremes = (getattr(other, name)[back] for name in ("minimum", "maximum"))
    same = Moments(other.weight, other.n_rows, *arrays, other.scatter[np.ix_(back, back)], *extremes)
    assert_close(same, one, 1e-12)


@given(gapped(), st.data())
@settings(max_examples=40, deadline=None)
def test_units_that_are_powers_of_two_change_no_bit(rows: np.ndarray, data: st.DataObject) -> None:
    exponents = data.draw(npst.arrays(np.int64, rows.shape[1], elements=st.integers(-40, 40)))
    unit = np.ldexp(1.0, exponents)
    one, other = (IncompleteMoments.from_array(table).completed() for table in (rows, rows * unit))
    assert one.iterations == other.iterations
    assert np.array_equal(other.moments.scatter, one.moments.scatter * np.outer(unit, unit))
    assert np.array_equal(other.moments.centre, one.moments.centre * unit)
    assert np.array_equal(other.moments.residual, one.moments.residual * unit)


@given(gapped(), st.floats(0.25, 8.0))
@settings(max_examples=25, deadline=None)
def test_equal_weights_are_no_weights(rows: np.ndarray, weight: float) -> None:
    plain = IncompleteMoments.from_array(rows).completed().moments
    weighted = IncompleteMoments.from_array(rows, np.full(len(rows), weight)).completed().moments
    scale = np.sqrt(np.diagonal(plain.covariance))
    assert (np.abs(weighted.covariance - plain.covariance) <= 1e-11 * np.outer(scale, scale)).all()


values = st.integers(-4, 4).map(float) | st.just(np.nan) | st.floats(-1e6, 1e6)


@given(npst.arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 4)), elements=values))
@settings(max_examples=150, deadline=None)
def test_any_table_gives_moments_of_a_distribution(rows: np.ndarray) -> None:
    """Ties, constants, fewer rows than columns, rules by chance: finite, positive semidefinite, within the extremes."""
    rows[0] = np.where(np.isnan(rows).all(axis=0), 1.0, rows[0])
    done = IncompleteMoments.from_array(rows).completed(max_iter=60)
    moments = done.moments
    assert np.isfinite(moments.scatter).all()
    assert np.array_equal(moments.scatter, moments.scatter.T)
    assert np.array_equal(moments.minimum, np.nanmin(rows, axis=0))
    assert np.array_equal(moments.maximum, np.nanmax(rows, axis=0))
    assert done.n_rows_left_out == np.isnan(rows).all(axis=1).sum()
    assert moments.n_rows + done.n_rows_left_out == len(rows)
    constant = moments.minimum == moments.maximum
    assert not moments.scatter[constant].any()
    scale = np.sqrt(np.diagonal(moments.scatter))
    scale[scale == 0.0] = 1.0
    assert np.linalg.eigvalsh(moments.scatter / np.outer(scale, scale))[0] > -1e-13
