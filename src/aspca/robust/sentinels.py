"""Numbers that stand for something else, -9999 for what is missing; and the steps that columns are rounded to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.steady import cached_parts
from aspca.moments import Moments
from aspca.moments.rows import Rows, Travelling
from aspca.robust.aside import like_a_word
from aspca.robust.inner import Fences

# Columns of at most so many decimals, in steps of at most this share of their deviation, are rounded numbers.
_MOST_DECIMALS, _FINE = 4, 0.1
# Whole numbers below this are whole in any of these places, to the last bit.
_WHOLE = 1e9
# A value that stands for "missing" is further from the others than these are from each other, so many times.
_APART = 2.0


@dataclass(frozen=True, eq=False)
class Sentinels:
    """Numbers that stand for something else: `values` (2, p), low and high ones of each column; NaN: there is none.

    `rounding` (p,) is the variance of what the columns' own steps hide: a relation is never known better than that.
    """

    values: Floats
    rounding: Floats

    @property
    def any(self) -> bool:
        return not np.isnan(self.values).all()

    def any_in(self, rows: Floats) -> Bools:
        """Which of rows (n, p) have such a cell (n,)."""
        columns = np.flatnonzero(~np.isnan(self.values).all(axis=0))
        if not columns.size:
            return np.zeros(len(rows), dtype=np.bool_)
        those = rows[:, columns]
        return np.asarray(((those == self.values[0, columns]) | (those == self.values[1, columns])).any(axis=1))


def sentinels_of(rows: Rows, plain: Moments, fences: Fences) -> Sentinels:
    """Values at the edge of a column, met several times, outside its fence and far from all others."""
    edges = np.stack([plain.minimum, plain.maximum])
    found = rows.gather(lambda: _Edges.of(edges))
    inner, times, decimals = found.inner, found.times, found.decimals
    with np.errstate(invalid="ignore"):
        apart = np.stack([inner[0] - edges[0], edges[1] - inner[1]]) > _APART * (inner[1] - inner[0])
    there = apart & (times > 1) & (inner[1] > inner[0]) & np.stack([fences.outside(edge[None])[0] for edge in edges])
    there &= like_a_word(edges, inner[0])
    steps = np.where(decimals <= _MOST_DECIMALS, 10.0 ** -decimals.astype(np.float64), 0.0)
    return Sentinels(np.where(there, edges, np.nan), np.where(steps <= _FINE * fences.size, steps**2 / 12.0, 0.0))


@dataclass(eq=False)
class _Edges(Travelling):
    """How often columns have their extreme values (2, p), what the extremes of all others are (2, p), and the decimals
    that columns need (p,)."""

    stays = ("edges",)

    edges: Floats
    times: Ints
    inner: Floats
    decimals: Ints

    @classmethod
    def of(cls, edges: Floats) -> _Edges:
        p = edges.shape[1]
        inner = np.stack([np.full(p, np.inf), np.full(p, -np.inf)])
        return cls(edges, np.zeros((2, p), dtype=np.intp), inner, np.zeros(p, dtype=np.intp))

    def add(self, rows: Floats, numbers: Ints) -> None:
        for part in (rows[each] for each in cached_parts(*rows.shape)):
            low, high = (part == edge for edge in self.edges)
            self.decimals = _decimals_seen(part, self.decimals)
            self.times = self.times + np.stack([low.sum(axis=0), high.sum(axis=0)])
            rest = np.where(low | high, np.nan, part)
            self._widen(np.fmin.reduce(rest, axis=0, initial=np.inf), np.fmax.reduce(rest, axis=0, initial=-np.inf))

    def merge(self, later: _Edges) -> None:
        self.decimals, self.times = np.maximum(self.decimals, later.decimals), self.times + later.times
        self._widen(*later.inner)

    def _widen(self, low: Floats, high: Floats) -> None:
        self.inner = np.stack([np.fmin(self.inner[0], low), np.fmax(self.inner[1], high)])


def _decimals_seen(rows: Floats, before: Ints) -> Ints:
    """How many decimals columns need (p,) by these rows (m, p) and by those before; one more than the most if more."""
    decimals = before.copy()
    # Of whole numbers no place is worth a look, nor of others those that cannot add anything.
    sizes = np.abs(rows)
    whole = ((rows == np.rint(rows)) & (sizes < _WHOLE)).all(axis=0)
    for places in range(_MOST_DECIMALS + 1):
        columns = np.flatnonzero((decimals <= places) & ~whole)
        steps = rows[:, columns] * 10.0**places
        off = np.abs(steps - np.rint(steps))
        coarse = (off > 1e-6 * np.maximum(np.abs(steps), 1.0)).any(axis=0)
        decimals[columns[coarse]] = places + 1
    return decimals
