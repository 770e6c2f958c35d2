"""The tables that jobs read: files, data in memory, some rows of a table, and a table seen through a preparation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats, Ints
from aspca.pipeline.errors import JobError, RequestError, UndefinedError
from aspca.preparation import ColumnPlan, Preparation
from aspca.preparation.cell_format import NO_FORMAT, BadCell, CellFormat
from aspca.preparation.columns import CellError, Cells, cell_text
from aspca.tables.column_notes import describe_rounded
from aspca.tables.source import Batch, Column, Table

# A model for each of more categories is nothing that a person would read.
MOST_CATEGORIES = 100
_SIZE = 65536


# What every table of a job keeps.
TableSource = Table


@runtime_checkable
class Parted(Protocol):
    """A table whose rows lie in parts on the machines of an engine: see `aspca.tables.parted.PartedTable`."""

    engine: str

    def each(self, task: Any, merge: Any, names: Sequence[str] | None = None) -> Any:
        """What `task` makes of each part, given as a table of its own with the number of its first row, merged."""

    def mapped(self, schema: Any, function: Any, names: Sequence[str] | None = None) -> Any:
        """A data frame of the engine, not computed yet, of what a function makes of each part."""

    def write_parquet(
        self, folder: str | os.PathLike[str], schema: Any, function: Any, names: Sequence[str] | None = None
    ) -> int:
        """The same as a folder of Parquet files, written where the parts are; how many rows."""


def column_of(table: TableSource, name: str) -> Column | None:
    """The column of that name, if there is one."""
    return next((column for column in table.columns if column.name == name), None)


def read_cells(table: TableSource, name: str) -> Iterator[object]:
    """The cells of one column, one by one, to be read beside batches of numbers."""
    for rows in table.cells([name]):
        for (cell,) in rows:
            yield cell


# ---- in memory


@dataclass(frozen=True, eq=False)
class MemoryColumn:
    """A column in memory.

    Attributes
    ----------
    kind : {"number", "boolean", "date", "text"}
    numbers : ndarray of shape (n,) or None
        Dates in seconds since 1970, truth values as 0 and 1, NaN where missing; None for text.
    cells : sequence of n
    remark : str
        Why it has no values though the table has, if so.
    """

    kind: str
    numbers: Floats | None
    cells: Sequence[object] | npt.NDArray[Any]
    remark: str = ""


@dataclass(frozen=True, eq=False)
class MemoryTable:
    """A data frame or an array as a table; `index` is the column that came from the frame's own names of rows."""

    description: str
    content: Mapping[str, MemoryColumn]
    index: str | None = None
    library: str = "pandas"
    remarks: tuple[str, ...] = ()
    cell_format: CellFormat = NO_FORMAT
    bad_cells: tuple[BadCell, ...] = ()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(
            Column(name, column.kind, _missing(column), column.remark) for name, column in self.content.items()
        )

    def batches(self, names: Sequence[str], size: int = _SIZE) -> Iterator[Batch]:
        chosen = [self._numbers(name) for name in names]
        for start in range(0, self.count(), size):
            yield Batch(start, np.column_stack([values[start : start + size] for values in chosen]))

    def _numbers(self, name: str) -> Floats:
        values = self.content[name].numbers
        if values is None:
            raise JobError(f"{self.description}: column {name!r} holds text, but numbers are needed there.")
        return values

    def cells(self, names: Sequence[str], size: int = _SIZE) -> Iterator[list[tuple[object, ...]]]:
        chosen = [self.content[name].cells for name in names]
        for start in range(0, self.count(), size):
            yield list(zip(*(_plain(cells[start : start + size]) for cells in chosen), strict=True))

    def picked(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        chosen = [self.content[name].cells for name in names]
        return [tuple(_plain(cells[row : row + 1])[0] for cells in chosen) for row in rows]

    def count(self) -> int:
        return next((len(column.cells) for column in self.content.values()), 0)

    def where(self, row: int) -> str:
        return f"{self.description}: row {row}"


def array_table(description: str, names: Sequence[str], values: Floats, **texts: Sequence[str]) -> MemoryTable:
    """Numbers (n, p) as a table, with columns of text beside them."""
    content = {name: MemoryColumn("number", column, column) for name, column in zip(names, values.T, strict=True)}
    content |= {name: MemoryColumn("text", None, cells) for name, cells in texts.items()}
    return MemoryTable(description, content)


def frame_table(frame: Any, description: str) -> MemoryTable:
    """A data frame (pandas, polars, pyarrow) or a two-dimensional array as a table.

    Raises
    ------
    JobError
        It is something else, or holds what is no number, text or date.
    """
    from aspca.estimators.cells import raw_columns
    from aspca.estimators.tables import library_of, refuse_odd_shapes, row_labels

    try:
        refuse_odd_shapes(frame)
        columns = raw_columns(frame, leave_odd=True)
    except (ValueError, TypeError) as error:
        raise JobError(f"{description}: {error}") from None
    content = {one.name: MemoryColumn(one.kind, one.numbers, one.cells, one.remark) for one in columns}
    beyond = [name for name, column in content.items() if _would_be_rounded(column)]
    content |= {name: MemoryColumn("text", None, _as_texts(content[name].cells)) for name in beyond}
    if len(content) < len(columns):
        names = [column.name for column in columns]
        doubled = next(name for name in names if names.count(name) > 1)
        raise JobError(f"{description} has several columns {doubled!r}, but each must be unique; rename the others.")
    labels = row_labels(frame, len(columns[0].cells))
    index = None
    if list(labels) != list(range(len(labels))):
        index = str(getattr(getattr(frame, "index", None), "name", None) or "index")
        if index in content:
            index = None
        else:
            content[index] = MemoryColumn("text", None, [str(label) for label in labels])
    return MemoryTable(description, content, index, library_of(frame), tuple(describe_rounded(description, beyond)))


def _as_texts(cells: Sequence[object] | npt.NDArray[Any]) -> list[str | None]:
    return [None if cell_text(cell) is None else str(cell) for cell in cells]


def _would_be_rounded(column: MemoryColumn) -> bool:
    """Whether it holds integers that are no float64: ids, mostly, and others would be taken for them."""
    cells = column.cells
    if column.kind != "number" or column.numbers is None:
        return False
    if isinstance(cells, np.ndarray) and cells.dtype.kind not in "iu":
        return False
    large = (cells[row] for row in np.flatnonzero(np.abs(column.numbers) >= 2.0**53).tolist())
    return any(isinstance(cell, int | np.integer) and int(float(cell)) != int(cell) for cell in large)


def _missing(column: MemoryColumn) -> int:
    if column.numbers is not None:
        return int(np.isnan(column.numbers).sum())
    return sum(cell_text(cell) is None for cell in column.cells)


def _plain(cells: Sequence[object] | npt.NDArray[Any]) -> list[object]:
    """Python's own values, None where missing."""
    if not isinstance(cells, np.ndarray) or cells.dtype.kind in "Mm":
        return [None if cell_text(cell) is None else cell for cell in cells]
    values: list[object] = cells.tolist()
    return [None if cell != cell else cell for cell in values] if cells.dtype.kind == "f" else values


# ---- some of its rows


@dataclass(frozen=True, eq=False)
class CategoryTable:
    """Of another table the rows `rows` (ascending), those of one category."""

    table: TableSource
    rows: Ints
    description: str

    @property
    def columns(self) -> Sequence[Column]:
        # How many values are missing is known of the whole only.
        whole = self.table.columns
        return [Column(one.name, one.kind, 0 if one.n_missing == 0 else None, one.remark, one.remedy) for one in whole]

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.table.remarks

    @property
    def cell_format(self) -> CellFormat:
        return self.table.cell_format

    @cached_property
    def bad_cells(self) -> tuple[BadCell, ...]:
        mine = frozenset(self.rows.tolist())
        return tuple(cell for cell in self.table.bad_cells if cell.row in mine)

    def count(self) -> int:
        return len(self.rows)

    def where(self, row: int) -> str:
        return self.table.where(int(self.rows[row]))

    def batches(self, names: Sequence[str], size: int = _SIZE) -> Iterator[Batch]:
        start = 0
        for batch in self.table.batches(names, size):
            chosen = self._chosen(batch.start, len(batch.values))
            if chosen.size:
                yield Batch(start, batch.values[chosen])
                start += chosen.size

    def cells(self, names: Sequence[str], size: int = _SIZE) -> Iterator[list[tuple[object, ...]]]:
        start = 0
        for rows in self.table.cells(names, size):
            chosen = self._chosen(start, len(rows))
            start += len(rows)
            if chosen.size:
                yield [rows[row] for row in chosen.tolist()]

    def picked(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        return self.table.picked(names, self.rows[list(rows)].tolist())

    def _chosen(self, start: int, count: int) -> Ints:
        """Which of so many rows of the whole, from `start` on, are among these."""
        first, last = np.searchsorted(self.rows, [start, start + count])
        return np.asarray(self.rows[first:last] - start)


def row_numbers(table: TableSource, positions: Ints) -> Ints:
    """The numbers of the rows at these positions: from 0, over all rows of the source, whatever part a table is."""
    return table.rows[positions] if isinstance(table, CategoryTable) else positions


def tables_by_category(table: TableSource, column: str) -> dict[str, CategoryTable]:
    """The rows of each category of a column, in sorted order.

    Raises
    ------
    RequestError
        A row has no category, or there are more than a hundred.
    """
    rows_of: dict[str, list[int]] = {}
    for row, cell in enumerate(read_cells(table, column)):
        category = cell_text(cell)
        if category is None:
            raise RequestError(f"--by: {table.where(row)} has no category in column {column!r}; every row needs one.")
        rows_of.setdefault(category, []).append(row)
        if len(rows_of) > MOST_CATEGORIES:
            raise RequestError(
                f"--by: column {column!r} of {table.description} has more than {MOST_CATEGORIES} categories, and each "
                "would get a model of its own; name a column with fewer."
            )
    return {
        category: CategoryTable(table, np.array(rows_of[category]), f"{table.description}, {column} {category!r}")
        for category in sorted(rows_of)
    }


# ---- as a model sees it


def read_features(table: TableSource, plan: Preparation) -> Iterator[Batch]:
    """The features that a preparation makes of the rows of a table, in its order.

    Raises
    ------
    UndefinedError
        A cell of which no feature can be made.
    """
    if plan.plain:
        yield from table.batches(plan.names)
        return
    empty = {column.name for column in table.columns if column.n_missing == table.count()}
    numeric = [column.name for column in plan.columns if not column.categorical and column.name not in empty]
    categorical = [column.name for column in plan.columns if column.categorical]
    for batch, rows in _numbers_and_texts(table, numeric, categorical):
        columns: dict[str, Cells] = dict(zip(numeric, batch.values.T, strict=True))
        columns |= dict(zip(categorical, zip(*rows, strict=True), strict=True)) if rows else {}
        # A column without any value is no column of numbers to its reader.
        nothing = np.full(len(batch.values), np.nan)
        made = [_encode(table, one, columns.get(one.name, nothing), batch.start) for one in plan.columns]
        yield Batch(batch.start, np.hstack(made))


def _numbers_and_texts(
    table: TableSource, numeric: Sequence[str], categorical: Sequence[str]
) -> Iterator[tuple[Batch, list[tuple[object, ...]]]]:
    """The rows of a table in parts: their numbers, and the cells of their categories."""
    if not numeric:
        start = 0
        for rows in table.cells(categorical, _SIZE):
            yield Batch(start, np.empty((len(rows), 0))), rows
            start += len(rows)
        return
    texts = (row for rows in table.cells(categorical, _SIZE) for row in rows) if categorical else iter(())
    for batch in table.batches(numeric, _SIZE):
        yield batch, list(islice(texts, len(batch.values)))


def _encode(table: TableSource, plan: ColumnPlan, cells: Cells, start: int) -> Floats:
    try:
        return plan.encode(cells)
    except CellError as error:
        raise UndefinedError(f"{table.where(start + error.row)} {error.told}", plan.name, plan.kind) from None
