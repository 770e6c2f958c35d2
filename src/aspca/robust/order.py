"""Medians and quantiles of columns too long for memory: numbers counted by their leading bits, counts summed exactly.

The bits of a float64, read as an integer, are in the order of the numbers. Counting by the first sixteen of them tells
in which sixteenth of a power of two a quantile lies, in one pass and whatever the range; a second pass counts by the
next sixteen inside it. Counts add up, so neither parts nor their order matter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.steady import cached_parts

_GOLDEN = 0.6180339887498949
_BITS = 16
_BINS = 1 << _BITS
_SIGN = np.uint64(1 << 63)
_SIGN_OF_16 = np.uint16(1 << 15)
# Where the first and the second sixteen bits of a float64 stand among its four words.
_FIRST, _SECOND = (3, 2) if sys.byteorder == "little" else (0, 1)
# Numbers of a column that are counted at once: one count takes as long as there are bins.
_HELD = 1 << 16
# The first sixteen bits of zero's key.
_ZERO = 0x8000
# The first sixteen bits of infinity, plus one.
_NAN = 0xFFF1

Batches = Callable[[], Iterable[Floats]]


def medians(batches: Batches, p: int) -> Floats:
    """The medians (p,) of columns of batches (m, p), to one part in 2^20; NaN is passed over."""
    coarse = _Counts(p)
    for batch in batches():
        coarse.add(batch)
    within = coarse.within(0.5)
    fine = _Counts(p)
    for batch in batches():
        fine.add_within(batch, within.prefix)
    return _numbers(within.prefix, fine.within(within.rank_left).bins)


def median_sizes(batches: Batches, p: int) -> Floats:
    """The medians (p,) of sizes, to one part in sixteen."""
    counts = _Counts(p)
    for batch in batches():
        counts.add(np.abs(batch))
    return counts.middle()


def sizes_and_others(batches: Batches, p: int) -> tuple[Floats, Floats, Ints]:
    """The medians (p,) of sizes, the same of those that are not zero, and how many these are (p,); in one pass."""
    counts, n_rows, zeros = _Counts(p), 0, np.zeros(p, dtype=np.intp)
    for batch in batches():
        counts.add(np.abs(batch))
        n_rows, zeros = n_rows + len(batch), zeros + (batch == 0.0).sum(axis=0)
    sizes = counts.middle()
    return sizes, counts.without_zeros(zeros).middle(), n_rows - zeros


def quantile(values: Iterable[Floats], share: float) -> float:
    """The `share` quantile of numbers in batches (m,), to one part in sixteen."""
    counts = _Counts(1)
    for batch in values:
        counts.add(batch[:, None])
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
        self._counts = np.zeros((p, _BINS), dtype=np.int64)
        self._held = np.empty((p, _HELD), dtype=np.uint16)
        self._n_held = 0

    def add(self, values: Floats) -> None:
        """Count numbers (m, p)."""
        for part in cached_parts(*values.shape):
            leading = _words(values[part])[0]
            if self._n_held + len(leading) > _HELD:
                self._count()
            self._held[:, self._n_held : self._n_held + len(leading)] = leading.T
            self._n_held += len(leading)

    def _count(self) -> None:
        for counts, held in zip(self._counts, self._held[:, : self._n_held], strict=True):
            counts += np.bincount(held, minlength=_BINS)
        # NaN, which comes last of all, is not counted.
        self._counts[:, _NAN:] = 0
        self._n_held = 0

    def add_within(self, values: Floats, prefix: npt.NDArray[np.int64]) -> None:
        """Count those of numbers (m, p) that begin with the bits of a prefix (p,), by the bits that follow."""
        wanted = prefix.astype(np.uint16)
        for part in cached_parts(*values.shape):
            leading, following = _words(values[part])
            rows, columns = np.nonzero(leading == wanted)
            np.add.at(self._counts, (columns, following[rows, columns]), 1)

    def without_zeros(self, zeros: Ints) -> _Counts:
        """The same counts without so many zeros of each column (p,)."""
        others = _Counts(len(zeros))
        self._count()
        others._counts[:] = self._counts
        others._counts[:, _ZERO] -= zeros
        return others

    def middle(self) -> Floats:
        """The medians (p,) of sizes."""
        found = self.within(0.5).prefix
        # The least bin holds zero, and what is as good as that.
        return np.where(found == _ZERO, 0.0, _numbers(found, np.full(len(found), _BINS // 2, dtype=np.int64)))

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """By column and leading bits (p, 2^16)."""
        self._count()
        return self._counts

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


def _words(values: Floats) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """The first sixteen bits, and the next, of integers in the order of the numbers (m, p); NaN becomes the largest."""
    # Minus zero is zero.
    words = np.add(values, 0.0, order="C").view(np.uint16)
    first, second = words[:, _FIRST::4], words[:, _SECOND::4]
    # Of a negative number all bits are turned, of others the first.
    turned = -(first >> np.uint16(15))
    return first ^ (turned | _SIGN_OF_16), second ^ turned


def _numbers(leading: npt.NDArray[np.int64], following: npt.NDArray[np.int64]) -> Floats:
    """The numbers (p,) whose keys begin with these bits."""
    keys = (leading.astype(np.uint64) << np.uint64(64 - _BITS)) | (
        following.astype(np.uint64) << np.uint64(64 - 2 * _BITS)
    )
    bits = np.where(keys & _SIGN, keys ^ _SIGN, ~keys)
    return np.ascontiguousarray(bits).view(np.float64)
