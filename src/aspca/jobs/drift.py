"""What is no longer as it was in a table: changes, the anomalies beyond them, and means that moved.

Where rules changed, two more passes over the rows tell which anomalies are nothing but rows of a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aspca.identities.sampling import LeastRows, RowHash
from aspca.jobs.keys import NO_KEYS, Keys
from aspca.jobs.progress import Watcher
from aspca.jobs.tables import TableSource, row_numbers
from aspca.jobs.verdicts import JudgedRows, Worst, joined, judged_rows
from aspca.judging.change_text import Change, changes_of
from aspca.judging.changes import Course, Crossings
from aspca.judging.learning import calibrate_by
from aspca.judging.levels import LevelsInParts, Pieces
from aspca.judging.model import Model
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import cached_parts
from aspca.model.constants import SAMPLE_ROWS, SAMPLE_VALUES

if TYPE_CHECKING:
    from aspca.jobs.result import Outcome

# More than this share of the rows are not errors (CORE 6: a later half of a panel has 45 % unusual rows on average);
# fewer rows than these show nothing of a whole.
_UNLIKE, _ENOUGH_ROWS = 0.2, 50


@dataclass(frozen=True, eq=False)
class Drift:
    """What changed in a table.

    Attributes
    ----------
    course : Course
        The order of its rows.
    changes : tuple of Change
    beyond : ndarray or None
        Positions of the anomalies that are more than rows of a change, ascending; None where nothing changed.
    worst : JudgedRows or None
        Those that are furthest off the level of the rows around them, or, outside of changes, off what was learned.
    """

    course: Course
    changes: tuple[Change, ...] = ()
    beyond: Ints | None = None
    worst: JudgedRows | None = None

    def told_first(self, worst: JudgedRows, most: int) -> tuple[JudgedRows, Bools]:
        """The anomalies to tell, and which of them are beyond changes: those first, and then the `worst` of all.

        Else a list of the worst would be one change, row by row.
        """
        if self.worst is None:
            return worst, np.ones(len(worst), dtype=np.bool_)
        rest = worst.take(np.flatnonzero(~np.isin(worst.rows, self.worst.rows)))
        told = joined([self.worst, rest]).take(np.arange(min(most, len(self.worst) + len(rest))))
        return told, np.arange(len(told)) < len(self.worst)


def drift_of(
    model: Model,
    table: TableSource,
    keys: Keys,
    crossings: Crossings,
    when: npt.NDArray[np.generic] | None,
    most: int,
    watcher: Watcher,
) -> Drift:
    """The changes among the rows of a table, which were all judged before.

    Parameters
    ----------
    keys : Keys
        The columns that stand beside rows.
    crossings : Crossings
        Of all rows.
    when : ndarray of shape (n,), or None
        Their times; None: as they are listed.
    most : int
        How many of the worst anomalies beyond changes to keep.
    """
    course = Course(crossings.n, when, lambda position: int(row_numbers(table, np.array(position))))
    changes = changes_of(model, crossings, course)
    if not changes:
        return Drift(course)
    gathered, start = LevelsInParts(model, Pieces.of(changes, course.n)), 0
    for judged in judged_rows(model, table, NO_KEYS, watcher, "Measuring changes"):
        gathered.add(_ranks(course, start, judged), judged.values, judged.judgement)
        start += len(judged)
    levels, worst, start = gathered.levels(), Worst(most), 0
    beyond = []
    for judged in judged_rows(model, table, keys, watcher, "Telling rows apart"):
        verdicts, scores = levels.judge(_ranks(course, start, judged), judged.values, judged.judgement)
        bad = judged.judgement.has_bad_cells
        found = np.flatnonzero(verdicts & ~bad)
        worst.add(judged.take(found), scores[found])
        beyond.append(start + np.flatnonzero(verdicts | bad))
        start += len(judged)
    return Drift(course, changes, np.concatenate(beyond), worst.rows(model))


def differs_as_a_whole(outcome: Outcome) -> bool:
    """Whether so many rows are flagged that the table is another one than was learned from, and not full of errors."""
    return (
        outcome.graded
        and not outcome.changes
        and outcome.n_rows >= _ENOUGH_ROWS
        and outcome.n_anomalies - outcome.n_unread > _UNLIKE * outcome.n_rows
    )


def calibrate_on(model: Model, table: TableSource, watcher: Watcher) -> Model:
    """The same model, its thresholds taken from the rows of a table."""
    space = model.space
    low, high = (
        (space.mean - space.deviations, space.mean + space.deviations) if space.extremes is None else space.extremes
    )
    most = max(min(SAMPLE_ROWS, SAMPLE_VALUES // len(model.names)), 1)
    sample = LeastRows(RowHash.between(low, high), most)
    for judged in judged_rows(model, table, NO_KEYS, watcher, "Comparing rows"):
        sample.add(judged.values, judged.rows)
    return calibrate_by(model, sample.found(len(model.names)))


class Shifts:
    """How far the means of features are off those learned, over rows that come in parts."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._sums, self._counts = np.zeros(len(model.names)), np.zeros(len(model.names))

    def add(self, values: Floats) -> None:
        """More rows (n, p)."""
        sums = np.zeros(self._sums.size)
        for part in cached_parts(*values.shape):
            scaled = self._model.space.centred(values[part])
            unknown = np.isnan(scaled)
            gaps = unknown.sum(axis=0) if unknown.any() else 0
            scaled[unknown] = 0.0
            # Row after row: the sum does not depend on the parts.
            scaled[0] += sums
            sums = scaled.sum(axis=0)
            self._counts += len(scaled) - gaps
        self._sums += sums

    @property
    def in_deviations(self) -> Floats:
        """By feature (p,); zero where nothing varies or is known."""
        units = np.sqrt(self._model.space.variances) * self._counts
        return np.divide(self._sums, units, out=np.zeros_like(units), where=units > 0.0)


def _ranks(course: Course, start: int, judged: JudgedRows) -> Ints:
    return course.ranks(np.arange(start, start + len(judged)))
