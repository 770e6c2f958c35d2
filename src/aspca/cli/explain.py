"""`aspca explain`: why single rows score what they score."""

from __future__ import annotations

from typing import Annotated

import typer

from aspca.cli import options as o


def run(
    file: o.File,
    model: o.StoredModel,
    row: Annotated[list[int], typer.Option("--row", "-r", metavar="N", min=0, help="Its number, from 0; repeatable.")],
    id: o.Id = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    header: o.Header = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Say why a row of FILE scores what it scores.

    The score split over rules and over features, and what would be normal.

    Example:  aspca explain today.csv --model model.json --row 512
    """
    from aspca.cli.reading import opened, options_of
    from aspca.cli.talk import Talk, console, write_json
    from aspca.jobs.column_advice import refuse_absent
    from aspca.jobs.columns import kinds_of, refuse_other_columns
    from aspca.jobs.explaining import explained
    from aspca.jobs.model_stream import model_from, refuse_both

    talk = Talk(quiet)
    reading = options_of(delimiter, encoding, decimal, header)
    refuse_both(model, [file])
    stored = model_from(model)
    with talk.progress() as progress, opened([file], reading) as table:
        refuse_other_columns(table, kinds_of(stored.names, stored.preparation), "the rules of the model")
        if id is not None:
            refuse_absent(table, id, "--id")
        found = explained(stored, table, row, id, progress)
    if json:
        write_json([reason.document() for reason in found])
        return
    from aspca.cli.pages import show_reason

    out = console()
    for number, reason in enumerate(found):
        if number:
            out.print()
        show_reason(out, reason)
