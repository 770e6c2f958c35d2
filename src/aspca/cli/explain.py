"""`aspca explain`: why single rows score what they score."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated, Any

import typer

from aspca.cli import options as o


@o.takes(o.IDS, o.READING, o.JSON, o.QUIET)
def run(
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
    from aspca.cli.talk import Talk, console, write_json
    from aspca.jobs.columns import ids_in, refuse_unfit
    from aspca.jobs.explain_rows import explained, numbered
    from aspca.jobs.keys import Keys
    from aspca.jobs.models import model_from, refuse_both
    from aspca.jobs.options import files_named, reading_of
    from aspca.jobs.sources import open_for
    from aspca.outputs.inputs import STANDARD_STREAM, refuse_inputs

    options = reading_of(**reading)
    refuse_both(model, [file])
    refuse_inputs(STANDARD_STREAM, [*files_named([file]), model])
    stored = model_from(model)
    talk = Talk(quiet)
    with ExitStack() as stack:
        watcher = stack.enter_context(talk.progress())
        watcher.stage("Opening", unit="")
        table = stack.enter_context(open_for(stored, [file], options, ""))
        for remark in table.remarks:
            talk.say(remark)
        refuse_unfit(table, stored)
        keys = Keys(ids_in(table, id or ()))
        rows = numbered(table, row, keys, watcher)
        reasons = explained(stored, table, rows, keys, watcher)
    if json:
        write_json([reason.document() for reason in reasons])
        return
    from aspca.cli.pages import show_reason

    out = console()
    for number, reason in enumerate(reasons):
        if number:
            out.print()
        show_reason(out, reason)
