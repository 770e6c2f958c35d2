"""Data frames and arrays in memory as tables, and some rows of a table as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats, Ints
from aspca.preparation.cell_format import NO_FORMAT, BadCell, CellFormat
from aspca.preparation.columns import cell_text
from aspca.tables.errors import SourceError
from aspca.tables.table import BATCH_ROWS, Batch, Column, Table


@dataclass(frozen=True, eq=False)
class RowsView:
    """Of another table the rows `rows` (ascending)."""

    table: Table
    rows: Ints
    description: str

    @property
    def columns(self) -> Sequence[Column]:
        # How many values are missing is known of the whole only.
        return [replace(one, n_missing=0 if one.n_missing == 0 else None, extremes=None) for one in self.table.columns]

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

    def locate(self, row: int) -> str:
        return self.table.locate(int(self.rows[row]))

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Batch]:
        start = 0
        for batch in self.table.batches(names, size):
            chosen = self._chosen(batch.start, len(batch.values))
            if chosen.size:
                yield Batch(start, batch.values[chosen])
                start += chosen.size

    def cells(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[list[tuple[object, ...]]]:
        start = 0
        for rows in self.table.cells(names, size):
            chosen = self._chosen(start, len(rows))
            start += len(rows)
            if chosen.size:
                yield [rows[row] for row in chosen.tolist()]

    def take(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        return self.table.take(names, self.rows[list(rows)].tolist())

    def _chosen(self, start: int, count: int) -> Ints:
        """Which of so many rows of the whole, from `start` on, are among these."""
        first, last = np.searchsorted(self.rows, [start, start + count])
        return np.asarray(self.rows[first:last] - start)


def number_rows(table: Table, positions: Ints) -> Ints:
    """The numbers of the rows at these positions: from 0, over all rows of the source, whatever part a table is."""
    return table.rows[positions] if isinstance(table, RowsView) else positions


@dataclass(frozen=True, eq=False)
class MemoryColumn:
    """A column in memory."""

    kind: str  # as of `Column`
    numbers: Floats | None  # (n,) as of `Table.batches`; None for text
    cells: Sequence[object] | npt.NDArray[Any]
    remark: str = ""  # why it has no values though the table has


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
            Column(name, column.kind, _count_missing(column), column.remark) for name, column in self.content.items()
        )

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Batch]:
        chosen = [self._numbers(name) for name in names]
        for start in range(0, self.count(), size):
            yield Batch(start, np.column_stack([values[start : start + size] for values in chosen]))

    def _numbers(self, name: str) -> Floats:
        values = self.content[name].numbers
        if values is None:
            raise SourceError(f"{self.description}: column {name!r} holds text, but numbers are needed there.")
        return values

    def cells(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[list[tuple[object, ...]]]:
        chosen = [self.content[name].cells for name in names]
        for start in range(0, self.count(), size):
            yield list(zip(*(_plain(cells[start : start + size]) for cells in chosen), strict=True))

    def take(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        chosen = [self.content[name].cells for name in names]
        return [tuple(_plain(cells[row : row + 1])[0] for cells in chosen) for row in rows]

    def count(self) -> int:
        return next((len(column.cells) for column in self.content.values()), 0)

    def locate(self, row: int) -> str:
        return f"{self.description}: row {row}"


def make_array_table(description: str, names: Sequence[str], values: Floats, **texts: Sequence[str]) -> MemoryTable:
    """Numbers (n, p) as a table, with columns of text beside them."""
    content = {name: MemoryColumn("number", column, column) for name, column in zip(names, values.T, strict=True)}
    content |= {name: MemoryColumn("text", None, cells) for name, cells in texts.items()}
    return MemoryTable(description, content)


def _count_missing(column: MemoryColumn) -> int:
    if column.numbers is not None:
        return int(np.isnan(column.numbers).sum())
    return sum(cell_text(cell) is None for cell in column.cells)


def _plain(cells: Sequence[object] | npt.NDArray[Any]) -> list[object]:
    """Python's own values, None where missing."""
    if not isinstance(cells, np.ndarray) or cells.dtype.kind in "Mm":
        return [None if cell_text(cell) is None else cell for cell in cells]
    values: list[object] = cells.tolist()
    return [None if cell != cell else cell for cell in values] if cells.dtype.kind == "f" else values
