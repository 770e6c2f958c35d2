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
        typer.Option("--output", "-o", metavar="FILE", help="Where to: CSV, or Parquet by its suffix; - is stdout."),
    ] = "-",
    **reading: Any,
) -> int:
    """Score the rows of FILE by a model file, as CSV.

    Columns: row, those of --id, score and whether it is an anomaly. Rows are
    read and written in batches: files may be larger than memory.

    Example:  aspca score february.csv --model model.json > scores.csv
    """
    from aspca.cli.main import ANOMALIES, FINE
    from aspca.cli.talk import Talk
    from aspca.jobs.keys import Keys, ids_in
    from aspca.jobs.output_files import score_file, score_format, write_scores
    from aspca.jobs.requests import files_named, reading_of
    from aspca.jobs.sources import opened
    from aspca.jobs.stored import model_from, refuse_both, refuse_gaps_in, refuse_unfit
    from aspca.outputs.replaced_file import refuse_special

    talk = Talk(quiet)
    options = reading_of(**reading)
    kind = score_format(output, lines=json)
    if output != "-":
        refuse_special(output, [*files_named(files), model])
    refuse_both(model, files)
    stored = model_from(model)
    with ExitStack() as stack:
        watcher = stack.enter_context(talk.progress())
        watcher.stage("Opening", unit="")
        table = stack.enter_context(opened(files, options, ""))
        for remark in table.remarks:
            talk.say(remark)
        refuse_unfit(table, stored)
        refuse_gaps_in(table, stored)
        keys = Keys(ids_in(table, id or ()))
        with score_file(output, kind, keys, stored.allows_gaps) as write:
            rows, anomalies = write_scores(stored, table, keys, write, watcher)
    if anomalies is None:
        talk.say(f"{rows:,} rows scored; the model has no limit, so none is called an anomaly.")
    else:
        talk.say(f"{rows:,} rows scored, {anomalies:,} flagged.")
    return ANOMALIES if fail_on_anomaly and anomalies else FINE
