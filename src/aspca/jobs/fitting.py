"""A model of a table too large for memory: moments part by part, then limits from scores part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from aspca.jobs.columns import refuse_values
from aspca.jobs.errors import JobError
from aspca.jobs.prepared_table import PreparedTable, prepared
from aspca.jobs.progress import Progress
from aspca.jobs.table import Table
from aspca.judging.alarms import alarms_from_rows
from aspca.judging.fit import fit_model
from aspca.judging.gaps import completed
from aspca.judging.model import Model
from aspca.linalg.arrays import Floats
from aspca.moments import IncompleteMoments, Moments
from aspca.preparation import Preparation
from aspca.settings import Settings
from aspca.solvers.threads import blas_threads_for

# With fewer rows than features there are rules that hold by chance alone, as many as rows are missing; beyond so many
# features they take minutes to find and nobody reads them.
_WIDE = 200
# And of more features than this all rules with little variance take minutes to find.
_VERY_WIDE = 2000

AnyMoments = TypeVar("AnyMoments", Moments, IncompleteMoments)


def moments_of(table: Table, names: Sequence[str], progress: Progress) -> Moments:
    """The moments of the columns `names` of a table, in this order; it is read once, and no value may be missing.

    Raises
    ------
    JobError
        A value that is missing, infinite or beyond +-1e150: the file, the row and the column are named. Or the scatter
        of a column exceeds float64.
    """
    return _gathered(Moments.empty(len(names)), table, names, progress, gaps=False)


def _gathered(start: AnyMoments, table: Table, names: Sequence[str], progress: Progress, *, gaps: bool) -> AnyMoments:
    progress.stage("Reading", table.count())
    moments = start
    for batch in table.batches(names):
        refuse_values(table, batch, names, gaps=gaps)
        try:
            moments = moments.update(batch.values, names=names)
        except ValueError as error:
            raise JobError(f"{table.description}: {error}") from None
        progress.advance(len(batch.values))
    return moments


def fit_table(
    table: Table,
    names: Sequence[str],
    settings: Settings,
    progress: Progress,
    plan: Preparation | None = None,
    kept_out: Table | None = None,
) -> Model:
    """The model of a table; the same as `ASPCA.fit` of its rows.

    Parameters
    ----------
    names : sequence of str
        The columns that rules are made of, where they are taken as they are.
    plan : Preparation or None
        What becomes of the columns, where they are not.
    kept_out : Table or None
        Rows that take no part in the fit, for a limit that asks for such.

    Raises
    ------
    JobError
        Fewer than two rows, far more features than rows, or a value that is missing.
    ValueError
        As `fit_model`.
    """
    gaps = None
    if plan is not None:
        table, names = PreparedTable(table, plan), plan.names
    _refuse_too_wide(table, len(names), settings)
    # The solver loads it later, when its threads could not be held back any more.
    import scipy.linalg  # noqa: F401

    with blas_threads_for(len(names)):
        if plan is not None and plan.missing == "allow":
            rows = _gathered(IncompleteMoments.empty(len(names)), table, names, progress, gaps=True)
            progress.stage("Estimating what is missing", unit="steps")
            try:
                moments, gaps = completed(rows)
            except ValueError as error:
                raise JobError(f"{table.description}: {error}") from None
        else:
            moments = moments_of(table, names, progress)
        if moments.n_rows < 2:
            few = "no rows" if moments.n_rows == 0 else "1 row"
            raise JobError(f"{table.description} has {few}, but at least 2 are needed to learn rules from; add rows.")
        progress.stage("Finding rules", unit="components")

        def solved(step: int, n_steps: int, gap: float) -> None:
            # A path of penalties solves the sequence several times over.
            if step == 1:
                progress.stage("Finding rules", n_steps, "components")
            progress.advance(1)

        model = fit_model(moments, settings, plan or Preparation.identity(names), callback=solved, gaps=gaps)
        if settings.from_rows:
            scores = _scores(model, table if kept_out is None else prepared(kept_out, plan), names, progress)
            model = replace(model, alarms=alarms_from_rows(model.alarms, model.floors, scores, None, None))
    return model


def _refuse_too_wide(table: Table, p: int, settings: Settings) -> None:
    n = table.count()
    if n < 2:
        return
    if p > _WIDE and n <= p:
        raise JobError(
            f"{table.description} has {p:,} features but {n:,} rows, and with no more rows than features rules hold by "
            "chance: add rows, or leave out columns with --ignore."
        )
    if p > _VERY_WIDE and settings.n_components == "auto":
        raise JobError(
            f"{table.description} has {p:,} features, of which all rules with little variance would take very long: "
            "say how many you want, as in --n-components 20, or leave out columns with --ignore."
        )


def _scores(model: Model, table: Table, names: Sequence[str], progress: Progress) -> Floats:
    """The scores of all rows (n,): eight bytes each, whatever the width of the table."""
    progress.stage("Setting the limit", table.count())
    parts = []
    for batch in table.batches(names):
        refuse_values(table, batch, names, gaps=model.allows_gaps)
        parts.append(model.score(batch.values))
        progress.advance(len(batch.values))
    return np.concatenate(parts)
