"""`aspca select`: what other numbers of rules and other alphas would give."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from aspca.cli import options as o


def run(
    files: o.Files,
    label: o.Label = None,
    ignore: o.Ignore = None,
    id: o.Id = None,
    time: o.Time = None,
    categorical: o.Categorical = None,
    log: o.Log = None,
    transform: o.Transform = None,
    date: o.Date = None,
    number: o.Number = None,
    allow_missing: o.AllowMissing = False,
    resamples: Annotated[
        int, typer.Option("--resamples", metavar="N", min=0, help="Halves of the rows to measure stability with.")
    ] = 10,
    variant: o.Variant = None,
    score: o.Score = None,
    scaling: o.Scaling = None,
    preset: o.Preset = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    header: o.Header = None,
    json: o.Json = False,
    csv: o.Csv = False,
    quiet: o.Quiet = False,
) -> None:
    """Show what other numbers of rules and alphas would give.

    What auto chooses is marked. The rows are held in memory. Labels only add a column with the AUC; nothing
    is chosen by them.

    Example:  aspca select metrics.csv --label incident
    """
    from aspca.cli.reading import kinds_of, opened, options_of
    from aspca.cli.talk import Talk, write_json
    from aspca.jobs.columns import roles_of
    from aspca.jobs.errors import RequestError
    from aspca.jobs.preparing import plan_of
    from aspca.jobs.selecting import curves_of, selected
    from aspca.jobs.settings import parameters_of
    from aspca.outputs.csv_text import CsvWriter

    talk = Talk(quiet)
    if json and csv:
        raise RequestError("--json and --csv exclude each other; give one of them.")
    parameters = parameters_of({"variant": variant, "score": score, "scaling": scaling}, preset)
    kinds = kinds_of(categorical, log, transform, date, number)
    reading = options_of(delimiter, encoding, decimal, header)
    with talk.progress() as progress, opened(files, reading) as table:
        roles = roles_of(table, ignore=ignore or (), name=id, time=time, label=label, kinds=kinds)
        plan = plan_of(table, roles, gaps=allow_missing)
        selection = selected(table, roles, plan, parameters, resamples, progress)
    for remark in roles.remarks:
        talk.say(remark)
    curves = curves_of(selection)
    if json:
        write_json(curves)
    elif csv:
        CsvWriter(sys.stdout, curves[0]).columns(*([line[name] for line in curves] for name in curves[0]))
    else:
        print(selection.text)
