"""Rows with gaps: what is gross is learned from rows without any, and a gross cell becomes one more gap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.moments import IncompleteMoments, Moments
from aspca.robust.aside import MOST_SHOWN, Aside, GrossCells, Repeated
from aspca.robust.order import Batches
from aspca.robust.passes import RobustMoments, robust_moments
from aspca.robust.sieve import Sieve


def robust_gaps(batches: Batches, p: int) -> tuple[IncompleteMoments | None, RobustMoments]:
    """Moments of rows with gaps, gross cells being such and gross rows left out; and what is gross.

    None where nothing is gross, or where too few rows are without gaps to tell: then there were no passes.

    Parameters
    ----------
    batches : callable
        Gives the rows in batches (m, p), the same each time, NaN being a gap.
    """

    def whole() -> Iterator[Floats]:
        return (rows[~np.isnan(rows).any(axis=1)] for rows in batches())

    plain = Moments.empty(p)
    for rows in whole():
        plain = plain.update(rows)
    found = robust_moments(whole, plain)
    if found.sieve is None:
        return None, found
    # Numbers of rows without gaps are not those of all rows: where these were in another state is not known.
    sieve = replace(found.sieve, states=())
    kept, aside = _sifted(batches, sieve, p)
    passes = found.aside.passes + 2
    repeated = tuple(
        Repeated(one.column, one.value, int(sum((rows[:, one.column] == one.value).sum() for rows in batches())))
        for one in found.aside.repeated
    )
    aside = replace(aside, passes=passes + len(repeated), repeated=repeated)
    return kept, replace(found, aside=aside, sieve=sieve)


def _sifted(batches: Batches, sieve: Sieve, p: int) -> tuple[IncompleteMoments, Aside]:
    kept, distance = IncompleteMoments.empty(p), sieve.distance
    n_rows, cells, start = 0, np.zeros(p, dtype=np.intp), 0
    numbers, shown = np.zeros(0, dtype=np.intp), GrossCells.none()
    for rows in batches():
        gaps = np.isnan(rows)
        # What is not there cannot be wrong: the likeliest values stand for it.
        filled = np.where(gaps, distance.unscaled(distance.filled(distance.scaled(rows), gaps)), rows)
        found = sieve.sift(filled)
        gross = found.cells & ~gaps[found.bad] & found.mended[:, None]
        cleaned = rows.copy()
        cleaned[found.bad] = np.where(gross, np.nan, rows[found.bad])
        cleaned = np.delete(cleaned, found.bad[~found.mended], axis=0)
        kept = kept.update(cleaned)
        n_rows += int((~found.mended).sum())
        cells += gross.sum(axis=0)
        those = gross.any(axis=1) | ~found.mended
        numbers = np.concatenate([numbers, start + found.bad[those]])[:MOST_SHOWN]
        shown = shown.more(start + found.bad, rows[found.bad], found.likeliest, gross)
        start += len(rows)
    return kept, Aside(n_rows, cells, numbers, 0, shown)
