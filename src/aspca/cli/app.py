"""The commands of `aspca`, by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, cast

import typer

from aspca import __version__
from aspca.cli.plain_values import PlainCommand, PlainGroup

COMMANDS = ("demo", "detect", "fit", "score", "explain", "rules", "report", "select", "compare", "reproduce")

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
        app.command(name=name, cls=PlainCommand)(import_module(f"aspca.cli.{name}").run)
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
