"""`aspca detect`: learn from a file, judge it (or another), tell what was found, write a folder of outputs."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aspca.cli import options as o

if TYPE_CHECKING:
    from aspca.jobs.result import Detection

_OPTIONS: o.Group = {
    "train": (
        Annotated[
            list[str] | None, typer.Option("--train", metavar="FILE", help="Learn from this file instead; repeatable.")
        ],
        None,
    ),
    **o.COLUMNS,
    "by": (
        Annotated[str | None, typer.Option("--by", metavar="COL", help="One model for each category of this column.")],
        None,
    ),
    "patience": (
        Annotated[
            float | None,
            typer.Option(
                "--patience", metavar="X", min=0, help="Longest gap in an incident, in units of --time (s for dates)."
            ),
        ],
        None,
    ),
    "output": (
        Annotated[
            str | None,
            typer.Option("--output", "-o", metavar="DIR", help="The folder to write; FILE.aspca by default."),
        ],
        None,
    ),
    "scores": (
        Annotated[str, typer.Option("--scores", metavar="FORMAT", help="Write scores as csv or as parquet.")],
        "csv",
    ),
    "report": (
        Annotated[bool, typer.Option("--report/--no-report", help="Whether to write report.html.")],
        True,
    ),
    "no_output": (Annotated[bool, typer.Option("--no-output", help="Write no folder.")], False),
    **o.LEARNING,
    **o.READING,
    "top": (Annotated[int, typer.Option("--top", metavar="N", min=0, help="Show the N worst anomalies.")], 20),
}


@o.takes(_OPTIONS, o.JSON, o.CSV, o.QUIET, o.FAIL)
def run(
    files: o.Files, json: bool, csv: bool, quiet: bool, fail_on_anomaly: bool, no_output: bool, **given: Any
) -> int:
    """Learn the rules of FILE and show the rows that break them.

    Writes FILE.aspca/ with report.html, scores.csv, explanations.csv, model.json, with --time
    incidents.csv, and changes.csv if rules changed for long; the folder is
    replaced as a whole, if aspca wrote all that is in it. --csv prints what explanations.csv holds. With --by it
    has a folder for each category.

    Example:  aspca detect metrics.csv --id host --ignore comment
    """
    from aspca.cli.main import ANOMALIES, FINE
    from aspca.cli.talk import Talk, refuse_together
    from aspca.jobs.detect import detected
    from aspca.jobs.options import request_of
    from aspca.outputs.folder import place_of
    from aspca.outputs.inputs import STANDARD_STREAM, refuse_inputs
    from aspca.outputs.scratch import Scratch
    from aspca.outputs.standard import data_output

    talk = Talk(quiet)
    refuse_together({"--json": json, "--csv": csv})
    refuse_together({"--by": given["by"], "--csv": csv})
    refuse_together({"--output": given["output"], "--no-output": no_output})
    with ExitStack() as stack:
        place = None if no_output else given["output"] or place_of(files)
        given["output"] = place
        if csv and no_output:
            given["output"] = str(stack.enter_context(Scratch()) / "output")
        # Nobody would see it.
        given["report"] = given["report"] and place is not None
        request = request_of(files, **o.with_numbers(given))
        refuse_inputs(STANDARD_STREAM, request.inputs)
        with talk.progress() as watcher:
            detection = detected(request, watcher)
        # By now the folder is in its place, whatever happens to what is printed.
        for remark in detection.remarks:
            talk.say(remark)
        if csv:
            with open(Path(given["output"]) / "explanations.csv", encoding="utf-8", newline="") as stream:
                shutil.copyfileobj(stream, data_output())
        else:
            _show(detection, json, request.output.top)
    wrote = "" if place is None else f" Wrote {place}/{_to_open(detection)}."
    talk.say(f"{detection.n_rows:,} rows judged, {detection.n_anomalies:,} flagged.{wrote}")
    return ANOMALIES if fail_on_anomaly and detection.n_errors else FINE


def _to_open(detection: Detection) -> str:
    """Where the report is, if one was written."""
    from aspca.jobs.report import NAME, can_write

    if detection.whence is None or not can_write():
        return ""
    return f", with {NAME} to open" if detection.by is None else f", with {NAME} for each category"


def _show(detection: Detection, json: bool, top: int) -> None:
    if json:
        from aspca.cli.documents import detection_document
        from aspca.cli.talk import write_json

        write_json(detection_document(detection))
        return
    from aspca.cli.pages import show_detection
    from aspca.cli.talk import console

    show_detection(console(), detection, top)
