"""Commands that use stored models: `aspca score`, `explain`, `rules`, `report` and `compare`.

What they need is loaded when they run.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from aspca.cli import options as o
from aspca.cli.main import ANOMALIES, FINE
from aspca.cli.terminal import Terminal, console, refuse_conflict, write_json
from aspca.writers.replaced_file import STANDARD_STREAM, refuse_inputs
from aspca.writers.standard import open_data_output

_FORMATS = ("html", "json", "markdown")
_SCORING: o.Group = {
    "output": o.one(
        "--output -o",
        "FILE",
        "Where to: by its suffix .csv, .jsonl, .parquet, .arrow or .duckdb, or postgresql://...; - is stdout.",
        kind=str,
        default="-",
    ),
    "output_table": o.one("--output-table", "NAME", "Which table of a database. Default: scores."),
    "replace": o.flag("--replace", "Replace that table, also where it is not one of aspca's."),
    **o.IDS,
    **o.READING,
    "json": o.flag("--json", "One JSON object per line, no CSV."),
}
_REPORTING: o.Group = {
    "output": o.one("--output -o", "FILE", "Where to; - is stdout. Default: report.html, others to stdout."),
    "format": o.one("--format", "NAME", "html, json or markdown. Default: by the output's suffix.", *_FORMATS),
    "row": o.one("--row -r", "ROW", "For markdown: this anomaly only.", kind=int | None, min=0),
    "certificates": o.flag("--certificates", "Solve for the certified components as well."),
    "private": o.flag("--private", "Show no value of a row."),
    **o.IDS,
    **o.TIME,
    **o.LABEL,
    **o.READING,
}


@o.takes(_SCORING, o.QUIET, o.FAIL)
def score(
    files: o.Files,
    model: o.StoredModel,
    output: str,
    output_table: str | None,
    replace: bool,
    id: list[str] | None,
    json: bool,
    quiet: bool,
    fail_on_anomaly: bool,
    **reading: Any,
) -> int:
    """Score the rows of FILE by a model file, as CSV.

    Columns: row, those of --id, score, whether it is an anomaly, the rules
    that it breaks, and what its cells would have to be. Rows are read and
    written in batches: files may be larger than memory.

    Example:  aspca score february.csv --model model.json > scores.csv
    """
    from aspca.pipeline.models import model_from
    from aspca.pipeline.options import reading_of
    from aspca.pipeline.score import destination_of, write_scored
    from aspca.pipeline.sources import open_for
    from aspca.tables.column_checks import find_keys

    terminal = Terminal(quiet)
    options = reading_of(**reading)
    destination = destination_of(output, table=output_table, lines=json, replace=replace)
    destination.refuse_inputs(files, model, options)
    stored = model_from(model, files)
    with terminal.progress() as watcher, open_for(stored, files, options, watcher, terminal.say) as table:
        tally = write_scored(stored, table, find_keys(table, id or ()), destination, watcher)
    if tally.anomalies is None:
        terminal.say(f"{tally.n_rows:,} rows scored; the model has no limit, so none is called an anomaly.")
    else:
        found = f"{tally.anomalies:,} flagged"
        if stored.thresholds.error is not None:
            found = f"{tally.errors:,} errors and {tally.anomalies - tally.errors:,} unusual rows"
        terminal.say(f"{tally.n_rows:,} rows scored: {found}.")
    return ANOMALIES if fail_on_anomaly and tally.errors else FINE


@o.takes(o.IDS, o.READING, o.JSON, o.QUIET)
def explain(
    file: o.File,
    model: o.StoredModel,
    row: Annotated[
        list[str],
        typer.Option("--row", "-r", metavar="ROW", help="Its number, from 0, or with --id its name; repeatable."),
    ],
    id: list[str] | None,
    json: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Say why a row of FILE scores what it scores.

    The score split over rules and over features, and what would be normal.

    Example:  aspca explain today.csv --model model.json --row 512
    """
    from aspca.cli.documents import explained_document
    from aspca.pipeline.explain_rows import explain_rows, find_rows
    from aspca.pipeline.models import model_from
    from aspca.pipeline.options import files_named, reading_of
    from aspca.pipeline.sources import open_for
    from aspca.tables.column_checks import find_keys

    options = reading_of(**reading)
    refuse_inputs(STANDARD_STREAM, [*files_named([file]), model])
    stored, terminal = model_from(model, [file]), Terminal(quiet)
    with terminal.progress() as watcher, open_for(stored, [file], options, watcher, terminal.say, gaps=True) as table:
        keys = find_keys(table, id or ())
        findings = explain_rows(stored, table, find_rows(table, row, keys, watcher), keys, watcher)
    if json:
        write_json([explained_document(finding) for finding in findings])
        return
    from aspca.cli.pages import show_reason

    out = console()
    for number, finding in enumerate(findings):
        if number:
            out.print()
        show_reason(out, finding)


@o.takes(o.JSON, o.CSV, o.MARKDOWN)
def rules(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file; - for stdin.")],
    json: bool,
    csv: bool,
    markdown: bool,
) -> None:
    """Print the rules of a model file.

    Example:  aspca rules model.json --markdown > rules.md
    """
    from aspca.pipeline.models import markdown_of, model_from, write_rules

    refuse_conflict({"--json": json, "--csv": csv, "--markdown": markdown})
    refuse_inputs(STANDARD_STREAM, [model])
    stored = model_from(model)
    if markdown:
        open_data_output().write(markdown_of(stored))
    elif json:
        from aspca.cli.documents import rules_document

        write_json(rules_document(stored))
    elif csv:
        write_rules(open_data_output(), stored)
    else:
        from aspca.cli.pages import show_rules

        show_rules(console(), stored.rules)
        Terminal(quiet=False).say(*stored.reading)


@o.takes(_REPORTING, o.JSON, o.QUIET)
def report(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file, by custom model.json; - for stdin.")],
    files: o.Files,
    output: str | None,
    format: str | None,
    row: int | None,
    certificates: bool,
    private: bool,
    id: list[str] | None,
    time: str | None,
    label: str | None,
    json: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Make one page of what a model file finds in FILE.

    The page needs no network and nothing beside it: send it to whoever has to
    look. --json is the same as data, --format markdown for a ticket.

    Example:  aspca report model.json today.csv -o report.html
    """
    from aspca.pipeline.options import files_named, reading_of
    from aspca.pipeline.report import format_of, refuse_missing, report_by_model, text_of
    from aspca.tables.errors import RequestError
    from aspca.tables.roles import Columns
    from aspca.writers.replaced_file import refuse_special, replaced_file

    terminal = Terminal(quiet)
    refuse_conflict({"--json": json, "--format": format})
    kind = "json" if json else format_of(output, format)
    if kind not in _FORMATS:
        raise RequestError(f"--format must be html, json or markdown, not {kind!r}.")
    if row is not None and kind != "markdown":
        raise RequestError("--row is for --format markdown; every anomaly has a link in the page, as in #row-17.")
    refuse_missing(kind)
    place = output or ("report.html" if kind == "html" else "-")
    to_file = place != STANDARD_STREAM
    (refuse_special if to_file else refuse_inputs)(place, [*files_named(files), model])
    columns, options = Columns(id=tuple(id or ()), time=time, label=label), reading_of(**reading)
    with terminal.progress() as watcher:
        made = report_by_model(model, files, columns, options, watcher, certificates=certificates, private=private)
    terminal.say(*made.remarks)
    text = text_of(made, kind, row)
    if to_file:
        with replaced_file(place) as stream:
            stream.write(text)
    else:
        open_data_output().write(text)
    wrote = f" Wrote {place}." if to_file else ""
    terminal.say(f"{made.counts.rows:,} rows judged, {made.counts.anomalies:,} flagged.{wrote}")


@o.takes(o.JSON)
def compare(
    before: Annotated[str, typer.Argument(metavar="A.json", help="The first model.")],
    after: Annotated[str, typer.Argument(metavar="B.json", help="The second model.")],
    json: bool,
) -> None:
    """Tell which rules stayed, moved, went and came.

    Rules are matched by their directions in the original units, whatever their order.

    Example:  aspca compare january.json february.json
    """
    from aspca.pipeline.models import compare_models, model_from

    refuse_inputs(STANDARD_STREAM, [before, after])
    changes = compare_models(model_from(before), model_from(after))
    if json:
        from aspca.cli.documents import comparison_document

        write_json(comparison_document(changes))
        return
    from aspca.cli.pages import show_comparison

    show_comparison(console(), changes)
