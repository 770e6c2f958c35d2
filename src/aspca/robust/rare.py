"""Rows that are far for a value that hardly any row has, and keep every relation once it counts in it.

Hardly any order has a surcharge, hardly any house a pool. Among the inner rows such a column does not vary, so nothing
is known of its part in any relation, and all rows in which it does look gross. But they look gross alike: by as much
as their value is off, in each direction. One number per direction says how much, the median over such rows, and rows
that are near with that taken into account are no errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.steady import row_products
from aspca.moments import Moments
from aspca.moments.gathered import MomentsOf
from aspca.moments.lots import Lots
from aspca.moments.rows import Rows, Step, Travelling, kept_if
from aspca.robust.inner import Fences
from aspca.robust.sieve import RELATION, Sieve

# Fewer such rows may well be errors; more than this are no better known.
_LEAST, FEW = 10, 4_000
# A direction is off by a value where most rows are this many deviations off, and with it no more than half as much.
_OFF, _EXPLAINED = 2.0, 0.5
# The least part of a relation that is one.
_COUNTS = 1e-3


def rare_rows(rows: Rows, sieve: Sieve, fences: Fences, n_rows: int, lots: Lots) -> tuple[Moments, int]:
    """Moments of the far rows that are so for rare values alone, and the passes it took."""
    p = len(sieve.distance.scale)
    columns = np.flatnonzero((fences.beside >= _LEAST) & (2 * fences.beside < n_rows))
    if not columns.size:
        return Moments.empty(p), 0
    far = rows.through(_far(sieve, fences, columns))
    some = far.gather(partial(_Some.nothing, fences, columns, lots, FEW / n_rows))
    # The others vary among the near rows, too.
    columns = columns[2 * some.counts > fences.beside[columns]]
    effects = _Effects.of(sieve, fences, columns, np.concatenate(some.rows))
    if not columns.size or not effects.known.any():
        return Moments.empty(p), 1
    near = rows.through(_far(sieve, fences, columns)).through(kept_if(effects.near))
    return near.gather(lambda: MomentsOf.nothing(p)).moments, 2


def _far(sieve: Sieve, fences: Fences, columns: Ints) -> Step:
    """Keeps far rows with a rare value."""

    def far(rows: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        those = sieve.far_rows(rows, numbers)
        those = those[fences.unlike(rows[those])[:, columns].any(axis=1)]
        return rows[those], numbers[those]

    return far


@dataclass(eq=False)
class _Some(Travelling):
    """A share of the rows, drawn by lot, and how often each rare column is unlike in all of them (c,)."""

    stays = (
        "fences",
        "columns",
        "lots",
        "share",
    )

    fences: Fences
    columns: Ints
    lots: Lots
    share: float
    counts: Ints
    rows: list[Floats]

    @classmethod
    def nothing(cls, fences: Fences, columns: Ints, lots: Lots, share: float) -> _Some:
        return cls(
            fences, columns, lots, share, np.zeros(columns.size, dtype=np.intp), [np.empty((0, len(fences.size)))]
        )

    def add(self, rows: Floats, numbers: Ints) -> None:
        self.rows.append(rows[self.lots.some(rows, numbers, self.share)])
        self.counts = self.counts + self.fences.unlike(rows)[:, self.columns].sum(axis=0)

    def merge(self, later: _Some) -> None:
        self.rows += later.rows
        self.counts = self.counts + later.counts


@dataclass(frozen=True, eq=False)
class _Effects:
    """How far each rare column moves rows (c, p), per unit, in deviations along the distance's vectors.

    `known` (c,) are those for which it moves most of them alike.
    """

    sieve: Sieve
    fences: Fences
    columns: Ints
    along: Floats
    known: Bools

    @classmethod
    def of(cls, sieve: Sieve, fences: Fences, columns: Ints, rows: Floats) -> _Effects:
        along, known = np.zeros((columns.size, rows.shape[1])), np.zeros(columns.size, dtype=np.bool_)
        effects = cls(sieve, fences, columns, along, known)
        off, moved = effects._off(rows), effects._moved(rows)
        for k in np.argsort(-(off != 0.0).sum(axis=0), kind="stable"):
            # Those with no other rare value tell it best; then those of which the others are known by now.
            those = (off[:, k] != 0.0) & ((off != 0.0)[:, ~known].sum(axis=1) == 1)
            if those.sum() < _LEAST:
                continue
            left = (moved - off @ along)[those]
            effect = np.median(left / off[those, k, None], axis=0)
            before, after = (np.median(np.abs(one), axis=0) for one in (left, left - off[those, k, None] * effect))
            along[k] = np.where((before > _OFF) & (after < _EXPLAINED * before), effect, 0.0)
            known[k] = effects._counts(k) and 2 * effects._is_near((moved - off @ along)[those]).sum() > those.sum()
            if not known[k]:
                along[k] = 0.0
        return effects

    def near(self, rows: Floats) -> Bools:
        """Which of rows (n, p) are near with their rare values taken into account."""
        off = self._off(rows)
        unknown = (off != 0.0)[:, ~self.known].any(axis=1)
        return np.asarray(~unknown & self._is_near(self._moved(rows) - off @ self.along))

    def _counts(self, k: int) -> bool:
        """Whether a column counts in some relation, by its effect or to begin with; if not, it may as well be wrong."""
        tight = self.sieve.distance.values <= RELATION
        loadings = np.abs(self.sieve.distance.vectors[self.columns[k], tight])
        return bool((self.along[k, tight] != 0.0).any() or (loadings > _COUNTS).any())

    def _off(self, rows: Floats) -> Floats:
        """How far rare columns are off what most rows have (n, c), in units of their scale."""
        off = np.where(self.fences.unlike(rows), rows - self.fences.middle, 0.0) / self.sieve.distance.scale
        return np.asarray(off[:, self.columns])

    def _moved(self, rows: Floats) -> Floats:
        distance = self.sieve.distance
        return np.asarray(row_products(distance.scaled(rows), distance.vectors) / np.sqrt(distance.values))

    def _is_near(self, moved: Floats) -> Bools:
        distance, near = self.sieve.distance, self.sieve.near
        pulls = row_products(moved / np.sqrt(distance.values), np.ascontiguousarray(distance.vectors.T))
        cells = (np.square(pulls) / np.diag(distance.inverse)).max(axis=1, initial=0.0)
        return np.asarray((np.square(moved).sum(axis=1) <= near.row) & (cells <= near.cell))
