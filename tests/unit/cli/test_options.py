"""Options: what they take, what shells complete, what help shows, and that Python takes the same."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand
from typer.main import get_command

from aspca.cli import options
from aspca.cli.app import COMMANDS, PlainCommand, PlainGroup, app_for
from aspca.cli.learn import detect, fit
from aspca.cli.main import main
from aspca.pipeline.options import OPTIONS
from aspca.settings import IN_MEMORY, SCORES, SETTINGS

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


# Text that is no UTF-8 is judged by typer.
@pytest.mark.parametrize("arguments", [*ARGUMENTS, *WRONG, ["detect", "a\udcff.csv"]], ids=ascii)
def test_values_are_those_that_typer_makes(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = (parsed(arguments, monkeypatch, plain=plain) for plain in (True, False))
    assert ours == theirs
    assert isinstance(ours, str) or arguments not in WRONG
    assert isinstance(ours, dict) or arguments not in ARGUMENTS
    if isinstance(ours, dict) and isinstance(theirs, dict):
        assert [type(value) for value in ours.values()] == [type(value) for value in theirs.values()]


def test_one_command_or_all_of_them() -> None:
    for name in COMMANDS:
        assert list(get_command(app_for([name, "--help"])).commands) == [name]  # type: ignore[attr-defined]  # a group
    for arguments in ([], ["--help"], ["scores"]):
        assert list(get_command(app_for(arguments)).commands) == list(COMMANDS)  # type: ignore[attr-defined]  # as above


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_and_shows_an_example(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    assert main([*([command] if command else []), "--help"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert max(map(len, shown.out.splitlines())) <= 80
    assert command or all(f"\n  {name} " in shown.out for name in COMMANDS)
    # On one line, to be copied.
    example = re.search(r"^  Example:  (aspca .*)\n\n", shown.out, re.MULTILINE)
    assert example is not None
    assert example[1].startswith(f"aspca {command or 'detect'}")


# ---- shells


def completed(words: str) -> set[str]:
    """What bash is offered for the last word."""
    number = len(words.split(" ")) - 1
    done = subprocess.run(
        [sys.executable, "-m", "aspca"],
        env={**os.environ, "_ASPCA_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(number)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("aspca de", {"demo", "detect"}),
        ("aspca detect --var", {"--variant"}),
        ("aspca detect x.csv --variant B", {"BG", "B"}),
        ("aspca fit x.csv --limit c", {"conformal"}),
        ("aspca select x.csv --score ", set(SCORES)),
        ("aspca detect --preset ", {"paper"}),
        ("aspca rules model.json --m", {"--markdown"}),
        # Nothing, so that the shell offers files.
        ("aspca detect me", set()),
    ],
)
def test_offers(words: str, offered: set[str]) -> None:
    assert completed(words) == offered


def test_what_is_offered_is_what_is_allowed() -> None:
    for setting in SETTINGS:
        if setting.name in IN_MEMORY:
            assert setting.name not in options.LEARNING
            continue
        annotation, default = options.LEARNING[setting.name]
        (option,) = annotation.__metadata__
        assert default is None
        assert option.autocompletion is None or option.autocompletion("") == list(setting.words)
        assert setting.meaning in option.help


def test_the_command_takes_what_python_takes() -> None:
    """Every option of `aspca.detect` is one of the command, with the same default, and the other way round."""
    commands = {command: typer.main.get_params_from_function(command) for command in (detect, fit)}
    # What is printed, and how, is the command's own affair.
    own = {"files", "train", "json", "csv", "quiet", "fail_on_anomaly", "no_output"}
    assert set(commands[detect]) - own == set(OPTIONS)
    for name in {"scores", "top", "patience", "allow_missing", "private"}:
        assert commands[detect][name].default.default == OPTIONS[name]
    assert set(commands[fit]) - own - {"model"} < set(OPTIONS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_can_use_the_script(tmp_path: Path) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    script = subprocess.run(
        [sys.executable, "-m", "aspca", "--show-completion", "bash"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    command = tmp_path / "aspca"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m aspca "$@"\n')
    command.chmod(0o755)
    asked = f"{script}\nCOMP_WORDS=(aspca com)\nCOMP_CWORD=1\n_aspca_completion {command}\necho ${{COMPREPLY[@]}}\n"
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "compare\n"
