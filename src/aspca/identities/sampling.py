"""Rows drawn by what they hold: the same ones in any order of rows and columns, any parts, any unit and sign."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.moments.row_hash import Keys, mix

# Values are told apart in so many steps of their column's range: rounding in another unit hardly ever moves one.
_STEPS = float(2**22)
_MISSING = np.uint64(0x9E3779B97F4A7C15)
# Copies of one row may make up this share of a sample: more say no more, and would leave no room for others.
_COPIES = 0.05


@dataclass(frozen=True, eq=False)
class RowHash:
    """Numbers for rows by what they hold; middle and width (p,) are those of the range of each column."""

    middle: Floats
    width: Floats

    @classmethod
    def between(cls, low: Floats, high: Floats) -> RowHash:
        """Of rows whose columns have these extremes (p,)."""
        with np.errstate(all="ignore"):
            middle, width = 0.5 * low + 0.5 * high, high - low
        return cls(np.where(np.isfinite(middle), middle, 0.0), np.where(width > 0.0, width, 1.0))

    def only(self, columns: Ints) -> RowHash:
        """Of some columns."""
        return RowHash(self.middle[columns], self.width[columns])

    def cells(self, rows: Floats) -> Keys:
        """A number for each cell (m, p), the same on both sides of the middle."""
        with np.errstate(all="ignore"):
            steps = np.rint(np.abs(rows - self.middle) / self.width * _STEPS)
            known = steps < 2.0**62
            numbers = np.where(known, steps, 0.0).astype(np.uint64)
        return np.where(known, mix(numbers), _MISSING)

    def keys(self, rows: Floats) -> Keys:
        """A number for each row (m,); the order of columns does not matter."""
        keys = np.zeros(len(rows), dtype=np.uint64)
        for start in range(0, len(rows), 4096):
            part = slice(start, start + 4096)
            keys[part] = mix(self.cells(rows[part]).sum(axis=1, dtype=np.uint64))
        return keys


@dataclass(eq=False)
class LeastRows:
    """The rows of the least keys, at most so many; an accumulator. Where there are more, copies of one row are few."""

    stays_here: ClassVar[tuple[str, ...]] = ("hashes",)

    hashes: RowHash
    most: int
    n_seen: int = 0
    keys: Keys = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    rows: Floats | None = None

    def add(self, rows: Floats, numbers: Ints) -> None:
        self._take(rows, self.hashes.keys(rows), len(rows))

    def _take(self, rows: Floats, keys: Keys, n_seen: int) -> None:
        """Rows (m, p) of these keys (m,), which are the least of so many."""
        if not n_seen:
            return
        self.n_seen += n_seen
        if len(self.keys) == self.most:
            chosen = keys <= self.keys[-1]
            rows, keys = rows[chosen], keys[chosen]
        rows = np.array(rows, dtype=np.float64)
        every = rows if self.rows is None else np.concatenate([self.rows, rows])
        together = np.concatenate([self.keys, keys])
        # Rows of one key are alike; what tells them apart, if anything, puts them in one order.
        order = np.lexsort((np.nan_to_num(every).sum(axis=1), together))
        if self.n_seen > self.most:
            order = order[_copies_before(together[order]) < _COPIES * self.most][: self.most]
        self.keys, self.rows = together[order], every[order]

    def merge(self, later: LeastRows) -> None:
        if later.rows is not None:
            self._take(later.rows, later.keys, later.n_seen)

    def found(self, p: int) -> Floats:
        """The rows (m, p), in the order of their keys."""
        return np.empty((0, p)) if self.rows is None else self.rows


def _copies_before(ordered: Keys) -> Ints:
    """How many of ascending keys (m,) before each are the same."""
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, ordered.size])
    return np.asarray(np.arange(ordered.size) - np.repeat(starts, lengths))
