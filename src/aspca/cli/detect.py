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
    from aspca.jobs.table import Table


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
    number: o.Number = None,
    allow_missing: o.AllowMissing = False,
    by: o.By = None,
    patience: Annotated[
        float | None,
        typer.Option(
            "--patience", metavar="X", min=0, help="Longest gap in an incident, in units of --time (s for dates)."
        ),
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
    calibrate: o.Calibrate = None,
    level: o.Level = None,
    alarm: o.Alarm = None,
    contamination: o.Contamination = None,
    preset: o.Preset = None,
    private: o.Private = False,
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
    explanations.csv holds. With --by it has a folder for each category.

    Example:  aspca detect metrics.csv --id host --ignore comment
    """
    from aspca.cli.main import ANOMALIES, FINE
    from aspca.cli.reading import kinds_of, opened, options_of
    from aspca.cli.talk import Talk
    from aspca.jobs.by_category import detect_by_category
    from aspca.jobs.column_advice import refuse_absent
    from aspca.jobs.columns import refuse_other_columns, roles_of
    from aspca.jobs.detection import detect, gap_remarks
    from aspca.jobs.errors import RequestError
    from aspca.jobs.fitting import fit_table
    from aspca.jobs.model_stream import GIVEN_AWAY
    from aspca.jobs.preparing import plan_of
    from aspca.jobs.score_file import refuse_format
    from aspca.jobs.settings import number_or_word, settings_of
    from aspca.outputs.folder import place_of, refuse_foreign, replaced_folder

    talk = Talk(quiet)
    for one, other, both in (("--json", "--csv", json and csv), ("--by", "--csv", by is not None and csv)):
        if both:
            raise RequestError(f"{one} and {other} exclude each other; give one of them.")
    if by is not None and calibrate:
        raise RequestError("--by and --calibrate exclude each other; give one of them.")
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
            "alarm": alarm,
            "contamination": number_or_word(contamination),
        },
        preset,
        calibrated=bool(calibrate),
    )
    kinds = kinds_of(categorical, log, transform, date, number)
    reading = options_of(delimiter, encoding, decimal, header)
    place = None if no_output else output or place_of(files)
    if place is not None:
        refuse_foreign(place)
    with ExitStack() as kept:
        scratch = kept.enter_context(TemporaryDirectory(prefix="aspca-")) if place is None else place
        with talk.progress() as progress, opened(files, reading) as table, ExitStack() as stack:
            learned = stack.enter_context(opened(train, reading)) if train else None
            kept_out = stack.enter_context(opened(calibrate, reading)) if calibrate else None
            if by is not None:
                refuse_absent(table, by, "--by")
            aside = [*(ignore or ()), *([] if by is None else [by])]
            roles = roles_of(table, ignore=aside, name=id, time=time, label=label, kinds=kinds, learned=learned)
            if kept_out is not None:
                refuse_other_columns(kept_out, {one: kinds.get(one, "number") for one in roles.features}, "the rules")

            def judged(source: Table, table: Table, folder: Path) -> Detection:
                plan = plan_of(source, roles, gaps=allow_missing)
                model = fit_table(source, roles.features, settings, progress, plan, kept_out)
                return detect(
                    model,
                    table,
                    roles,
                    folder,
                    progress,
                    most=top,
                    patience=patience,
                    scores_as=scores,
                    private=private,
                )

            folder = Path(scratch) if place is None else stack.enter_context(replaced_folder(place))
            found: dict[str | None, Detection] = {}
            if by is None:
                found[None] = judged(table if learned is None else learned, table, folder)
            else:
                found.update(detect_by_category(table, learned, by, folder, judged))
        # By now the folder is in its place, whatever happens to what is printed.
        given_away = [GIVEN_AWAY] if private and settings.scaling == "maxabs" else []
        for remark in (*roles.remarks, *gap_remarks(found), *given_away):
            talk.say(remark)
        _show(found, by, table.description, Path(scratch), place, top, json, csv)
    rows, anomalies = (sum(getattr(one, name) for one in found.values()) for name in ("n_rows", "n_anomalies"))
    talk.say(f"{rows:,} rows judged, {anomalies:,} flagged." + (f" Wrote {place}/." if place else ""))
    return ANOMALIES if fail_on_anomaly and anomalies else FINE


def _show(
    found: dict[str | None, Detection],
    by: str | None,
    source: str,
    folder: Path,
    place: str | None,
    most: int,
    json: bool,
    csv: bool,
) -> None:
    if csv:
        with open(folder / "explanations.csv", encoding="utf-8", newline="") as stream:
            shutil.copyfileobj(stream, sys.stdout)
        return
    if json:
        from aspca.cli.documents import detection_document
        from aspca.cli.talk import write_json

        documents = {category: detection_document(one, source, place) for category, one in found.items()}
        categories = [{"category": category, **document} for category, document in documents.items()]
        write_json(documents[None] if by is None else {"by": by, "categories": categories})
        return
    from aspca.cli.pages import show_detection
    from aspca.cli.talk import console

    out = console()
    for number, (category, one) in enumerate(found.items()):
        inside = place if by is None or place is None else f"{place}/category-{number:03d}"
        show_detection(out, one, inside, most, None if by is None else f"{by} = {category}")
