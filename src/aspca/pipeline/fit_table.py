"""A model of a table too large for memory: moments part by part, then limits from scores part by part."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from aspca.identities.formula import Formula
from aspca.linalg.threads import blas_threads_for
from aspca.model.fit_rows import learn_model, with_kept_shares
from aspca.model.model import Model
from aspca.moments import IncompleteMoments, Moments
from aspca.moments.accumulator import MomentsAccumulator
from aspca.pipeline.passes import Watcher, read_checked, rows_of
from aspca.preparation import Preparation
from aspca.rules.equation_words import NO_COLUMN
from aspca.rules.equations import RuleError
from aspca.rules.user_rules import parse_formulas
from aspca.settings import Settings
from aspca.tables.column_advice import PLURALS, quote_word
from aspca.tables.column_checks import NUMBERS
from aspca.tables.errors import JobError, RequestError
from aspca.tables.table import Table, find_column
from aspca.tables.views import number_rows

# Of more features than this all rules with little variance take minutes to find.
_VERY_WIDE = 2000


def moments_of(table: Table, plan: Preparation, watcher: Watcher) -> Moments | IncompleteMoments:
    """The moments of all rows, as a plan makes features of them; the table is read once.

    Raises
    ------
    JobError
        A value that is infinite, beyond +-1e150, or missing where it may not be: the file, the row and the column are
        named. Or the scatter of a column exceeds float64.
    """
    watcher.stage("Reading", table.count())
    rows, p = rows_of(table, plan, watcher), len(plan.names)
    try:
        if plan.missing == "allow":
            return rows.reduce(lambda: MomentsAccumulator(IncompleteMoments.empty(p))).moments
        return rows.reduce(lambda: MomentsAccumulator(Moments.empty(p), names=plan.names)).moments
    except ValueError as error:
        if isinstance(error, JobError):
            raise
        raise JobError(f"{table.description}: {error}") from None


def fit_table(
    table: Table,
    plan: Preparation,
    settings: Settings,
    watcher: Watcher,
    calibration: Table | None = None,
) -> Model:
    """The model of a table; the same as `ASPCA.fit` of its rows.

    Parameters
    ----------
    plan : Preparation
        The columns that rules are made of, and what becomes of them.
    calibration : Table or None
        Rows that take no part in the fit, for a limit that asks for such.

    Raises
    ------
    JobError
        Fewer than two rows, far more features than rows, a value that is missing, or what `fit_from_moments` refuses.
    """
    given = _formulas_of(table, plan, settings)
    p = len(plan.names)
    if table.count() >= 2 and p > _VERY_WIDE and settings.n_components == "auto":
        raise JobError(
            f"{table.description} has {p:,} features, of which all rules with little variance would take very long: "
            "say how many you want, as in --n-components 20, or leave out columns with --ignore.",
            ("--n-components", "20"),
        )
    # The solver loads it later, when its threads could not be held back any more.
    import scipy.linalg  # noqa: F401

    def solved(step: int, n_steps: int, gap: float) -> None:
        # A path of penalties solves the sequence several times over.
        if step == 1:
            watcher.stage("Finding rules", n_steps, "components")
        watcher.advance(1)

    with blas_threads_for(p):
        known = moments_of(table, plan, watcher)
        if known.n_rows < 2:
            few = "no rows" if known.n_rows == 0 else "1 row"
            few += " with values" if isinstance(known, IncompleteMoments) else ""
            raise JobError(f"{table.description} has {few}, but at least 2 are needed to learn rules from; add rows.")
        passes = rows_of(table, plan, watcher, by_pass=True)
        stage = partial(watcher.stage, unit="passes")
        try:
            model = learn_model(passes, known, settings, plan, given, None, solved, stage)
        except ValueError as error:
            if isinstance(error, JobError):
                raise
            few = f"{table.description}: " if isinstance(known, IncompleteMoments) else ""
            raise JobError(f"{few}{error}") from error
        if settings.needs_rows:
            kept = table if calibration is None else calibration
            watcher.stage("Setting the limit", kept.count())
            scores = [model.judge(values).scores for values in read_checked(kept, model.preparation, watcher)]
            model = replace(model, thresholds=model.thresholds.from_scores(model.settings, np.concatenate(scores)))
            model = with_kept_shares(model, passes)
    if model.excluded is not None:
        model = replace(model, excluded=model.excluded.renumbered(partial(number_rows, table)))
    return model


def _formulas_of(table: Table, plan: Preparation, settings: Settings) -> tuple[tuple[str, Formula], ...]:
    """The rules that were given; RequestError for those that cannot be used, before anything is read."""
    try:
        return parse_formulas(settings.rules, plan.features)
    except RuleError as error:
        column = None if error.column is None else find_column(table, error.column)
        if column is None:
            raise RequestError(str(error)) from None
        numbers = f"give --number {quote_word(column.name)} and do not ignore it, or leave the rule out"
        held = f"it holds {PLURALS.get(column.kind, column.kind)}, so leave the rule out"
        raise RequestError(
            f"{str(error).partition(NO_COLUMN)[0]}column {column.name!r} of {table.description} is not used as a "
            f"feature, and rules are made of these; {numbers if column.kind in NUMBERS else held}."
        ) from None
