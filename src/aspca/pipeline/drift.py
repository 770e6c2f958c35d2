"""Rows in time: incidents, what is no longer as it was, the anomalies beyond changes, and means that moved.

Where rules changed, two more passes over the rows tell which anomalies are nothing but rows of a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aspca.findings.changes import Change, Course, Crossings, find_changes
from aspca.findings.incidents import Incident, find_incidents
from aspca.findings.levels import Levels
from aspca.identities.sampling import LeastRows, RowHash
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import cached_parts
from aspca.model.constants import SAMPLE_ROWS, SAMPLE_VALUES
from aspca.model.fit_rows import calibrate_by
from aspca.model.model import Model
from aspca.pipeline.judged_rows import JudgedRows, TopRows, join_rows, judged_rows
from aspca.pipeline.passes import Watcher
from aspca.tables.errors import JobError, RequestError
from aspca.tables.keys import NO_KEYS, Keys
from aspca.tables.memory import RowsView
from aspca.tables.table import Table, find_column

if TYPE_CHECKING:
    from aspca.pipeline.outcome import Outcome


class Timeline:
    """The times of all rows of a table, by a column of dates or of numbers, and the anomalies among them."""

    def __init__(self, table: Table, column: str) -> None:
        kind = getattr(find_column(table, column), "kind", None)
        if kind not in ("date", "number"):
            raise RequestError(
                f"--time: column {column!r} of {table.description} holds no times; it must hold dates or numbers."
            )
        self._table, self._column, self._dates = table, column, kind == "date"
        self._moments = (moment for batch in table.batches([column]) for moment in batch.values[:, 0].tolist())
        self._times: list[Floats] = []
        self._flagged: list[tuple[Ints, JudgedRows]] = []
        self._n = 0

    def add(self, judged: JudgedRows) -> None:
        """The next rows of the table."""
        times = np.array(list(islice(self._moments, len(judged))))
        if not np.isfinite(times).all():
            where = self._table.locate(self._n + int(np.flatnonzero(~np.isfinite(times))[0]))
            raise JobError(f"--time: {where} has no time in column {self._column!r}; every row needs one.")
        self._times.append(times)
        self._flagged.append((self._n + judged.flagged, judged.take(judged.flagged)))
        self._n += len(judged)

    @cached_property
    def when(self) -> npt.NDArray[np.generic]:
        """The times of all rows (n,): dates to the second where none is finer, or numbers."""
        times = np.concatenate(self._times) if self._times else np.empty(0)
        if not self._dates:
            return times
        ticks = np.round(times * 1e6)
        when = ticks.astype("datetime64[us]")
        return when if (ticks % 1_000_000).any() else when.astype("datetime64[s]")

    def incidents(
        self, model: Model, patience: float | None, drift: Drift
    ) -> tuple[tuple[Incident, ...], JudgedRows | None]:
        """Changes and runs of other anomalies, and the rows that an incident's positions stand for, if there are any.

        Those at most `patience` apart, or twice the usual step, are one run: a row may miss a beat.
        """
        if not self._flagged:
            return (), None
        flagged = join_rows([judged for _, judged in self._flagged])
        positions = np.concatenate([positions for positions, _ in self._flagged])
        if patience is None:
            steps = np.diff(np.sort(np.concatenate(self._times)))
            patience = 2.0 * float(np.median(steps[steps > 0])) if (steps > 0).any() else 2.0
        apart = None if drift.beyond is None else np.isin(positions, drift.beyond)
        mine = Course(len(flagged), self.when[positions])
        ranks = drift.course.ranks(positions)
        return find_incidents(flagged.explained(model), mine, patience, drift.changes, apart, ranks), flagged


# ---- changes


@dataclass(frozen=True, eq=False)
class Drift:
    """What changed in a table."""

    course: Course  # the order of its rows
    changes: tuple[Change, ...] = ()
    # Positions of the anomalies that are more than rows of a change, ascending; None where nothing changed.
    beyond: Ints | None = None
    # Those that are furthest off the level of the rows around them, or, outside of changes, off what was learned.
    worst: JudgedRows | None = None

    def rank_first(self, worst: JudgedRows, most: int) -> tuple[JudgedRows, Bools]:
        """The anomalies to tell, and which of them are beyond changes: those first, and then the `worst` of all.

        Else a list of the worst would be one change, row by row.
        """
        if self.worst is None:
            return worst, np.ones(len(worst), dtype=np.bool_)
        rest = worst.take(np.flatnonzero(~np.isin(worst.rows, self.worst.rows)))
        told = join_rows([self.worst, rest]).take(np.arange(min(most, len(self.worst) + len(rest))))
        return told, np.arange(len(told)) < len(self.worst)


def measure_drift(
    model: Model,
    table: Table,
    keys: Keys,
    crossings: Crossings,
    when: npt.NDArray[np.generic] | None,
    most: int,
    watcher: Watcher,
) -> Drift:
    """The changes among the rows of a table, which were all judged before.

    Parameters
    ----------
    crossings : Crossings
        Of all rows.
    when : ndarray of shape (n,), or None
        Their times; None: as they are listed.
    most : int
        How many of the worst anomalies beyond changes to keep.
    """
    course = Course(crossings.n, when, table.rows if isinstance(table, RowsView) else None)
    changes = find_changes(model, crossings, course)
    if not changes:
        return Drift(course)
    levels, start = Levels(model, changes, course.n), 0
    for judged in judged_rows(model, table, NO_KEYS, watcher, "Measuring changes"):
        levels.add(course.ranks(np.arange(start, start + len(judged))), judged.values, judged.judgement)
        start += len(judged)
    worst, start, beyond = TopRows(most), 0, []
    for judged in judged_rows(model, table, keys, watcher, "Telling rows apart"):
        ranks = course.ranks(np.arange(start, start + len(judged)))
        verdicts, scores = levels.judge(ranks, judged.values, judged.judgement)
        bad = judged.judgement.has_bad_cells
        found = np.flatnonzero(verdicts & ~bad)
        worst.add(judged.take(found), scores[found])
        beyond.append(start + np.flatnonzero(verdicts | bad))
        start += len(judged)
    return Drift(course, changes, np.concatenate(beyond), worst.rows(model))


def differs_as_a_whole(outcome: Outcome) -> bool:
    """Whether so many rows are flagged that the table is another one than was learned from, and not full of errors."""
    # More than a fifth of the rows are not errors (CORE 6: a later half of a panel has 45 % unusual rows on average);
    # fewer than fifty show nothing of a whole.
    flagged = outcome.n_anomalies - outcome.n_unread
    return outcome.graded and not outcome.changes and outcome.n_rows >= 50 and flagged > 0.2 * outcome.n_rows


def calibrate_on(model: Model, table: Table, watcher: Watcher) -> Model:
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
