"""A text means the same number in CSV, whether read in one pass or counted first, JSON lines, workbooks and SQLite."""

from __future__ import annotations

import csv
import json
import math
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import hypothesis.strategies as st
import openpyxl
from hypothesis import HealthCheck, given, settings

from aspca.pipeline.sources import open_table
from aspca.tables.request import ReadOptions

Meaning = tuple[str, list[float | str | None]]
MISSING, BAD = "missing", "no number"
OTHERS = ["1", "2", "4", "3", "7", "9"]


def columns_of(texts: Sequence[str]) -> list[list[str]]:
    """One column for each text, which stands among whole numbers."""
    return [[*OTHERS, text] for text in texts]


def csv_file(path: Path, columns: Sequence[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL)
        writer.writerow([f"c{place}" for place in range(len(columns))])
        writer.writerows(zip(*columns, strict=True))


def csv_counted(path: Path, columns: Sequence[Sequence[str]]) -> None:
    """A word for missing that only counting finds keeps the file from being read in one pass."""
    csv_file(path, [*columns, ["void", *columns_of(["8"])[0][1:]]])


def json_lines(path: Path, columns: Sequence[Sequence[str]]) -> None:
    rows = zip(*columns, strict=True)
    lines = (json.dumps({f"c{place}": cell for place, cell in enumerate(row)}) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")


def workbook(path: Path, columns: Sequence[Sequence[str]]) -> None:
    book = openpyxl.Workbook()
    for place, column in enumerate(columns):
        for row, text in enumerate([f"c{place}", *column], start=1):
            cell = book.active.cell(row, place + 1, text)
            cell.data_type = "s"
    book.save(path)


def sqlite(path: Path, columns: Sequence[Sequence[str]]) -> None:
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE t ({', '.join(f'c{place} TEXT' for place in range(len(columns)))})")
        marks = ", ".join("?" * len(columns))
        database.executemany(f"INSERT INTO t VALUES ({marks})", list(zip(*columns, strict=True)))  # noqa: S608
    database.close()


WAYS: dict[str, Callable[[Path, Sequence[Sequence[str]]], None]] = {
    "counted.csv": csv_counted,
    "lines.jsonl": json_lines,
    "book.xlsx": workbook,
    "table.sqlite": sqlite,
}


def meanings(path: Path, n_columns: int) -> list[Meaning]:
    """The kind of each column, and its numbers, None where missing, `BAD` where a cell is no number."""
    found: list[Meaning] = []
    with open_table([str(path)], ReadOptions(), "") as table:
        bad = {(cell.row, cell.column) for cell in table.bad_cells}
        for column in table.columns[:n_columns]:
            if column.kind == "text":
                found.append(("text", []))
                continue
            numbers = [float(x) for batch in table.batches([column.name]) for x in batch.values[:, 0]]
            assert column.n_missing == sum(map(math.isnan, numbers))
            read = [
                number if not math.isnan(number) else BAD if (row, column.name) in bad else None
                for row, number in enumerate(numbers)
            ]
            found.append((column.kind, read))
    return found


def meanings_by_way(folder: Path, texts: Sequence[str]) -> dict[str, list[Meaning]]:
    """What texts mean, each in a column of its own; alone in a CSV file, they are read in one pass if they can be."""
    columns = columns_of(texts)
    found: dict[str, list[Meaning]] = {"plain.csv": []}
    for column in columns:
        csv_file(folder / "plain.csv", [column])
        found["plain.csv"] += meanings(folder / "plain.csv", 1)
    for way, write in WAYS.items():
        write(folder / way, columns)
        found[way] = meanings(folder / way, len(columns))
    return found


MEANINGS: dict[str, float | str] = {
    "nAn": MISSING, "+nan": MISSING, "-NAN": MISSING, "NaN": MISSING, ".": MISSING,
    "inf": BAD, "-Infinity": BAD, "1e400": BAD, "-1e5000": BAD,
    "+-5": BAD, "--5": BAD, "-+5": BAD, "0x1F": BAD, "1_000": BAD, "\u0663": BAD, "5e": BAD, "1d5": BAD,
    "1e-400": 0.0, "1e5": 1e5, "1E+05": 1e5, ".5": 0.5, "5.": 5.0, "+5": 5.0, "- 5": -5.0, "+ 5": 5.0, "5\n": 5.0,
    "4.9e-324": 5e-324, "1.7976931348623157e308": 1.7976931348623157e308,
}  # fmt: skip


def expected(text: str) -> Meaning:
    means = MEANINGS[text]
    last = BAD if means == BAD else None if means == MISSING else float(means)
    return "number", [*map(float, OTHERS), last]


def test_odd_texts_mean_the_same_on_every_path(tmp_path: Path) -> None:
    for way, found in meanings_by_way(tmp_path, list(MEANINGS)).items():
        assert dict(zip(MEANINGS, found, strict=True)) == {text: expected(text) for text in MEANINGS}, way


# No commas: in JSON they never belong to numbers.
TEXTS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.text(alphabet="15.+-eE nNaAiIfF_x", min_size=1, max_size=6),
)


@given(texts=st.lists(TEXTS, min_size=5, max_size=5))
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_means_the_same_on_every_path(tmp_path: Path, texts: list[str]) -> None:
    found = meanings_by_way(tmp_path, texts)
    assert found == dict.fromkeys(found, found["counted.csv"])
