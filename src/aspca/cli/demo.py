"""`aspca demo`: the paper's synthetic data, its rules, and the rule that each anomaly breaks."""

from __future__ import annotations

from typing import Annotated

import typer

from aspca.cli import options as o

_FOLDER = "aspca-demo"


@o.takes(o.QUIET)
def run(
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="Where to write.")] = _FOLDER,
    quiet: bool = False,
) -> None:
    """Explain the fifteen anomalies of built-in data.

    Needs no file and no network; writes aspca-demo/.

    Example:  aspca demo
    """
    from aspca.cli.pages import count, show_findings, show_rules
    from aspca.cli.talk import Talk, console
    from aspca.jobs.detect import demonstrated
    from aspca.outputs.folder import replaced_folder

    talk = Talk(quiet)
    with talk.progress() as watcher, replaced_folder(output) as folder:
        shown = demonstrated(folder, watcher)
    outcome, out = shown.outcome, console()
    model = outcome.model
    features = f"{count(len(model.names), 'feature')} ({', '.join(model.names)})"
    out.print(f"{count(outcome.n_rows, 'row')}, {features}, no labels used.")
    out.print()
    show_rules(out, model.rules)
    out.print(f"  Each step is within {shown.gap:.0e} of its optimum; recomputed from the data: {shown.checked}.")
    out.print()
    show_findings(out, outcome, "")
    out.print()
    told = "planted anomalies are errors, told by the rule that they break or the wrong column."
    out.print(f"{shown.explained} of {shown.planted} {told}")
    for remark in shown.unwritten:
        talk.say(remark)
    report = "" if shown.unwritten else f" Open {output}/report.html in a browser."
    talk.say(f"Wrote {output}/.{report} Next: aspca detect {output}/data.csv --label kind")
