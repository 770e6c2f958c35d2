"""What is asked for: every option by its name, in groups by meaning, each checked before anything is read."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, TypeVar, cast

from aspca.escaping import without_secrets
from aspca.settings import DEFAULTS, IN_MEMORY, PRESETS, Settings, check_parameters
from aspca.tables.errors import JobError, RequestError, SourceError
from aspca.tables.paths import expand, is_postgres
from aspca.tables.request import STANDARD_INPUT, ReadOptions
from aspca.tables.roles import Columns
from aspca.writers.replaced_file import OutputError

Function = TypeVar("Function", bound=Callable[..., Any])
# fmt: off
_READING = (
    "delimiter", "encoding", "decimal", "thousands", "missing", "date_order", "header", "skip", "table", "query",
    "engine", "spark_master",
)
# fmt: on


@dataclass(frozen=True)
class Output:
    """What is told and written."""

    output: str | None = None  # the folder to write; None: none is
    scores: str = "csv"  # the format of the file of scores: csv or parquet
    private: bool = False  # model.json holds no value of a row
    top: int = 20  # how many anomalies to tell, the worst ones
    patience: float | None = None  # the longest gap in an incident; None: twice the usual step between rows
    report: bool = True  # whether to write report.html, and to keep what `Detection.report` is made of


@dataclass(frozen=True, eq=False)
class Request:
    """What to learn from, what to judge, and how. Sources are lists of paths, or tables in memory."""

    source: Any  # what is judged
    train: Any  # what to learn from; None: the source
    calibrate: Any  # normal rows kept out of the fit, for a conformal limit; None: none
    columns: Columns
    settings: Settings
    reading: ReadOptions
    output: Output

    @property
    def inputs(self) -> list[str]:
        """All files that are to be read; see `files_named`."""
        given = (self.source, self.train, self.calibrate)
        return [path for group in given if is_named(group) for path in files_named(group)]


# Every option and what it is if it is not given.
OPTIONS: dict[str, Any] = {
    "calibrate": None,
    **{option.name: option.default for group in (Columns, Output) for option in fields(group)},
    **dict.fromkeys(("preset", *_READING)),
    **{name: default for name, default in DEFAULTS.items() if name not in IN_MEMORY},
}


def make_request(source: Any, train: Any = None, **options: Any) -> Request:
    """The request that options by name make; None is an option that was not given.

    Raises
    ------
    RequestError
        An option that does not exist, a value that is not allowed, or two options that exclude each other.
    """
    for name in options:
        if name in IN_MEMORY:
            raise RequestError(
                f'{name} takes rows at hand: fit them by ASPCA.paper({name}="auto").fit(X) and save the model, by '
                "which any source can be judged."
            )
        if name not in OPTIONS:
            close = get_close_matches(name, OPTIONS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(OPTIONS)}."
            raise RequestError(f"There is no option {name!r}; {hint}")
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(given.get("rules"), str):
        given["rules"] = [given["rules"]]
    if "output" in given:
        given["output"] = os.fspath(given["output"])
    calibrate = given.get("calibrate")
    if calibrate is not None and given.get("by") is not None:
        raise RequestError("--by and --calibrate exclude each other; give one of them.")
    output = _group(Output, given)
    if output.scores not in ("csv", "parquet"):
        raise RequestError(f"--scores must be csv or parquet, not {output.scores!r}.")
    if not isinstance(output.top, int) or output.top < 0:
        raise RequestError(f"--top must be a whole number of at least 0, got {output.top!r}.")
    if output.patience is not None and not output.patience >= 0:
        raise RequestError(f"--patience must be a number of at least 0, got {output.patience!r}.")
    columns = _group(Columns, given)
    _ = columns.conversions
    parameters = {name: value for name, value in given.items() if name in DEFAULTS}
    settings = settings_of(parameters, given.get("preset"), calibrated=calibrate is not None)
    reading = reading_of(**{name: given.get(name) for name in _READING})
    return Request(named_files(source), named_files(train), named_files(calibrate), columns, settings, reading, output)


def files_named(paths: Sequence[str]) -> list[str]:
    """The files that some paths, patterns and folders name, none of which may be written to; "-" is standard input.

    Databases that are no files of this machine are left out.

    Raises
    ------
    SourceError
        There is no such file, or it cannot be read.
    """
    local = [path for path in paths if not is_postgres(path)]
    return [STANDARD_INPUT if given.path is None else str(given.path) for given in expand(local)] if local else []


def is_named(source: Any) -> bool:
    """Whether a source, as `named_files` gives it, is some paths and addresses, and no table in memory."""
    return isinstance(source, list) and bool(source) and all(isinstance(path, str) for path in source)


def named_files(source: Any) -> Any:
    """A list of paths, where files are named; a table in memory as it is."""
    if isinstance(source, str | os.PathLike):
        return [os.fspath(source)]
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | os.PathLike) for one in source):
        return [os.fspath(one) for one in source]
    return source


def _group(kind: type[Any], given: Mapping[str, Any]) -> Any:
    """One of the groups, its lists made of whatever names columns: one, several, or with what each becomes."""

    def names(value: Any) -> tuple[str, ...]:
        if isinstance(value, Mapping):
            return tuple(f"{name}={kind}" for name, kind in value.items())
        return (value,) if isinstance(value, str) else tuple(str(name) for name in value)

    mine = {option.name: isinstance(option.default, tuple) for option in fields(kind) if option.name in given}
    return kind(**{name: names(given[name]) if listed else given[name] for name, listed in mine.items()})


def reading_of(
    delimiter: str | None = None,
    thousands: str | None = None,
    missing: Sequence[object] | str | float | None = None,
    **options: Any,
) -> ReadOptions:
    """How to read files; `\\t` is a tab and `space` a blank, which a shell makes hard to type."""
    tokens = [] if missing is None else [missing] if isinstance(missing, str | int | float) else missing
    try:
        return ReadOptions(
            delimiter="\t" if delimiter == "\\t" else delimiter,
            thousands=" " if thousands == "space" else thousands,
            missing=tuple(word for token in tokens for word in str(token).split(",") if word),
            **options,
        )
    except SourceError as error:
        raise RequestError(str(error)) from None


def settings_of(given: Mapping[str, Any], preset: str | None = None, *, calibrated: bool = False) -> Settings:
    """The settings of a fit: those given (not None), else the preset's, else the defaults.

    `calibrated`: there are rows kept out of the fit, which a conformal limit needs and no other takes.

    Raises
    ------
    RequestError
        One of them cannot be used.
    """
    if preset is not None and preset not in PRESETS:
        raise RequestError(f"--preset must be one of {', '.join(PRESETS)}, got {preset!r}.")
    chosen = {name: value for name, value in given.items() if value is not None}
    parameters = {**DEFAULTS, **(PRESETS[preset] if preset else {}), **chosen}
    try:
        check_parameters(parameters)
    except ValueError as error:
        word, space, rest = str(error).partition(" ")
        option = f"--{word.replace('_', '-')}" if word in DEFAULTS else word
        raise RequestError(f"{option}{space}{rest}") from None
    settings = Settings.of(parameters)
    conformal = settings.total[0] == "conformal"
    if conformal and not calibrated:
        raise RequestError(
            "--limit conformal needs normal rows kept out of the fit: give a file of them by --calibrate."
        )
    if calibrated and not conformal:
        raise RequestError("--calibrate is for --limit conformal, without --contamination; leave it out, or give both.")
    return settings


# ---- functions for Python's users


def in_python(sentence: str) -> str:
    """A sentence about options of the command, in the names that Python knows them by."""
    return re.sub(r"--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), sentence)


def for_python(
    options: Mapping[str, Any] | None = None, returns: Any = Any, spelled: Callable[[str], str] = in_python
) -> Callable[[Function], Function]:
    """A function for Python's users, whose errors of tables, requests and outputs are all JobError.

    They are raised here, anew: whoever logs a traceback with the values of variables would log what is given to the
    function, and passwords of addresses with it. `spelled` puts a sentence about options of the command into the names
    that Python has for them. Where there are `options`, `help` and editors know every one by name, and what the
    function `returns`.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*given: Any, **options: Any) -> Any:
            try:
                return function(*given, **options)
            except (JobError, SourceError, OutputError) as error:
                kind = type(error) if isinstance(error, JobError) else JobError
                problem = kind(without_secrets(spelled(str(error)), _texts((given, options))))
            del given, options
            # Outside of the handler, so that the error does not hang on to the one before it, nor this frame to it.
            try:
                raise problem
            finally:
                del problem

        if options is not None:
            plain = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
            kind = inspect.Parameter.KEYWORD_ONLY
            named = [inspect.Parameter(name, kind, default=default) for name, default in options.items()]
            signature = inspect.Signature([*plain, *named], return_annotation=returns)
            wrapper.__signature__ = signature  # type: ignore[attr-defined]  # a function may have one
        return cast(Function, wrapper)

    return decorate


def _texts(value: Any) -> Iterator[str]:
    """All texts among what is given to a function, paths too."""
    if isinstance(value, str | os.PathLike):
        yield str(value)
    elif isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
