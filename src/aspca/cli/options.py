"""The options of the commands, each said once. Nothing heavy is imported: `--help` must not wait.

What can be set about a model comes from `aspca.settings`: names, what they mean, defaults, and the words to complete.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import typer

from aspca.settings import BY_NAME, IN_MEMORY, PRESETS, SETTINGS, Setting

Command = TypeVar("Command", bound=Callable[..., Any])
# By the name of the parameter: its type with what typer is to know of it, and its default.
Group = Mapping[str, tuple[Any, Any]]


def takes(*groups: Group) -> Callable[[Command], Command]:
    """A command that takes the options of these groups, by name, after those that its own signature declares.

    What it does not name itself arrives in its ``**given``.
    """

    def declare(command: Command) -> Command:
        options = {name: option for group in groups for name, option in group.items()}
        declared = [
            parameter
            for parameter in inspect.signature(command, eval_str=True).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD and parameter.name not in options
        ]
        for name, (annotation, default) in options.items():
            keyword = inspect.Parameter.KEYWORD_ONLY
            declared.append(inspect.Parameter(name, keyword, default=default, annotation=annotation))
        # typer asks for both.
        command.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]  # typer reads it
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in declared}
        return command

    return declare


def one(
    names: str, metavar: str | None, help: str, *words: str, kind: Any = str | None, default: Any = None, **more: Any
) -> tuple[Any, Any]:
    """An option of these names (with blanks between) that takes one value; `words` complete it."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    completion = complete if words else None
    option = typer.Option(*names.split(), metavar=metavar, help=help, autocompletion=completion, **more)
    return Annotated[kind, option], default


def several(names: str, metavar: str, help: str) -> tuple[Any, None]:
    """An option that may be given several times."""
    return one(names, metavar, f"{help}; repeatable.", kind=list[str] | None)


def flag(names: str, help: str, kind: Any = bool, default: bool | None = False, **more: Any) -> tuple[Any, Any]:
    return one(names, None, help, kind=kind, default=default, **more)


_FILE_HELP = "CSV, Parquet, Excel, ...; globs; folders; postgresql://...; - for stdin."
Files = Annotated[list[str], typer.Argument(metavar="FILE", help=_FILE_HELP)]
File = Annotated[str, typer.Argument(metavar="FILE", help=_FILE_HELP.replace("globs; ", ""))]
StoredModel = Annotated[
    str, typer.Option("--model", "-m", metavar="MODEL", help="The model file, by custom model.json.")
]

IDS: Group = {"id": several("--id", "COL[,COL]", "Names the rows, and is no feature")}
TIME: Group = {"time": one("--time", "COL", "Times the rows: anomalies are gathered into incidents.")}
LABEL: Group = {"label": one("--label", "COL", "Says which rows are anomalies; only to evaluate.")}
COLUMNS: Group = {
    **LABEL,
    "ignore": several("--ignore", "COL[,COL]", "Leave these columns out"),
    "ignore_text": flag("--ignore-text", "Leave out all text that has no role."),
    **IDS,
    **TIME,
    "categorical": several("--categorical", "COL", "Values are categories; COL=codes for integers"),
    "log": several("--log", "COL", "Take the logarithm: rules multiply"),
    "transform": several("--transform", "COL=NAME", "log, log1p, sqrt, asinh or logit"),
    "date": several("--date", "COL", "Dates as days since 1970, as a feature"),
    "number": several("--number", "COL", "A feature, though it seems to count rows or to be a code"),
    "allow_missing": flag(
        "--allow-missing/--no-allow-missing",
        "Whether values may be missing: rows are judged by those they have. Default: if some are.",
        bool | None,
        None,
        show_default=False,
    ),
}
READING: Group = {
    "delimiter": one("--delimiter", "CHAR", "What separates cells; found by itself."),
    "encoding": one("--encoding", "NAME", "Such as latin-1.", "utf-8", "utf-16", "latin-1", "cp1252"),
    "decimal": one("--decimal", "CHAR", "The decimal sign, . or a comma."),
    "thousands": one("--thousands", "CHAR", "What separates thousands: , . ' space or none."),
    "missing": several("--missing", "WORD", "A cell that stands for no value, such as -999"),
    "date_order": one("--date-order", "ORDER", "dmy, mdy or ymd.", "dmy", "mdy", "ymd"),
    "header": flag("--header/--no-header", "Whether the first line holds names.", bool | None, None),
    "skip": one("--skip", "N", "Lines above the header; found by itself.", kind=int | None),
    "table": one("--table", "NAME", "Which sheet or table of FILE, if it holds several."),
    "query": one("--query", "SQL", "One SELECT whose rows are the table, for a database."),
    "engine": one("--engine", "NAME", "Let dask or spark read Parquet files and folders.", "dask", "spark"),
    "spark_master": one("--spark-master", "URL", "Where --engine spark runs, if no session or setting says."),
}
QUIET: Group = {"quiet": flag("--quiet -q", "Say nothing but errors on stderr.")}
JSON: Group = {"json": flag("--json", "JSON on stdout.")}
CSV: Group = {"csv": flag("--csv", "CSV on stdout.")}
MARKDOWN: Group = {"markdown": flag("--markdown", "Markdown on stdout.")}
FAIL: Group = {"fail_on_anomaly": flag("--fail-on-anomaly", "Exit with code 3 if a row is an error.")}


def _setting(setting: Setting) -> tuple[Any, None]:
    if setting.texts:
        help = f"{setting.meaning} Repeatable."
        return one(f"--{setting.name.removesuffix('s')}", "EQUATION", help, kind=list[str] | None)
    number = "" if setting.least is None else "N" if setting.whole else "X"
    words = "" if not setting.words else setting.words[0] if len(setting.words) == 1 else "NAME"
    default = "" if setting.default is None else f" Default: {setting.default}."
    metavar = "|".join(word for word in (number, words) if word)
    return one(f"--{setting.name.replace('_', '-')}", metavar, f"{setting.meaning}{default}", *setting.words)


def settings_named(*names: str) -> Group:
    """The options of some settings."""
    return {name: _setting(BY_NAME[name]) for name in names}


PRESET: Group = {"preset": one("--preset", "NAME", "paper: the settings of the paper.", *PRESETS)}
LEARNING: Group = {
    **settings_named(*(setting.name for setting in SETTINGS if setting.name not in IN_MEMORY)),
    "calibrate": several("--calibrate", "FILE", "Normal rows kept out of the fit, for --limit conformal"),
    **PRESET,
    "private": flag("--private", "Keep minima, maxima and calibration scores out of the model file."),
}


def with_numbers(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command as Python would give them: settings that are numbers as numbers."""
    found = dict(given)
    for name, value in given.items():
        for kind in (float, int) if name in BY_NAME and isinstance(value, str) else ():
            with contextlib.suppress(ValueError):
                found[name] = kind(value)
    return found
