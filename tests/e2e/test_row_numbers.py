"""Every output names the row of the source: a column holds the true number of each row, and all must agree with it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_sources import KEY, NAMES, WAYS, Table, Way

import aspca
from aspca.cli.main import main
from aspca.jobs.errors import JobError

SMALL = 100


def seed_of(name: str) -> int:
    """Each way has its own errors, the same in every run."""
    return sum(map(ord, name))


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """As many as DuckDB may use."""
    monkeypatch.setattr("aspca.database.os.cpu_count", lambda: request.param)
    return int(request.param)


def assert_detection(found: aspca.Detection, table: Table) -> None:
    """Findings, frame and report name the broken rows, and the cells beside them are those of these rows."""
    assert [finding.row for finding in found.findings[:4]] == table.broken[::-1]
    for finding in found.findings:
        assert (str(finding.row), str(finding.row)) == (finding.name, finding.keys[KEY])
        assert finding.text.startswith(f"Row {finding.row} ")
    rows = pd.DataFrame(found.to_frame()) if found.library == "pandas" else found.to_frame().to_pandas()
    assert rows["row"].astype(str).tolist() == rows[KEY].tolist()
    report = json.loads(found.report(format="json"))
    assert_report(report, table)


def assert_report(report: dict[str, Any], table: Table) -> None:
    place = next(column["number"] for column in report["columns"] if column["name"] == KEY)
    truth = table.frame
    assert {anomaly["row"] for anomaly in report["anomalies"]} >= set(table.broken)
    for anomaly in report["anomalies"]:
        cells = {cell["column"]: cell["text"] for cell in anomaly["cells"]}
        assert float(cells[place]) == anomaly["row"]
        near = anomaly["near"]
        for row in [] if near is None else near["rows"]:
            # Only the nearest of them show their values.
            names = [report["columns"][number]["name"] for number in near["columns"]] if row["values"] else []
            assert row["values"] == [f"{value:.15g}" for value in truth.loc[row["row"], names]]
    assert set(report["rules"][0]["rows"]) == set(table.broken)
    aside = report["aside"]
    assert {*aside["first_rows"], *(cell["row"] for cell in aside["first_cells"])} == set(table.broken)


def assert_folder(folder: Path, table: Table) -> None:
    scores = pd.read_csv(folder / "scores.csv")
    assert scores["row"].tolist() == scores[KEY].tolist() == list(range(table.n_rows))
    worst = scores.nlargest(4, "score")["row"]
    assert sorted(worst) == table.broken
    why = pd.read_csv(folder / "explanations.csv")
    assert why["row"].tolist() == why[KEY].tolist()
    assert set(why["row"]) == set(scores["row"][scores["anomaly"] == 1])
    assert sorted(set(pd.read_csv(folder / "set_aside.csv")["row"])) == table.broken


def rows_told(text: str) -> list[int]:
    """The rows that a remark on what was set aside names."""
    found = re.search(r"in rows ([0-9, ]+)", text)
    assert found is not None, text
    return [int(row) for row in found[1].split(",")]


@pytest.mark.parametrize("name", WAYS)
def test_findings_files_and_report(name: str, tmp_path: Path) -> None:
    table, way = Table(SMALL, seed_of(name), tmp_path), WAYS[name]
    source = way.made(table)
    folder = tmp_path / "out"
    found = aspca.detect(source, id=KEY, output=folder, report=True, **way.options)
    assert_detection(found, table)
    assert_folder(folder, table)
    assert rows_told(" ".join(found.remarks)) == table.broken
    reading = {option: value for option, value in way.options.items() if option != "ignore"}
    for id in (KEY, None):
        scored = aspca.score_source(folder / "model.json", source, id=id, **reading)
        scored = scored if isinstance(scored, pd.DataFrame) else scored.to_pandas()
        assert scored["row"].tolist() == list(range(SMALL))
        assert sorted(scored["row"][scored["broken_rules"].notna()]) == table.broken
        if id is not None:
            assert scored[KEY].astype(float).tolist() == list(range(SMALL))


# ---- the command


def called(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main([str(word) for word in words]) == code
    shown = capsys.readouterr()
    return shown.out, shown.err


def options_of(way: Way, *names: str) -> list[str]:
    return [word for name in names if name in way.options for word in (f"--{name}", way.options[name])]


# Reading is the same for all: these are the ways that lines and cells take.
@pytest.mark.parametrize("name", ["word for missing", "odd lines", "xlsx", "duckdb query", "parquet"])
def test_the_command(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, way = Table(SMALL, seed_of(name) + 1, tmp_path), WAYS[name]
    path, model = way.made(table), tmp_path / "model.json"
    reading, ignored = options_of(way, "missing", "query"), options_of(way, "ignore")
    out, err = called(capsys, "detect", path, "--ignore", KEY, "--no-output", *reading, *ignored)
    told = [int(row) for row in re.findall(r"^ +(\d+) .*c = a \+ b", out, re.MULTILINE) if row != "0"]
    assert told == table.broken[::-1]
    assert rows_told(err) == table.broken
    out, err = called(capsys, "fit", path, "--robust", "on", "--model", model, "--ignore", KEY, *reading, *ignored)
    assert rows_told(err) == table.broken
    scored = pd.read_csv(io.StringIO(called(capsys, "score", path, "--model", model, "--id", KEY, *reading)[0]))
    assert scored["row"].tolist() == scored[KEY].tolist() == list(range(SMALL))
    lines = called(capsys, "score", path, "--model", model, "--json", *reading)[0].splitlines()
    broken = [row["row"] for row in map(json.loads, lines) if row["broken_rules"]]
    assert broken == table.broken
    truth = table.frame
    for asked in (["--row", table.broken[0]], ["--id", KEY, "--row", table.broken[0]]):
        (reason,) = json.loads(called(capsys, "explain", path, "--model", model, "--json", *asked, *reading)[0])
        assert reason["row"] == table.broken[0]
        values = {feature["feature"]: feature["value"] for feature in reason["features"]}
        assert values["c"] == truth["c"][table.broken[0]]
    report = json.loads(called(capsys, "report", model, path, "--json", "--id", KEY, *reading)[0])
    assert report["aside"]["elsewhere"]
    assert_report(report, table)


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(SMALL, 11, tmp_path)
    text = WAYS["word for missing"].made(table).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert_detection(aspca.detect("-", id=KEY, ignore="d"), table)


def test_a_memory_map_of_numbers(tmp_path: Path) -> None:
    table = Table(SMALL, 12, tmp_path)
    np.save(tmp_path / "rows.npy", table.frame[["a", "b", "c"]].to_numpy())
    found = aspca.detect(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert [finding.row for finding in found.findings[:4]] == table.broken[::-1]


# ---- large files


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> aspca.ASPCA:
    return aspca.fit_source(Table(2000, 3, tmp_path_factory.mktemp("model")).frame, ignore=[KEY, "d"], robust="on")


@pytest.mark.parametrize("name", ["plain text", "word for missing", "parquet", "duckdb"])
def test_more_rows_than_one_thread_takes(name: str, threads: int, tmp_path: Path, model: aspca.ASPCA) -> None:
    """Above 4 MB DuckDB reads a text in parts, and above 122,880 rows its own tables and Parquet's row groups."""
    table = Table(150_000, seed_of(name), tmp_path)
    scored = aspca.score_source(model, WAYS[name].made(table), id=KEY)
    assert (scored["row"] == np.arange(table.n_rows)).all()
    assert (scored[KEY].astype(float) == scored["row"]).all()
    assert scored["row"][scored["broken_rules"].notna()].tolist() == table.broken


# ---- sentences that name a row


@st.composite
def odd_texts(draw: st.DrawFn) -> tuple[str, int, int, str, dict[str, str]]:
    """A text with a fault in one row: the text, the row, its line, what is to be said of it, and for which options."""
    n_rows = draw(st.integers(4, 30))
    faulty = draw(st.integers(1, n_rows - 1))
    cells, sentence, options = draw(
        st.sampled_from(
            [
                ("inf,1", "has the value inf in column 'a'", {}),
                ("1e200,1", "has the value 1e+200 in column 'a'", {"by": "kind"}),
                ("0,1", "has the value 0 in column 'a', but log needs", {"by": "kind", "log": "a"}),
                ("1,", "has no label in column 'kind'", {"label": "kind"}),
                ("oops,1", "'oops' in ", {}),
                ("1,1,1", "has 4 cells, but the first has 3", {}),
            ]
        )
    )
    lines = draw(st.lists(st.just(""), max_size=3))
    lines += draw(st.sampled_from([[], ["sep=,"]])) + ["a,kind,note"]
    line = 0
    for row in range(n_rows):
        lines += draw(st.lists(st.just(""), max_size=2))
        line = len(lines) + 1 if row == faulty else line
        note = draw(st.sampled_from(["plain", '"quoted"', '"two\nlines"', '"two\n\nmore, and ""quotes"""']))
        lines += f"{cells if row == faulty else f'{row + 1},{row % 2}'},{note}".split("\n")
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    return ending.join(lines) + draw(st.sampled_from(["", ending])), faulty, line, sentence, options


@settings(max_examples=40)
@given(odd_texts())
def test_a_sentence_names_row_and_line(drawn: tuple[str, int, int, str, dict[str, str]]) -> None:
    text, row, line, sentence, options = drawn
    with TemporaryDirectory() as folder:
        path = Path(folder) / "odd.csv"
        path.write_bytes(text.encode())
        with pytest.raises(JobError) as refused:
            aspca.detect(path, ignore="note", **options)
    assert f"row {row} (line {line})" in str(refused.value)
    assert sentence in str(refused.value)
