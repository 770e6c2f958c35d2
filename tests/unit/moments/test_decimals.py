"""Decimals of columns against the numbers as Python prints them, in batches, merges and gaps."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import twins
from aspca import Moments
from aspca.moments import IncompleteMoments
from aspca.moments.blocks import CONTINUOUS, MOST_DECIMALS, find_decimals

# Whole numbers of steps, as somebody may have typed them: at most fifteen digits, which every float64 keeps.
TYPED = st.integers(0, 8).flatmap(
    lambda decimals: st.lists(
        st.integers(-(10**9), 10**9).map(lambda whole: whole / 10.0**decimals), min_size=1, max_size=90
    )
)


@settings(max_examples=300, deadline=None)
@given(TYPED)
@example([0.1 + 0.2])
@example([1e6 + 0.01])
@example([0.0])
@example([-0.0, 5e-7])
def test_they_are_those_of_the_numbers_as_printed(values: list[float]) -> None:
    found = int(find_decimals(np.array([values]))[0])
    # 0.1 + 0.2 is printed with seventeen digits, and is 0.3 but for a rounding.
    expected = twins.find_decimals([float(f"{value:.15g}") for value in values])
    assert found == expected


@settings(max_examples=100, deadline=None)
@given(TYPED, st.integers(0, 3))
def test_a_column_with_an_offset_keeps_its_steps(values: list[float], decimals: int) -> None:
    """Steps of a hundredth at an offset of ten million: the rounding of such numbers is no digit."""
    column = np.array([round(value, decimals) for value in values]) + 1e7
    column = np.array([float(f"{value:.{decimals}f}") for value in column])
    assert find_decimals(column[None])[0] == twins.find_decimals(column.tolist()) <= decimals


@settings(max_examples=60, deadline=None)
@given(TYPED, TYPED, st.integers(0, 2**32 - 1))
def test_batches_and_merges_take_the_most_of_their_parts(one: list[float], other: list[float], seed: int) -> None:
    parts = [np.array([one]).T, np.array([other]).T]
    whole = np.vstack(parts)
    expected = find_decimals(whole.T).tolist()
    assert Moments.from_array(whole).decimals.tolist() == expected
    merged = Moments.from_array(parts[0]).merge(Moments.from_array(parts[1]))
    assert merged.decimals.tolist() == expected
    assert expected == [max(int(find_decimals(part.T)[0]) for part in parts)]
    moments = Moments.empty(1)
    for part in np.array_split(np.random.default_rng(seed).permutation(whole), 3):
        moments = moments.update(part)
    assert moments.decimals.tolist() == expected
    # Rows without weight are not there.
    weights = np.concatenate([np.ones(len(one)), np.zeros(len(other))])
    assert Moments.from_array(whole, weights).decimals.tolist() == find_decimals(parts[0].T).tolist()


def test_blocks_do_not_matter() -> None:
    """The first digit more may stand anywhere: in the first rows, after them, or in the last of many blocks."""
    rng = np.random.default_rng(0)
    for row in (0, 63, 64, 5000, 199_999):
        X = rng.integers(0, 100, size=(200_000, 2)).astype(float)
        X[row, 1] = 0.25
        assert Moments.from_array(X).decimals.tolist() == [0, 2]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.3, 0.6]))
def test_gaps_are_no_values(seed: int, share: float) -> None:
    """What is estimated for a gap has no say in the steps: those of the values that are there, in any batches."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 5, size=4)
    whole = np.round(rng.normal(size=(120, 4)) * 100.0, 0) / 10.0**steps
    gapped = np.where(rng.random(whole.shape) < share, np.nan, whole)
    gapped[:2] = whole[:2]
    kept = gapped[~np.isnan(gapped).all(axis=1)]
    expected = [int(find_decimals(column[~np.isnan(column)][None])[0]) for column in kept.T]
    assert all(found <= step for found, step in zip(expected, steps, strict=True))
    rows = IncompleteMoments.from_array(gapped)
    assert rows.completed().moments.decimals.tolist() == expected
    parts = [IncompleteMoments.from_array(part) for part in np.array_split(gapped, 3)]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert merged.completed().moments.decimals.tolist() == expected


def test_limits_of_what_is_a_step() -> None:
    assert MOST_DECIMALS == 6
    assert find_decimals(np.array([[0.000001], [0.0000001], [123456.0], [2.0**52], [2.0**54]])).tolist() == [
        *(6, CONTINUOUS, 0, 0, CONTINUOUS)
    ]
    # Single precision: 0.1 of float32 is no tenth.
    assert find_decimals(np.array([[np.float64(np.float32(0.1))]])).tolist() == [CONTINUOUS]
    assert find_decimals(np.zeros((2, 0))).tolist() == [0, 0]
    assert find_decimals(np.zeros((0, 5))).tolist() == []
    for huge in (1e150, -1e150, 5e-324):
        assert find_decimals(np.array([[huge]])).tolist() == [CONTINUOUS]
