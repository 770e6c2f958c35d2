"""Commands that learn rules: `aspca detect`, `fit`, `select` and `demo`. What they need is loaded when they run."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from aspca.cli import options as o
from aspca.cli.main import ANOMALIES, FINE
from aspca.cli.terminal import Terminal, console, refuse_conflict, write_json
from aspca.writers.replaced_file import STANDARD_STREAM, refuse_inputs
from aspca.writers.standard import open_data_output

_DETECTING: o.Group = {
    "train": o.several("--train", "FILE", "Learn from this file instead"),
    **o.COLUMNS,
    "by": o.one("--by", "COL", "One model for each category of this column."),
    "patience": o.one(
        "--patience", "X", "Longest gap in an incident, in units of --time (s for dates).", kind=float | None, min=0
    ),
    "output": o.one("--output -o", "DIR", "The folder to write; FILE.aspca by default."),
    "scores": o.one("--scores", "FORMAT", "Write scores as csv or as parquet.", kind=str, default="csv"),
    "report": o.flag("--report/--no-report", "Whether to write report.html.", default=True),
    "no_output": o.flag("--no-output", "Write no folder."),
    **o.LEARNING,
    **o.READING,
    "top": o.one("--top", "N", "Show the N worst anomalies.", kind=int, default=20, min=0),
}


@o.takes(_DETECTING, o.JSON, o.CSV, o.QUIET, o.FAIL)
def detect(
    files: o.Files, json: bool, csv: bool, quiet: bool, fail_on_anomaly: bool, no_output: bool, **given: Any
) -> int:
    """Learn the rules of FILE and show the rows that break them.

    Writes FILE.aspca/ with report.html, scores.csv, explanations.csv, model.json, with --time
    incidents.csv, and changes.csv if rules changed for long; the folder is
    replaced as a whole, if aspca wrote all that is in it. --csv prints what explanations.csv holds. With --by it
    has a folder for each category.

    Example:  aspca detect metrics.csv --id host --ignore comment
    """
    from aspca.pipeline.detect import detect_request
    from aspca.pipeline.options import make_request
    from aspca.pipeline.report import NAME, can_write
    from aspca.writers.folder import choose_output_folder
    from aspca.writers.scratch import Scratch

    terminal = Terminal(quiet)
    refuse_conflict({"--json": json, "--csv": csv})
    refuse_conflict({"--by": given["by"], "--csv": csv})
    refuse_conflict({"--output": given["output"], "--no-output": no_output})
    with ExitStack() as stack:
        place = None if no_output else given["output"] or choose_output_folder(files)
        given["output"] = str(stack.enter_context(Scratch()) / "output") if csv and no_output else place
        # Nobody would see it.
        given["report"] = given["report"] and place is not None
        request = make_request(files, **o.with_numbers(given))
        refuse_inputs(STANDARD_STREAM, request.inputs)
        with terminal.progress() as watcher:
            detection = detect_request(request, watcher)
        # By now the folder is in its place, whatever happens to what is printed.
        terminal.say(*detection.remarks)
        if csv:
            with open(Path(given["output"]) / "explanations.csv", encoding="utf-8", newline="") as stream:
                shutil.copyfileobj(stream, open_data_output())
        elif json:
            from aspca.cli.documents import detection_document

            write_json(detection_document(detection))
        else:
            from aspca.cli.pages import show_detection

            show_detection(console(), detection, request.output.top)
    report = "" if detection.whence is None or not can_write() else f", with {NAME} "
    report += "" if not report else "to open" if detection.by is None else "for each category"
    wrote = "" if place is None else f" Wrote {place}/{report}."
    terminal.say(f"{detection.n_rows:,} rows judged, {detection.n_anomalies:,} flagged.{wrote}")
    return ANOMALIES if fail_on_anomaly and detection.n_errors else FINE


@o.takes(o.COLUMNS, o.LEARNING, o.READING, o.JSON, o.QUIET)
def fit(files: o.Files, model: o.StoredModel, json: bool, quiet: bool, **given: Any) -> None:
    """Learn the rules of FILE and write them to a model file.

    The columns of --label, --id and --time are left out, as those of --ignore are.

    Example:  aspca fit january.csv --id host --model model.json
    """
    from aspca.findings.words import describe_given
    from aspca.model_file.model_file import write_model
    from aspca.pipeline.fit import Learning
    from aspca.pipeline.models import model_text
    from aspca.pipeline.notes import describe_excluded, describe_gaps
    from aspca.pipeline.options import make_request
    from aspca.writers.replaced_file import refuse_special

    terminal = Terminal(quiet)
    request = make_request(files, **o.with_numbers(given))
    to_file = model != STANDARD_STREAM
    refuse_inputs(STANDARD_STREAM, [*request.inputs, *([model] if to_file else [])])
    if to_file:
        refuse_special(model, request.inputs)
    with terminal.progress() as watcher, ExitStack() as stack:
        learning = Learning.of(request, stack, watcher)
        fitted = learning.model()
    excluded = describe_excluded(fitted, learning.source.description)
    terminal.say(*learning.notes, *describe_gaps(fitted), *excluded, *describe_given(fitted))
    private = request.output.private
    if not to_file:
        open_data_output().write(model_text(fitted, private=private))
        return
    write_model(fitted, model, naming="table", private=private)
    if json:
        from aspca.cli.documents import rules_document

        write_json(rules_document(fitted))
    else:
        from aspca.cli.pages import show_rules

        show_rules(console(), fitted.rules)
    terminal.say(f"Learned from {fitted.space.n_rows:,} rows; wrote {model}.")


_SELECTING: o.Group = {
    **o.COLUMNS,
    "resamples": o.one("--resamples", "N", "Halves of the rows for stability, at most.", kind=int, default=10, min=0),
    "time_budget": o.one(
        "--time-budget", "SECONDS", "Then show what was measured, and say so.", kind=float | None, min=0.0
    ),
    **o.settings_named("variant", "score", "scaling"),
    **o.PRESET,
    **o.READING,
}


@o.takes(_SELECTING, o.JSON, o.CSV, o.QUIET)
def select(
    files: o.Files, resamples: int, time_budget: float | None, json: bool, csv: bool, quiet: bool, **given: Any
) -> None:
    """Show what other numbers of rules and alphas would give.

    What auto chooses is marked. The rows are held in memory. Labels only add a column with the AUC; nothing
    is chosen by them.

    Example:  aspca select metrics.csv --label incident
    """
    from aspca.pipeline.fit import Learning, select_for
    from aspca.pipeline.options import make_request
    from aspca.writers.text_rows import CsvWriter

    terminal = Terminal(quiet)
    refuse_conflict({"--json": json, "--csv": csv})
    request = make_request(files, **given)
    refuse_inputs(STANDARD_STREAM, request.inputs)
    with terminal.progress() as watcher, ExitStack() as stack:
        learning = Learning.of(request, stack, watcher)
        selection = select_for(learning, resamples, time_budget)
    terminal.say(*learning.notes)
    if not json and not csv:
        print(selection.text)
        return
    if selection.remark is not None:
        terminal.say(selection.remark)
    # One line per choice: which curve it belongs to, and whether it is what auto chooses.
    curves = [
        {"curve": curve, "chosen": choice == selection.chosen, **asdict(choice)}
        for curve, choices in (("components", selection.over_components), ("alpha", selection.over_alphas))
        for choice in choices
    ]
    if json:
        write_json(curves)
    else:
        CsvWriter(open_data_output(), curves[0]).columns(*([line[name] for line in curves] for name in curves[0]))


@o.takes(o.QUIET)
def demo(
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="Where to write.")] = "aspca-demo",
    quiet: bool = False,
) -> None:
    """Explain the fifteen anomalies of built-in data.

    Needs no file and no network; writes aspca-demo/.

    Example:  aspca demo
    """
    from aspca.cli.pages import count, show_findings, show_rules
    from aspca.pipeline.detect import demonstrate
    from aspca.writers.folder import replaced_folder

    terminal = Terminal(quiet)
    with terminal.progress() as watcher, replaced_folder(output) as folder:
        shown = demonstrate(folder, watcher)
    outcome, out = shown.outcome, console()
    names = outcome.model.names
    out.print(f"{count(outcome.n_rows, 'row')}, {count(len(names), 'feature')} ({', '.join(names)}), no labels used.\n")
    show_rules(out, outcome.rules)
    out.print(f"  Each step is within {shown.gap:.0e} of its optimum; recomputed from the data: {shown.checked}.\n")
    show_findings(out, outcome, "")
    told = "planted anomalies are errors, told by the rule that they break or the wrong column."
    out.print(f"\n{shown.explained} of {shown.planted} {told}")
    terminal.say(*shown.unwritten)
    report = "" if shown.unwritten else f" Open {output}/report.html in a browser."
    terminal.say(f"Wrote {output}/.{report} Next: aspca detect {output}/data.csv --label kind")
