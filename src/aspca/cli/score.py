"""`aspca score`: scores of rows by a stored model, in batches."""

from __future__ import annotations

from typing import Annotated

import typer

from aspca.cli import options as o


def run(
    files: o.Files,
    model: o.StoredModel,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Where to: CSV, or Parquet by its suffix; - is stdout."),
    ] = "-",
    id: o.Id = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    header: o.Header = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per line instead of CSV.")] = False,
    quiet: o.Quiet = False,
    fail_on_anomaly: o.FailOnAnomaly = False,
) -> int:
    """Score the rows of FILE by a model file, as CSV.

    Columns: row, score and whether it is an anomaly. Rows are read and written
    in batches: files may be larger than memory.

    Example:  aspca score february.csv --model model.json > scores.csv
    """
    from aspca.cli.main import ANOMALIES, FINE
    from aspca.cli.reading import opened, options_of
    from aspca.cli.talk import Talk
    from aspca.jobs.column_advice import refuse_absent
    from aspca.jobs.columns import kinds_of, refuse_other_columns
    from aspca.jobs.model_stream import model_from, refuse_both
    from aspca.jobs.preparing import refuse_gaps
    from aspca.jobs.score_file import score_file, score_format, write_scores
    from aspca.outputs.replaced_file import refuse_special

    talk = Talk(quiet)
    reading = options_of(delimiter, encoding, decimal, header)
    kind = score_format(output, lines=json)
    if output != "-":
        refuse_special(output, [*files, model])
    refuse_both(model, files)
    stored = model_from(model)
    with talk.progress() as progress, opened(files, reading) as table:
        needed = kinds_of(stored.names, stored.preparation)
        refuse_other_columns(table, needed, "the rules of the model")
        if not stored.allows_gaps:
            refuse_gaps(table, list(needed), cure="learn the model with --allow-missing")
        if id is not None:
            refuse_absent(table, id, "--id")
        with score_file(output, kind, id, stored.allows_gaps) as write:
            rows, found = write_scores(stored, table, id, write, progress)
    if found is None:
        talk.say(f"{rows:,} rows scored; the model has no limit, so none is called an anomaly.")
    else:
        talk.say(f"{rows:,} rows scored, {found:,} above the limit.")
    return ANOMALIES if fail_on_anomaly and found else FINE
