"""Rows with gaps: what is gross is learned from rows without any, and a gross cell becomes one more gap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments import IncompleteMoments
from aspca.moments.gathered import MomentsOf
from aspca.moments.rows import Rows, Travelling, kept_if
from aspca.robust.aside import MOST_SHOWN, Aside, GrossCells, Repeated
from aspca.robust.passes import RobustMoments, robust_moments
from aspca.robust.sieve import Sieve


def robust_gaps(rows: Rows, p: int) -> tuple[IncompleteMoments | None, RobustMoments]:
    """Moments of rows (n, p) with gaps, gross cells being such and gross rows left out; and what is gross.

    None where nothing is gross, or where too few rows are without gaps to tell: then there were no passes.
    """
    whole = rows.through(kept_if(_without_gaps))
    plain = whole.gather(lambda: MomentsOf.nothing(p, decimals=True)).moments
    found = robust_moments(whole, plain)
    if found.sieve is None:
        return None, found
    # Where rows without gaps were in another state, rows with gaps may have been or not.
    sieve = replace(found.sieve, states=())
    kept = rows.gather(partial(_Kept.nothing, sieve, p, [(one.column, one.value) for one in found.aside.repeated]))
    repeated = tuple(
        Repeated(one.column, one.value, int(times)) for one, times in zip(found.aside.repeated, kept.times, strict=True)
    )
    aside = Aside(kept.n_rows, kept.cells, kept.numbers, found.aside.passes + 2, kept.shown, repeated)
    return kept.moments, replace(found, aside=aside, sieve=sieve)


def _without_gaps(rows: Floats) -> Bools:
    return np.asarray(~np.isnan(rows).any(axis=1))


@dataclass(eq=False)
class _Kept(Travelling):
    """Moments of what is not gross, and what is.

    `times` are how often some columns have some values: `wanted`.
    """

    stays = (
        "sieve",
        "wanted",
    )

    sieve: Sieve
    wanted: list[tuple[int, float]]
    moments: IncompleteMoments
    cells: Ints
    numbers: Ints
    shown: GrossCells
    times: Ints
    n_rows: int = 0

    @classmethod
    def nothing(cls, sieve: Sieve, p: int, wanted: list[tuple[int, float]]) -> _Kept:
        none = np.zeros(0, dtype=np.intp)
        cells, times = np.zeros(p, dtype=np.intp), np.zeros(len(wanted), dtype=np.intp)
        return cls(sieve, wanted, IncompleteMoments.empty(p), cells, none, GrossCells.none(), times)

    def add(self, rows: Floats, numbers: Ints) -> None:
        distance, gaps = self.sieve.distance, np.isnan(rows)
        # What is not there cannot be wrong: the likeliest values stand for it.
        filled = np.where(gaps, distance.unscaled(distance.filled(distance.scaled(rows), gaps)), rows)
        found = self.sieve.sift(filled)
        gross = found.cells & ~gaps[found.bad] & found.mended[:, None]
        cleaned = rows.copy()
        cleaned[found.bad] = np.where(gross, np.nan, rows[found.bad])
        cleaned = np.delete(cleaned, found.bad[~found.mended], axis=0)
        self.moments = self.moments.update(cleaned)
        self.n_rows += int((~found.mended).sum())
        self.cells = self.cells + gross.sum(axis=0)
        those = gross.any(axis=1) | ~found.mended
        self.numbers = np.concatenate([self.numbers, numbers[found.bad[those]]])[:MOST_SHOWN]
        self.shown = self.shown.more(numbers[found.bad], rows[found.bad], found.likeliest, gross)
        for which, (column, value) in enumerate(self.wanted):
            self.times[which] += int((rows[:, column] == value).sum())

    def merge(self, later: _Kept) -> None:
        self.moments, self.n_rows = self.moments.merge(later.moments), self.n_rows + later.n_rows
        self.cells, self.times = self.cells + later.cells, self.times + later.times
        self.numbers = np.concatenate([self.numbers, later.numbers])[:MOST_SHOWN]
        self.shown = self.shown.followed_by(later.shown)
