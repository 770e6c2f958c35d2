"""The commands of `aspca`, by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from aspca import __version__

# The commands, in the order of the help, and the modules that hold them.
COMMANDS = {
    "demo": "learn",
    "detect": "learn",
    "fit": "learn",
    "score": "apply",
    "explain": "apply",
    "rules": "apply",
    "report": "apply",
    "select": "learn",
    "compare": "apply",
    "reproduce": "reproduce",
}

# Whatever the arguments' parser refuses: its UsageError, which typer keeps to itself.
wrong_usage = cast(type[typer.BadParameter], typer.BadParameter.__mro__[1])


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The application for these arguments: with the command that they begin with, or else with all there are.

    To look at the options of the others would take longer than to read those of one.
    """
    app = typer.Typer(
        name="aspca",
        cls=PlainGroup,
        no_args_is_help=False,
        # Plain help: it is there at once, since rich is not loaded for it, and can be copied.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS:
        app.command(name=name, cls=PlainCommand)(getattr(import_module(f"aspca.cli.{COMMANDS[name]}"), name))
    app.callback()(aspca)
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"aspca {__version__}")
        raise typer.Exit


def aspca(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Anomaly detection that says why: rules that normal rows obey, and which of them an anomaly breaks.

    Results go to stdout, all else to stderr. Rows and rules are numbered
    from 0, a header not counted. Exit codes: 0 fine, 1 failure, 2 wrong usage,
    3 anomalies found (with --fail-on-anomaly), 130 interrupted.

    Example:  aspca detect metrics.csv
    """


# ---- values of options as they are


class PlainCommand(TyperCommand):
    """A command of typer's whose options take values that need no conversion without one.

    typer has pydantic look at each value, and to load that takes longer than to score a file. What is of the kind that
    an option asks for needs no look: a text, or a default. Of anything else typer judges as ever.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        return _take_plain_values(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """The same of the command that holds the others."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _take_plain_values(super().get_params(ctx))


def _take_plain_values(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        # Versions of typer that convert otherwise have neither, and do without pydantic.
        kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
        if kind is not None and getattr(parameter, "_runtime_param", parameter) is None:
            parameter._runtime_param = _PlainValue(kind)
    return parameters


class _PlainValue:
    """Takes values of a kind, one or several, as they are; typer calls `coerce`."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = self._kind == list[str]
        if value is None:
            return () if several else None
        if several and isinstance(value, list | tuple) and all(_is_plain(one, str) for one in value):
            return [*value]
        if _is_plain(value, self._kind):
            return value
        # Typer makes its own when there is none.
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _is_plain(value: object, kind: Any) -> bool:
    """Text that is no UTF-8 is not for us to judge."""
    return type(value) is kind and not (isinstance(value, str) and any("\ud800" <= sign <= "\udfff" for sign in value))
