"""`aspca detect`: learn from a file, judge it (or another), tell what was found, write a folder of outputs."""

from __future__ import annotations

import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from aspca.cli import options as o

if TYPE_CHECKING:
    from aspca.jobs.detection import Detection


def run(
    files: o.Files,
    train: Annotated[
        list[str] | None, typer.Option("--train", metavar="FILE", help="Learn from this file instead; repeatable.")
    ] = None,
    label: o.Label = None,
    ignore: o.Ignore = None,
    id: o.Id = None,
    time: o.Time = None,
    categorical: o.Categorical = None,
    log: o.Log = None,
    transform: o.Transform = None,
    date: o.Date = None,
    allow_missing: o.AllowMissing = False,
    patience: Annotated[
        float | None,
        typer.Option("--patience", metavar="X", help="Longest gap in an incident, in units of --time (s for dates)."),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="DIR", help="The folder to write; FILE.aspca by default.")
    ] = None,
    scores: Annotated[
        str, typer.Option("--scores", metavar="FORMAT", help="Write scores as csv or as parquet.")
    ] = "csv",
    no_output: Annotated[bool, typer.Option("--no-output", help="Write no folder.")] = False,
    n_components: o.NComponents = None,
    alpha: o.Alpha = None,
    max_features: o.MaxFeatures = None,
    variant: o.Variant = None,
    score: o.Score = None,
    scaling: o.Scaling = None,
    limit: o.Limit = None,
    level: o.Level = None,
    contamination: o.Contamination = None,
    preset: o.Preset = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    header: o.Header = None,
    top: Annotated[
        int,
        typer.Option("--top", metavar="N", min=0, help="Show the N worst anomalies."),
    ] = 20,
    json: o.Json = False,
    csv: o.Csv = False,
    quiet: o.Quiet = False,
    fail_on_anomaly: o.FailOnAnomaly = False,
) -> int:
    """Learn the rules of FILE and show the rows that break them.

    Writes FILE.aspca/ with scores.csv, explanations.csv, model.json and, with
    --time, incidents.csv; the folder is replaced as a whole. --csv prints what
    explanations.csv holds.

    Example:  aspca detect metrics.csv --id host --ignore comment
    """
    from aspca.cli.main import ANOMALIES, FINE
    from aspca.cli.reading import kinds_of, opened, options_of
    from aspca.cli.talk import Talk
    from aspca.jobs.columns import roles_of
    from aspca.jobs.detection import detect
    from aspca.jobs.errors import RequestError
    from aspca.jobs.fitting import fit_table
    from aspca.jobs.folder import place_of, refuse_foreign, replaced_folder
    from aspca.jobs.preparing import plan_of
    from aspca.jobs.score_file import refuse_format
    from aspca.jobs.settings import number_or_word, settings_of

    talk = Talk(quiet)
    if json and csv:
        raise RequestError("--json and --csv exclude each other; give one of them.")
    refuse_format(scores)
    if no_output and output is not None:
        raise RequestError("--output and --no-output exclude each other; give one of them.")
    settings = settings_of(
        {
            "n_components": number_or_word(n_components),
            "alpha": number_or_word(alpha),
            "max_features": max_features,
            "variant": variant,
            "score": score,
            "scaling": scaling,
            "limit": number_or_word(limit),
            "level": level,
            "contamination": number_or_word(contamination),
        },
        preset,
    )
    kinds = kinds_of(categorical, log, transform, date)
    reading = options_of(delimiter, encoding, decimal, header)
    place = None if no_output else output or place_of(files)
    if place is not None:
        refuse_foreign(place)
    with ExitStack() as kept:
        scratch = kept.enter_context(TemporaryDirectory(prefix="aspca-")) if place is None else place
        with talk.progress() as progress, opened(files, reading) as table, ExitStack() as stack:
            learned = stack.enter_context(opened(train, reading)) if train else None
            roles = roles_of(table, ignore=ignore or (), name=id, time=time, label=label, kinds=kinds, learned=learned)
            source = table if learned is None else learned
            plan = plan_of(source, roles, gaps=allow_missing)
            model = fit_table(source, roles.features, settings, progress, plan)
            folder = Path(scratch) if place is None else stack.enter_context(replaced_folder(place))
            found = detect(model, table, roles, folder, progress, most=top, patience=patience, scores_as=scores)
        # By now the folder is in its place, whatever happens to what is printed.
        for remark in roles.remarks:
            talk.say(remark)
        _show(found, table.description, Path(scratch), place, top, json, csv)
    talk.say(f"{found.n_rows:,} rows judged, {found.n_anomalies:,} flagged." + (f" Wrote {place}/." if place else ""))
    return ANOMALIES if fail_on_anomaly and found.n_anomalies else FINE


def _show(found: Detection, source: str, folder: Path, place: str | None, most: int, json: bool, csv: bool) -> None:
    if csv:
        with open(folder / "explanations.csv", encoding="utf-8", newline="") as stream:
            shutil.copyfileobj(stream, sys.stdout)
        return
    if json:
        from aspca.cli.documents import detection_document
        from aspca.cli.talk import write_json

        write_json(detection_document(found, source, place))
        return
    from aspca.cli.pages import count, show_evaluation, show_findings, show_incidents, show_rules
    from aspca.cli.talk import console

    out, model = console(), found.model
    out.print(f"{count(model.moments.n_rows, 'row')} learned from, {count(len(model.names), 'feature')}")
    show_rules(out, model.rules)
    out.print()
    more = "" if place is None else f" in {place}/explanations.csv"
    show_findings(out, found.findings, found.n_anomalies, model.alarms.the_total(), more)
    if found.incidents:
        out.print()
        show_incidents(out, found.incidents, model.rules, most)
    if found.evaluation is not None:
        out.print()
        show_evaluation(out, found.evaluation)
