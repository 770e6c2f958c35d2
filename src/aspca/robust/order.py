"""Medians and quantiles of columns too long for memory: numbers counted by their leading bits, counts summed exactly.

The bits of a float64, read as an integer, are in the order of the numbers. Counting by the first sixteen of them tells
in which sixteenth of a power of two a quantile lies, in one pass and whatever the range; a second pass counts by the
next sixteen inside it. Counts add up, so neither parts nor their order matter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
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
# Columns that are counted at once: 640 KB for each.
_AT_ONCE = 256
# Numbers of a column that are counted at once: one count takes as long as there are bins.
_HELD = 1 << 16
# The first sixteen bits of zero's key.
_ZERO = 0x8000
# The first sixteen bits of infinity, plus one.
_NAN = 0xFFF1


def medians(rows: Rows, p: int) -> Floats:
    """The medians (p,) of columns of rows (n, p), to one part in 2^20; NaN is passed over."""
    return np.concatenate([_medians(some, many) for some, many in _by_columns(rows, p)])


def _medians(rows: Rows, p: int) -> Floats:
    within = rows.gather(lambda: _Counts(p)).within(0.5)
    fine = rows.gather(lambda: _Counts(p, within.prefix))
    return _numbers(within.prefix, fine.within(within.rank_left).bins)


def median_sizes(rows: Rows, p: int) -> Floats:
    """The medians (p,) of sizes, to one part in sixteen."""
    parts = _by_columns(rows.through(_sizes), p)
    return np.concatenate([some.gather(partial(_Counts, many)).middle() for some, many in parts])


def sizes_and_others(rows: Rows, p: int) -> tuple[Floats, Floats, Ints]:
    """The medians (p,) of sizes, the same of those that are not zero, and how many these are (p,)."""
    found = [_sizes_and_others(some, many) for some, many in _by_columns(rows.through(_sizes), p)]
    sizes, others, counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return sizes, others, counts


def _sizes_and_others(rows: Rows, p: int) -> tuple[Floats, Floats, Ints]:
    counts, zeros = rows.gather(lambda: Together(_Counts(p), _Zeros(p))).parts
    sizes = counts.middle()
    return sizes, counts.without_zeros(zeros.zeros).middle(), zeros.n_rows - zeros.zeros


def _by_columns(rows: Rows, p: int) -> Iterator[tuple[Rows, int]]:
    """Some columns at a time, and how many: counts of all columns of a wide table would take more than its rows."""
    if p <= _AT_ONCE:
        yield rows, p
        return
    for first in range(0, p, _AT_ONCE):
        columns = slice(first, min(first + _AT_ONCE, p))
        yield rows.through(_Columns(columns)), columns.stop - columns.start


@dataclass(frozen=True)
class _Columns:
    """Makes rows of some of their columns."""

    columns: slice

    def __call__(self, rows: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        return rows[:, self.columns], numbers


def quantile(values: Rows, share: float) -> float:
    """The `share` quantile of one column, rounded up by one part in sixteen at most: so many values lie within."""
    counts = values.gather(lambda: _Counts(1))
    next_bin = _numbers(counts.within(share).prefix + 1, np.zeros(1, dtype=np.int64))
    return float(np.nextafter(next_bin, -np.inf)[0])


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
        """The same counts without so many zeros of each column (p,); these are not there any more."""
        self.counts[:, _ZERO] -= zeros
        return self

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
        bins, ranks = np.zeros(len(self.counts), dtype=np.int64), np.zeros(len(self.counts), dtype=np.int64)
        for column, counts in enumerate(self.counts):
            reached = np.cumsum(counts)
            total = int(reached[-1])
            rank = int(np.ceil(share * total)) if isinstance(share, float) else int(share[column])
            rank = min(max(rank, 1), max(total, 1))
            at = min(int(np.searchsorted(reached, rank)), _BINS - 1)
            bins[column], ranks[column] = at, rank - (int(reached[at - 1]) if at else 0)
        return _Within(bins, ranks)


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
