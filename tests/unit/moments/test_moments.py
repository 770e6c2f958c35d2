"""Moments on cases small enough to know the answer, and every sentence of its errors."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from aspca.moments import Moments, blocks

SMALL = [[1.0, 10.0], [2.0, 10.0], [6.0, 13.0]]  # means 3 and 11
SMALL_SCATTER = [[14.0, 9.0], [9.0, 6.0]]


def naive(rows: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The slow, obvious twin: mean and scatter in extended precision, two passes."""
    wide = np.asarray(rows).astype(np.longdouble)
    w = np.ones(len(wide), dtype=np.longdouble) if weights is None else weights.astype(np.longdouble)
    mean = (w[:, None] * wide).sum(axis=0) / w.sum()
    d = wide - mean
    return mean.astype(float), ((w[:, None] * d).T @ d).astype(float)


def assert_scatter(got: np.ndarray, wanted: np.ndarray, tol: float = 1e-12) -> None:
    scale = np.sqrt(np.outer(np.diagonal(wanted), np.diagonal(wanted)))
    assert (np.abs(got - wanted) <= tol * scale).all()


@pytest.fixture
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows, so that small tables go through the tree of merges."""
    monkeypatch.setattr(blocks, "BLOCK_VALUES", 1)
    monkeypatch.setattr(blocks, "ENOUGH_ROWS", 3)


def test_three_rows_by_hand() -> None:
    m = Moments.from_array(SMALL)
    assert (m.weight, m.n_rows, m.n_features) == (3.0, 3, 2)
    assert m.mean.tolist() == [3.0, 11.0]
    assert m.scatter.tolist() == SMALL_SCATTER
    assert m.covariance.tolist() == [[14.0 / 3, 3.0], [3.0, 2.0]]
    assert m.minimum.tolist() == [1.0, 10.0]
    assert m.maximum.tolist() == [6.0, 13.0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.uint64, np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_numeric_type_is_taken_as_float64(dtype: type, order: str) -> None:
    m = Moments.from_array(np.array(SMALL, dtype=dtype, order=order))  # type: ignore[call-overload]
    assert m.scatter.dtype == np.float64
    assert m.scatter.tolist() == SMALL_SCATTER
    assert m.mean.tolist() == [3.0, 11.0]


def test_uint8_does_not_wrap_around() -> None:
    m = Moments.from_array(np.array([[0], [255]], dtype=np.uint8))
    assert (m.mean[0], m.scatter[0, 0]) == (127.5, 2 * 127.5**2)


def test_bool_counts_ones() -> None:
    m = Moments.from_array(np.array([[True], [False], [False], [True]]))
    assert (m.mean[0], m.scatter[0, 0], m.minimum[0], m.maximum[0]) == (0.5, 1.0, 0.0, 1.0)


def test_objects_that_are_real_numbers_are_accepted() -> None:
    rows = np.array([[1, Decimal("10")], [Fraction(2), 10.0], [np.float32(6), True]], dtype=object)
    m = Moments.from_array(rows)
    assert m.mean.tolist() == [3.0, 7.0]


def test_float32_is_not_summed_in_float32() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(4000, 3)) + 1e4).astype(np.float32)
    mean, scatter = naive(rows)
    m = Moments.from_array(rows)
    assert_scatter(m.scatter, scatter)
    assert np.abs(m.mean - mean).max() <= 1e-11


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 9, 31, 64, 100])
@pytest.mark.usefixtures("tiny_blocks")
def test_the_tree_of_blocks_is_the_two_pass_formula(n: int) -> None:
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)) + [0.0, 1e3, -1e6]
    mean, scatter = naive(rows)
    m = Moments.from_array(rows)
    assert_scatter(m.scatter, scatter)
    assert (m.weight, m.n_rows) == (float(n), n)
    assert np.abs(m.mean - mean).max() <= 1e-9
    assert np.array_equal(m.minimum, rows.min(axis=0))
    assert np.array_equal(m.maximum, rows.max(axis=0))


@pytest.mark.parametrize("shape", [(300_000, 1), (100_000, 5), (3_000, 400)])
def test_more_than_one_true_block(shape: tuple[int, int]) -> None:
    assert len(list(blocks.slice_rows(*shape))) > 1
    rng = np.random.default_rng(1)
    rows = np.asfortranarray(rng.integers(0, 100, size=shape).astype(np.uint8))
    wide = rows.astype(np.int64)
    total = wide.sum(axis=0)
    exact = (shape[0] * (wide.T @ wide) - np.outer(total, total)) / shape[0]  # integers below 2**63
    assert_scatter(Moments.from_array(rows).scatter, exact, 1e-14)


@pytest.mark.parametrize("value", [0.1, 1e10 / 3, -7e149, 1e-300, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.usefixtures("tiny_blocks")
def test_a_constant_column_is_exactly_zero(value: float, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(50, 3)) + 1e10
    rows[:, 1] = value
    weights = rng.random(50) if weighted else None
    m = Moments.from_array(rows[:20], None if weights is None else weights[:20])
    m = m.update(rows[20:], None if weights is None else weights[20:])
    assert not m.scatter[1].any()
    assert not m.scatter[:, 1].any()
    assert m.scatter[0, 0] > 0
    assert (m.mean[1], m.centre[1], m.residual[1]) == (value, value, 0.0)
    assert m.minimum[1] == m.maximum[1] == value


def test_no_rows_one_row_one_column() -> None:
    none = Moments.from_array(np.empty((0, 2)))
    assert (none.weight, none.n_rows, none.minimum[0], none.maximum[0]) == (0.0, 0, np.inf, -np.inf)
    assert not none.mean.any()
    one = Moments.from_array([[5.0, -1e10]])
    assert one.mean.tolist() == [5.0, -1e10]
    assert not one.scatter.any()
    assert not one.covariance.any()
    single = Moments.from_array([[1.0], [3.0]])
    assert single.scatter.tolist() == [[2.0]]


def test_an_empty_part_is_neutral() -> None:
    m = Moments.from_array(SMALL)
    nothing = Moments.empty(2)
    assert m.merge(nothing) is m
    assert nothing.merge(m) is m
    assert m.update(np.empty((0, 2))) is m
    assert m.update(SMALL, [0, 0, 0]) is m
    assert nothing.merge(nothing).weight == 0.0


def test_rows_of_weight_zero_are_as_if_absent() -> None:
    rows = np.array([[1.0, 2.0], [np.nan, 1e200], [3.0, 5.0], [-np.inf, -99.0]])
    m = Moments.from_array(rows, [1.0, 0.0, 1.0, 0.0])
    wanted = Moments.from_array(rows[[0, 2]], [1.0, 1.0])
    for name in ("weight", "n_rows", "centre", "residual", "scatter", "minimum", "maximum"):
        assert np.array_equal(getattr(m, name), getattr(wanted, name)), name


def test_fractional_weights_match_the_naive_twin() -> None:
    rng = np.random.default_rng(5)
    rows, weights = rng.normal(size=(500, 4)) * [1, 1e-6, 1e6, 1] + 50.0, rng.random(500) ** 8
    mean, scatter = naive(rows, weights)
    m = Moments.from_array(rows, weights)
    assert_scatter(m.scatter, scatter, 1e-13)
    assert np.abs((m.mean - mean) / rows.std(axis=0)).max() <= 1e-9


def test_a_far_outlier_of_next_to_no_weight_costs_no_digits() -> None:
    # Were the first row the centre for good, all later differences would round to 1e-6.
    rng = np.random.default_rng(6)
    rows = np.vstack([[1e10, -1e10], rng.normal(size=(400, 2))])
    weights = np.r_[1e-30, np.ones(400)]
    _, scatter = naive(rows, weights)
    whole = Moments.from_array(rows, weights)
    chain = Moments.empty(2)
    for row, weight in zip(rows, weights, strict=True):
        chain = chain.update(row[None], [weight])
    assert_scatter(whole.scatter, scatter)
    assert_scatter(chain.scatter, scatter)


def test_a_first_row_of_next_to_no_weight_beyond_all_digits() -> None:
    # 1 is not seen beside 1e100: a block that starts from its first row would lose all the others.
    rng = np.random.default_rng(2)
    rows, weights = np.vstack([[1e100, 1e20], rng.normal(size=(500, 2))]), np.r_[1e-250, rng.random(500)]
    mean, scatter = naive(rows[1:], weights[1:])
    m = Moments.from_array(rows, weights)
    assert_scatter(m.scatter, scatter)
    assert np.abs(m.mean - mean).max() <= 1e-15


def test_the_whole_allowed_range_without_overflow() -> None:
    m = Moments.from_array([[1e150, -1e150], [-1e150, 1e150]])
    assert np.allclose(m.scatter, [[2e300, -2e300], [-2e300, 2e300]], rtol=1e-15, atol=0)
    assert m.mean.tolist() == [0.0, 0.0]
    merged = Moments.from_array([[1e150]]).merge(Moments.from_array([[-1e150]]))
    assert merged.scatter[0, 0] == pytest.approx(2e300, rel=1e-15)


def test_arrays_are_read_only_and_own_their_memory() -> None:
    m = Moments.from_array(SMALL)
    copies = (m, m.update(SMALL), pickle.loads(pickle.dumps(m)), copy.deepcopy(m))  # noqa: S301
    for each in copies:
        for name in ("centre", "residual", "scatter", "minimum", "maximum"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(each, name)[0] = 1.0
    with pytest.raises(AttributeError):
        m.weight = 4.0  # type: ignore[misc]
    assert np.array_equal(copies[2].scatter, m.scatter)


def test_the_constructor_copies_and_checks_shapes() -> None:
    mine = np.eye(2)
    zeros = np.zeros(2)
    m = Moments(1.0, 1, zeros, zeros, mine, zeros, zeros)
    mine[0, 0] = 99.0
    assert m.scatter[0, 0] == 1.0
    with pytest.raises(ValueError, match=r"The scatter must have shape \(2, 2\), but has shape \(3, 3\)"):
        Moments(1.0, 1, zeros, zeros, np.eye(3), zeros, zeros)
    with pytest.raises(ValueError, match="at least one entry"):
        Moments.empty(0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_no_full_size_copy(order: str) -> None:
    rows = np.ones((400_000, 20), dtype=np.float32, order=order)  # type: ignore[call-overload]
    tracemalloc.start()
    try:
        Moments.from_array(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < rows.nbytes / 4  # as float64 the table alone would take twice rows.nbytes


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[1.0, np.nan], [np.inf, 2.0], [np.nan, 3.0]], "Column 0 has 2 values that are NaN or infinite "),
        ([[1.0, 2.0], [1.0, np.nan]], "Column 1 has 1 value that is NaN or infinite; all values must be"),
        ([[1.0, None]], "Column 1 has 1 value that is NaN or infinite"),
        ([[1.0, 1e151]], r"Column 1 has 1 value that is too large in size; .*within \+-1e\+150, so rescale"),
        ([[-1.1e150, 0.0]], "Column 0 has 1 value that is too large"),
        ([["a", "b"]], "must hold real numbers, but its type is <U1"),
        ([["1", "2"]], "encode text and dates as numbers"),
        ([[1.0, "2"]], "must hold real numbers"),
        (np.array([[1.0, "2"]], dtype=object), "Column 1 has a value of type str; all values must be real"),
        (np.array([[1j, 2]], dtype=object), "Column 0 has a value of type complex"),
        (np.array([[10**400]], dtype=object), "integer beyond float64"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "datetime64"),
        ([[1 + 2j]], "Complex data not supported"),
        ([1.0, 2.0], r"must be two-dimensional \(rows, columns\), but it has 1 dimension"),
        (np.zeros((2, 2, 2)), "but it has 3 dimension"),
        (3.0, "but it has 0 dimension"),
        ([[1.0, 2.0], [3.0]], "rows of the table have different lengths"),
        (np.empty((3, 0)), "has 0 columns"),
        (np.ma.masked_invalid([[1.0, np.nan]]), "masked values"),
    ],
)
def test_what_is_refused(rows: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        Moments.from_array(rows)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message.endswith(".")
    assert ". " not in message


def test_errors_use_names_and_count_over_all_blocks(tiny_blocks: None) -> None:
    rows = np.ones((40, 2))
    rows[[1, 20, 39], 1] = np.nan
    with pytest.raises(ValueError, match=r"^Column 'flow' has 3 values that are NaN or infinite; "):
        Moments.from_array(rows, names=["level", "flow"])
    with pytest.raises(ValueError, match="1 names for 2 columns"):
        Moments.from_array(rows, names=["level"])
    with pytest.raises(ValueError, match=r"^Column 'flow' has 3 "):
        Moments.empty(2).update(rows, names=["level", "flow"])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0, 2.0], r"Weights must have shape \(3,\), one per row, but have shape \(2,\)"),
        ([[1.0], [1.0], [1.0]], r"have shape \(3, 1\)"),
        ([1.0, -0.5, 1.0], r"weight of row 1 is -0\.5; weights must not be negative"),
        ([1.0, 1.0, np.nan], "weight of row 2 is nan; weights must be finite"),
        ([np.inf, 1.0, 1.0], "weight of row 0 is inf"),
        (["1", "1", "1"], "Weights must be real numbers"),
        ([1e308, 1e308, 1e308], "sum of the weights exceeds"),
    ],
)
def test_which_weights_are_refused(weights: list[float], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Moments.from_array(SMALL, weights)


def test_overflow_is_an_error_not_a_warning() -> None:
    with pytest.raises(ValueError, match="scatter of column 'b' exceeds the largest float64"):
        Moments.from_array([[0.0, 1e150], [0.0, -1e150]], [1e10, 1e10], names=["a", "b"])
    low = Moments.from_array([[-1e150]], [1e10])
    with pytest.raises(ValueError, match="scatter of column 0 exceeds"):
        low.merge(Moments.from_array([[1e150]], [1e10]))
    heavy = Moments.from_array([[1.0]], [1e308])
    with pytest.raises(ValueError, match="total weight exceeds"):
        heavy.merge(heavy)


def test_different_columns_do_not_merge() -> None:
    with pytest.raises(ValueError, match="Moments of 2 and of 3 columns cannot be merged"):
        Moments.empty(2).merge(Moments.empty(3))
    with pytest.raises(ValueError, match="Moments of 2 and of 1 columns"):
        Moments.from_array(SMALL).update([[1.0]])


def test_no_covariance_of_nothing() -> None:
    with pytest.raises(ValueError, match="No rows of positive weight were seen"):
        _ = Moments.empty(2).covariance
