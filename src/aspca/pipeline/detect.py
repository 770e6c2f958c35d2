"""From a source to findings: rules learned, every row judged once, outputs written part by part."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aspca.model.model import Model
from aspca.paper.datasets import load_synthetic
from aspca.pipeline.drift import calibrate_on, differs_as_a_whole
from aspca.pipeline.errors import JobError, in_one_sentence
from aspca.pipeline.fit import Learning
from aspca.pipeline.judge import Judging, judge_table
from aspca.pipeline.notes import describe_many, describe_outcomes
from aspca.pipeline.options import OPTIONS, Request, in_python, request_of, with_options
from aspca.pipeline.outcome import Outcome
from aspca.pipeline.passes import Silent, Watcher
from aspca.pipeline.report import inputs_of, provenance_of, version, write_reports
from aspca.pipeline.result import Detection
from aspca.pipeline.result_folder import category_folder, write_categories
from aspca.pipeline.tables import tables_by_category
from aspca.report.evidence import Provenance
from aspca.tables.memory import array_table
from aspca.tables.table import Table
from aspca.writers.csv_text import CsvWriter
from aspca.writers.folder import refuse_foreign, replaced_folder


@with_options(OPTIONS, Detection)
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
    return detect_request(request_of(source, train, **options), Silent())


def detect_request(request: Request, watcher: Watcher) -> Detection:
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
        too_many = describe_many(outcomes, learning.table, learning.roles.left_out, elsewhere=elsewhere)
        learned_from = learning.source.description if elsewhere else ""
        remarks = (*learning.notes, *describe_outcomes(outcomes, learned_from), *too_many)
        whence = provenance_of(request, learning.table.description) if request.output.report else None
        unwritten: Sequence[str] = ()
        if folder is not None and whence is not None:
            unwritten = write_reports(folder, outcomes, whence, remarks, private=request.output.private)
    library = getattr(learning.table, "library", "pandas")
    return Detection(learning.table.description, by, outcomes, (*remarks, *unwritten), place, library, whence)


def _judge(learning: Learning, model: Model, table: Table, folder: Path | None, category: str | None = None) -> Outcome:
    """What is found in a table; where it differs as a whole from the rows learned from, by comparing its rows."""
    how = Judging(learning.keys, learning.request.output, learning.watcher)
    outcome = judge_table(model, table, how, folder, category)
    if learning.source is learning.table or not differs_as_a_whole(outcome):
        return outcome
    share = outcome.n_anomalies / outcome.n_rows
    for path in () if folder is None else sorted(folder.iterdir()):
        # Written anew, by other verdicts.
        path.unlink()
    anew = judge_table(calibrate_on(model, table, learning.watcher), table, how, folder, category)
    return replace(anew, unlike=share)


def _by_category(learning: Learning, column: str, folder: Path | None) -> dict[str, Outcome]:
    """What is found in the rows of each category.

    The outputs of each go into a folder category-000, category-001, ... in the order of categories.csv, which says
    which is which.
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
    outcomes = {}
    for number, (category, rows) in enumerate(judged.items()):
        inside = None if folder is None else folder / category_folder(number)
        if inside is not None:
            inside.mkdir()
        outcomes[category] = _judge(learning, learning.model(sources[category]), rows, inside, category)
    if folder is not None:
        write_categories(folder / "categories.csv", outcomes)
    return outcomes


# ---- the demonstration


@dataclass(frozen=True)
class Demonstration:
    """What was found, and how it compares with what was planted.

    Attributes
    ----------
    outcome : Outcome
    planted, explained : int
        Anomalies in the data, and those of them that are errors by the rule that was broken, or by the column.
    gap : float
        The largest certified distance of a step of the solver from its optimum.
    checked : str
        What the verifier says of the certificate.
    unwritten : tuple of str
        What is to be said of a report that could not be written.
    """

    outcome: Outcome
    planted: int
    explained: int
    gap: float
    checked: str
    unwritten: tuple[str, ...]


def demonstrate(folder: Path, watcher: Watcher) -> Demonstration:
    """Fit the synthetic data, judge them, and write the outputs, the data among them, into a folder."""
    data = load_synthetic()
    table = array_table("the synthetic data", data.feature_names, data.data, kind=list(data.kinds))
    written = folder / "data.csv"
    with open(written, "x", encoding="utf-8", newline="") as stream:
        CsvWriter(stream, [*data.feature_names, "kind"]).columns(*data.data.T.tolist(), data.kinds)
    with ExitStack() as stack:
        learning = Learning.of(request_of(table, label="kind", top=len(data.kinds)), stack, watcher)
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
    return Demonstration(
        outcome=outcome,
        planted=int(data.labels.sum()),
        explained=explained,
        gap=max(step.gap for step in subspace.certificates),
        checked="verified" if subspace.verify(model.space.covariance) else "NOT VERIFIED",
        unwritten=tuple(unwritten),
    )
