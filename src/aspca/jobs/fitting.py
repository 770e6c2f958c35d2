"""A model of a table too large for memory: moments part by part, then limits from scores part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from aspca.jobs.column_advice import PLURALS, word_of
from aspca.jobs.errors import JobError, RequestError
from aspca.jobs.preparing import NUMBERS, refuse_values
from aspca.jobs.progress import Watcher
from aspca.jobs.tables import TableSource, column_of, prepared
from aspca.judging.alarms import alarms_from_rows
from aspca.judging.crossfit import crossfitted
from aspca.judging.fit import fit_model
from aspca.judging.gaps import completed
from aspca.judging.judgement import Judgement, squared
from aspca.judging.learned_from import without_gross
from aspca.judging.model import Model
from aspca.linalg.arrays import Floats
from aspca.moments import IncompleteMoments, Moments
from aspca.moments.succession import succession
from aspca.preparation import Preparation
from aspca.robust.order import Batches
from aspca.rules.equation_text import NO_COLUMN, RuleError
from aspca.rules.given import GivenRule, given_rules
from aspca.settings import Settings, needs_rows
from aspca.solvers.threads import blas_threads_for

# With fewer rows than features there are rules that hold by chance alone, as many as rows are missing; beyond so many
# features they take minutes to find and nobody reads them.
_WIDE = 200
# And of more features than this all rules with little variance take minutes to find.
_VERY_WIDE = 2000


def moments_of(table: TableSource, names: Sequence[str], watcher: Watcher) -> Moments:
    """The moments of the columns `names` of a table, in this order; it is read once, and no value may be missing.

    Raises
    ------
    JobError
        A value that is missing, infinite or beyond +-1e150: the file, the row and the column are named. Or the scatter
        of a column exceeds float64.
    """
    return cast(Moments, _gathered(table, names, watcher, gaps=False))


def _gathered(table: TableSource, names: Sequence[str], watcher: Watcher, *, gaps: bool) -> Moments | IncompleteMoments:
    watcher.stage("Reading", table.count())
    moments = IncompleteMoments.empty(len(names)) if gaps else Moments.empty(len(names))
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
    gaps = learned = None
    sets_aside = settings.sets_aside or (settings.robust == "auto" and judges_itself)
    given = _given(table, plan, settings)
    features = prepared(table, plan)
    _refuse_too_wide(table, len(plan.names), settings)
    # The solver loads it later, when its threads could not be held back any more.
    import scipy.linalg  # noqa: F401

    with blas_threads_for(len(plan.names)):
        allowed = plan.missing == "allow"
        known = _gathered(features, plan.names, watcher, gaps=allowed)
        try:
            if sets_aside and known.n_rows:
                watcher.stage("Setting gross values aside", unit="passes")
                passes = _passes(features, plan.names, watcher)
                learned = without_gross(passes, known, given, settings.scaling, plan.features)
                moments, gaps = learned.moments, learned.gaps
            elif isinstance(known, IncompleteMoments):
                watcher.stage("Estimating what is missing", unit="steps")
                moments, gaps = completed(known)
            else:
                moments = known
        except ValueError as error:
            raise JobError(f"{table.description}: {error}") from None
        if moments.n_rows < 2:
            few = ("no rows" if moments.n_rows == 0 else "1 row") + ("" if gaps is None else " with values")
            raise JobError(f"{table.description} has {few}, but at least 2 are needed to learn rules from; add rows.")
        aside = None if learned is None else learned.aside
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
            model = fit_model(
                moments,
                settings,
                plan,
                callback=solved,
                gaps=gaps,
                aside=aside,
                succession=follows,
            )
        except ValueError as error:
            raise JobError(str(error)) from error
        if settings.auto:
            watcher.stage("Setting limits", table.count())
            model = crossfitted(model, batches, table.count(), learned)
        if settings.from_rows:
            model = _calibrated(model, table if kept_out is None else kept_out, watcher)
        if model.table.given:
            watcher.stage("Checking the rules given", table.count())
            model = model.checked_against(batches())
    return model


def _batches(table: TableSource, names: Sequence[str], watcher: Watcher) -> Batches:
    """The rows of a table, read once more each time."""

    def batches() -> Iterator[Floats]:
        for batch in table.batches(names):
            if len(batch.values):
                yield batch.values
                watcher.advance(len(batch.values))

    return batches


def _passes(table: TableSource, names: Sequence[str], watcher: Watcher) -> Batches:
    """The same, each pass a step."""

    def batches() -> Iterator[Floats]:
        watcher.advance(1)
        return (batch.values for batch in table.batches(names) if len(batch.values))

    return batches


def _given(table: TableSource, plan: Preparation, settings: Settings) -> tuple[GivenRule, ...]:
    """The rules that were given; RequestError for those that cannot be used, before anything is read."""
    try:
        return given_rules(settings.rules, plan.features)
    except RuleError as error:
        column = None if error.column is None else column_of(table, error.column)
        if column is None:
            raise RequestError(str(error)) from None
        numbers = f"give --number {word_of(column.name)} and do not ignore it, or leave the rule out"
        held = f"it holds {PLURALS.get(column.kind, column.kind)}, so leave the rule out"
        raise RequestError(
            f"{str(error).partition(NO_COLUMN)[0]}column {column.name!r} of {table.description} is not used as a "
            f"feature, and rules are made of these; {numbers if column.kind in NUMBERS else held}."
        ) from None


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
        squares = [np.nan_to_num(squared(judgement.deviations)) for judgement in _judgements(model, table, watcher)]
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
