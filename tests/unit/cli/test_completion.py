"""Shells complete commands, options and what the options take."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from aspca.cli import options
from aspca.cli.learn import detect, fit
from aspca.pipeline.options import OPTIONS, PRESETS
from aspca.settings import IN_MEMORY, SCORES, SETTINGS

ASPCA = f"{sys.executable} -m aspca"


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
    assert set(options.PRESETS) == set(PRESETS)


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
    command.write_text(f'#!/bin/sh\nexec {ASPCA} "$@"\n')
    command.chmod(0o755)
    asked = f"{script}\nCOMP_WORDS=(aspca com)\nCOMP_CWORD=1\n_aspca_completion {command}\necho ${{COMPREPLY[@]}}\n"
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "compare\n"
