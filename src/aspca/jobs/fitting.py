"""A model of a table too large for memory: moments part by part, then limits from scores part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from aspca.jobs.errors import JobError
from aspca.jobs.preparing import refuse_values
from aspca.jobs.progress import Watcher
from aspca.jobs.tables import TableSource, prepared
from aspca.jobs.whole_rows import WholeRows, whole_rows
from aspca.judging.alarms import alarms_from_rows
from aspca.judging.crossfit import Batches, crossfitted
from aspca.judging.fit import fit_model
from aspca.judging.gaps import Gaps, completed
from aspca.judging.judgement import Judgement
from aspca.judging.model import Model
from aspca.linalg.arrays import Floats
from aspca.moments import IncompleteMoments, Moments
from aspca.moments.succession import succession
from aspca.preparation import Preparation
from aspca.robust import RobustMoments, robust_moments
from aspca.settings import Settings, needs_rows
from aspca.solvers.threads import blas_threads_for

# With fewer rows than features there are rules that hold by chance alone, as many as rows are missing; beyond so many
# features they take minutes to find and nobody reads them.
_WIDE = 200
# And of more features than this all rules with little variance take minutes to find.
_VERY_WIDE = 2000

AnyMoments = TypeVar("AnyMoments", Moments, IncompleteMoments)


def moments_of(table: TableSource, names: Sequence[str], watcher: Watcher) -> Moments:
    """The moments of the columns `names` of a table, in this order; it is read once, and no value may be missing.

    Raises
    ------
    JobError
        A value that is missing, infinite or beyond +-1e150: the file, the row and the column are named. Or the scatter
        of a column exceeds float64.
    """
    return _gathered(Moments.empty(len(names)), table, names, watcher, gaps=False)


def _gathered(
    start: AnyMoments, table: TableSource, names: Sequence[str], watcher: Watcher, *, gaps: bool
) -> AnyMoments:
    watcher.stage("Reading", table.count())
    moments = start
    for batch in table.batches(names):
        refuse_values(table, batch, names, gaps=gaps, learning=True)
        try:
            moments = moments.update(batch.values, names=names)
        except ValueError as error:
            raise JobError(f"{table.description}: {error}") from None
        watcher.advance(len(batch.values))
    return moments


def fit_table(
    table: TableSource,
    plan: Preparation,
    settings: Settings,
    watcher: Watcher,
    kept_out: TableSource | None = None,
    *,
    judges_itself: bool = False,
) -> Model:
    """The model of a table; the same as `ASPCA.fit` of its rows.

    Parameters
    ----------
    plan : Preparation
        The columns that rules are made of, and what becomes of them.
    kept_out : TableSource or None
        Rows that take no part in the fit, for a limit that asks for such.
    judges_itself : bool
        Whether the rules are to judge the very rows they are learned from: what is gross is set aside then, unless the
        settings say otherwise.

    Raises
    ------
    JobError
        Fewer than two rows, far more features than rows, a value that is missing, or what `fit_model` refuses.
    """
    gaps = aside = normal = None
    sets_aside = settings.sets_aside or (settings.robust == "auto" and judges_itself)
    features = prepared(table, plan)
    _refuse_too_wide(table, len(plan.names), settings)
    # The solver loads it later, when its threads could not be held back any more.
    import scipy.linalg  # noqa: F401

    with blas_threads_for(len(plan.names)):
        if plan.missing == "allow":
            rows = _gathered(IncompleteMoments.empty(len(plan.names)), features, plan.names, watcher, gaps=True)
            whole = _whole_without_gross(features, plan.names, rows, watcher) if sets_aside else None
            aside = None if whole is None else whole.robust.aside
            if whole is None and settings.sets_aside:
                raise JobError(
                    f"{table.description}: --robust on looks at rows without gaps, of which there are too few; give "
                    "--robust off.",
                    ("--robust", "off"),
                )
            if whole is not None and not whole.robust.aside.nothing:
                moments, normal = whole.robust.moments, whole.normal
                gaps = Gaps(rows.n_missing, 0, True, rows.n_rows - whole.n_rows)
            else:
                watcher.stage("Estimating what is missing", unit="steps")
                try:
                    moments, gaps = completed(rows)
                except ValueError as error:
                    raise JobError(f"{table.description}: {error}") from None
        else:
            moments = moments_of(features, plan.names, watcher)
            if sets_aside and moments.n_rows:
                robust = _without_gross(features, plan.names, moments, watcher)
                moments, aside, normal = robust.moments, robust.aside, robust.normal
        if moments.n_rows < 2:
            few = ("no rows" if moments.n_rows == 0 else "1 row") + ("" if gaps is None else " with values")
            raise JobError(f"{table.description} has {few}, but at least 2 are needed to learn rules from; add rows.")
        batches = _batches(features, plan.names, watcher)
        watcher.stage("Looking for succession", table.count())
        follows = succession(batches(), moments)
        watcher.stage("Finding rules", unit="components")

        def solved(step: int, n_steps: int, gap: float) -> None:
            # A path of penalties solves the sequence several times over.
            if step == 1:
                watcher.stage("Finding rules", n_steps, "components")
            watcher.advance(1)

        try:
            model = fit_model(moments, settings, plan, callback=solved, gaps=gaps, aside=aside, succession=follows)
        except ValueError as error:
            raise JobError(str(error)) from error
        if settings.auto:
            watcher.stage("Setting limits", table.count())
            model = crossfitted(model, batches, table.count(), normal)
        if settings.from_rows:
            model = _calibrated(model, table if kept_out is None else kept_out, watcher)
    return model


def _batches(table: TableSource, names: Sequence[str], watcher: Watcher) -> Batches:
    """The rows of a table, read once more each time."""

    def batches() -> Iterator[Floats]:
        for batch in table.batches(names):
            if len(batch.values):
                yield batch.values
                watcher.advance(len(batch.values))

    return batches


def _without_gross(table: TableSource, names: Sequence[str], moments: Moments, watcher: Watcher) -> RobustMoments:
    """Moments of what is not gross, and what is; each pass reads the table once more."""
    return robust_moments(_passes(table, names, watcher), moments)


def _whole_without_gross(
    table: TableSource, names: Sequence[str], moments: IncompleteMoments, watcher: Watcher
) -> WholeRows | None:
    """The same among rows without gaps; None where they are too few."""
    return whole_rows(_passes(table, names, watcher), moments)


def _passes(table: TableSource, names: Sequence[str], watcher: Watcher) -> Batches:
    watcher.stage("Setting gross values aside", unit="passes")

    def batches() -> Iterator[Floats]:
        watcher.advance(1)
        return (batch.values for batch in table.batches(names) if len(batch.values))

    return batches


def _refuse_too_wide(table: TableSource, p: int, settings: Settings) -> None:
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
            "say how many you want, as in --n-components 20, or leave out columns with --ignore.",
            ("--n-components", "20"),
        )


def _calibrated(model: Model, table: TableSource, watcher: Watcher) -> Model:
    """The same model, its limits that rest on rows taken from a table: `Model.calibrated`, part by part.

    Eight bytes are kept per row, and as many per rule where the rules' own limits rest on rows.
    """
    if needs_rows(model.settings.rule_limit):
        squares = [np.nan_to_num(judgement.deviations**2) for judgement in _judgements(model, table, watcher)]
        alarms = alarms_from_rows(model.alarms, model.floors, None, np.concatenate(squares), None)
        model = replace(model, alarms=alarms)
    if needs_rows(model.settings.total[0]):
        # Rules first: where they lift scores, the threshold is that of lifted ones.
        scores = [judgement.scores for judgement in _judgements(model, table, watcher)]
        alarms = alarms_from_rows(model.alarms, model.floors, np.concatenate(scores), None, None)
        model = replace(model, alarms=alarms)
    return model


def _judgements(model: Model, table: TableSource, watcher: Watcher) -> Iterator[Judgement]:
    watcher.stage("Setting the limit", table.count())
    for batch in prepared(table, model.preparation).batches(model.names):
        refuse_values(table, batch, model.names, gaps=model.allows_gaps)
        yield model.judge(batch.values)
        watcher.advance(len(batch.values))
