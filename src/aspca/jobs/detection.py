"""From a source to findings: rules learned, every row judged once, outputs written part by part."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aspca.engines.request import read_alike
from aspca.jobs.asked_columns import undefined
from aspca.jobs.drift import calibrate_on, differs_as_a_whole
from aspca.jobs.errors import JobError, UndefinedError
from aspca.jobs.fitting import fit_table
from aspca.jobs.judged_table import Judging, judge_table
from aspca.jobs.keys import Keys, ids_of
from aspca.jobs.many import remark_on_many
from aspca.jobs.output_files import write_categories
from aspca.jobs.preparing import has_gaps, plan_of
from aspca.jobs.progress import Silent, Watcher
from aspca.jobs.pushing import way_remark
from aspca.jobs.python_errors import in_one_sentence
from aspca.jobs.remarks import remarks_on
from aspca.jobs.reports import write_reports
from aspca.jobs.requests import OPTIONS, Request, in_python, request_of
from aspca.jobs.result import Detection, Outcome
from aspca.jobs.roles import Roles, roles_of
from aspca.jobs.sources import opened
from aspca.jobs.tables import MemoryTable, TableSource, tables_by_category
from aspca.jobs.whence import whence_of
from aspca.judging.model import Model
from aspca.outputs.folder import refuse_foreign, replaced_folder
from aspca.preparation import CATEGORIES, Preparation

# Said where a model is to hold no value of a row.
GIVEN_AWAY = (
    "--private: with --scaling maxabs the model holds each column's largest distance from its mean, which it needs to "
    "score; --scaling standard holds none."
)


@in_one_sentence(in_python)
def detect(source: Any, train: Any = None, **options: Any) -> Detection:
    """Learn the rules of a table and find the rows that break them: what ``aspca detect`` does.

    Parameters
    ----------
    source : path, list of paths, address, or a table of any library
        What is judged: files (CSV, Parquet, Arrow, JSON lines, .xlsx, .ods, SQLite, DuckDB, compressed or not; globs;
        folders of Parquet files), an address (``postgresql://...``, ``duckdb:///file``, ``sqlite:///file``), or a
        table (pandas, polars eager and lazy, pyarrow, numpy, DuckDB, Dask, Spark, whatever has an Arrow C stream).
    train : the same, or None
        What to learn from; None: from the source itself.
    calibrate : the same, or None
        Normal rows kept out of the fit, for ``limit="conformal"``.
    id : str, or list of str
        Columns that name the rows; they are no features, and stand beside each anomaly, as all of the following do.
    time, label : str or None
        Columns that time the rows (anomalies are gathered into incidents), and say which are anomalies (only to
        evaluate).
    ignore, categorical, log, transform, date, number : str, list of str, or mapping
        Columns to leave out, and what others become: see docs/data.md. ``categorical={"kind": "codes"}`` and
        ``transform={"amount": "sqrt"}`` say how.
    ignore_text : bool
        Leave out all text that has no role.
    allow_missing : bool or None
        Learn and judge with gaps; None: if there are some.
    by : str or None
        One model for each category of this column.
    output : path or None
        The folder to write, which is replaced as a whole; None: nothing is written.
    moments : {"auto", "engine", "stream"}
        Where the moments of a table in an engine are taken: inside of it (PostgreSQL, Parquet and DuckDB files), so
        that no row leaves it for them, and limits are those of a law; or here, of rows that are streamed; "auto": where
        that is quicker.
    scores, private, top, patience
        Format of the file of scores; whether model.json holds no value of a row; how many findings to return; longest
        gap in an incident, in units of `time` (seconds for dates).
    report : bool
        Keep what `Detection.report` is made of, and write report.html where a folder is written.
    preset, and all parameters of `ASPCA`
        By name: ``n_components``, ``alpha``, ``limit``, ``level``, ``score``, ...
    delimiter, encoding, decimal, thousands, missing, date_order, header, skip, table, query, engine, spark_master
        How to read files, where that is not found out; which sheet or table, if a file or database holds several; a
        SELECT whose rows are the table, for databases; which engine (``"dask"``, ``"spark"``) reads Parquet files.

    Returns
    -------
    Detection

    Raises
    ------
    JobError
        What was asked for, or a table, cannot be used: one sentence.
    """
    return detected(request_of(source, train, **options), Silent())


def _signature() -> inspect.Signature:
    """Every option by name, for `help` and for editors."""
    plain = list(inspect.signature(detect).parameters.values())[:2]
    named = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=OPTIONS[name]) for name in OPTIONS]
    return inspect.Signature([*plain, *named], return_annotation=Detection)


detect.__signature__ = _signature()  # type: ignore[attr-defined]  # a function may have one


@dataclass(frozen=True, eq=False)
class Learning:
    """Open tables, and what their columns are: all that models are made of.

    Attributes
    ----------
    table : TableSource
        To be judged.
    source : TableSource
        To learn from.
    kept_out : TableSource or None
        For limits that rest on rows kept out of the fit.
    roles : Roles
    keys : Keys
        The columns that stand beside rows.
    """

    request: Request
    table: TableSource
    source: TableSource
    kept_out: TableSource | None
    roles: Roles
    keys: Keys
    watcher: Watcher
    judges_itself: bool

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
            train = stack.enter_context(opened(request.train, reading, "the table to learn from"))
            reading = read_alike(reading, train.cell_format)
        table = stack.enter_context(opened(request.source, reading, "the table"))
        reading = reading if train is not None else read_alike(reading, table.cell_format)
        if request.calibrate is not None:
            calibrate = stack.enter_context(opened(request.calibrate, reading, "the table to calibrate with"))
        index = table.index if isinstance(table, MemoryTable) else None
        ids = ids_of(table, columns.id)
        roles = roles_of(
            table,
            ignore=[*columns.ignore, *_indices(train, ids)],
            ignore_text=columns.ignore_text,
            name=ids[0] if ids else index,
            names_too=ids[1:],
            time=columns.time,
            label=columns.label,
            by=columns.by,
            kinds=columns.kinds,
            learned=train,
            calibrate=calibrate,
            judged=judges_itself,
            no_gaps=columns.allow_missing is False,
        )
        categories = [name for name, kind in roles.kinds.items() if kind in CATEGORIES]
        keys = Keys(
            ids or (() if roles.name is None else (roles.name,)),
            roles.time,
            (*(() if columns.by is None else (columns.by,)), *categories),
            roles.label,
        )
        return cls(request, table, table if train is None else train, calibrate, roles, keys, watcher, judges_itself)

    @property
    def gaps(self) -> bool:
        """Whether values may be missing: as asked for, else if some are."""
        asked, tables = self.request.columns.allow_missing, (self.table, self.source, self.kept_out)
        if asked is not None:
            return asked
        return any(table is not None and has_gaps(table, self.roles.features) for table in tables)

    def plan(self, table: TableSource) -> Preparation:
        """What becomes of the columns of a table to learn from."""
        return plan_of(table, self.roles.features, self.roles.kinds, gaps=self.gaps)

    def model(self, some: TableSource | None = None) -> Model:
        """The model of the rows to learn from, or of some of them."""
        table = self.source if some is None else some
        try:
            model = fit_table(
                table,
                self.plan(table),
                self.request.settings,
                self.watcher,
                self.kept_out,
                moments=self.request.moments,
            )
        except UndefinedError as error:
            raise undefined(error) from None
        cell_format = replace(self.source.cell_format, missing=self.request.reading.missing)
        return replace(model, reading=self.source.remarks, cell_format=cell_format)

    @property
    def judging(self) -> Judging:
        """How rows are judged."""
        return Judging(self.keys, self.request.output, self.watcher)

    @property
    def remarks(self) -> list[str]:
        """What was guessed about numbers, what was decided without being asked, and what a private model gives away."""
        given_away = self.request.output.private and self.request.settings.scaling == "maxabs"
        tables = [table for table in (self.table, self.source, self.kept_out) if table is not None]
        reading = dict.fromkeys(remark for table in tables for remark in table.remarks)
        way = way_remark(self.source, self.request.moments)
        return [*reading, *self.roles.remarks, *way, *([GIVEN_AWAY] if given_away else [])]


def _indices(table: TableSource | None, ids: Sequence[str]) -> list[str]:
    """The names of rows of a frame to learn from, which are no feature."""
    index = table.index if isinstance(table, MemoryTable) else None
    return [] if index is None or index in ids else [index]


def detected(request: Request, watcher: Watcher) -> Detection:
    """What is found, and written where a folder is named: all of it, or nothing."""
    place, by = request.output.output, request.columns.by
    if place is not None:
        refuse_foreign(place, request.inputs)
    with ExitStack() as stack:
        learning = Learning.of(request, stack, watcher, judges_itself=True)
        folder = None if place is None else stack.enter_context(replaced_folder(place))
        outcomes: dict[str | None, Outcome] = {}
        if by is None:
            outcomes[None] = _judge(learning, learning.model(), learning.table, folder)
        else:
            outcomes.update(_by_category(learning, by, folder))
        elsewhere = learning.source is not learning.table
        # It may look into columns that were left out, so the table is still open.
        too_many = remark_on_many(outcomes, learning.table, learning.roles.left_out, elsewhere=elsewhere)
        learned_from = learning.source.description if elsewhere else ""
        remarks = (*learning.remarks, *remarks_on(outcomes, learned_from), *too_many)
        whence = whence_of(request, learning.table.description) if request.output.report else None
        unwritten: Sequence[str] = ()
        if folder is not None and whence is not None:
            unwritten = write_reports(folder, outcomes, whence, remarks, private=request.output.private)
    library = getattr(learning.table, "library", "pandas")
    return Detection(learning.table.description, by, outcomes, (*remarks, *unwritten), place, library, whence)


def _judge(
    learning: Learning, model: Model, table: TableSource, folder: Path | None, category: str | None = None
) -> Outcome:
    """What is found in a table; where it differs as a whole from the rows learned from, by comparing its rows."""
    outcome = judge_table(model, table, learning.judging, folder, category)
    if learning.source is learning.table or not differs_as_a_whole(outcome):
        return outcome
    share = outcome.n_anomalies / outcome.n_rows
    for path in () if folder is None else sorted(folder.iterdir()):
        # Written anew, by other verdicts.
        path.unlink()
    anew = judge_table(calibrate_on(model, table, learning.watcher), table, learning.judging, folder, category)
    return replace(anew, unlike=share)


def _by_category(learning: Learning, column: str, folder: Path | None) -> dict[str, Outcome]:
    """What is found in the rows of each category.

    The outputs of each go into a folder category-000, category-001, ... in the order of categories.csv, which says
    which is which: categories are other people's text, and no names of files.
    """
    judged = tables_by_category(learning.table, column)
    elsewhere = learning.source is not learning.table
    sources = tables_by_category(learning.source, column) if elsewhere else judged
    unknown = next((category for category in judged if category not in sources), None)
    if unknown is not None:
        raise JobError(
            f"--by: {judged[unknown].where(0)} has the category {unknown!r} in column {column!r}, which "
            f"{learning.source.description} does not have, so nothing is known about it; leave such rows out."
        )
    outcomes, lines = {}, []
    for number, (category, rows) in enumerate(judged.items()):
        name = f"category-{number:03d}"
        inside = None if folder is None else folder / name
        if inside is not None:
            inside.mkdir()
        outcome = _judge(learning, learning.model(sources[category]), rows, inside, category)
        outcomes[category] = outcome
        lines.append((category, name, outcome.n_rows, outcome.n_anomalies, outcome.limit))
    if folder is not None:
        write_categories(folder / "categories.csv", lines)
    return outcomes
