"""Options that are taken as they are, against what typer makes of them."""

from __future__ import annotations

import pytest
import typer
from typer.core import TyperCommand
from typer.main import get_command

from aspca.cli.app import COMMANDS, PlainCommand, PlainGroup, app_for

ARGUMENTS = [
    ["detect", "a.csv"],
    ["detect", "a.csv", "b.csv", "--top", "5", "--id", "x", "--id", "y,z", "--no-header", "--rule", "a = b", "-q"],
    ["detect", "ä b.csv", "--level", "0.99", "--allow-missing", "--delimiter", ";"],
    ["score", "-", "--model", "m.json", "--output", "s.csv", "--json"],
    ["select", "a.csv", "--resamples", "3", "--time-budget", "2.5"],
    ["explain", "a.csv", "-m", "m.json", "--row", "17"],
]
WRONG = [
    ["detect", "a.csv", "--top", "many"],
    ["detect", "a.csv", "--top", "-1"],
    ["detect"],
    ["score", "a.csv"],
    ["select", "a.csv", "--time-budget", "soon"],
]


def parsed(arguments: list[str], monkeypatch: pytest.MonkeyPatch, *, plain: bool) -> object:
    """The values of all options, or the sentence that refuses them."""
    with monkeypatch.context() as patched:
        if not plain:
            for kind in (PlainCommand, PlainGroup):
                patched.delattr(kind, "get_params")
        command = get_command(app_for(arguments)).commands[arguments[0]]  # type: ignore[attr-defined]  # a group
        assert isinstance(command, TyperCommand)
        try:
            return command.make_context(arguments[0], arguments[1:]).params
        except typer.BadParameter as error:
            return error.format_message()
        except Exception as error:
            return str(error)


@pytest.mark.parametrize("arguments", ARGUMENTS + WRONG, ids=" ".join)
def test_values_are_those_that_typer_makes(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = (parsed(arguments, monkeypatch, plain=plain) for plain in (True, False))
    assert ours == theirs
    assert isinstance(ours, str) == (arguments in WRONG)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        assert [type(value) for value in ours.values()] == [type(value) for value in theirs.values()]


def test_text_that_is_no_utf8_is_judged_by_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["detect", "a\udcff.csv"]
    ours, theirs = (parsed(arguments, monkeypatch, plain=plain) for plain in (True, False))
    assert ours == theirs


def test_one_command_or_all_of_them() -> None:
    for name in COMMANDS:
        assert list(get_command(app_for([name, "--help"])).commands) == [name]  # type: ignore[attr-defined]  # a group
    for arguments in ([], ["--help"], ["scores"]):
        assert list(get_command(app_for(arguments)).commands) == list(COMMANDS)  # type: ignore[attr-defined]  # as above
