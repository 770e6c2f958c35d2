"""Numbers that stand as text in workbooks and SQLite files are read by the evidence of the texts, as in CSV."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import openpyxl
import pytest

import aspca

N = 24
STORED = [[float(row % 7) + 0.25 * (row % 3), float(row % 5)] for row in range(N)]
Write = Callable[[Path, Sequence[str]], str]


def workbook(folder: Path, texts: Sequence[str]) -> str:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["text", "x", "y"])
    for text, stored in zip(texts, STORED, strict=True):
        sheet.append([text, *stored])
    book.save(folder / "t.xlsx")
    return str(folder / "t.xlsx")


def sqlite(folder: Path, texts: Sequence[str]) -> str:
    with sqlite3.connect(folder / "t.sqlite") as database:
        database.execute("CREATE TABLE t (text TEXT, x REAL, y REAL)")
        rows = [[text, *stored] for text, stored in zip(texts, STORED, strict=True)]
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    database.close()
    return str(folder / "t.sqlite")


FORMATS: dict[str, Write] = {"workbook": workbook, "SQLite": sqlite}
formats = pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)


def mean_of(source: str, **options: str) -> tuple[float, str]:
    model = aspca.fit_source(source, robust="off", **options)
    place = list(model.feature_names_in_).index("text")
    return float(model.moments_.mean[place]), " ".join(model.model_.reading)


@formats
def test_a_comma_that_may_mean_both_is_not_guessed(write: Write, tmp_path: Path) -> None:
    whole = [1034 + 37 * row for row in range(N)]
    source = write(tmp_path, [f"{one:,}" for one in whole])
    with pytest.raises(aspca.JobError, match=r"the comma of '1,034' in row 0 .*may stand before decimals or between"):
        aspca.fit_source(source)
    assert mean_of(source, thousands=",")[0] == pytest.approx(sum(whole) / N, rel=1e-15)
    assert mean_of(source, decimal=",")[0] == pytest.approx(sum(whole) / N / 1000, rel=1e-15)


@formats
def test_texts_that_prove_a_sign_settle_it_and_it_is_said(write: Write, tmp_path: Path) -> None:
    whole = [1034 + 37 * row for row in range(N)]
    (tmp_path / "thousands").mkdir()
    mean, told = mean_of(write(tmp_path / "thousands", [*(f"{one:,}" for one in whole[1:]), "1,000,000.5"]))
    assert mean == pytest.approx((sum(whole[1:]) + 1_000_000.5) / N, rel=1e-15)
    assert "commas separate thousands in column 'text'" in told
    mean, told = mean_of(write(tmp_path, [f"{one / 4:.2f}".replace(".", ",") for one in whole]))
    assert mean == pytest.approx(sum(whole) / N / 4, rel=1e-15)
    assert "commas stand before decimals in column" in told
