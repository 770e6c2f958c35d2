"""Medians and quantiles of columns too long for memory: numbers counted by their leading bits, counts summed exactly.

The bits of a float64, read as an integer, are in the order of the numbers. Counting by the first sixteen of them tells
in which sixteenth of a power of two a quantile lies, in one pass and whatever the range; a second pass counts by the
next sixteen inside it. Counts add up, so neither parts nor their order matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats, Ints

_GOLDEN = 0.6180339887498949
_BITS = 16
_BINS = 1 << _BITS
_SIGN = np.uint64(1 << 63)
# The first sixteen bits of zero's key.
_ZERO = 0x8000
# The first sixteen bits of infinity, plus one.
_NAN = 0xFFF1

Batches = Callable[[], Iterable[Floats]]


def medians(batches: Batches, p: int) -> Floats:
    """The medians (p,) of columns of batches (m, p), to one part in 2^20; NaN is passed over."""
    coarse = _Counts(p)
    for batch in batches():
        coarse.add(_keys(batch))
    within = coarse.within(0.5)
    fine = _Counts(p)
    for batch in batches():
        fine.add(_keys(batch), within.prefix)
    return _numbers(within.prefix, fine.within(within.rank_left).bins)


def median_sizes(batches: Batches, p: int) -> Floats:
    """The medians (p,) of sizes, to one part in sixteen."""
    counts = _Counts(p)
    for batch in batches():
        counts.add(_keys(np.abs(batch)))
    found = counts.within(0.5).prefix
    # The least bin holds zero, and what is as good as that.
    return np.where(found == _ZERO, 0.0, _numbers(found, np.full(p, _BINS // 2, dtype=np.int64)))


def quantile(values: Iterable[Floats], share: float) -> float:
    """The `share` quantile of numbers in batches (m,), to one part in sixteen."""
    counts = _Counts(1)
    for batch in values:
        counts.add(_keys(batch[:, None]))
    return float(_numbers(counts.within(share).prefix, np.array([_BINS - 1]))[0])


def scattered(numbers: Ints) -> Floats:
    """A share between 0 and 1 for each number, those of any run of numbers scattered evenly.

    The step is irrational, so that no period of the rows meets it.
    """
    return np.asarray(np.mod(numbers * _GOLDEN, 1.0))


class _Within:
    """Where a quantile lies: its bin in each column, the leading bits, and how far into the bin it is."""

    def __init__(self, bins: npt.NDArray[np.int64], rank_left: npt.NDArray[np.int64]) -> None:
        self.bins, self.rank_left = bins, rank_left
        self.prefix = bins


class _Counts:
    """How many numbers of each column (p,) begin with which sixteen bits."""

    def __init__(self, p: int) -> None:
        self.counts = np.zeros((p, _BINS), dtype=np.int64)

    def add(self, keys: npt.NDArray[np.uint64], prefix: npt.NDArray[np.int64] | None = None) -> None:
        """Count keys (m, p); with a prefix (p,), those that begin with it, by the bits that follow."""
        leading = (keys >> np.uint64(64 - _BITS)).astype(np.int64)
        following = ((keys >> np.uint64(64 - 2 * _BITS)) & np.uint64(_BINS - 1)).astype(np.int64)
        for j in range(keys.shape[1]):
            column = leading[:, j] if prefix is None else following[leading[:, j] == prefix[j], j]
            self.counts[j] += np.bincount(column, minlength=_BINS)
        if prefix is None:
            # NaN, which comes last of all, is not counted.
            self.counts[:, _NAN:] = 0

    def within(self, share: float | npt.NDArray[np.int64]) -> _Within:
        """The bins that hold a quantile, by its share or by its rank in each column."""
        reached = np.cumsum(self.counts, axis=1)
        total = reached[:, -1]
        rank = np.ceil(share * total).astype(np.int64) if isinstance(share, float) else share
        rank = np.clip(rank, 1, np.maximum(total, 1))
        bins = np.array([np.searchsorted(row, one) for row, one in zip(reached, rank, strict=True)], dtype=np.int64)
        bins = np.minimum(bins, _BINS - 1)
        before = np.where(bins > 0, reached[np.arange(len(bins)), np.maximum(bins - 1, 0)], 0)
        return _Within(bins, rank - before)


def _keys(values: Floats) -> npt.NDArray[np.uint64]:
    """Integers in the order of the numbers; NaN becomes the largest."""
    # Minus zero is zero.
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _numbers(leading: npt.NDArray[np.int64], following: npt.NDArray[np.int64]) -> Floats:
    """The numbers (p,) whose keys begin with these bits."""
    keys = (leading.astype(np.uint64) << np.uint64(64 - _BITS)) | (
        following.astype(np.uint64) << np.uint64(64 - 2 * _BITS)
    )
    bits = np.where(keys & _SIGN, keys ^ _SIGN, ~keys)
    return np.ascontiguousarray(bits).view(np.float64)
