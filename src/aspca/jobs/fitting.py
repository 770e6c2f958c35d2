"""A model of a table too large for memory: moments part by part, then limits from scores part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aspca.jobs.columns import refuse_missing
from aspca.jobs.errors import JobError
from aspca.jobs.progress import Progress
from aspca.jobs.table import Table
from aspca.linalg.arrays import Floats
from aspca.model.alarms import alarms_from_rows
from aspca.model.fitted import Model, Settings, fit_model
from aspca.moments import Moments
from aspca.solvers.threads import blas_threads_for


def moments_of(table: Table, names: Sequence[str], progress: Progress) -> Moments:
    """The moments of the columns `names` of a table, which is read once."""
    progress.stage("Reading", table.count())
    moments = Moments.empty(len(names))
    for batch in table.batches(names):
        refuse_missing(table, batch, names)
        moments = moments.update(batch.values, names=names)
        progress.advance(len(batch.values))
    return moments


def fit_table(table: Table, names: Sequence[str], settings: Settings, progress: Progress) -> Model:
    """The model of a table; the same as `ASPCA.fit` of its rows.

    Raises
    ------
    JobError
        Fewer than two rows, or a value that is missing.
    ValueError
        As `fit_model`.
    """
    with blas_threads_for(len(names)):
        moments = moments_of(table, names, progress)
        if moments.n_rows < 2:
            rows = "no rows" if moments.n_rows == 0 else "1 row"
            raise JobError(f"{table.description} has {rows}, but at least 2 are needed to learn rules from; add rows.")
        progress.stage("Finding rules", unit="components")

        def solved(step: int, n_steps: int, gap: float) -> None:
            # A path of penalties solves the sequence several times over.
            if step == 1:
                progress.stage("Finding rules", n_steps, "components")
            progress.advance(1)

        model = fit_model(moments, settings, names, callback=solved)
        if settings.alarms.from_rows:
            scores = _scores(model, table, names, progress)
            model = replace(model, alarms=alarms_from_rows(model.alarms, model.floors, scores, None, None))
    return model


def _scores(model: Model, table: Table, names: Sequence[str], progress: Progress) -> Floats:
    """The scores of all rows (n,): eight bytes each, whatever the width of the table."""
    progress.stage("Setting the limit", model.moments.n_rows)
    parts = []
    for batch in table.batches(names):
        parts.append(model.scorer.score(batch.values))
        progress.advance(len(batch.values))
    return np.concatenate(parts)
