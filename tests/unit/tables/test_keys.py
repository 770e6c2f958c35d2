"""Columns that stand beside a row wherever it is told of, and labels, by which scores are only evaluated."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, roc_auc_score

import aspca
from aspca.cli.main import main
from aspca.pipeline.explain_rows import find_rows
from aspca.pipeline.passes import Silent
from aspca.tables.column_checks import find_keys
from aspca.tables.errors import JobError, RequestError
from aspca.tables.keys import Keys, compute_auc, evaluate, find_ids, read_labels
from aspca.tables.memory import MemoryColumn, MemoryTable

pytest.importorskip("duckdb")

# Row 17 and what is wrong in it: the total, by far.
ODD, WRONG = 17, "361100"
KEYS = {"host": "web 17", "zone": "B", "at": "2024-01-01 17:00:00", "site": "=north", "bad": "1"}
COMMAND = ["--id", "host,zone", "--time", "at", "--categorical", "site", "--label", "bad"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "table.csv"
    rng = np.random.default_rng(5)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["host", "zone", "at", "site", "one", "two", "total", "bad"])
        for row in range(120):
            one, two = rng.integers(1000, 90000, 2)
            total = WRONG if row == ODD else str(one + two)
            site = "=north" if row % 2 else "south"
            at = f"2024-01-{1 + row // 24:02d} {row % 24:02d}:00:00"
            writer.writerow([f"web {row}", "AB"[row % 2], at, site, one, two, total, int(row == ODD)])
    return path


@pytest.fixture(scope="module")
def folder(table: Path) -> Path:
    assert main(["detect", str(table), *COMMAND, "--quiet"]) == 0
    return Path(f"{table}.aspca")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main([*words, "--quiet"]) == 0
    return capsys.readouterr().out


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def in_csv(keys: dict[str, str]) -> dict[str, str]:
    # A spreadsheet would run it.
    return {**keys, "site": "'=north"}


def test_scores_explanations_and_incidents(folder: Path) -> None:
    scores = lines(folder / "scores.csv")
    assert list(scores[0]) == ["row", *KEYS, "score", "anomaly", "verdict", "p_value"]
    assert len(scores) == 120
    for name in ("scores.csv", "explanations.csv"):
        told = [line for line in lines(folder / name) if line["row"] == str(ODD)]
        assert told
        for line in told:
            assert {key: line[key] for key in KEYS} == in_csv(KEYS)
    incident = next(line for line in lines(folder / "incidents.csv") if line["peak"] == str(ODD))
    assert {key: incident[key] for key in KEYS} == in_csv(KEYS)
    assert incident["first"] == KEYS["at"]


def test_a_cell_is_written_as_the_file_has_it(folder: Path) -> None:
    told = [line for line in lines(folder / "explanations.csv") if line["row"] == str(ODD)]
    assert WRONG in {line["value"] for line in told if line["feature"] == "total"}


def test_json_and_csv(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(printed(capsys, "detect", str(table), *COMMAND, "--no-output", "--json"))
    (found,) = [finding for finding in document["anomalies"] if finding["row"] == ODD]
    assert found["keys"] == KEYS
    assert found["name"] == "web 17, B"
    text = printed(capsys, "detect", str(table), *COMMAND, "--no-output", "--csv")
    told = [line for line in csv.DictReader(io.StringIO(text)) if line["row"] == str(ODD)]
    assert {key: told[0][key] for key in KEYS} == in_csv(KEYS)


@pytest.mark.parametrize("width", [80, 120])
def test_the_page(table: Path, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    page = printed(capsys, "detect", str(table), *COMMAND, "--no-output", "--top", "3")
    assert max(map(len, page.splitlines())) <= width
    for cell in (*KEYS, *KEYS.values()):
        assert cell in page
    # What is wrong can be searched for in the file.
    assert re.search(rf"total \d+ \(not {WRONG}\)", page)


def test_python(table: Path) -> None:
    found = aspca.detect(table, id=["host", "zone"], time="at", categorical="site", label="bad")
    (finding,) = [one for one in found.findings if one.row == ODD]
    assert finding.keys == KEYS
    frame = found.to_frame()
    assert list(frame.columns[:6]) == ["row", *KEYS]
    assert frame[frame.row == ODD].iloc[0][list(KEYS)].to_dict() == KEYS


def test_one_model_per_category(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--id", "host", "--by", "site", "--ignore", "zone", "--label", "bad", "--output", str(tmp_path / "out")]
    page = printed(capsys, "detect", str(table), *[word for word in words if word not in ("--label", "bad")])
    assert "== site = =north" in page
    told = lines(tmp_path / "out" / "category-000" / "scores.csv")
    assert {line["site"] for line in told} == {"'=north"}
    assert list(told[0])[:4] == ["row", "host", "at", "site"]


def test_names_that_are_taken_are_told_apart() -> None:
    keys = Keys(("row", "Score"), "time", ("row", "text"), "ROW")
    assert keys.columns == ("row", "Score", "time", "text", "ROW")
    assert keys.header(["row", "score", "text"]) == ["id: row", "id: Score", "time", "category: text", "label: ROW"]


def test_rows_are_explained_by_name(table: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", str(table), "--model", str(folder / "model.json")]
    by_number = json.loads(printed(capsys, *words, "--row", str(ODD), "--json"))
    by_name = json.loads(printed(capsys, *words, "--id", "host", "--row", "web 17", "--json"))
    assert by_number[0]["row"] == by_name[0]["row"] == ODD
    assert by_number[0]["rules"] == by_name[0]["rules"]
    assert by_name[0]["keys"] == {"host": "web 17"}
    assert re.match(rf"Row web 17 is an error \(certain\): total should be \d+ \(not {WRONG}\)\.", by_name[0]["text"])
    for name in ("web 17, B", "web 17,B"):
        page = printed(capsys, *words, "--id", "host", "--id", "zone", "--row", name)
        assert "row 17: host [web 17], zone B" in page
        assert f"(not {WRONG})" in page
    # No name is a number, so a number is a row.
    assert json.loads(printed(capsys, *words, "--id", "host", "--row", "3", "--json"))[0]["name"] == "web 3"


def named(cells: list[Any]) -> MemoryTable:
    return MemoryTable("memory", {"id": MemoryColumn("text", None, cells), "b": MemoryColumn("text", None, cells)})


@pytest.mark.parametrize(
    ("cells", "ids", "wanted", "rows"),
    [
        (["5", "0", "x"], ("id",), ["0", "5"], [1, 0]),
        (["5", "0", "x"], (), ["0", "2"], [0, 2]),
        ([5.0, 7.0, None], ("id",), ["7"], [1]),
        (["a,b", "c, d", "e"], ("id",), ["a, b", "c,d"], [0, 1]),
    ],
)
def test_names_win_only_where_columns_name_rows(
    cells: list[Any], ids: tuple[str, ...], wanted: list[str], rows: list[int]
) -> None:
    assert find_rows(named(cells), wanted, Keys(ids), Silent()) == rows


@pytest.mark.parametrize(
    ("cells", "ids", "wanted", "words"),
    [
        (["a", "b", "a"], ("id",), "a", "'a' names 2 rows of memory by 'id': 0 and 2; give one of these numbers"),
        (["7", "b"], ("id",), "1", "no row of memory is called '1' by 'id'; leave out --id"),
        (["a", "b"], ("id",), "c", "no row of memory is called 'c' by 'id'"),
        (["a", "b"], (), "a", "'a' is no number of a row, which count from 0; name a column by --id"),
        (["a", "b"], (), "-1", "'-1' is no number of a row"),
    ],
)
def test_no_row_is_taken_for_another(cells: list[Any], ids: tuple[str, ...], wanted: str, words: str) -> None:
    with pytest.raises(RequestError, match=re.escape(words)):
        find_rows(named(cells), [wanted], Keys(ids), Silent())


def test_a_column_with_a_comma_in_its_name_wins() -> None:
    table = MemoryTable("memory", {name: MemoryColumn("text", None, ["x"]) for name in ("a", "b", "a,b")})
    assert find_ids(table, ["a,b"]) == ("a,b",)
    assert find_ids(table, ["b, a"]) == ("b", "a")
    assert find_ids(table, ["b", "a", "b"]) == ("b", "a")
    assert find_keys(table, ["a,b"]).ids == ("a,b",)
    with pytest.raises(JobError, match="no column 'c'"):
        find_keys(table, ["a,c"])


def test_large_integers_of_a_frame_are_names() -> None:
    values = np.random.default_rng(0).normal(size=(60, 3))
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    frame["account"] = [2**60 + k for k in range(60)]
    found = aspca.detect(frame)
    assert [feature.column for feature in found.model.space.features] == ["a", "b", "c"]
    assert any("kept as text in column 'account'" in remark for remark in found.remarks)


def labelled(cells: list[object]) -> MemoryTable:
    return MemoryTable("t.csv", {"kind": MemoryColumn("text", None, cells)})


@pytest.mark.parametrize(
    ("cells", "truth"),
    [
        ([0, 1, 0], [0, 1, 0]),
        (["0", "1", "1"], [0, 1, 1]),
        ([0.0, 1.0], [0, 1]),
        ([False, True], [0, 1]),
        ([1, -1, 1], [0, 1, 0]),
        (["1.0", "-1.0"], [0, 1]),
        (["Normal", "dos", "probe"], [0, 1, 1]),
        (["normal.", "smurf."], [0, 1]),
        (["B", "M", "B"], [0, 1, 0]),
        (["no", "yes"], [0, 1]),
    ],
)
def test_labels_that_are_understood(cells: list[object], truth: list[int]) -> None:
    assert read_labels(labelled(cells), "kind")[0].tolist() == [bool(one) for one in truth]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([0, None, 1], "t.csv: row 1 has no label in column 'kind'"),
        ([0, 0], "'0' only"),
        (["red", "blue"], "one must say normal"),
        (["normal", "ok", "bad"], "one must say normal"),
        (["A", "B", "C"], "one must say normal"),
    ],
)
def test_labels_that_are_not(cells: list[object], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        read_labels(labelled(cells), "kind")


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=2))
def test_area_under_the_curve_is_scikit_learns(rows: list[tuple[bool, int]]) -> None:
    truth, scores = np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])
    if truth.all() or not truth.any():
        return
    assert compute_auc(truth, scores) == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    found = evaluate(truth, scores, scores > 4, "")
    expected = confusion_matrix(truth, scores > 4, labels=[False, True]).ravel().tolist()
    assert [found.passed, found.false_alarms, found.misses, found.hits] == expected
