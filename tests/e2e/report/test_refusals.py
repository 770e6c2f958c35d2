"""Reports that cannot be made, and tables there is little to say of: one sentence, or a page that says so."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from opened_page import Opened

import aspca
from aspca.cli.main import main

NAMES = ["a", "b", "total"]


def write(path: Path, rows: np.ndarray, names: list[str] = NAMES) -> Path:
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="", fmt="%.6f")
    return path


def lawful(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(n, 2)) * 10
    return np.column_stack([first, first.sum(axis=1) + 0.01 * rng.normal(size=n)])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(Path("train.csv"), lawful(400))
    assert main(["fit", "train.csv", "--model", "model.json", "-q"]) == 0
    return tmp_path


def report(*words: str) -> Any:
    assert main(["report", "model.json", *words, "--json", "-o", "told.json", "-q"]) == 0
    assert main(["report", "model.json", *words, "-q"]) == 0
    return json.loads(Path("told.json").read_text(encoding="utf-8"))


@pytest.mark.promise
def test_no_anomaly(here: Path, open_page: Callable[..., Opened]) -> None:
    write(here / "calm.csv", lawful(400)[:1] + np.zeros((50, 1)))
    told = report("calm.csv")
    assert told["anomalies"] == []
    assert told["headline"][0] == (
        "No errors and no unusual rows among 50 rows of calm.csv, by 1 rule learned from 400 rows."
    )
    opened = open_page(here / "report.html")
    page = opened.go()
    assert page.locator("#anomalies").get_by_text("None.", exact=True).is_visible()
    assert page.locator("#rule-0 svg").is_visible()
    opened.check_quiet()


@pytest.mark.parametrize(("row", "sentence"), [([1, 2, 3], "is normal"), ([1, 2, 5], "is an error")], ids=str)
def test_one_row(here: Path, row: list[float], sentence: str) -> None:
    write(here / "one.csv", np.array([row]))
    told = report("one.csv")
    assert told["headline"][0] == f"The only row of one.csv {sentence}, by 1 rule learned from 400 rows."
    assert len(told["course"]["buckets"]) == 1


def test_everything_is_an_anomaly(here: Path) -> None:
    write(here / "off.csv", lawful(60) + np.array([0, 0, 9]))
    told = report("off.csv")
    assert told["headline"][0].startswith("60 errors among 60 rows of off.csv, by ")
    assert "not like the rows that the rules were learned from" in told["headline"][1]


@pytest.mark.promise
def test_no_rule(here: Path, open_page: Callable[..., Opened]) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 3))
    rows[17] = 30.0
    write(here / "loose.csv", rows)
    assert main(["fit", "loose.csv", "--model", "model.json", "-q"]) == 0
    told = report("loose.csv")
    assert told["rules"] == []
    assert "no relation holds between the columns" in told["headline"][0]
    assert told["anomalies"][0]["row"] == 17
    assert told["anomalies"][0]["near"]["rule"] is None
    opened = open_page(here / "report.html")
    assert opened.go("#row-17").locator("#row-17 table").first.is_visible()
    opened.check_quiet()


CASES = [
    ("model.json other.csv", 2, "other.csv has no column 'total', which the rules of the model need"),
    ("model.json train.csv --time when", 2, "--time: train.csv has no column 'when'"),
    ("model.json train.csv --id x", 2, "--id: train.csv has no column 'x'"),
    ("model.json train.csv -o nowhere/report.html", 2, "There is no folder"),
    ("model.json train.csv -o train.csv", 2, "'train.csv' is read from, so it cannot be written to as well"),
    ("model.json train.csv -o model.json", 2, "'model.json' is read from, so it cannot be written to as well"),
    ("model.json train.csv -o folder", 2, "is no regular file"),
    ("model.json train.csv -o locked/report.html", 1, "locked"),
    ("train.csv train.csv", 1, "train.csv: "),
    ("gone.json train.csv", 1, "gone.json: No such file or directory"),
    ("model.json gone.csv", 1, "gone.csv"),
    ("model.json train.csv --format pdf", 2, "--format must be html, json or markdown, not 'pdf'"),
    ("model.json train.csv --json --format html", 2, "exclude each other"),
    ("model.json train.csv --row 3", 2, "--row is for --format markdown"),
    ("model.json train.csv --format markdown --row 399999", 2, "row 399999 is not among the"),
    ("model.json gaps.csv", 1, "gaps.csv"),
]


@pytest.mark.parametrize(("words", "code", "sentence"), CASES, ids=[words for words, _, _ in CASES])
def test_one_sentence(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    code: int,
    sentence: str,
) -> None:
    write(here / "other.csv", lawful(20), ["a", "b", "sum"])
    (here / "gaps.csv").write_text("a,b,total\n1,,3\n", encoding="utf-8")
    (here / "locked").mkdir()
    (here / "folder").mkdir()
    if "locked" in words:
        # Root may write anywhere, so that the system refuses is made up.
        usual = os.open

        def refusing(path: Any, *rest: Any, **more: Any) -> int:
            if "locked" in str(path):
                raise PermissionError(13, "Permission denied", str(path))
            return usual(path, *rest, **more)

        monkeypatch.setattr(os, "open", refusing)
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert main(["report", *words.split()]) == code
    told = capsys.readouterr()
    assert sentence in told.err
    assert len([line for line in told.err.splitlines() if line.startswith("aspca: ")]) <= 1
    assert "Traceback" not in told.err
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


@pytest.mark.promise
def test_a_missing_extra_says_what_to_install(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aspca.pipeline.report.find_spec", lambda name: None)
    usual = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "jinja2":
            raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")
        return usual(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["report", "model.json", "train.csv"]) == 1
    sentence = "Reports need jinja2, which is not installed: pip install 'aspca[report]'."
    assert capsys.readouterr().err == f"aspca: {sentence}\n"
    assert not (here / "report.html").exists()
    # What else can be done is done.
    assert main(["detect", "train.csv"]) == 0
    assert f"No report.html was written. {sentence}" in capsys.readouterr().err.splitlines()
    assert {path.name for path in (here / "train.csv.aspca").iterdir()} >= {"scores.csv", "explanations.csv"}
    assert main(["demo"]) == 0
    assert f"No report.html was written. {sentence}" in capsys.readouterr().err.splitlines()
    found = aspca.detect("train.csv")
    with pytest.raises(aspca.JobError, match=r"pip install 'aspca\[report\]'"):
        found.report("report.html")
    assert "8 unusual rows among 400 rows" in found.report(format="markdown")


def test_one_report_for_each_category(here: Path) -> None:
    rows = np.vstack([lawful(200, 1), lawful(200, 2) * [1, 1, 3]])
    lines = [f"{'x' if k < 200 else 'y'},{','.join(f'{x:.4f}' for x in row)}" for k, row in enumerate(rows)]
    Path("kinds.csv").write_text("\n".join(["kind,a,b,total", *lines]) + "\n", encoding="utf-8")
    found = aspca.detect("kinds.csv", by="kind", output="out")
    for folder, category in (("category-000", "x"), ("category-001", "y")):
        text = Path("out", folder, "report.html").read_text(encoding="utf-8")
        assert text == found.report(category=category)
        assert f'<small class="u">{category}</small>' in text
    with pytest.raises(aspca.JobError, match="There is a report for each category of 'kind': give category"):
        found.report("report.html")
    assert not Path("report.html").exists()


def test_the_suffix_says_the_format_where_nothing_else_does(here: Path) -> None:
    found = aspca.detect("train.csv", output="out")
    assert json.loads(found.report("findings.json")) == json.loads(Path("findings.json").read_text(encoding="utf-8"))
    assert found.report("findings.md") == found.report(format="markdown")
    assert found.report("findings.txt").startswith("<!doctype html>")
    assert found.report("page.html", "json").startswith("{")
    assert main(["report", "out/model.json", "train.csv", "-o", "told.json", "-q"]) == 0
    assert json.loads(Path("told.json").read_text(encoding="utf-8"))["counts"]["rows"] == 400
