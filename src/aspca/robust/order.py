"""Medians and quantiles of columns too long for memory: numbers counted by their leading bits, counts summed exactly.

The bits of a float64, read as an integer, are in the order of the numbers. Counting by the first sixteen of them tells
in which sixteenth of a power of two a quantile lies, in one pass and whatever the range; a second pass counts by the
next sixteen inside it. Counts add up, so neither parts nor their order matter.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.steady import cached_parts
from aspca.moments.rows import Rows, Together

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


def medians(rows: Rows, p: int) -> Floats:
    """The medians (p,) of columns of rows (n, p), to one part in 2^20; NaN is passed over."""
    within = rows.gather(lambda: _Counts(p)).within(0.5)
    fine = rows.gather(lambda: _Counts(p, within.prefix))
    return _numbers(within.prefix, fine.within(within.rank_left).bins)


def median_sizes(rows: Rows, p: int) -> Floats:
    """The medians (p,) of sizes, to one part in sixteen."""
    return rows.through(_sizes).gather(lambda: _Counts(p)).middle()


def sizes_and_others(rows: Rows, p: int) -> tuple[Floats, Floats, Ints]:
    """The medians (p,) of sizes, the same of those that are not zero, and how many these are (p,); in one pass."""
    counts, zeros = rows.through(_sizes).gather(lambda: Together(_Counts(p), _Zeros(p))).parts
    return counts.middle(), counts.without_zeros(zeros.zeros).middle(), zeros.n_rows - zeros.zeros


def quantile(values: Rows, share: float) -> float:
    """The `share` quantile of one column, to one part in sixteen."""
    counts = values.gather(lambda: _Counts(1))
    return float(_numbers(counts.within(share).prefix, np.array([_BINS - 1]))[0])


def _sizes(rows: Floats, numbers: Ints) -> tuple[Floats, Ints]:
    return np.abs(rows), numbers


class _Zeros:
    """How many rows there are, and how many zeros in each column (p,)."""

    def __init__(self, p: int) -> None:
        self.n_rows, self.zeros = 0, np.zeros(p, dtype=np.intp)

    def add(self, rows: Floats, numbers: Ints) -> None:
        self.n_rows, self.zeros = self.n_rows + len(rows), self.zeros + (rows == 0.0).sum(axis=0)

    def merge(self, later: _Zeros) -> None:
        self.n_rows, self.zeros = self.n_rows + later.n_rows, self.zeros + later.zeros


class _Within:
    """Where a quantile lies: its bin in each column, the leading bits, and how far into the bin it is."""

    def __init__(self, bins: npt.NDArray[np.int64], rank_left: npt.NDArray[np.int64]) -> None:
        self.bins, self.rank_left = bins, rank_left
        self.prefix = bins


class _Counts:
    """How many numbers of each column (p,) begin with which sixteen bits; with a prefix (p,), those that begin with its
    bits, by the sixteen that follow."""

    def __init__(self, p: int, prefix: npt.NDArray[np.int64] | None = None) -> None:
        self._prefix = prefix
        self._counts = np.zeros((p, _BINS), dtype=np.int64)
        self._held = np.empty((p, _HELD), dtype=np.uint16)
        self._n_held = 0

    def add(self, rows: Floats, numbers: Ints) -> None:
        for part in cached_parts(*rows.shape):
            leading, following = _words(rows[part])
            if self._prefix is None:
                self._hold(leading)
            else:
                those, columns = np.nonzero(leading == self._prefix.astype(np.uint16))
                np.add.at(self._counts, (columns, following[those, columns]), 1)

    def merge(self, later: _Counts) -> None:
        self._counts += later.counts

    def _hold(self, leading: npt.NDArray[np.uint16]) -> None:
        if self._n_held + len(leading) > _HELD:
            self._count()
        self._held[:, self._n_held : self._n_held + len(leading)] = leading.T
        self._n_held += len(leading)

    def _count(self) -> None:
        if not self._n_held:
            return
        for counts, held in zip(self._counts, self._held[:, : self._n_held], strict=True):
            counts += np.bincount(held, minlength=_BINS)
        # NaN, which comes last of all, is not counted.
        self._counts[:, _NAN:] = 0
        self._n_held = 0

    def __getstate__(self) -> dict[str, Any]:
        """What is sent between machines: of 65,536 bins most are empty."""
        columns, bins = np.nonzero(self.counts)
        return {"p": len(self._counts), "prefix": self._prefix, "at": (columns, bins), "n": self.counts[columns, bins]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["p"], state["prefix"])  # type: ignore[misc]  # an object that is only being made
        self._counts[state["at"]] = state["n"]

    def without_zeros(self, zeros: Ints) -> _Counts:
        """The same counts without so many zeros of each column (p,)."""
        others = _Counts(len(zeros))
        others._counts[:] = self.counts
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
