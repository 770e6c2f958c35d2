"""The options that commands share, each said once. Nothing heavy is imported here: `--help` must not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

# What a shell may complete; a test compares them with what is allowed.
VARIANTS = ("BG", "B", "F", "FG", "G")
SCORES = ("whitened", "standardized", "spe")
SCALINGS = ("maxabs", "standard", "none")
LIMITS = ("pearson", "box", "jackson-mudholkar", "quantile", "pot", "conformal")
PRESETS = ("paper",)


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Completes the beginning of one of some words."""

    def matching(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return matching


Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help="CSV, Parquet, Arrow or JSON lines; globs; - for stdin.")
]
File = Annotated[str, typer.Argument(metavar="FILE", help="CSV, Parquet, Arrow or JSON lines; - for stdin.")]
StoredModel = Annotated[
    str, typer.Option("--model", "-m", metavar="MODEL", help="The model file, by custom model.json.")
]

# Columns
Label = Annotated[
    str | None, typer.Option("--label", metavar="COL", help="Says which rows are anomalies; only to evaluate.")
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", metavar="COL", help="Leave this column out; repeatable.")]
Id = Annotated[str | None, typer.Option("--id", metavar="COL", help="Names the rows.")]
Time = Annotated[
    str | None, typer.Option("--time", metavar="COL", help="Times the rows: anomalies are gathered into incidents.")
]

Categorical = Annotated[
    list[str] | None,
    typer.Option("--categorical", metavar="COL", help="Values are categories; COL=codes for integers; repeatable."),
]
Log = Annotated[
    list[str] | None, typer.Option("--log", metavar="COL", help="Take the logarithm: rules multiply; repeatable.")
]
Transform = Annotated[
    list[str] | None,
    typer.Option("--transform", metavar="COL=NAME", help="log, log1p, sqrt, asinh or logit; repeatable."),
]
Date = Annotated[
    list[str] | None, typer.Option("--date", metavar="COL", help="Dates as days since 1970, as a feature; repeatable.")
]
Number = Annotated[
    list[str] | None,
    typer.Option("--number", metavar="COL", help="A feature, though it seems to count rows; repeatable."),
]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Learn and judge with gaps: rows by the rules they have values for.")
]

By = Annotated[str | None, typer.Option("--by", metavar="COL", help="One model for each category of this column.")]

Private = Annotated[
    bool, typer.Option("--private", help="Keep minima, maxima and calibration scores out of the model file.")
]

# What to learn
NComponents = Annotated[str | None, typer.Option("--n-components", metavar="N|auto", help="How many rules.")]
Alpha = Annotated[str | None, typer.Option("--alpha", metavar="X|auto", help="Weight of sparsity.")]
MaxFeatures = Annotated[
    int | None,
    typer.Option("--max-features", metavar="N", help="At most so many features per rule."),
]
Variant = Annotated[
    str | None,
    typer.Option("--variant", metavar="NAME", help="BG (default), B, F, FG or G.", autocompletion=one_of(*VARIANTS)),
]
Score = Annotated[
    str | None,
    typer.Option(
        "--score", metavar="NAME", help="whitened (default), standardized or spe.", autocompletion=one_of(*SCORES)
    ),
]
Scaling = Annotated[
    str | None,
    typer.Option(
        "--scaling", metavar="NAME", help="maxabs (default), standard or none.", autocompletion=one_of(*SCALINGS)
    ),
]
Limit = Annotated[
    str | None,
    typer.Option(
        "--limit",
        metavar="NAME|X",
        help="pearson (default), box, jackson-mudholkar, quantile, pot, conformal (with --calibrate), or a number.",
        autocompletion=one_of(*LIMITS),
    ),
]
Calibrate = Annotated[
    list[str] | None,
    typer.Option(
        "--calibrate", metavar="FILE", help="Normal rows kept out of the fit, for --limit conformal; repeatable."
    ),
]
Level = Annotated[
    float | None,
    typer.Option("--level", metavar="X", help="Share of normal rows that pass: 0.975."),
]
Alarm = Annotated[
    str | None,
    typer.Option("--alarm", metavar="NAME", help="Flag by the total (default), by any rule alone, or any of both."),
]
Contamination = Annotated[
    str | None,
    typer.Option("--contamination", metavar="X|auto", help="Share of rows to flag."),
]
Preset = Annotated[
    str | None,
    typer.Option("--preset", metavar="NAME", help="paper: the settings of the paper.", autocompletion=one_of(*PRESETS)),
]

# How to read
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="CHAR", help="What separates cells; found by itself."),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Such as latin-1.",
        autocompletion=one_of("utf-8", "utf-16", "latin-1", "cp1252"),
    ),
]
Decimal = Annotated[str | None, typer.Option("--decimal", metavar="CHAR", help="The decimal sign, . or a comma.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line holds names."),
]

# What to show
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
Csv = Annotated[bool, typer.Option("--csv", help="CSV on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors on stderr.")]
FailOnAnomaly = Annotated[bool, typer.Option("--fail-on-anomaly", help="Exit with code 3 if there is one.")]
