"""One table in every local kind of source, made when it is asked for."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
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


@dataclass(frozen=True)
class Place:
    """A table: its rows (n, p), their names, and a folder to write to; NaN is a missing value."""

    rows: np.ndarray
    names: tuple[str, ...]
    folder: Path

    @property
    def pandas(self) -> pd.DataFrame:
        return pd.DataFrame(self.rows, columns=list(self.names))

    @property
    def arrow(self) -> pa.Table:
        """NULL where a value is missing."""
        columns = {
            name: pa.array(column, from_pandas=True) for name, column in zip(self.names, self.rows.T, strict=True)
        }
        return pa.table(columns)

    @property
    def cells(self) -> list[tuple[float | None, ...]]:
        return [tuple(None if cell != cell else cell for cell in row) for row in self.rows.tolist()]


@dataclass(frozen=True)
class Kind:
    """How a source is made of a table, what is to be said when it is read, and whether it can be opened only once."""

    made: Callable[[Place], Any]
    options: dict[str, Any] = field(default_factory=dict)
    once: bool = False


class OnlyStream:
    """Nothing but an Arrow C stream, which can be taken once."""

    def __init__(self, table: pa.Table) -> None:
        self._reader = table.to_reader(max_chunksize=777)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader.__arrow_c_stream__(requested_schema)


class OnlyBatch:
    """Nothing but an Arrow C array."""

    def __init__(self, table: pa.Table) -> None:
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


def memory_map(place: Place) -> np.memmap:
    path = place.folder / "rows.npy"
    np.save(path, place.rows)
    return np.load(path, mmap_mode="r")


def relation(place: Place) -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    # Held by the connection, so that it lives as long as the relation.
    connection.register("held", place.arrow)
    connection.execute("CREATE TABLE readings AS SELECT * FROM held")
    return connection.table("readings")


def dataset(place: Place) -> ds.Dataset:
    pq.write_table(place.arrow, place.folder / "dataset.parquet", row_group_size=3000)
    return ds.dataset(place.folder / "dataset.parquet")


def file(name: str, write: Callable[[Place, Path], object]) -> Callable[[Place], Path]:
    def made(place: Place) -> Path:
        path = place.folder / name
        write(place, path)
        return path

    return made


def sqlite_file(place: Place, path: Path) -> None:
    with sqlite3.connect(path) as database:
        listed = ", ".join(f"{name} REAL" for name in place.names)
        database.execute(f"CREATE TABLE readings ({listed})")
        marks = ", ".join("?" * len(place.names))
        database.executemany(f"INSERT INTO readings VALUES ({marks})", place.cells)  # noqa: S608
    database.close()


def duckdb_file(place: Place, path: Path) -> None:
    with duckdb.connect(str(path)) as database:
        database.register("held", place.arrow)
        database.execute("CREATE TABLE readings AS SELECT * FROM held")


def parquet_folder(place: Place) -> Path:
    """Three parts in folders of their own, in the order of the rows, and what engines leave beside."""
    path = place.folder / "folder"
    cuts = np.linspace(0, len(place.rows), 4).astype(int)
    for month, (start, stop) in enumerate(pairwise(cuts), start=1):
        inside = path / "year=2024" / f"month={month:02d}"
        inside.mkdir(parents=True)
        pq.write_table(place.arrow.slice(start, stop - start), inside / "part-0.parquet", row_group_size=2500)
        pq.write_table(place.arrow.slice(0, 0), inside / "part-1.parquet")
    (path / "_SUCCESS").touch()
    (path / ".part.crc").write_bytes(b"crc")
    return path


BY_QUERY = {"query": "SELECT * FROM readings"}

KINDS: dict[str, Kind] = {
    "numpy": Kind(lambda place: place.rows),
    "memory map": Kind(memory_map),
    "pandas": Kind(lambda place: place.pandas),
    "polars": Kind(lambda place: pl.from_arrow(place.arrow)),
    "lazy polars": Kind(lambda place: pl.from_arrow(place.arrow).lazy()),
    "pyarrow table": Kind(lambda place: place.arrow),
    "pyarrow batch": Kind(lambda place: place.arrow.combine_chunks().to_batches()[0]),
    "pyarrow dataset": Kind(dataset),
    "pyarrow scanner": Kind(lambda place: dataset(place).scanner(batch_size=1234)),
    "pyarrow stream": Kind(lambda place: place.arrow.to_reader(max_chunksize=999), once=True),
    "arrow c stream": Kind(lambda place: OnlyStream(place.arrow), once=True),
    "arrow c array": Kind(lambda place: OnlyBatch(place.arrow)),
    "duckdb relation": Kind(relation),
    "narwhals": Kind(lambda place: nw.from_native(place.pandas)),
    "narwhals, lazy polars": Kind(lambda place: nw.from_native(pl.from_arrow(place.arrow).lazy())),
    "narwhals, duckdb": Kind(lambda place: nw.from_native(relation(place))),
    "csv": Kind(file("rows.csv", lambda place, path: place.pandas.to_csv(path, index=False))),
    "json lines": Kind(file("rows.jsonl", lambda place, path: pl.from_arrow(place.arrow).write_ndjson(path))),
    "arrow file": Kind(file("rows.arrow", lambda place, path: pyarrow.feather.write_feather(place.arrow, path))),
    "parquet": Kind(file("rows.parquet", lambda place, path: pq.write_table(place.arrow, path, row_group_size=3333))),
    "parquet folder": Kind(parquet_folder, {"ignore": ["year", "month"]}),
    "sqlite file": Kind(file("rows.sqlite", sqlite_file)),
    "sqlite query": Kind(file("query.sqlite", sqlite_file), BY_QUERY),
    "duckdb file": Kind(file("rows.duckdb", duckdb_file)),
    "duckdb address": Kind(lambda place: f"duckdb:///{KINDS['duckdb file'].made(place)}", BY_QUERY),
}
NAMELESS = ("numpy", "memory map")
