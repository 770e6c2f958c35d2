"""Anomalies in time: kept with their times while a table is read, then gathered into incidents."""

from __future__ import annotations

from itertools import islice

import numpy as np

from aspca.jobs.errors import JobError, RequestError
from aspca.jobs.judging import Judged
from aspca.jobs.table import Table, column_of
from aspca.judging.incidents import Incident
from aspca.judging.model import Model
from aspca.linalg.arrays import Floats

# Rows of one incident may miss a beat.
_STEPS = 2.0


class Timeline:
    """The times of all rows of a table, and the anomalies among them.

    Parameters
    ----------
    table : Table
    column : str
        Of dates, or of numbers.
    """

    def __init__(self, table: Table, column: str) -> None:
        kind = getattr(column_of(table, column), "kind", None)
        if kind not in ("date", "number"):
            raise RequestError(
                f"--time: column {column!r} of {table.description} holds no times; it must hold dates or numbers."
            )
        self._dates = kind == "date"
        self._column = column
        self._moments = (moment for batch in table.batches([column]) for moment in batch.values[:, 0].tolist())
        self._times: list[Floats] = []
        self._found: list[tuple[Floats, Floats]] = []
        self._rows: list[int] = []

    def add(self, part: Judged) -> None:
        """The next part of the table."""
        times = np.array(list(islice(self._moments, len(part.scores))))
        if not np.isfinite(times).all():
            row = part.rows[np.flatnonzero(~np.isfinite(times))[0]]
            raise JobError(f"--time: column {self._column!r} has no time in row {row}; every row needs one.")
        found = part.found
        self._times.append(times)
        self._found.append((times[found], part.values[found]))
        self._rows += part.rows[found].tolist()

    def row(self, position: int) -> int:
        """The row of the table that is the anomaly at this position."""
        return self._rows[position]

    def usual_step(self) -> float:
        """The median step between rows that follow each other in time; 1 where there is none."""
        steps = np.diff(np.sort(np.concatenate(self._times)))
        steps = steps[steps > 0]
        return float(np.median(steps)) if steps.size else 1.0

    def incidents(self, model: Model, patience: float | None) -> tuple[Incident, ...]:
        """The anomalies gathered: those at most `patience` apart, or twice the usual step, are one incident."""
        if not self._rows:
            return ()
        times = np.concatenate([moments for moments, _ in self._found])
        values = np.concatenate([rows for _, rows in self._found])
        when = np.round(times * 1e6).astype("datetime64[us]") if self._dates else times
        if self._dates and not (np.round(times * 1e6) % 1_000_000).any():
            when = when.astype("datetime64[s]")
        return model.explain(values, self._rows).incidents(
            when, _STEPS * self.usual_step() if patience is None else patience
        )
