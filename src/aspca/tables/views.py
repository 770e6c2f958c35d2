"""Some rows of a table as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Ints
from aspca.preparation.cell_format import BadCell, CellFormat
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
