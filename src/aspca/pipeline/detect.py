"""From a source to findings: rules learned, every row judged once, outputs written part by part."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from aspca.model.model import Model
from aspca.paper.datasets import load_synthetic
from aspca.pipeline.drift import calibrate_on, differs_as_a_whole
from aspca.pipeline.fit import Learning
from aspca.pipeline.judge import judge_table
from aspca.pipeline.notes import describe_many, describe_outcomes
from aspca.pipeline.options import OPTIONS, Request, for_python, make_request
from aspca.pipeline.outcome import Outcome
from aspca.pipeline.passes import Silent, Watcher
from aspca.pipeline.report import inputs_of, provenance_of, version, write_reports
from aspca.pipeline.result import Detection
from aspca.pipeline.result_folder import category_folder, write_categories
from aspca.preparation.columns import cell_text
from aspca.report.collect import Provenance
from aspca.tables.column_checks import MOST_CATEGORIES
from aspca.tables.errors import JobError, RequestError
from aspca.tables.memory import RowsView, make_array_table
from aspca.tables.table import Table, read_cells
from aspca.writers.folder import refuse_foreign, replaced_folder
from aspca.writers.text_rows import CsvWriter


@for_python(OPTIONS, Detection)
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
    return detect_request(make_request(source, train, **options), Silent())


def detect_request(request: Request, watcher: Watcher) -> Detection:
    """What is found, and written where a folder is named: all of it, or nothing."""
    place, by, private = request.output.output, request.columns.by, request.output.private
    if place is not None:
        refuse_foreign(place, request.inputs)
    with ExitStack() as stack:
        learning = Learning.of(request, stack, watcher, judges_itself=True)
        folder = None if place is None else stack.enter_context(replaced_folder(place))
        outcomes: dict[str | None, Outcome] = {}
        if by is None:
            outcomes[None] = _judge(learning, learning.model(), learning.table, folder)
        else:
            outcomes.update(_judge_categories(learning, by, folder))
        # It may look into columns that were left out, so the table is still open.
        too_many = describe_many(outcomes, learning.table, learning.roles.left_out, elsewhere=learning.elsewhere)
        learned_from = learning.source.description if learning.elsewhere else ""
        remarks = (*learning.notes, *describe_outcomes(outcomes, learned_from), *too_many)
        whence = provenance_of(request, learning.table.description) if request.output.report else None
        if folder is not None and whence is not None:
            remarks = (*remarks, *write_reports(folder, outcomes, whence, remarks, private=private))
    library = getattr(learning.table, "library", "pandas")
    return Detection(learning.table.description, by, outcomes, remarks, place, library, whence)


def _judge(learning: Learning, model: Model, table: Table, folder: Path | None, category: str | None = None) -> Outcome:
    """What is found in a table; where it differs as a whole from the rows learned from, by comparing its rows."""
    keys, watcher, output = learning.keys, learning.watcher, learning.request.output
    outcome = judge_table(model, table, keys, watcher, output, folder, category)
    if not learning.elsewhere or not differs_as_a_whole(outcome):
        return outcome
    share = outcome.n_anomalies / outcome.n_rows
    for path in () if folder is None else sorted(folder.iterdir()):
        # Written anew, by other verdicts.
        path.unlink()
    anew = judge_table(calibrate_on(model, table, watcher), table, keys, watcher, output, folder, category)
    return replace(anew, unlike=share)


def _judge_categories(learning: Learning, column: str, folder: Path | None) -> dict[str, Outcome]:
    """What is found in the rows of each category.

    The outputs of each go into a folder category-000, category-001, ... in the order of categories.csv, which says
    which is which.
    """
    judged = _split_categories(learning.table, column)
    sources = _split_categories(learning.source, column) if learning.elsewhere else judged
    unknown = next((category for category in judged if category not in sources), None)
    if unknown is not None:
        raise JobError(
            f"--by: {judged[unknown].locate(0)} has the category {unknown!r} in column {column!r}, which "
            f"{learning.source.description} does not have, so nothing is known about it; leave such rows out."
        )
    outcomes = {}
    for number, (category, rows) in enumerate(judged.items()):
        inside = None if folder is None else folder / category_folder(number)
        if inside is not None:
            inside.mkdir()
        outcomes[category] = _judge(learning, learning.model(sources[category]), rows, inside, category)
    if folder is not None:
        write_categories(folder / "categories.csv", outcomes)
    return outcomes


def _split_categories(table: Table, column: str) -> dict[str, RowsView]:
    """The rows of each category of a column, in sorted order; RequestError for too many, and for a row without one."""
    rows_of: dict[str, list[int]] = {}
    for row, cell in enumerate(read_cells(table, column)):
        category = cell_text(cell)
        if category is None:
            raise RequestError(f"--by: {table.locate(row)} has no category in column {column!r}; every row needs one.")
        rows_of.setdefault(category, []).append(row)
        if len(rows_of) > MOST_CATEGORIES:
            raise RequestError(
                f"--by: column {column!r} of {table.description} has more than {MOST_CATEGORIES} categories, and each "
                "would get a model of its own; name a column with fewer."
            )
    return {
        category: RowsView(table, np.array(rows), f"{table.description}, {column} {category!r}")
        for category, rows in sorted(rows_of.items())
    }


# ---- the demonstration


@dataclass(frozen=True)
class Demonstration:
    """What was found, and how it compares with what was planted."""

    outcome: Outcome
    planted: int  # anomalies in the data
    explained: int  # those of them that are errors by the rule that was broken, or by the column
    gap: float  # the largest certified distance of a step of the solver from its optimum
    checked: str  # what the verifier says of the certificate
    unwritten: list[str]  # what is to be said of a report that could not be written


def demonstrate(folder: Path, watcher: Watcher) -> Demonstration:
    """Fit the synthetic data, judge them, and write the outputs, the data among them, into a folder."""
    data = load_synthetic()
    table = make_array_table("the synthetic data", data.feature_names, data.data, kind=list(data.kinds))
    written = folder / "data.csv"
    with open(written, "x", encoding="utf-8", newline="") as stream:
        CsvWriter(stream, [*data.feature_names, "kind"]).columns(*data.data.T.tolist(), data.kinds)
    with ExitStack() as stack:
        learning = Learning.of(make_request(table, label="kind", top=len(data.kinds)), stack, watcher)
        outcome = _judge(learning, learning.model(), table, folder)
    model, explained = outcome.model, 0
    # Solved before the report is made, which then holds the certificates.
    subspace = model.subspace
    whence = Provenance("the synthetic data", version(), "aspca demo", tuple(inputs_of([str(written)], "judged")))
    unwritten = write_reports(folder, {None: outcome}, whence, (), private=False)
    for finding in outcome.findings:
        broken = {sign for sign in data.kinds[finding.row] if sign.isalpha()}
        told = set(model.rules[finding.breaks[0].rule].features) if finding.breaks_a_rule else set(finding.repair)
        explained += finding.verdict == "error" and told == broken
    gap = max(step.gap for step in subspace.certificates)
    checked = "verified" if subspace.verify(model.space.covariance) else "NOT VERIFIED"
    return Demonstration(outcome, int(data.labels.sum()), explained, gap, checked, unwritten)
