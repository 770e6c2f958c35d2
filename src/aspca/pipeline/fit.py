"""`aspca.fit_source`: a fitted `ASPCA` of a table wherever it is, read in batches; it may be larger than memory."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.findings.words import warn_of_given
from aspca.identities.formula import Formula
from aspca.linalg.threads import blas_threads_for
from aspca.model.fit_rows import learn_model, with_kept_shares
from aspca.model.model import Model
from aspca.moments import IncompleteMoments, Moments
from aspca.moments.accumulator import MomentsAccumulator
from aspca.pipeline.options import OPTIONS, Output, Request, for_python, is_named, make_request
from aspca.pipeline.passes import Silent, Watcher, read_checked, rows_of
from aspca.pipeline.sources import open_table
from aspca.preparation import CATEGORIES, ColumnPlan, Preparation
from aspca.preparation.columns import MOST_LEVELS, cell_text, plan_categories
from aspca.rules.equation_words import NO_COLUMN
from aspca.rules.equations import RuleError
from aspca.rules.user_rules import parse_formulas
from aspca.settings import Settings
from aspca.tables.column_advice import PLURALS, quote_word
from aspca.tables.column_checks import NUMBERS, explain_undefined, has_gaps, refuse_gaps
from aspca.tables.errors import JobError, RequestError, UndefinedError
from aspca.tables.keys import Keys, find_ids, read_labels
from aspca.tables.memory import number_rows
from aspca.tables.parted import PartedTable
from aspca.tables.request import read_alike
from aspca.tables.roles import Roles, assign_roles
from aspca.tables.source import Source
from aspca.tables.table import Table, find_column

if TYPE_CHECKING:
    from aspca.estimators.aspca import ASPCA
    from aspca.estimators.selection import Selection

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


# What belongs to judging and to what is written, and `by`, which makes several models.
_NOT_HERE = (*(field.name for field in fields(Output)), "by")
FIT_OPTIONS: dict[str, Any] = {name: default for name, default in OPTIONS.items() if name not in _NOT_HERE}


@for_python(FIT_OPTIONS, "ASPCA")
def fit_source(source: Any, **options: Any) -> ASPCA:
    """Learn the rules of a table wherever it is: what ``aspca fit`` does, as a fitted estimator.

    The same model as `ASPCA.fit` of its rows, but read in batches: the table may be larger than memory.

    Parameters
    ----------
    source : path, list of paths, address, or a table of any library
        Files, globs, folders of Parquet files; ``postgresql://...``, ``duckdb:///file``, ``sqlite:///file``; data
        frames (pandas, polars eager and lazy, Dask, Spark, and what else narwhals knows), arrays and memory maps,
        tables, datasets and streams of pyarrow, whatever has an Arrow C stream, relations of DuckDB.
    calibrate : the same, or None
        Normal rows kept out of the fit, for ``limit="conformal"``.
    id, time, label, ignore, ignore_text, categorical, log, transform, date, number, allow_missing
        What columns are, as in `aspca.detect`; those of `id`, `time` and `label` are no features.
    preset, and all parameters of `ASPCA`
        By name: ``n_components``, ``alpha``, ``limit``, ``level``, ``robust``, ...
    delimiter, encoding, decimal, thousands, missing, date_order, header, table, query, engine, spark_master
        How to read the source; which table of a file or database, or a SELECT whose rows are the table; which engine
        (``"dask"``, ``"spark"``) is to read Parquet files, and where Spark runs.

    Returns
    -------
    ASPCA
        It scores, explains and is saved like any other. ``feature_names_in_`` are the columns that are features; what
        was decided without being asked stands in ``model_.reading``.

    Raises
    ------
    JobError
        What was asked for, or the table, cannot be used: one sentence.

    Examples
    --------
    >>> import numpy as np
    >>> import aspca
    >>> a = np.random.default_rng(0).normal(size=200)
    >>> print(aspca.fit_source(np.column_stack([a, 2 * a])).rules_[0])
    x1 = 2 x0 (exact)
    """
    for name in options:
        if name in _NOT_HERE:
            cure = "use aspca.PerCategory, or fit each part" if name == "by" else "aspca.detect has it"
            raise RequestError(f"fit_source has no option {name!r}, since it makes one model and no more; {cure}.")
    request = make_request(source, **options)
    with ExitStack() as stack:
        learning = Learning.of(request, stack, Silent())
        model = replace(learning.model(), reading=tuple(learning.notes))
        columns = [column.name for column in learning.source.columns]
    # scikit-learn is for those who want an estimator.
    from aspca.estimators.stored import make_estimator

    warn_of_given(model)
    # Rows will come without names where this is an array, of which no column was left out.
    array = isinstance(request.source, np.ndarray | list | tuple) and not is_named(request.source)
    nameless = array and [column.name for column in model.preparation.columns] == columns
    return make_estimator(model, "none" if nameless else "table")


# ---- open tables


@dataclass(frozen=True, eq=False)
class Learning:
    """Open tables, and what their columns are: all that models are made of."""

    request: Request
    table: Table  # to be judged
    source: Table  # to learn from
    calibration: Table | None  # for limits that rest on rows kept out of the fit
    roles: Roles
    keys: Keys  # the columns that stand beside rows
    watcher: Watcher

    @classmethod
    def of(cls, request: Request, stack: ExitStack, watcher: Watcher, *, judges_itself: bool = False) -> Learning:
        """Open what is to be read; it is closed with the stack.

        `judges_itself`: the rules judge the rows they are learned from, where no others are given.
        """
        columns = request.columns
        # A large text is parsed here, and kinds of columns are decided: that takes its time, too.
        watcher.stage("Opening", unit="")
        train = calibrate = None
        reading = request.reading
        if request.train is not None:
            train = stack.enter_context(open_table(request.train, reading, "the table to learn from"))
            reading = read_alike(reading, train.cell_format)
        table = stack.enter_context(open_table(request.source, reading, "the table"))
        if request.calibrate is not None:
            reading = reading if train is not None else read_alike(reading, table.cell_format)
            calibrate = stack.enter_context(open_table(request.calibrate, reading, "the table to calibrate with"))
        roles = assign_roles(table, columns, learned=train, calibrate=calibrate, judged=judges_itself)
        ids = find_ids(table, columns.id) or (() if roles.name is None else (roles.name,))
        categories = [name for name, kind in roles.kinds.items() if kind in CATEGORIES]
        by = [] if columns.by is None else [columns.by]
        keys = Keys(ids, roles.time, (*by, *categories), roles.label)
        return cls(request, table, table if train is None else train, calibrate, roles, keys, watcher)

    @property
    def elsewhere(self) -> bool:
        """Whether other rows are judged than those that are learned from."""
        return self.source is not self.table

    @property
    def _tables(self) -> list[Table]:
        return [table for table in (self.table, self.source, self.calibration) if table is not None]

    def plan(self, table: Table) -> Preparation:
        """What becomes of the columns of a table to learn from; values may be missing as asked for, or if some are.

        Raises
        ------
        JobError
            Values are missing where they may not be, or a column has no categories, or too many.
        """
        features, gaps = self.roles.features, self.request.columns.allow_missing
        if gaps is None:
            gaps = any(has_gaps(each, features) for each in self._tables)
        if not gaps:
            refuse_gaps(table, features)
        truths = {column.name for column in table.columns if column.kind == "boolean"}
        kinds = {name: self.roles.kinds.get(name, "number") for name in features}
        kinds |= {name: "boolean" for name, kind in kinds.items() if kind == "number" and name in truths}
        levels = _read_levels(table, {name: kind for name, kind in kinds.items() if kind in CATEGORIES})
        try:
            plans = [
                plan_categories(name, kind, levels[name]) if name in levels else ColumnPlan(name, kind)
                for name, kind in kinds.items()
            ]
            return Preparation(tuple(plans), "allow" if gaps else "error")
        except ValueError as error:
            raise JobError(f"{table.description}: {error}") from None

    def model(self, some: Table | None = None) -> Model:
        """The model of the rows to learn from, or of some of them."""
        table, request = self.source if some is None else some, self.request
        try:
            model = fit_table(table, self.plan(table), request.settings, self.watcher, self.calibration)
        except UndefinedError as error:
            raise explain_undefined(error) from None
        cell_format = replace(self.source.cell_format, missing=request.reading.missing)
        return replace(model, reading=self.source.remarks, cell_format=cell_format)

    @property
    def notes(self) -> list[str]:
        """What was guessed about numbers, what was decided without being asked, and what a private model gives away."""
        notes = [*dict.fromkeys(remark for table in self._tables for remark in table.remarks), *self.roles.remarks]
        if isinstance(self.source, PartedTable):
            where = f"every pass ran where its parts are, on the workers of {self.source.engine}"
            notes.append(f"{self.source.description}: {where}.")
        elif isinstance(self.source, Source) and self.source.engine == "PostgreSQL":
            notes.append(f"{self.source.description}: rows were streamed from one snapshot.")
        if self.request.output.private and self.request.settings.scaling == "maxabs":
            notes.append(
                "--private: with --scaling maxabs the model holds each column's largest distance from its mean, which "
                "it needs to score; --scaling standard holds none."
            )
        return notes


def _read_levels(table: Table, kinds: dict[str, str]) -> dict[str, set[str]]:
    """The categories of each column, in one pass; of a column with far too many, not all."""
    levels: dict[str, set[str]] = {name: set() for name in kinds}
    for rows in table.cells(list(kinds)) if kinds else ():
        for name, cells in zip(kinds, zip(*rows, strict=True), strict=True):
            if kinds[name] == "codes" or len(levels[name]) <= 100 * MOST_LEVELS:
                levels[name].update(text for cell in set(cells) if (text := cell_text(cell)) is not None)
    return levels


def select_for(learning: Learning, n_resamples: int, time_budget: float | None = None) -> Selection:
    """`aspca.select` of a table, which is held in memory for it."""
    # The only job that needs scikit-learn.
    from aspca.estimators.aspca import ASPCA
    from aspca.estimators.preprocessor import Preprocessor
    from aspca.estimators.selection import select

    table, watcher, label = learning.table, learning.watcher, learning.roles.label
    plan = learning.plan(table)
    watcher.stage("Reading", table.count())
    parts = list(read_checked(table, plan, watcher))
    if sum(map(len, parts)) < 2:
        raise JobError(f"{table.description} has fewer than 2 rows, so nothing can be learned from it; add rows.")
    labels = None if label is None else read_labels(table, label)[0]
    watcher.stage("Fitting", unit="")
    known = 0

    def report(done: int, most: int) -> None:
        nonlocal known
        if not known:
            watcher.stage("Trying numbers of rules and alphas", most, "fits")
        watcher.advance(done - known)
        known = done

    # By now all columns are numbers; only gaps are left to be prepared for.
    preprocessor = Preprocessor(missing="allow") if plan.missing == "allow" else None
    estimator = ASPCA(**asdict(learning.request.settings), preprocessor=preprocessor)
    return select(
        np.concatenate(parts),
        labels,
        estimator=estimator,
        n_resamples=n_resamples,
        time_budget=time_budget,
        callback=report,
    )
