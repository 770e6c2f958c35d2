"""Rows drawn by what they hold: the same ones in whatever order, parts and units a table comes.

A row's lot is made of the sum of its values, each as a share of its column's range and with a weight of its own. So a
block of rows, or some rows that stand for all, are the same from a file, a database or a hundred machines. Copies of
one row have one lot, which would be no fair draw where they make up much of a table: rows that are met very often draw
by their numbers instead. Which of them are drawn does not matter then, since they are alike, and how many hardly
depends on their order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import across, row_by_row
from aspca.moments.rows import Travelling

Keys = npt.NDArray[np.uint64]
# A sum is told in so many steps to the range of a column: rounding, in other units, moves hardly a row to the next one,
# and rows are told apart even where one value is a million times further out than the others.
_STEPS_OF_RANGE = 2.0**32
# Steps of rows that draw by number: irrational, so that no period of the rows meets them, and each its own.
_STEPS = (0.6180339887498949, 0.4142135623730951)
# Odd numbers that mix bits well: those of splitmix64.
_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
# Rows are counted by so many leading bits of their keys.
_BITS = 16
# From this share of all rows on, and from so many of them, rows of one kind are met very often.
_OFTEN, _LEAST = 0.001, 8


@dataclass(frozen=True, eq=False)
class Lots:
    """Lots of the rows of a table.

    Attributes
    ----------
    low, weights : ndarray of shape (p,)
        The least value of each column, and what one unit of it adds to the sum.
    often : ndarray of shape (2^16,) or None
        By leading bits of their keys, rows that are met very often; None: there are none.
    """

    low: Floats
    weights: Floats
    often: Bools | None = None

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Lots:
        """Of rows whose columns have these extremes (p,)."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # Weights that are in no simple proportion, or sums of rounded numbers would meet.
            weights = _STEPS_OF_RANGE * (0.5 + _shares(np.arange(low.size, dtype=np.uint64))) / (high - low)
        return cls(np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(weights), weights, 0.0))

    @property
    def uneven(self) -> bool:
        """Whether some rows draw by their numbers."""
        return self.often is not None

    def keys(self, rows: Floats) -> Keys:
        """A number for each of rows (m, p), by their values alone (m,)."""
        return _mixed(np.floor(row_by_row(self._sums, rows)).astype(np.int64).view(np.uint64))

    def _sums(self, rows: Floats) -> Floats:
        # Row by row: what BLAS sums hangs on where in a batch a row stands.
        sums = np.einsum("ij,j->i", across(np.subtract, rows, self.low), self.weights)
        # Where something is missing, nobody draws.
        return np.asarray(np.nan_to_num(sums, copy=False))

    def drawn(self, rows: Floats, numbers: Ints) -> Drawn:
        """The lots of rows (m, p) of these numbers (m,)."""
        keys = self.keys(rows)
        return Drawn(keys, numbers, None if self.often is None else self.often[_leading(keys)])

    def some(self, rows: Floats, numbers: Ints, share: float) -> Bools:
        """Which of rows (m, p) are drawn (m,), if about this share of all is."""
        if share >= 1.0:
            return np.ones(len(rows), dtype=np.bool_)
        return np.asarray(self.drawn(rows, numbers).shares(0) < share)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Lots of m rows: their keys, their numbers, and which draw by number; None: none does."""

    keys: Keys
    numbers: Ints
    by_number: Bools | None

    def shares(self, draw: int) -> Floats:
        """A share between 0 and 1 for each (m,); the draws 0 and 1 have nothing to do with each other."""
        shares = _shares(self.keys ^ np.uint64(draw))
        if self.by_number is None:
            return shares
        return np.where(self.by_number, np.mod(self.numbers * _STEPS[draw], 1.0), shares)


@dataclass(eq=False)
class Repeats(Travelling):
    """Counts rows by leading bits of their keys (2^16,)."""

    stays = ("even",)

    even: Lots
    counts: Ints

    @classmethod
    def nothing(cls, even: Lots) -> Repeats:
        """Of no rows; these lots tell none that are met often."""
        return cls(even, np.zeros(1 << _BITS, dtype=np.intp))

    def add(self, rows: Floats, numbers: Ints) -> None:
        self.count(self.even.keys(rows))

    def count(self, keys: Keys) -> None:
        """Take in rows of these keys (m,)."""
        self.counts = self.counts + np.bincount(_leading(keys), minlength=1 << _BITS)

    def merge(self, later: Repeats) -> None:
        self.counts = self.counts + later.counts

    @property
    def lots(self) -> Lots:
        """The lots of all rows counted."""
        often = self.counts > max(_LEAST, _OFTEN * float(self.counts.sum()))
        return replace(self.even, often=often) if often.any() else self.even


def _mixed(keys: Keys) -> Keys:
    keys = keys + _SPREAD
    keys = (keys ^ (keys >> np.uint64(30))) * _MIX[0]
    keys = (keys ^ (keys >> np.uint64(27))) * _MIX[1]
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def _shares(keys: Keys) -> Floats:
    return np.asarray((_mixed(keys) >> np.uint64(11)) * 2.0**-53)


def _leading(keys: Keys) -> Ints:
    return (keys >> np.uint64(64 - _BITS)).astype(np.intp)
