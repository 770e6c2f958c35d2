"""`aspca score`: scores of rows by a stored model, in batches."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated, Any

import typer

from aspca.cli import options as o

_LINES: o.Group = {"json": (Annotated[bool, typer.Option("--json", help="One JSON object per line, no CSV.")], False)}


@o.takes(o.IDS, o.READING, _LINES, o.QUIET, o.FAIL)
def run(
    files: o.Files,
    model: o.StoredModel,
    id: list[str] | None,
    json: bool,
    quiet: bool,
    fail_on_anomaly: bool,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to: by its suffix .csv, .jsonl, .parquet, .arrow or .duckdb, or postgresql://...; - is stdout.",
        ),
    ] = "-",
    output_table: Annotated[
        str | None, typer.Option("--output-table", metavar="NAME", help="Which table of a database. Default: scores.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace that table, also where it is not one of aspca's.")
    ] = False,
    **reading: Any,
) -> int:
    """Score the rows of FILE by a model file, as CSV.

    Columns: row, those of --id, score, whether it is an anomaly, the rules
    that it breaks, and what its cells would have to be. Rows are read and
    written in batches: files may be larger than memory.

    Example:  aspca score february.csv --model model.json > scores.csv
    """
    from aspca.cli.main import ANOMALIES, FINE
    from aspca.cli.talk import Talk
    from aspca.jobs.columns import ids_in, refuse_misfit
    from aspca.jobs.keys import Keys
    from aspca.jobs.models import model_from, refuse_both
    from aspca.jobs.options import reading_of
    from aspca.jobs.score import destination_of, write_scored
    from aspca.jobs.sources import open_for

    talk = Talk(quiet)
    options = reading_of(**reading)
    destination = destination_of(output, table=output_table, lines=json, replace=replace)
    destination.refuse_inputs(files, model, options)
    refuse_both(model, files)
    stored = model_from(model)
    with ExitStack() as stack:
        watcher = stack.enter_context(talk.progress())
        watcher.stage("Opening", unit="")
        table = stack.enter_context(open_for(stored, files, options, ""))
        for remark in table.remarks:
            talk.say(remark)
        refuse_misfit(table, stored)
        tally = write_scored(stored, table, Keys(ids_in(table, id or ())), destination, watcher)
    if tally.anomalies is None:
        talk.say(f"{tally.n_rows:,} rows scored; the model has no limit, so none is called an anomaly.")
    else:
        found = f"{tally.anomalies:,} flagged"
        if stored.alarms.error is not None:
            found = f"{tally.errors:,} errors and {tally.anomalies - tally.errors:,} unusual rows"
        talk.say(f"{tally.n_rows:,} rows scored: {found}.")
    return ANOMALIES if fail_on_anomaly and tally.errors else FINE
