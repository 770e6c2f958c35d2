"""One table in which every row holds its own number, written in every way that a table can be read."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

KEY = "true_row"
NAMES = (KEY, "a", "b", "c", "d")


@dataclass(frozen=True)
class Table:
    """`n_rows` rows with c = a + b, broken in a few rows at random; d is free, and `true_row` is the row's number.

    It holds exactly, so that broken rows are repaired, or but for noise, so that they are set aside.
    """

    n_rows: int
    seed: int
    folder: Path
    noisy: bool = False

    @property
    def broken(self) -> list[int]:
        """Numbers of the rows with an error, ascending; the errors differ."""
        rng = np.random.default_rng(self.seed)
        return sorted(rng.choice(self.n_rows, 4, replace=False).tolist())

    @property
    def frame(self) -> pd.DataFrame:
        """All cells are multiples of a quarter, so that sums are exact in any way of writing."""
        rng = np.random.default_rng(self.seed + 1)
        a, b, d = rng.integers(1, 8000, size=(3, self.n_rows)) / 4
        c = a + b + (rng.integers(-20, 21, size=self.n_rows) / 4 if self.noisy else 0.0)
        c[self.broken] += [30_000.25, 40_000.5, 50_000.75, 60_000.0]
        return pd.DataFrame(dict(zip(NAMES, (np.arange(self.n_rows), a, b, c, d), strict=True)))

    @property
    def arrow(self) -> pa.Table:
        return pa.Table.from_pandas(self.frame, preserve_index=False)

    def lines(self, write: Callable[[float], str] = repr, between: str = ",") -> list[str]:
        """The rows as lines of text, numbers as `write` writes them."""
        rows = zip(*(self.frame[name].tolist() for name in NAMES), strict=True)
        return [between.join([str(key), *map(write, cells)]) for key, *cells in rows]

    def text(self, name: str, lines: Sequence[str], header: str = ",".join(NAMES)) -> Path:
        path = self.folder / name
        path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        return path


@dataclass(frozen=True)
class Way:
    """How a table becomes a source, and the options that `aspca.detect` needs for it."""

    made: Callable[[Table], Any]
    options: dict[str, Any] = field(default_factory=dict)


# ---- text


def _commas(number: float) -> str:
    return f"{number:,.2f}"


def _swapped(number: float) -> str:
    return _commas(number).translate(str.maketrans(",.", ".,"))


def _with_words(table: Table, word: str) -> list[str]:
    """Every ninth cell of d is a word for missing."""
    lines = table.lines()
    return [line.rpartition(",")[0] + f",{word}" if row % 9 == 5 else line for row, line in enumerate(lines)]


def _odd_lines(table: Table) -> Path:
    """Blank lines, also above the header, and line feeds in quotes."""
    lines = [
        f'{line},"note\n{row}"' if row % 7 == 3 else f"{line},note {row}" for row, line in enumerate(table.lines())
    ]
    for place in (90, 40, 40, 3):
        lines.insert(place, "")
    return table.text("odd.csv", lines, "\n\n" + ",".join([*NAMES, "note"]))


def _dated(table: Table) -> list[str]:
    return [f"{line},{1 + row % 28:02d}.12.2024" for row, line in enumerate(table.lines())]


def gzipped(table: Table) -> Path:
    path = table.folder / "rows.csv.gz"
    path.write_bytes(gzip.compress(table.text("plain.csv", table.lines()).read_bytes(), 1))
    return path


def several(table: Table) -> list[str]:
    """Three files of unlike sizes, the second through the text path."""
    lines = _with_words(table, ".")
    plain = table.lines()
    first, second = table.n_rows // 5, table.n_rows // 2
    parts = {"part-a.csv": plain[:first], "part-b.csv": lines[first:second], "part-c.csv": plain[second:]}
    return [str(table.text(name, part)) for name, part in parts.items()]


def globbed(table: Table) -> str:
    several(table)
    return str(table.folder / "part-?.csv")


def json_lines(table: Table) -> Path:
    path = table.folder / "rows.jsonl"
    rows = [json.dumps(row) for row in table.frame.to_dict("records")]
    path.write_text("\n\n".join(rows), encoding="utf-8")
    return path


# ---- workbooks


def workbook(table: Table) -> Path:
    """With empty rows above, and between some rows."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet_row = 3
    for place, row in enumerate([NAMES, *table.frame.itertuples(index=False)]):
        for column, cell in enumerate(row, start=2):
            sheet.cell(sheet_row, column, cell if isinstance(cell, str) else float(cell))
        sheet_row += 3 if place % 11 == 6 else 1
    path = table.folder / "rows.xlsx"
    book.save(path)
    return path


def open_document(table: Table) -> Path:
    """With two empty rows after every tenth row."""
    path = table.folder / "rows.ods"
    places = [place for row in range(table.n_rows) for place in ([row, -1, -1] if row % 10 == 4 else [row])]
    table.frame.reindex(places).to_excel(path, engine="odf", index=False)
    return path


# ---- databases


def sqlite_of(table: Table, name: str, without_rowid: bool) -> Path:
    """With rows that were deleted, among others the first, and rows that were inserted in another order."""
    path = table.folder / f"{name}.sqlite"
    listed = ", ".join(f"{column} REAL" for column in NAMES[1:])
    extra = [(-1 - number, 1.0, 1.0, 99.0, 0.0) for number in range(7)]
    rows = [tuple(map(float, row)) for row in table.frame.to_numpy()]
    with sqlite3.connect(path) as database:
        kind = "PRIMARY KEY" if without_rowid else ""
        database.execute(
            f"CREATE TABLE readings ({KEY} INTEGER {kind}, {listed}) {'WITHOUT ROWID' if without_rowid else ''}"
        )
        several = [*extra[:3], *rows[:50], *extra[3:], *rows[50:]]
        database.executemany("INSERT INTO readings VALUES (?, ?, ?, ?, ?)", several)
        database.execute(f"DELETE FROM readings WHERE {KEY} < 0")  # noqa: S608
    database.close()
    return path


def duckdb_of(table: Table) -> Path:
    """With rows that were deleted, among others the first."""
    path = table.folder / "rows.duckdb"
    with duckdb.connect(str(path)) as database:
        database.register("held", table.arrow)
        listed = ", ".join(NAMES[1:])
        database.execute(f"CREATE TABLE readings AS SELECT -1::BIGINT AS {KEY}, {listed} FROM held LIMIT 9")  # noqa: S608
        database.execute("INSERT INTO readings SELECT * FROM held LIMIT 60")
        database.execute(f"INSERT INTO readings SELECT -1, {listed} FROM held LIMIT 5")  # noqa: S608
        database.execute("INSERT INTO readings SELECT * FROM held OFFSET 60")
        database.execute(f"DELETE FROM readings WHERE {KEY} < 0")  # noqa: S608
    return path


# ---- Parquet and Arrow


def parquet(table: Table) -> Path:
    path = table.folder / "rows.parquet"
    pq.write_table(table.arrow, path, row_group_size=max(7, table.n_rows // 9))
    return path


def parquet_folder(table: Table) -> Path:
    """Five files in two folders, of several row groups each."""
    path = table.folder / "parts"
    edges = np.linspace(0, table.n_rows, 6).astype(int)
    for number in range(5):
        inside = path / f"half={number // 3}"
        inside.mkdir(parents=True, exist_ok=True)
        part = table.arrow.slice(edges[number], edges[number + 1] - edges[number])
        pq.write_table(part, inside / f"part-{number}.parquet", row_group_size=max(3, table.n_rows // 20))
    return path


def arrow_file(table: Table) -> Path:
    path = table.folder / "rows.arrow"
    with pa.ipc.new_file(str(path), table.arrow.schema) as writer:
        writer.write_table(table.arrow, max_chunksize=max(3, table.n_rows // 7))
    return path


WAYS: dict[str, Way] = {
    "plain text": Way(lambda table: table.text("plain.csv", table.lines())),
    "word for missing": Way(lambda table: table.text("words.csv", _with_words(table, ".")), {"ignore": "d"}),
    "number for missing": Way(lambda table: table.text("named.csv", _with_words(table, "-999")), {"missing": "-999"}),
    "decimal commas": Way(lambda table: table.text("commas.csv", table.lines(_swapped, ";"), ";".join(NAMES))),
    "thousands": Way(lambda table: table.text("thousands.csv", table.lines(lambda x: f'"{_commas(x)}"'))),
    "units": Way(lambda table: table.text("units.csv", table.lines(lambda x: f"{x} kg"))),
    "dates": Way(lambda table: table.text("dates.csv", _dated(table), ",".join([*NAMES, "day"])), {"ignore": "day"}),
    "odd lines": Way(_odd_lines, {"ignore": "note"}),
    "gzip": Way(gzipped),
    "several files": Way(several),
    "glob": Way(globbed),
    "json lines": Way(json_lines),
    "xlsx": Way(workbook),
    "ods": Way(open_document),
    "sqlite": Way(lambda table: sqlite_of(table, "rows", without_rowid=False)),
    "sqlite without rowid": Way(lambda table: sqlite_of(table, "keyed", without_rowid=True)),
    "sqlite query": Way(
        lambda table: sqlite_of(table, "asked", without_rowid=False),
        {"query": f"SELECT * FROM readings ORDER BY {KEY}"},  # noqa: S608
    ),
    "duckdb": Way(duckdb_of),
    "duckdb query": Way(duckdb_of, {"query": f"SELECT * FROM readings ORDER BY {KEY}"}),  # noqa: S608
    "parquet": Way(parquet),
    "parquet folder": Way(parquet_folder, {"ignore": "half"}),
    "arrow file": Way(arrow_file),
    "pandas": Way(lambda table: table.frame),
    "polars": Way(lambda table: pl.from_arrow(table.arrow)),
    "lazy polars": Way(lambda table: pl.from_arrow(table.arrow).lazy()),
    "pyarrow": Way(lambda table: table.arrow),
    "duckdb relation": Way(lambda table: duckdb.connect(str(duckdb_of(table))).table("readings")),
}
