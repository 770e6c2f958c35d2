"""What a cell means is the same in every source: no value, NaN, infinity, empty text, dates, truth, decimals, digits.

The table in the documentation is this one.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from aspca.pipeline.fit import moments_of
from aspca.pipeline.passes import Silent
from aspca.pipeline.sources import open_table
from aspca.preparation import Preparation
from aspca.tables import SourceError
from aspca.tables.errors import JobError
from aspca.tables.request import ReadOptions
from aspca.tables.table import Table

NAN = float("nan")
NOON = datetime.datetime(2024, 1, 31, 12, 0, 0, 500_000)
COLUMNS: dict[str, Any] = {
    "null": pa.array([1.5, None, 2.5]),
    "nan": pa.array([1.5, NAN, 2.5]),
    "inf": pa.array([1.0, float("inf"), 2.0]),
    "empty": ["a", "", "b"],
    "no_text": ["a", None, "b"],
    "day": [datetime.date(2024, 1, 31), None, datetime.date(1969, 12, 31)],
    "time": pa.array([NOON, None, datetime.datetime(1900, 1, 1)], pa.timestamp("us")),
    "yes": [True, None, False],
    "money": [Decimal("1.50"), None, Decimal("-2.25")],
    "whole": pa.array([1, None, 2**53]),
    "long": [2**53 + 1, 5, 2**62 + 1],
    "longer": pa.array([1, 2, 2**64 - 1], pa.uint64()),
    "nothing": pa.nulls(3, pa.float64()),
}
TABLE = pa.table(COLUMNS)

# By column: its kind, and its values as numbers (text as cells).
MEANS: dict[str, tuple[str, list[Any]]] = {
    "null": ("number", [1.5, NAN, 2.5]),
    "nan": ("number", [1.5, NAN, 2.5]),
    "empty": ("text", ["a", "", "b"]),
    "no_text": ("text", ["a", None, "b"]),
    "day": ("date", [1706659200.0, NAN, -86400.0]),
    "time": ("date", [1706702400.5, NAN, -2208988800.0]),
    "yes": ("boolean", [1.0, NAN, 0.0]),
    "money": ("number", [1.5, NAN, -2.25]),
    "whole": ("number", [1.0, NAN, 2.0**53]),
    "long": ("text", ["9007199254740993", "5", "4611686018427387905"]),
    "longer": ("text", ["1", "2", "18446744073709551615"]),
}
# Where cells have no types of their own, an empty one is missing; in an SQLite file, truth values are 0 and 1.
CELLS_ONLY = ("csv", "json lines", "sqlite file")


def sqlite_file(path: Path) -> None:
    def cell(value: object) -> object:
        text = isinstance(value, Decimal | datetime.date) or (isinstance(value, int) and value >= 2**63)
        return str(value) if text else value

    rows = [[cell(value) for value in row.values()] for row in TABLE.to_pylist()]
    with sqlite3.connect(path) as database:
        listed = ", ".join(f'"{name}"' for name in COLUMNS)
        database.execute(f"CREATE TABLE t ({listed})")
        database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(COLUMNS))})", rows)  # noqa: S608
    database.close()


def duckdb_file(path: Path) -> None:
    with duckdb.connect(str(path)) as database:
        database.register("held", TABLE)
        database.execute("CREATE TABLE t AS SELECT * FROM held")


def relation() -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.register("held", TABLE)
    connection.execute("CREATE TABLE t AS SELECT * FROM held")
    return connection.table("t")


def json_lines(path: Path) -> None:
    # JSON has no infinity.
    TABLE.to_pandas().to_json(path, orient="records", lines=True, date_format="iso")


FILES: dict[str, Callable[[Path], object]] = {
    "csv": lambda path: pl.from_arrow(TABLE).write_csv(path),
    "json lines": json_lines,
    "parquet": lambda path: pq.write_table(TABLE, path),
    "arrow file": lambda path: pyarrow.feather.write_feather(TABLE, path),
    "sqlite file": sqlite_file,
    "duckdb file": duckdb_file,
}
OBJECTS: dict[str, Callable[[], Any]] = {
    "pandas": TABLE.to_pandas,
    "pandas of pyarrow": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.from_arrow(TABLE),
    "lazy polars": lambda: pl.from_arrow(TABLE).lazy(),
    "pyarrow table": lambda: TABLE,
    "pyarrow stream": TABLE.to_reader,
    "pyarrow dataset": lambda: ds.dataset(TABLE),
    "duckdb relation": relation,
    "narwhals": lambda: nw.from_native(pl.from_arrow(TABLE)),
}


def made(kind: str, folder: Path) -> Any:
    if kind in OBJECTS:
        return OBJECTS[kind]()
    path = folder / "rows"
    FILES[kind](path)
    return [str(path)]


def values(table: Table, name: str, kind: str) -> list[Any]:
    if kind == "text":
        return [cell for part in table.cells([name]) for (cell,) in part]
    return np.concatenate([batch.values[:, 0] for batch in table.batches([name])]).tolist()


@pytest.mark.promise
@pytest.mark.parametrize("kind", [*FILES, *OBJECTS])
def test_cells_mean_the_same(kind: str, tmp_path: Path) -> None:
    source = made(kind, tmp_path)
    reading = ReadOptions(format="jsonl" if kind == "json lines" else None)
    with open_table(source, reading, "the table") as table:
        columns = {column.name: column for column in table.columns}
        assert list(columns) == list(COLUMNS)
        for name, (what, expected) in MEANS.items():
            if name == "empty" and kind in CELLS_ONLY:
                expected = ["a", None, "b"]
            if name == "yes" and kind == "sqlite file":
                what = "number"
            assert columns[name].kind == what, name
            assert repr(values(table, name, what)) == repr(expected), name
            missing = sum(value is None or value != value for value in expected)
            assert columns[name].n_missing == missing, name
        # Without any value it is no feature, whatever it is called.
        assert columns["nothing"].n_missing == 3
        assert sum("beyond 2^53" in remark and "'long' and 'longer'" in remark for remark in table.remarks) == 1
        if kind in ("csv", "sqlite file"):
            # A text that is no number is a finding; what is stored as infinity is refused.
            assert [(cell.row, cell.column) for cell in table.bad_cells] == [(1, "inf")]
        elif kind != "json lines":
            with pytest.raises((SourceError, JobError), match=r"row 1 .*has the value inf in column 'inf'"):
                moments_of(table, Preparation.identity(["inf"]), Silent())


def test_a_memory_map_holds_numbers(tmp_path: Path) -> None:
    for kind, rows in {
        "float": [[1.5, NAN], [2.5, 3.0]],
        "int64": [[1, 2**53 + 1], [2, 5]],
        "bool": [[1, 0], [0, 0]],
    }.items():
        path = tmp_path / f"{kind}.npy"
        np.save(path, np.array(rows, dtype=kind))
        with open_table(np.load(path, mmap_mode="r"), ReadOptions(), "the map") as table:
            found = [(column.kind, column.n_missing) for column in table.columns]
            assert (
                found
                == {
                    "float": [("number", 0), ("number", 1)],
                    "int64": [("number", 0), ("text", 0)],
                    "bool": [("boolean", 0), ("boolean", 0)],
                }[kind]
            )
            cells = [row for part in table.cells(["x0", "x1"]) for row in part]
            assert (
                cells
                == {
                    "float": [(1.5, None), (2.5, 3.0)],
                    "int64": [(1, "9007199254740993"), (2, "5")],
                    "bool": [(True, False), (False, False)],
                }[kind]
            )
            assert table.take(["x1"], [1]) == [cells[1][1:]]
            assert ("beyond 2^53" in " ".join(table.remarks)) == (kind == "int64")
