"""`aspca select`: what other numbers of rules and other alphas would give."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from typing import Annotated, Any

import typer

from aspca.cli import options as o

_EFFORT: o.Group = {
    "resamples": (
        Annotated[
            int,
            typer.Option("--resamples", metavar="N", min=0, help="Halves of the rows for stability, at most."),
        ],
        10,
    ),
    "time_budget": (
        Annotated[
            float | None,
            typer.Option("--time-budget", metavar="SECONDS", min=0.0, help="Then show what was measured, and say so."),
        ],
        None,
    ),
}


@o.takes(
    o.COLUMNS,
    _EFFORT,
    o.settings_named("variant", "score", "scaling"),
    o.PRESET,
    o.READING,
    o.JSON,
    o.CSV,
    o.QUIET,
)
def run(
    files: o.Files,
    resamples: int,
    time_budget: float | None,
    json: bool,
    csv: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Show what other numbers of rules and alphas would give.

    What auto chooses is marked. The rows are held in memory. Labels only add a column with the AUC; nothing
    is chosen by them.

    Example:  aspca select metrics.csv --label incident
    """
    from aspca.cli.talk import Talk, refuse_together, write_json
    from aspca.jobs.fit import Learning, curves_of, selected
    from aspca.jobs.options import request_of
    from aspca.outputs.csv_text import CsvWriter
    from aspca.outputs.inputs import STANDARD_STREAM, refuse_inputs
    from aspca.outputs.standard import data_output

    talk = Talk(quiet)
    refuse_together({"--json": json, "--csv": csv})
    request = request_of(files, **given)
    refuse_inputs(STANDARD_STREAM, request.inputs)
    with talk.progress() as watcher, ExitStack() as stack:
        learning = Learning.of(request, stack, watcher)
        selection = selected(learning, asdict(request.settings), resamples, time_budget)
    for remark in learning.remarks:
        talk.say(remark)
    # The text on stdout says it itself.
    if selection.remark is not None and (json or csv):
        talk.say(selection.remark)
    curves = curves_of(selection)
    if json:
        write_json(curves)
    elif csv:
        CsvWriter(data_output(), curves[0]).columns(*([line[name] for line in curves] for name in curves[0]))
    else:
        print(selection.text)
