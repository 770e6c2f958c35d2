"""The options that commands share, each said once, in groups. Nothing heavy is imported: `--help` must not wait.

What can be set about a model comes from `aspca.settings`: names, what they mean, defaults, and the words to complete.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import typer

from aspca.settings import BY_NAME, IN_MEMORY, SETTINGS, Setting

PRESETS = ("paper",)
Command = TypeVar("Command", bound=Callable[..., Any])
# By the name of the parameter: its type with what typer is to know of it, and its default.
Group = Mapping[str, tuple[Any, Any]]


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Completes the beginning of one of some words."""

    def matching(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return matching


def takes(*groups: Group) -> Callable[[Command], Command]:
    """A command that takes the options of these groups, by name, after those that its own signature declares.

    What it does not name itself arrives in its ``**given``.
    """

    def decorated(command: Command) -> Command:
        options = {name: option for group in groups for name, option in group.items()}
        own = [
            parameter
            for parameter in inspect.signature(command, eval_str=True).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD and parameter.name not in options
        ]
        kind = inspect.Parameter.KEYWORD_ONLY
        added = [
            inspect.Parameter(name, kind, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ]
        # typer asks for both.
        command.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]  # typer reads it
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)}
        return command

    return decorated


def _text(name: str, metavar: str, help: str, *words: str) -> tuple[Any, None]:
    completion = one_of(*words) if words else None
    return Annotated[str | None, typer.Option(name, metavar=metavar, help=help, autocompletion=completion)], None


def _texts(name: str, metavar: str, help: str) -> tuple[Any, None]:
    return Annotated[list[str] | None, typer.Option(name, metavar=metavar, help=f"{help}; repeatable.")], None


def _flag(*names: str, help: str) -> tuple[Any, bool]:
    return Annotated[bool, typer.Option(*names, help=help)], False


Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="CSV, Parquet, Excel, ...; globs; folders; postgresql://...; - for stdin."),
]
File = Annotated[
    str, typer.Argument(metavar="FILE", help="CSV, Parquet, Excel, ...; folders; postgresql://...; - for stdin.")
]
StoredModel = Annotated[
    str, typer.Option("--model", "-m", metavar="MODEL", help="The model file, by custom model.json.")
]

IDS: Group = {"id": _texts("--id", "COL[,COL]", "Names the rows, and is no feature")}
COLUMNS: Group = {
    "label": _text("--label", "COL", "Says which rows are anomalies; only to evaluate."),
    "ignore": _texts("--ignore", "COL[,COL]", "Leave these columns out"),
    "ignore_text": _flag("--ignore-text", help="Leave out all text that has no role."),
    **IDS,
    "time": _text("--time", "COL", "Times the rows: anomalies are gathered into incidents."),
    "categorical": _texts("--categorical", "COL", "Values are categories; COL=codes for integers"),
    "log": _texts("--log", "COL", "Take the logarithm: rules multiply"),
    "transform": _texts("--transform", "COL=NAME", "log, log1p, sqrt, asinh or logit"),
    "date": _texts("--date", "COL", "Dates as days since 1970, as a feature"),
    "number": _texts("--number", "COL", "A feature, though it seems to count rows or to be a code"),
    "allow_missing": (
        Annotated[
            bool | None,
            typer.Option(
                "--allow-missing/--no-allow-missing",
                help="Whether values may be missing: rows are judged by those they have. Default: if some are.",
                show_default=False,
            ),
        ],
        None,
    ),
}
READING: Group = {
    "delimiter": _text("--delimiter", "CHAR", "What separates cells; found by itself."),
    "encoding": _text("--encoding", "NAME", "Such as latin-1.", "utf-8", "utf-16", "latin-1", "cp1252"),
    "decimal": _text("--decimal", "CHAR", "The decimal sign, . or a comma."),
    "thousands": _text("--thousands", "CHAR", "What separates thousands: , . ' space or none."),
    "missing": _texts("--missing", "WORD", "A cell that stands for no value, such as -999"),
    "date_order": _text("--date-order", "ORDER", "dmy, mdy or ymd.", "dmy", "mdy", "ymd"),
    "header": (
        Annotated[bool | None, typer.Option("--header/--no-header", help="Whether the first line holds names.")],
        None,
    ),
    "skip": (
        Annotated[int | None, typer.Option("--skip", metavar="N", help="Lines above the header; found by itself.")],
        None,
    ),
    "table": _text("--table", "NAME", "Which sheet or table of FILE, if it holds several."),
    "query": _text("--query", "SQL", "One SELECT whose rows are the table, for a database."),
    "engine": _text("--engine", "NAME", "Let dask or spark read Parquet files and folders.", "dask", "spark"),
    "spark_master": _text("--spark-master", "URL", "Where --engine spark runs, if no session or setting says."),
}
QUIET: Group = {"quiet": _flag("--quiet", "-q", help="Say nothing but errors on stderr.")}
JSON: Group = {"json": _flag("--json", help="JSON on stdout.")}
CSV: Group = {"csv": _flag("--csv", help="CSV on stdout.")}
MARKDOWN: Group = {"markdown": _flag("--markdown", help="Markdown on stdout.")}
FAIL: Group = {"fail_on_anomaly": _flag("--fail-on-anomaly", help="Exit with code 3 if a row is an error.")}


# ---- settings


def _metavar(setting: Setting) -> str:
    number = "" if setting.least is None else "N" if setting.whole else "X"
    words = "" if not setting.words else setting.words[0] if len(setting.words) == 1 else "NAME"
    return "|".join(word for word in (number, words) if word)


def _setting(setting: Setting) -> tuple[Any, None]:
    if setting.texts:
        name = f"--{setting.name.removesuffix('s')}"
        option = typer.Option(name, metavar="EQUATION", help=f"{setting.meaning} Repeatable.")
        return Annotated[list[str] | None, option], None
    name = f"--{setting.name.replace('_', '-')}"
    default = "" if setting.default is None else f" Default: {setting.default}."
    return _text(name, _metavar(setting), f"{setting.meaning}{default}", *setting.words)


def settings_named(*names: str) -> Group:
    """The options of some settings."""
    return {name: _setting(BY_NAME[name]) for name in names}


PRESET: Group = {"preset": _text("--preset", "NAME", "paper: the settings of the paper.", *PRESETS)}
LEARNING: Group = {
    **settings_named(*(setting.name for setting in SETTINGS if setting.name not in IN_MEMORY)),
    "calibrate": _texts("--calibrate", "FILE", "Normal rows kept out of the fit, for --limit conformal"),
    **PRESET,
    "private": _flag("--private", help="Keep minima, maxima and calibration scores out of the model file."),
}


def number_or_word(text: str) -> int | float | str:
    """What a setting is given as on a command line: a number, or a word such as ``auto``."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def with_numbers(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command as Python would give them: settings that are numbers as numbers."""
    return {
        name: number_or_word(value) if name in BY_NAME and isinstance(value, str) else value
        for name, value in given.items()
    }
