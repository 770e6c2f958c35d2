"""The same input and version give the same bytes, wherever the files are; and a private report shows no value."""

from __future__ import annotations

import csv
import hashlib
import shutil
from pathlib import Path

import pytest

import aspca
from aspca.cli.main import main
from aspca.paper.datasets import load_synthetic

pytestmark = pytest.mark.promise


def copied(demo: Path, folder: Path) -> Path:
    folder.mkdir(parents=True)
    shutil.copy(demo.parent / "data.csv", folder / "data.csv")
    return folder / "data.csv"


def test_byte_identical(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = []
    for place in ("one", "two/deeper"):
        data = copied(demo, tmp_path / place)
        assert main(["detect", str(data), "--label", "kind", "-q", "--json"]) == 0
        pages.append((data.parent / "data.csv.aspca" / "report.html").read_bytes())
    assert pages[0] == pages[1]
    # Nothing of the machine is in it, and the same comes out of Python.
    assert str(tmp_path).encode() not in pages[0]
    monkeypatch.chdir(tmp_path / "one")
    found = aspca.detect("data.csv", label="kind")
    assert found.report("again.html").encode() == pages[0] == Path("again.html").read_bytes()


def test_what_was_read_can_be_checked(demo: Path) -> None:
    digest = hashlib.sha256((demo.parent / "data.csv").read_bytes()).hexdigest()
    assert digest in demo.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["html", "json", "markdown"])
def test_private(demo: Path, tmp_path: Path, kind: str) -> None:
    """No cell of the table, and no name of a row, stands in it, in as many digits as would tell it."""
    data = copied(demo, tmp_path / "private")
    with open(data, newline="", encoding="utf-8") as stream:
        header, *rows = list(csv.reader(stream))
    named = data.parent / "named.csv"
    with open(named, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*header, "host"])
        writer.writerows([*row, f"host-{k:04d}"] for k, row in enumerate(rows))
    assert main(["fit", str(named), "--label", "kind", "--id", "host", "--model", str(tmp_path / "m.json"), "-q"]) == 0
    out = tmp_path / "out"
    words = [str(tmp_path / "m.json"), str(named), "--id", "host", "--private", "--format", kind, "-o", str(out), "-q"]
    assert main(["report", *words]) == 0
    text = out.read_text(encoding="utf-8")
    assert "host-0" not in text
    for row in rows[495:]:
        for cell in row[:7]:
            assert cell[:8] not in text
    assert load_synthetic().feature_names[0] in text
