"""Moments of rows with gaps: what they say of the data, in parts and in bounded memory, and the sentences of errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from aspca.moments import IncompleteMoments, Moments, incomplete, patterns


def with_gaps(rows: np.ndarray, share: float, seed: int = 0) -> np.ndarray:
    return np.where(np.random.default_rng([seed, 7]).random(rows.shape) < share, np.nan, rows)


def correlated(n: int, p: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 5.0


# ---- what it says of the data


def test_without_gaps_it_is_exactly_the_moments() -> None:
    rows, weights = correlated(5000, 7), np.random.default_rng(1).integers(0, 4, size=5000)
    for given in (None, weights):
        done = IncompleteMoments.from_array(rows, given).completed()
        plain = Moments.from_array(rows, given)
        assert (done.iterations, done.converged, done.n_rows_left_out) == (0, True, 0)
        for name in ("weight", "n_rows", "centre", "residual", "scatter", "minimum", "maximum"):
            assert np.array_equal(getattr(done.moments, name), getattr(plain, name)), name
    half = IncompleteMoments.from_array(rows[:3000]).update(rows[3000:]).completed().moments
    assert np.array_equal(half.scatter, Moments.from_array(rows[:3000]).update(rows[3000:]).scatter)


def test_counts_extremes_and_rows_without_any_value() -> None:
    nan = np.nan
    rows = np.array([[1.0, nan, 3.0], [nan, nan, nan], [4.0, 5.0, nan], [2.0, 7.0, 9.0], [0.0, 1.0, 1.0]])
    found = IncompleteMoments.from_array(rows)
    assert (found.n_features, found.n_rows, found.weight) == (3, 5, 5.0)
    assert found.n_missing.tolist() == [1, 2, 2]
    done = found.completed()
    assert done.n_rows_left_out == 1
    assert (done.moments.n_rows, done.moments.weight) == (4, 4.0)
    assert done.moments.minimum.tolist() == [0.0, 1.0, 1.0]
    assert done.moments.maximum.tolist() == [4.0, 7.0, 9.0]
    assert np.array_equal(done.moments.scatter, done.moments.scatter.T)


def test_weights_are_repeated_rows() -> None:
    rows = with_gaps(correlated(90, 4), 0.2)
    counts = np.random.default_rng(1).integers(0, 4, size=90)
    weighted = IncompleteMoments.from_array(rows, counts)
    repeated = IncompleteMoments.from_array(np.repeat(rows, counts, axis=0))
    assert weighted.weight == repeated.weight
    one, other = weighted.completed().moments, repeated.completed().moments
    # A scatter converges in units of its columns' deviations: a small entry has fewer digits than its columns.
    sizes = np.sqrt(np.diagonal(other.scatter))
    assert (np.abs(one.scatter - other.scatter) <= 1e-10 * np.outer(sizes, sizes)).all()
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)
    assert one.n_rows == (counts[~np.isnan(rows).all(axis=1)] > 0).sum()


def test_columns_that_do_not_vary_where_present() -> None:
    rows = with_gaps(correlated(60, 4), 0.2)
    rows[~np.isnan(rows[:, 1]), 1] = 0.1
    rows[:, 3] = np.nan
    rows[5] = [np.nan, 0.1, np.nan, 3.0]
    done = IncompleteMoments.from_array(rows).completed().moments
    assert not done.scatter[[1, 3]].any()
    assert (done.centre[[1, 3]].tolist(), done.residual[[1, 3]].tolist()) == ([0.1, 3.0], [0.0, 0.0])
    constant = IncompleteMoments.from_array([[1.0, np.nan], [np.nan, 2.0]]).completed()
    assert not constant.moments.scatter.any()
    assert (constant.converged, constant.moments.mean.tolist()) == (True, [1.0, 2.0])


def test_steps_are_limited_and_said_to_be() -> None:
    found = IncompleteMoments.from_array(with_gaps(correlated(60, 4), 0.3))
    short = found.completed(max_iter=3)
    assert (short.iterations, short.converged) == (3, False)


# ---- parts and memory


def test_slices_and_batches_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = with_gaps(correlated(700, 5), 0.15)
    whole = IncompleteMoments.from_array(rows)
    monkeypatch.setattr(incomplete, "SLICE_VALUES", 5 * 40)
    monkeypatch.setattr(patterns, "CHUNK_VALUES", 64)
    sliced = IncompleteMoments.empty(5)
    for batch in np.array_split(rows[::-1], 9):
        sliced = sliced.update(batch)
    one, other = whole.completed(), sliced.completed()
    scale = np.sqrt(np.diagonal(one.moments.scatter))
    assert np.abs((one.moments.scatter - other.moments.scatter) / np.outer(scale, scale)).max() < 1e-12
    assert np.abs(one.moments.mean - other.moments.mean).max() < 1e-12
    assert (whole.n_rows, whole.n_missing.tolist()) == (sliced.n_rows, sliced.n_missing.tolist())


def test_what_is_kept_is_bounded_and_what_is_left_out_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incomplete, "MOST_VALUES", 2000)
    rows = correlated(3000, 8)
    rows[::2, 3] = np.nan
    scattered = with_gaps(rows, 0.25)
    scattered[::3] = rows[::3]
    found = IncompleteMoments.empty(8)
    for batch in np.array_split(scattered, 60):
        found = found.update(batch)
        held = sum(m.scatter.size for key, m in found.common.items() if any(key))
        held += sum(part.values.size for part in found.rare)
        assert held <= 2000
    done = found.completed()
    assert found.n_rows == 3000
    assert 0 < done.n_rows_left_out < 3000
    assert done.moments.n_rows + done.n_rows_left_out == 3000
    assert np.array_equal(found.n_missing, np.isnan(scattered).sum(axis=0))
    # The two patterns that make up a third of the rows are all there.
    assert sum(m.n_rows for m in found.common.values()) >= 1000
    np.testing.assert_allclose(done.moments.covariance, np.cov(correlated(3000, 8).T), rtol=0.3, atol=1.0)


def test_patterns_of_the_first_columns_of_a_wide_table_count_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond eight columns a pattern is more than a byte, and all but the first may be zero."""
    monkeypatch.setattr(incomplete, "MOST_VALUES", 5000)
    rows = correlated(3000, 17)
    rows[:, :8] = with_gaps(rows[:, :8], 0.25)
    for column in range(6):
        # Six patterns that are common, 256 numbers each.
        rows[column::12] = correlated(3000, 17)[column::12]
        rows[column::12, column] = np.nan
    found, most = IncompleteMoments.empty(17), 0
    for batch in np.array_split(rows, 60):
        found = found.update(batch)
        held = sum(m.scatter.size for m in found.common.values() if m.n_features < 17)
        held += sum(part.values.size for part in found.rare)
        most = max(most, held)
    assert len(found.common) >= 6
    assert 4000 < most <= 5000


def test_as_many_values_as_there_is_memory_for_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = np.array([[1.0, np.nan, np.nan], [np.nan, 2.0, np.nan]]), np.array([[np.nan, np.nan, 3.0]])
    for most, left_out in ((9, 0), (8, 2)):
        # Down to half of it: a row of three values.
        monkeypatch.setattr(incomplete, "MOST_VALUES", most)
        found = IncompleteMoments.from_array(one).update(other)
        assert (found.n_rows, found.n_left_out) == (3, left_out)


def test_it_is_a_value() -> None:
    rows = with_gaps(correlated(50, 3), 0.2)
    before = rows.copy()
    found = IncompleteMoments.from_array(rows)
    first = found.completed().moments.scatter
    rows[:] = 0.0
    found.update(with_gaps(correlated(50, 3, seed=2), 0.2))
    assert np.array_equal(found.completed().moments.scatter, first)
    assert "50 rows of 3 features" in repr(found)
    for twin in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):  # noqa: S301
        assert np.array_equal(twin.completed().moments.scatter, first)
    assert np.array_equal(IncompleteMoments.from_array(before).completed().moments.scatter, first)
    with pytest.raises(ValueError, match="read-only"):
        found.n_missing[0] = 9


def test_nothing_is_neutral() -> None:
    found = IncompleteMoments.from_array(with_gaps(correlated(50, 3), 0.2))
    nothing = IncompleteMoments.from_array(np.zeros((0, 3)))
    for same in (found.merge(nothing), nothing.merge(found), found.update(np.zeros((0, 3)))):
        assert np.array_equal(same.completed().moments.scatter, found.completed().moments.scatter)
    done = nothing.completed()
    assert (done.moments.weight, done.moments.n_rows, done.n_rows_left_out) == (0.0, 0, 0)


def test_other_kinds_of_tables() -> None:
    objects = np.array([[1, None], [2.5, 3], [4, 1], [None, 2]], dtype=object)
    floats = np.array([[1, np.nan], [2.5, 3], [4, 1], [np.nan, 2]], dtype=np.float32)
    lists = [[1.0, np.nan], [2.5, 3.0], [4.0, 1.0], [np.nan, 2.0]]
    results = [IncompleteMoments.from_array(table).completed().moments.scatter for table in (objects, floats, lists)]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


# ---- sentences


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[1.0, np.nan], [np.inf, 2.0]], r"Column 'a' has 1 value that is infinite or too large in size; .* NaN\.$"),
        ([[np.nan, 1e151], [1.0, -2e150]], r"Column 'b' has 2 values that are infinite or too large"),
        ([[np.inf, 1.0], [1.0, 2.0]], r"Column 'a' has 1 value that is NaN or infinite"),
        ([[np.nan, "x"]], r"real numbers"),
        ([1.0, np.nan], r"two-dimensional"),
    ],
)
def test_tables_that_cannot_be_taken(rows: list[object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        IncompleteMoments.from_array(rows, names=["a", "b"])


def test_other_sentences() -> None:
    found = IncompleteMoments.from_array([[1.0, np.nan, np.nan], [2.0, np.nan, np.nan]])
    with pytest.raises(ValueError, match=r"^Column 1 has no value at all \(and so have 1 other columns\); .* column"):
        found.completed()
    with pytest.raises(ValueError, match=r"^Column 'b' has no value at all"):
        found.completed(names=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"^Column 0 has no value at all"):
        IncompleteMoments.from_array([[np.nan]]).completed()
    with pytest.raises(ValueError, match="of 3 and of 2 columns cannot be merged"):
        found.update([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"tol is 0\.0; it must be positive"):
        found.completed(tol=0.0)
    with pytest.raises(ValueError, match="max_iter is 0"):
        found.completed(max_iter=0)
    heavy = IncompleteMoments.from_array([[1.0, np.nan]], [1.7e308])
    with pytest.raises(ValueError, match="total weight exceeds"):
        heavy.merge(heavy)
