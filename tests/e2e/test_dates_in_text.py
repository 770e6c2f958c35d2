"""Dates in text: names of months, zones that are certain, zones that are not, and clocks that were changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import openpyxl
import pytest

import aspca

N = 12
DAYS = [datetime(2024, 1 + row, 5 + row, tzinfo=UTC) for row in range(N)]
Write = Callable[[Path, Sequence[str]], str]
HEADER = ["at", "x"]


def csv_file(folder: Path, texts: Sequence[str]) -> str:
    rows = (f'"{text}";{place % 5}.5\n' for place, text in enumerate(texts))
    (folder / "t.csv").write_text("at;x\n" + "".join(rows), encoding="utf-8")
    return str(folder / "t.csv")


def workbook(folder: Path, texts: Sequence[str]) -> str:
    book = openpyxl.Workbook()
    book.active.append(HEADER)
    for place, text in enumerate(texts):
        book.active.append([text, place % 5 + 0.5])
    book.save(folder / "t.xlsx")
    return str(folder / "t.xlsx")


def sqlite(folder: Path, texts: Sequence[str]) -> str:
    with sqlite3.connect(folder / "t.sqlite") as database:
        database.execute("CREATE TABLE t (at TEXT, x REAL)")
        rows = [(text, place % 5 + 0.5) for place, text in enumerate(texts)]
        database.executemany("INSERT INTO t VALUES (?, ?)", rows)
    database.close()
    return str(folder / "t.sqlite")


def days_of(source: str) -> tuple[float, str]:
    """The mean of the dates in days, and what was said."""
    model = aspca.fit_source(source, date=["at"])
    mean = dict(zip(model.feature_names_in_, model.moments_.mean, strict=True))["at"]
    return float(mean), " ".join(model.model_.reading)


NAMES = {
    "3 March 2024": lambda day: f"{day.day} {day:%B %Y}",
    "Mar 3, 2024": lambda day: f"{day:%b} {day.day}, {day:%Y}",
    "March 3, 2024": lambda day: f"{day:%B} {day.day}, {day:%Y}",
    "03-Mar-24": lambda day: f"{day:%d-%b-%y}",
    "03-MAR-2024": lambda day: f"{day:%d-%b-%Y}".upper(),
    "3 sept 2024": lambda day: f"{day.day} {day:%b %Y}".replace("Sep", "sept"),
    "3/Sept./2024": lambda day: f"{day.day}/{day:%b}./{day:%Y}".replace("Sep", "Sept"),
    "2024-Mar-03": lambda day: f"{day:%Y-%b-%d}",
    "3 March 2024 00:00 UTC": lambda day: f"{day.day} {day:%B %Y} 00:00 UTC",
}


@pytest.mark.parametrize("written", NAMES.values(), ids=NAMES)
def test_names_of_months_are_read_without_a_question(tmp_path: Path, written: Callable[[datetime], str]) -> None:
    mean, told = days_of(csv_file(tmp_path, [written(day) for day in DAYS]))
    assert mean == pytest.approx(sum(day.timestamp() for day in DAYS) / N / 86400, rel=1e-15)
    assert "day first" not in told
    assert ("years have two digits" in told) == (written is NAMES["03-Mar-24"])


def test_a_name_that_only_begins_like_a_month_is_none(tmp_path: Path) -> None:
    model = aspca.fit_source(csv_file(tmp_path, [f"{place + 1} Marchenko 2024" for place in range(N)]))
    assert list(model.feature_names_in_) == ["x"]


@pytest.mark.parametrize(
    ("write", "zone"), [(csv_file, "PST"), (csv_file, "IST"), (csv_file, "CET"), (workbook, "BST"), (sqlite, "BST")]
)
def test_letters_for_a_zone_are_not_guessed(write: Write, zone: str, tmp_path: Path) -> None:
    source = write(tmp_path, [f"{day:%Y-%m-%d} 10:30:00 {zone}" for day in DAYS])
    model = aspca.fit_source(source)
    assert list(model.feature_names_in_) == ["x"]
    told = " ".join(model.model_.reading)
    assert "times are kept as text in column 'at', since the letters for their zone may mean several" in told
    assert f"10:30:00 {zone}' in row 0" in told


def test_letters_behind_days_that_come_first_are_not_guessed(tmp_path: Path) -> None:
    model = aspca.fit_source(csv_file(tmp_path, [f"{day:%d/%m/%Y} 10:30 BST" for day in DAYS]))
    assert "since the letters for their zone may mean several" in " ".join(model.model_.reading)


@pytest.mark.parametrize("zone", ["Z", " UTC", " GMT", "+00:00", "+0000", " Etc/UTC"])
def test_zones_that_are_certain_are_read(zone: str, tmp_path: Path) -> None:
    mean, told = days_of(csv_file(tmp_path, [f"{day:%Y-%m-%dT%H:%M:%S}{zone}" for day in DAYS]))
    assert mean == pytest.approx(sum(day.timestamp() for day in DAYS) / N / 86400, rel=1e-15)
    assert "clocks" not in told


@pytest.mark.parametrize(
    ("write", "time", "taken"),
    [
        (csv_file, "2024-03-31 02:30:00", "2024-03-31 01:30:00 UTC"),
        (csv_file, "2024-10-27 02:30:00", "2024-10-27 0"),
        (workbook, "2024-10-27 02:30:00", "2024-10-27 0"),
        (sqlite, "2024-03-31 02:30:00", "2024-03-31 01:30:00 UTC"),
    ],
    ids=["left out, CSV", "repeated, CSV", "repeated, workbook", "left out, SQLite"],
)
def test_times_that_a_change_of_clocks_makes_doubtful_are_said(
    write: Write, time: str, taken: str, tmp_path: Path
) -> None:
    usual = [f"{day:%Y-%m-%d %H:%M:%S} Europe/Berlin" for day in DAYS]
    (tmp_path / "usual").mkdir()
    assert "clocks" not in days_of(write(tmp_path / "usual", usual))[1]
    told = days_of(write(tmp_path, [*usual[1:], f"{time} Europe/Berlin"]))[1]
    assert "times that a change of clocks left out or repeated are in doubt in column 'at'" in told
    assert f"'{time} Europe/Berlin' in row {N - 1}" in told
    assert f"is taken for {taken}" in told
