"""`aspca report`: what a stored model finds in a file, as one page to hand on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from aspca.cli import options as o

_FORMATS = ("html", "json", "markdown")
_OPTIONS: o.Group = {
    **o.IDS,
    "time": o.COLUMNS["time"],
    "label": o.COLUMNS["label"],
    **o.READING,
}


@o.takes(_OPTIONS, o.JSON, o.QUIET)
def run(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file, by custom model.json; - for stdin.")],
    files: o.Files,
    id: list[str] | None,
    time: str | None,
    label: str | None,
    json: bool,
    quiet: bool,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to; - is stdout. Default: report.html, others to stdout."
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="html, json or markdown.", autocompletion=o.one_of(*_FORMATS)),
    ] = None,
    row: Annotated[
        int | None, typer.Option("--row", "-r", metavar="ROW", min=0, help="For markdown: this anomaly only.")
    ] = None,
    certificates: Annotated[
        bool, typer.Option("--certificates", help="Solve for the certified components as well.")
    ] = False,
    private: Annotated[bool, typer.Option("--private", help="Show no value of a row.")] = False,
    **reading: Any,
) -> None:
    """Make one page of what a model file finds in FILE.

    The page needs no network and nothing beside it: send it to whoever has to
    look. --json is the same as data, --format markdown for a ticket.

    Example:  aspca report model.json today.csv -o report.html
    """
    from aspca.cli.talk import Talk, refuse_together
    from aspca.jobs.errors import RequestError
    from aspca.jobs.models import refuse_both
    from aspca.jobs.options import files_named, reading_of
    from aspca.jobs.report import Asked, refuse_missing, report_by_model, text_of
    from aspca.outputs.inputs import STANDARD_STREAM, refuse_inputs
    from aspca.outputs.replaced_file import refuse_special, replaced_file
    from aspca.outputs.standard import data_output

    talk = Talk(quiet)
    refuse_together({"--json": json, "--format": format})
    kind = "json" if json else format or "html"
    if kind not in _FORMATS:
        raise RequestError(f"--format must be html, json or markdown, not {kind!r}.")
    if row is not None and kind != "markdown":
        raise RequestError("--row is for --format markdown; every anomaly has a link in the page, as in #row-17.")
    refuse_missing(kind)
    place = output or ("report.html" if kind == "html" else "-")
    to_file = place != STANDARD_STREAM
    (refuse_special if to_file else refuse_inputs)(place, [*files_named(files), model])
    refuse_both(model, files)
    asked = Asked(model, tuple(files), tuple(id or ()), time, label, reading_of(**reading), certificates, private)
    with talk.progress() as watcher:
        report = report_by_model(asked, watcher)
    for remark in report.remarks:
        talk.say(remark)
    text = text_of(report, kind, row)
    if to_file:
        with replaced_file(place) as stream:
            stream.write(text)
    else:
        data_output().write(text)
    wrote = f" Wrote {place}." if to_file else ""
    talk.say(f"{report.counts.rows:,} rows judged, {report.counts.anomalies:,} flagged.{wrote}")
