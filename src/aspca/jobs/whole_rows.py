"""What is gross in a table with gaps: looked for among the rows without any, and learned without where there is some.

Rows with gaps are judged by the values that they have, whether they were learned from or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from aspca.judging.crossfit import Batches
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments import IncompleteMoments
from aspca.robust import RobustMoments, robust_moments

# With fewer whole rows, what is whole may be an exception.
_ENOUGH = 0.5


@dataclass(frozen=True, eq=False)
class WholeRows:
    """Moments of what is not gross among the rows without gaps.

    Attributes
    ----------
    robust : RobustMoments
        Its rows have the numbers that they have in the table.
    n_rows : int
        How many rows have no gap.
    """

    robust: RobustMoments
    n_rows: int

    def normal(self, rows: Floats, start: int) -> Bools:
        """Which of the rows (m, p) of the table, from number `start` on, are normal and have no gap (m,)."""
        normal = np.asarray(~np.isnan(rows).any(axis=1))
        normal[normal] = self.robust.normal(rows[normal])
        for first, end in self.robust.aside.states:
            normal[max(first - start, 0) : max(end - start, 0)] = False
        return normal


def whole_rows(batches: Batches, moments: IncompleteMoments) -> WholeRows | None:
    """What is gross among whole rows; None where these are too few.

    Eight bytes are kept for each row with a gap.
    """
    whole = moments.without_gaps
    if whole is None or whole.n_rows < _ENOUGH * moments.n_rows:
        return None

    def of_whole_rows() -> Iterator[Floats]:
        for rows in batches():
            kept = rows[~np.isnan(rows).any(axis=1)]
            if len(kept):
                yield kept

    robust = robust_moments(of_whole_rows, whole)
    aside = robust.aside
    if aside.nothing:
        return WholeRows(robust, whole.n_rows)
    before = _whole_before_gaps(batches)

    def numbers(rows: Ints) -> Ints:
        return np.asarray(rows + np.searchsorted(before, rows, side="right"))

    edges = [numbers(np.array([start, end - 1])).tolist() for start, end in aside.states]
    mapped = replace(
        aside,
        rows=numbers(aside.rows),
        shown=replace(aside.shown, rows=numbers(aside.shown.rows)),
        states=tuple((start, last + 1) for start, last in edges),
    )
    return WholeRows(replace(robust, aside=mapped), whole.n_rows)


def _whole_before_gaps(batches: Batches) -> Ints:
    """For each row with a gap, how many rows without one come before it."""
    found, start = [np.empty(0, dtype=np.intp)], 0
    for rows in batches():
        found.append(start + np.flatnonzero(np.isnan(rows).any(axis=1)))
        start += len(rows)
    gaps = np.concatenate(found)
    return np.asarray(gaps - np.arange(gaps.size))
