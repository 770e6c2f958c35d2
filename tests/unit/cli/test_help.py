"""Help costs little, fits 80 columns, and shows an example for each command."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from aspca.cli.main import main

COMMANDS = ("demo", "detect", "fit", "score", "explain", "rules", "select", "compare")


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
    # On one line, to be copied.
    example = re.search(r"^  Example:  (aspca .*)\n\n", shown.out, re.MULTILINE)
    assert example is not None
    assert example[1].startswith(f"aspca {command or 'detect'}")


def test_every_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    shown = capsys.readouterr().out
    assert all(command in shown for command in COMMANDS)


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, json; from aspca.cli.app import app_for; app_for([]); print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "typer" in loaded
    assert not loaded & {"numpy", "scipy", "sklearn", "duckdb", "pandas", "rich"}


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    from aspca import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"aspca {__version__}\n"
