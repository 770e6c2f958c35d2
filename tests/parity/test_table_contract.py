"""What the protocol `aspca.tables.table.Table` promises, of every local class that keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from aspca.pipeline.sources import open_table
from aspca.tables.memory import RowsView
from aspca.tables.request import ReadOptions
from aspca.tables.table import Batch, Column, Table
from parity.local_sources import KINDS, NAMELESS, Place

NAMES = ("a", "b", "c")
N_ROWS = 1000
TABLES = (*KINDS, "dask", "part of dask", "category")


def rows_of_numbers() -> np.ndarray:
    """Numbers (n, 3), some of them missing in the second column."""
    rows = np.random.default_rng(5).normal(size=(N_ROWS, 3))
    rows[::7, 1] = np.nan
    return rows


@contextmanager
def table_of(kind: str, rows: np.ndarray, folder: Path) -> Iterator[Table]:
    if kind == "category":
        # Every second row of a table that is twice as long.
        twice = np.repeat(rows, 2, axis=0)
        with open_table(pd.DataFrame(twice, columns=list(NAMES)), ReadOptions(), "the table") as table:
            yield RowsView(table, np.arange(0, len(twice), 2), "the table")
    elif "dask" in kind:
        frames = pytest.importorskip("dask.dataframe")
        import dask

        frame = frames.from_pandas(pd.DataFrame(rows, columns=list(NAMES)), npartitions=3)
        with dask.config.set(scheduler="sync"), open_table(frame, ReadOptions(), "the table") as table:
            # A part is closed when the next one is asked for.
            parts = table._parts(list(NAMES), N_ROWS)
            yield table if kind == "dask" else next(parts)
    else:
        options = {name: value for name, value in KINDS[kind].options.items() if name != "ignore"}
        source = KINDS[kind].made(Place(rows, NAMES, folder))
        with open_table(source, ReadOptions(**options), "the table") as table:
            yield table


def read(table: Table, names: list[str], size: int) -> np.ndarray:
    """All numbers of some columns; each batch is what it should be."""
    start = 0
    values = []
    for batch in table.batches(names, size):
        assert isinstance(batch, Batch)
        assert batch.start == start
        assert batch.values.dtype == np.float64
        assert 0 < len(batch.values) <= size
        start += len(batch.values)
        values.append(batch.values)
    return np.concatenate(values)


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_keeps_the_protocol(kind: str, tmp_path: Path) -> None:
    rows = rows_of_numbers()
    with table_of(kind, rows, tmp_path) as table:
        names = [f"x{place}" for place in range(3)] if kind in NAMELESS else list(NAMES)
        # ---- what it says of itself
        columns = {column.name: column for column in table.columns}
        assert list(columns)[:3] == names
        assert all(isinstance(column, Column) for column in table.columns)
        assert [columns[name].kind for name in names] == ["number"] * 3
        missing = [columns[name].n_missing for name in names]
        assert missing[0] == missing[2] == 0
        assert missing[1] in (int(np.isnan(rows[:, 1]).sum()), None)
        assert isinstance(table.description, str)
        assert isinstance(table.remarks, tuple)
        assert isinstance(table.bad_cells, tuple)
        assert table.cell_format is not None
        assert table.count() == len(rows)
        # ---- rows, in batches of any size, as often as asked for, and columns in the order asked for
        for size in (1, 333, N_ROWS, 10 * N_ROWS)[kind in ("json lines", "sqlite file", "sqlite query") :]:
            np.testing.assert_array_equal(read(table, names, size), rows)
        np.testing.assert_array_equal(read(table, [names[2], names[0]], 400), rows[:, [2, 0]])
        # ---- two readers side by side, one of which stops in the middle
        one, other = table.batches(names, 100), table.cells(names, 100)
        for _ in range(2):
            cells = np.array([[np.nan if cell is None else float(cell) for cell in row] for row in next(other)])
            np.testing.assert_array_equal(next(one).values, cells)
        # ---- some rows by their numbers
        some = [0, 7, 500, N_ROWS - 1]
        cells = [row for part in table.cells(names, 300) for row in part]
        assert [cell is None for _, cell, _ in cells] == np.isnan(rows[:, 1]).tolist()
        assert table.take(names, some) == [cells[row] for row in some]
        assert table.take(names[1:2], [7]) == [(None,)]
        # ---- and where they are
        for row in some:
            assert "row " in table.locate(row)


@pytest.mark.parametrize("kind", TABLES)
def test_rows_that_are_not_asked_for(kind: str, tmp_path: Path) -> None:
    with table_of(kind, rows_of_numbers(), tmp_path) as table:
        assert table.take([table.columns[0].name], []) == []


def csv_file(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def parquet_file(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


WITH_TEXT: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "pandas": lambda frame, folder: frame,
    "pyarrow table": lambda frame, folder: pa.Table.from_pandas(frame),
    "csv": csv_file,
    "parquet": parquet_file,
    "dask": lambda frame, folder: pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2),
}


@pytest.mark.parametrize("kind", WITH_TEXT)
def test_text_is_no_number(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(rows_of_numbers(), columns=list(NAMES)).assign(host=["north", "south"] * (N_ROWS // 2))
    with open_table(WITH_TEXT[kind](frame, tmp_path), ReadOptions(), "the table") as table:
        assert [column.kind for column in table.columns] == ["number"] * 3 + ["text"]
        with pytest.raises(ValueError, match="column 'host'") as caught:
            list(table.batches(["a", "host"]))
        assert "\n" not in str(caught.value)
        assert table.take(["host"], [0, 1, 998]) == [("north",), ("south",), ("north",)]
