"""`aspca fit`: rules from a file, into a model file."""

from __future__ import annotations

import sys
from contextlib import nullcontext

from aspca.cli import options as o


def run(
    files: o.Files,
    model: o.StoredModel,
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
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Learn the rules of FILE and write them to a model file.

    The columns of --label, --id and --time are left out, as those of --ignore are.

    Example:  aspca fit january.csv --id host --model model.json
    """
    from aspca.cli.documents import rules_document
    from aspca.cli.reading import kinds_of, opened, options_of
    from aspca.cli.talk import Talk, console, write_json
    from aspca.files.model_file import write_model
    from aspca.jobs.columns import refuse_other_columns, roles_of
    from aspca.jobs.fitting import fit_table
    from aspca.jobs.model_stream import GIVEN_AWAY, model_text
    from aspca.jobs.preparing import plan_of
    from aspca.jobs.settings import number_or_word, settings_of
    from aspca.outputs.replaced_file import refuse_special

    talk = Talk(quiet)
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
    if model != "-":
        refuse_special(model, files)
    kinds = kinds_of(categorical, log, transform, date, number)
    reading = options_of(delimiter, encoding, decimal, header)
    with talk.progress() as progress, opened(files, reading) as table:
        roles = roles_of(table, ignore=ignore or (), name=id, time=time, label=label, kinds=kinds)
        plan = plan_of(table, roles, gaps=allow_missing)
        with opened(calibrate, reading) if calibrate else nullcontext() as kept_out:
            if kept_out is not None:
                refuse_other_columns(kept_out, {one: kinds.get(one, "number") for one in roles.features}, "the rules")
            fitted = fit_table(table, roles.features, settings, progress, plan, kept_out)
    for remark in roles.remarks:
        talk.say(remark)
    if private and settings.scaling == "maxabs":
        talk.say(GIVEN_AWAY)
    if model == "-":
        sys.stdout.write(model_text(fitted, private=private))
        return
    write_model(fitted, model, naming="table", private=private)
    if json:
        write_json(rules_document(fitted))
    else:
        from aspca.cli.pages import show_rules

        show_rules(console(), fitted.rules)
    talk.say(f"Learned from {fitted.space.n_rows:,} rows; wrote {model}.")
