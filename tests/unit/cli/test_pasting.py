"""The command to paste is what was typed, mended, and a shell reads it as it is meant."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from aspca.cli.pasting import correct_command
from aspca.tables.errors import Instead


@pytest.mark.parametrize(
    ("typed", "remedy", "instead", "pasted"),
    [
        (["detect", "t.csv"], ("--ignore", "a", "--ignore", "b"), (), "aspca detect t.csv --ignore a,b"),
        (["detect", "t.csv"], ("--ignore", "a,b", "--ignore", "c"), (), "aspca detect t.csv --ignore a,b --ignore c"),
        (["detect", "t.csv"], ("--ignore", "-x"), (), "aspca detect t.csv --ignore=-x"),
        (["detect", "t.csv"], ("--ignore", "--x", "--ignore", "y"), (), "aspca detect t.csv --ignore=--x,y"),
        (["detect", "my t.csv"], ("--decimal", ",") * 2, (), "aspca detect 'my t.csv' --decimal ,"),
        (["detect", "t.csv"], ("--no-header", "--ignore", "a"), (), "aspca detect t.csv --ignore a --no-header"),
        (["detect", "t"], ("--missing", "--", "--missing", "x"), (), "aspca detect t --missing=-- --missing x"),
        (["detect", "--", "-t.csv"], ("--ignore", "a"), (), "aspca detect --ignore a -- -t.csv"),
        (["detect", "t", "--id", "x", "--top", "3"], (), (Instead("--id", "x", "y"),), "aspca detect t --id y --top 3"),
        (["detect", "t", "--id=x", "--time", "x"], (), (Instead("--id", "x"),), "aspca detect t --time x"),
        (
            ["fit", "t", "--transform", "x=sqrt"],
            (),
            (Instead("--transform", "x", "y"),),
            "aspca fit t --transform y=sqrt",
        ),
        (["fit", "t", "--no-allow-missing"], (), (Instead("--no-allow-missing", ""),), "aspca fit t"),
    ],
)
def test_what_is_pasted(typed: list[str], remedy: tuple[str, ...], instead: tuple[Instead, ...], pasted: str) -> None:
    assert correct_command(typed, remedy, instead) == pasted


@pytest.mark.skipif(shutil.which("bash") is None, reason="names that cannot be printed are spelled out for bash")
def test_a_shell_reads_the_very_names() -> None:
    names = [
        "it's",
        'a"b',
        "$HOME",
        "`id`",
        "x;y",
        "a\nb",
        "\x1b[31mred",
        "tab\there",
        "\\x41",
        "Straße",
        "*",
        "",
        "é\u2028",
    ]
    words = [word for name in names for word in ("--id", name)]
    pasted = correct_command(["detect", *words], ())
    assert pasted.isprintable()
    read = subprocess.run(
        ["bash", "-c", pasted.replace("aspca", "printf '%s\\0'", 1)], capture_output=True, check=True, text=True
    ).stdout
    assert read.split("\0")[:-1] == ["detect", *words]


def test_passwords_are_not_pasted() -> None:
    typed = ["detect", "postgresql://me:secret@host/db?sslpassword=secret", "--train=postgres://me:secret@host/db"]
    shown = correct_command(typed, ("--table", "readings"))
    assert "secret" not in shown
    assert "'postgresql://me:***@host/db?sslpassword=***'" in shown
    assert "'--train=postgres://me:***@host/db'" in shown
    # What only looks like one stays.
    assert (
        correct_command(["detect", "x.csv", "--transform", "password=log"], ())
        == "aspca detect x.csv --transform password=log"
    )
