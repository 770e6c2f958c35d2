"""Rows judged by a model, part by part: the worst of them, and anomalies in time, gathered into incidents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aspca.engines.source import Batch
from aspca.jobs.ahead import MANY, made_ahead
from aspca.jobs.errors import JobError, RequestError
from aspca.jobs.keys import NO_KEYS, Cells, Keys
from aspca.jobs.preparing import columns_needed, refuse_values
from aspca.jobs.progress import Watcher
from aspca.jobs.tables import TableSource, column_of, prepared, row_numbers
from aspca.judging.judgement import Judgement
from aspca.judging.model import Model
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.ranking import round_for_ranking
from aspca.preparation.bad_cells import BadCell

if TYPE_CHECKING:
    from aspca.judging.change_text import Change
    from aspca.judging.changes import Course
    from aspca.judging.explanation import Explanation
    from aspca.judging.incidents import Incident

# Rows of one incident may miss a beat.
_STEPS = 2.0


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Some rows of a table and the verdict on them.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Their numbers, from 0.
    values : ndarray of shape (n, p)
        The features, in the model's order.
    judgement : Judgement
        All that is said of them.
    keys : Keys
        Which columns stand beside them.
    beside : list of n tuples
        The cells of these columns.
    """

    rows: Ints
    values: Floats
    judgement: Judgement
    keys: Keys
    beside: list[Cells]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def scores(self) -> Floats:
        return self.judgement.scores

    @property
    def anomalies(self) -> Bools | None:
        """None while the model's limits wait for rows."""
        return self.judgement.anomalies

    @property
    def flagged(self) -> Ints:
        """Positions of the anomalies among these rows."""
        return np.flatnonzero(self.anomalies) if self.anomalies is not None else np.empty(0, dtype=np.intp)

    def take(self, positions: Ints) -> JudgedRows:
        """Some of them."""
        beside = [self.beside[position] for position in positions.tolist()]
        judgement = self.judgement.take(positions)
        return JudgedRows(self.rows[positions], self.values[positions], judgement, self.keys, beside)

    def name(self, position: int) -> str | None:
        """What one of them is called, if columns say so."""
        return self.keys.name(self.beside[position])

    def key_columns(self) -> list[list[object]]:
        """The cells beside them by column."""
        return [[cells[k] for cells in self.beside] for k in range(len(self.keys.columns))]

    def explained(self, model: Model, *, named: bool = False, library: str = "pandas") -> Explanation:
        """Why they score what they score, called by their numbers, or by their names if they have any."""
        # Rows that are only scored are not explained.
        from aspca.judging.explanation import Explanation

        index: Sequence[object] = self.rows.tolist()
        if named:
            index = [
                row if name is None else name for row, name in zip(index, map(self.keys.name, self.beside), strict=True)
            ]
        return Explanation(model, self.values, self.judgement, index, library)


def joined(several: Sequence[JudgedRows]) -> JudgedRows:
    """One after the other, at least one."""
    return JudgedRows(
        np.concatenate([judged.rows for judged in several]),
        np.concatenate([judged.values for judged in several]),
        Judgement.joined((judged.judgement for judged in several), sum(map(len, several))),
        several[0].keys,
        [cells for judged in several for cells in judged.beside],
    )


def judged_rows(
    model: Model, table: TableSource, keys: Keys, watcher: Watcher, stage: str = "Scoring"
) -> Iterator[JudgedRows]:
    """The rows of a table judged by a model, in parts, with the cells of their key columns."""
    bad = bad_cells_by_row(model, table)
    for rows, values, beside in rows_to_judge(model, table, keys, watcher, stage):
        judgement = model.judge(values)
        if bad:
            judgement = judgement.with_bad_cells([bad.get(row, ()) for row in rows.tolist()])
        yield JudgedRows(rows, values, judgement, keys, beside)


def bad_cells_by_row(model: Model, table: TableSource) -> dict[int, tuple[BadCell, ...]]:
    """The cells of a table that are not what their columns hold, where a model needs these columns."""
    needed = {None, *columns_needed(model.preparation)}
    found: dict[int, tuple[BadCell, ...]] = {}
    for cell in table.bad_cells:
        if cell.column in needed:
            found[cell.row] = (*found.get(cell.row, ()), cell)
    return found


def rows_to_judge(
    model: Model, table: TableSource, keys: Keys, watcher: Watcher, stage: str = "Scoring"
) -> Iterator[tuple[Ints, Floats, list[Cells]]]:
    """The rows of a table in parts: their numbers, their features, the cells of their key columns; a part counts as
    done when the next is asked for."""
    watcher.stage(stage, table.count())
    cells, bad = keys.cells(table), bad_cells_by_row(model, table)
    done = 0
    with _threads(table.count(), len(model.names)):
        batches = prepared(table, model.preparation).batches(model.names)
        for batch in batches if table.count() < MANY else made_ahead(batches):
            n = len(batch.values)
            if not n:
                continue
            rows = row_numbers(table, np.arange(batch.start, batch.start + n))
            values = without_bad_rows(model, batch.values, rows, bad)
            refuse_values(table, Batch(batch.start, values), model.names, gaps=model.allows_gaps)
            beside = list(islice(cells, n))
            done += n
            if len(beside) < n or done > table.count():
                raise _changed(table)
            yield rows, values, beside
            watcher.advance(n)
        if done < table.count() or (keys.columns and next(cells, None) is not None):
            raise _changed(table)


def without_bad_rows(model: Model, values: Floats, rows: Ints, bad: Mapping[int, object]) -> Floats:
    """Rows (n, p) to judge. A model that knows of no gaps cannot judge a row with a cell that could not be read: the
    mean stands in its place, which obeys every rule, so that nothing is said of it but the cell."""
    if model.allows_gaps or not bad:
        return values
    unread = [place for place, row in enumerate(rows.tolist()) if row in bad]
    if not unread:
        return values
    values = values.copy()
    values[unread] = model.space.mean
    return values


def _changed(table: TableSource) -> JobError:
    return JobError(
        f"{table.description} has another number of rows than when it was opened; nothing may write to it while it is "
        "read, so start again."
    )


def _threads(n_rows: int, n_features: int) -> AbstractContextManager[None]:
    """One BLAS thread where it pays: rows meet small matrices, block by block, and a second one waits for the first."""
    if n_rows < MANY:
        return nullcontext()
    # Not needed for a few rows, which are scored sooner than it is loaded.
    from aspca.linalg.threads import blas_threads_for

    return blas_threads_for(n_features)


class Worst:
    """The anomalies that are furthest out so far, at most so many, and no others."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: JudgedRows | None = None
        self._keys = np.empty(0)

    def add(self, flagged: JudgedRows, keys: Floats) -> None:
        """More of them; `keys` (n,) say how far out each is."""
        if not len(flagged):
            return
        together = flagged if self._kept is None else joined([self._kept, flagged])
        keys = np.concatenate([self._keys, keys])
        # The stable order keeps the first of equals.
        order = np.argsort(-round_for_ranking(keys), kind="stable")[: self.most]
        self._kept, self._keys = together.take(order), keys[order]

    def rows(self, model: Model) -> JudgedRows:
        """The worst first."""
        if self._kept is None:
            nothing = np.empty((0, len(model.names)))
            return JudgedRows(np.empty(0, dtype=np.intp), nothing, model.judge(nothing), NO_KEYS, [])
        return self._kept


class Timeline:
    """The times of all rows of a table, and the anomalies among them.

    Parameters
    ----------
    table : TableSource
    column : str
        Of dates, or of numbers.
    """

    def __init__(self, table: TableSource, column: str) -> None:
        kind = getattr(column_of(table, column), "kind", None)
        if kind not in ("date", "number"):
            raise RequestError(
                f"--time: column {column!r} of {table.description} holds no times; it must hold dates or numbers."
            )
        self._dates = kind == "date"
        self._table, self._column = table, column
        self._moments = (moment for batch in table.batches([column]) for moment in batch.values[:, 0].tolist())
        self._times: list[Floats] = []
        self._flagged: list[tuple[Ints, JudgedRows]] = []
        self._n = 0

    def add(self, judged: JudgedRows) -> None:
        """The next rows of the table."""
        times = np.array(list(islice(self._moments, len(judged))))
        if not np.isfinite(times).all():
            where = self._table.where(self._n + int(np.flatnonzero(~np.isfinite(times))[0]))
            raise JobError(f"--time: {where} has no time in column {self._column!r}; every row needs one.")
        self._times.append(times)
        self._flagged.append((self._n + judged.flagged, judged.take(judged.flagged)))
        self._n += len(judged)

    def usual_step(self) -> float:
        """The median step between rows that follow each other in time; 1 where there is none."""
        steps = np.diff(np.sort(np.concatenate(self._times)))
        steps = steps[steps > 0]
        return float(np.median(steps)) if steps.size else 1.0

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
        self, model: Model, patience: float | None, course: Course, changes: Sequence[Change], beyond: Ints | None
    ) -> tuple[tuple[Incident, ...], JudgedRows | None]:
        """Changes and runs of other anomalies, and the rows that an incident's positions stand for, if there are any.

        Those at most `patience` apart, or twice the usual step, are one run.

        Parameters
        ----------
        course : Course
            Of all rows of the table, which `changes` speak of.
        beyond : ndarray or None
            Positions of the anomalies beyond them; None: all are.
        """
        from aspca.judging.changes import Course
        from aspca.judging.incidents import incidents_of

        if not self._flagged:
            return (), None
        flagged = joined([judged for _, judged in self._flagged])
        positions = np.concatenate([positions for positions, _ in self._flagged])
        patience = _STEPS * self.usual_step() if patience is None else patience
        apart = None if beyond is None else np.isin(positions, beyond)
        mine = Course(len(flagged), self.when[positions])
        why, ranks = flagged.explained(model), course.ranks(positions)
        return incidents_of(why, mine, patience, changes, apart, ranks), flagged
