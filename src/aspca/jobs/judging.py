"""Rows judged by a model, part by part: scores, and which are anomalies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice

import numpy as np

from aspca.jobs.columns import refuse_values
from aspca.jobs.part_table import row_numbers
from aspca.jobs.prepared_table import prepared
from aspca.jobs.progress import Progress
from aspca.jobs.table import Table, cells_beside
from aspca.judging.model import Model
from aspca.linalg.arrays import Bools, Floats, Ints

_MANY = 50_000


@dataclass(frozen=True, eq=False)
class Judged:
    """A part of a table.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Numbers of its rows, from 0.
    values : ndarray of shape (m, p)
        The features, in the model's order.
    scores : ndarray of shape (m,)
    anomalies : ndarray of shape (m,) or None
        None while the model's limits wait for rows.
    names : list of m, or None
        The rows' own names, if a column holds them.
    shares : ndarray of shape (m,) or None
        The share of rules that each row was judged by, where values may be missing.
    """

    rows: Ints
    values: Floats
    scores: Floats
    anomalies: Bools | None
    names: list[object] | None
    shares: Floats | None = None

    @property
    def found(self) -> Ints:
        """Positions of the anomalies within the part."""
        return np.flatnonzero(self.anomalies) if self.anomalies is not None else np.empty(0, dtype=np.intp)


def judged(model: Model, table: Table, name: str | None, progress: Progress) -> Iterator[Judged]:
    """The rows of a table judged by a model, in parts; `name` is the column that names rows, if any."""
    progress.stage("Scoring", table.count())
    beside = None if name is None else cells_beside(table, name)
    with _threads(table.count(), len(model.names)):
        for batch in prepared(table, model.preparation).batches(model.names):
            values = batch.values
            if not len(values):
                continue
            refuse_values(table, batch, model.names, gaps=model.allows_gaps)
            verdict = model.judge(values)
            names = None if beside is None else list(islice(beside, len(values)))
            rows = row_numbers(table, batch.start, len(values))
            shares = verdict.share_of_rules if model.allows_gaps else None
            yield Judged(rows, values, verdict.scores, verdict.anomalies, names, shares)
            progress.advance(len(values))


def _threads(n_rows: int, n_features: int) -> AbstractContextManager[None]:
    """One BLAS thread where it pays: rows meet small matrices, block by block, and a second one waits for the first."""
    if n_rows < _MANY:
        return nullcontext()
    # Not needed for a few rows, which are scored sooner than it is loaded.
    from aspca.solvers.threads import blas_threads_for

    return blas_threads_for(n_features)
