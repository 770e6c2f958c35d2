"""No output is, contains or replaces an input, however it is spelled: refused before anything is read."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aspca
import aspca.pipeline.sources
from aspca.cli.main import main

pytestmark = pytest.mark.promise

TABLES = ("g1.csv", "g2.csv", "other.csv", "plant/data.csv", "plant2/data.csv", ".g.json.0123456789abcdef.tmp")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    rows["d"] = rows["a"] + rows["b"] + 0.01 * rng.normal(size=60)
    for name in TABLES:
        (folder / name).parent.mkdir(exist_ok=True)
        rows.to_csv(folder / name, index=False)
    with contextlib.chdir(folder):
        assert main(["fit", "g1.csv", "--model", "m.json", "--quiet"]) == 0
        assert main(["detect", "g1.csv", "--output", "ours", "--quiet"]) == 0
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "here"
    shutil.copytree(made, place)
    monkeypatch.chdir(place)
    return place


def everything(folder: Path) -> dict[str, object]:
    paths = sorted(folder.rglob("*"))
    return {str(path): (path.read_bytes() if path.is_file() else path.is_symlink()) for path in paths}


CONFORMAL = "--limit conformal"
# What is done before, and the command.
ATTACKS: list[tuple[Callable[[], object], str]] = [
    (lambda: None, "detect plant/data.csv --output plant"),
    (lambda: None, "detect other.csv --train plant2/data.csv --output plant2"),
    (lambda: None, f"detect other.csv --calibrate plant2/data.csv {CONFORMAL} --output plant2"),
    (lambda: None, "detect plant/*.csv --output plant"),
    (lambda: None, "detect plant/data.csv --output plant/"),
    (lambda: None, "detect plant/data.csv --output plant2/../plant"),
    (lambda: None, "detect plant/data.csv --output ."),
    (lambda: None, "detect plant/data.csv --output .."),
    (lambda: os.symlink("plant", "link"), "detect plant/data.csv --output link"),
    (lambda: os.symlink("plant", "link"), "detect link/data.csv --output plant"),
    (lambda: os.symlink("../g1.csv", "ours/data.csv"), "detect ours/data.csv --output ours"),
    # Ours, but an input stands in it: by its name, by a link from outside, by another name of the same file.
    (lambda: None, "detect ours/scores.csv --ignore row --output ours"),
    (lambda: os.symlink("ours/scores.csv", "s.csv"), "detect s.csv --output ours"),
    (lambda: os.link("ours/scores.csv", "s.csv"), "detect s.csv --output ours"),
    (lambda: None, "fit g*.csv --model g2.csv"),
    (lambda: None, "fit g?.csv other.csv --model ./plant/../g1.csv"),
    (lambda: None, f"fit g1.csv --calibrate g2.csv {CONFORMAL} --model g2.csv"),
    (lambda: os.link("g1.csv", "hard.csv"), "fit g1.csv --model hard.csv"),
    (lambda: os.symlink("g1.csv", "soft.csv"), "fit soft.csv --model g1.csv"),
    (lambda: os.symlink("g1.csv", "soft.csv"), "fit g1.csv --model soft.csv"),
    (lambda: None, "fit .g.json.0123456789abcdef.tmp --model g.json"),
    (lambda: None, "score g*.csv --model m.json --output g1.csv"),
    (lambda: os.rename("m.json", "m.csv"), "score g1.csv --model m.csv --output m.csv"),
    (lambda: os.link("m.json", "hard.csv"), "score g1.csv --model m.json --output hard.csv"),
    (lambda: os.symlink("m.json", "soft.csv"), "score g1.csv --model soft.csv --output soft.csv"),
]


@pytest.mark.parametrize(("prepare", "command"), ATTACKS, ids=[f"{n} {words}" for n, (_, words) in enumerate(ATTACKS)])
def test_attacks(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    prepare: Callable[[], object],
    command: str,
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(aspca.pipeline.sources, "open_source", read)
    prepare()
    before = everything(here.parent)
    assert main(command.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("aspca: ")
    assert shown.err.count("\n") == 1
    assert "read from" in shown.err or "named like a leftover" in shown.err
    assert everything(here.parent) == before


def test_another_spelling_of_letters(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("PLANT/DATA.CSV").exists():
        pytest.skip("capitals tell files apart here")
    assert main(["detect", "plant/data.csv", "--output", "PLANT"]) == 2
    assert Path("plant/data.csv").exists()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_descriptor_is_a_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = everything(here)
    with open("g1.csv", "rb") as file:
        assert main(["fit", f"/proc/self/fd/{file.fileno()}", "--model", "g1.csv"]) == 2
        assert main(["fit", "g1.csv", "--model", f"/proc/self/fd/{file.fileno()}"]) == 2
    assert everything(here) == before
    assert capsys.readouterr().err.count("read from") == 2


@pytest.mark.parametrize("command", ["detect - --output ours", "fit - --model ours/scores.csv"])
def test_standard_input_is_a_file(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    before = everything(here)
    with open("ours/scores.csv", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        monkeypatch.setattr(sys, "__stdin__", file)
        assert main(command.split()) == 2
    assert everything(here) == before
    assert "read from" in capsys.readouterr().err


def test_in_python(here: Path) -> None:
    before = everything(here)
    for source, options in (
        ("plant/data.csv", {"output": "plant"}),
        (Path("plant/data.csv"), {"output": Path("plant")}),
        (["other.csv"], {"train": ["plant2/*.csv"], "output": "plant2"}),
        (pd.read_csv("other.csv"), {"train": "plant2/data.csv", "output": "plant2"}),
    ):
        with pytest.raises(ValueError, match="which is read from: name another folder with output"):
            aspca.detect(source, **options)
    assert everything(here) == before


def test_a_folder_of_somebodys(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It holds only files that are named like ours."""
    before = everything(here)
    for command in ("detect other.csv --output plant", "demo --output plant"):
        assert main(command.split()) == 2
        assert "not the mark .aspca-output" in capsys.readouterr().err
    assert everything(here) == before


def test_what_is_no_input_is_replaced(here: Path) -> None:
    for command in (
        "detect g1.csv --output ours",
        "detect plant/data.csv --output plant/out",
        "detect plant/data.csv",
        "detect plant/data.csv",
        "detect ours/scores.csv --ignore row",
        "fit plant/data.csv --model plant/model.json",
        "fit plant/data.csv --model plant/model.json",
        "score g*.csv --model m.json --output plant/out.csv",
        "score g1.csv --model m.json --output m.csv",
    ):
        assert main([*command.split(), "--quiet"]) == 0
    for name in TABLES:
        assert Path(name).exists()
