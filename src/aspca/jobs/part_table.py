"""Some rows of a table as a table: those of one category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aspca.engines.source import Batch, Column
from aspca.jobs.errors import JobError
from aspca.jobs.table import Table
from aspca.linalg.arrays import Ints
from aspca.preparation.columns import cell_text

# A model for each of more categories is nothing that a person would read.
MOST_CATEGORIES = 100


@dataclass(frozen=True, eq=False)
class PartTable:
    """What `Table` asks for, of the rows `rows` (ascending) of another table."""

    table: Table
    rows: Ints
    description: str

    @property
    def columns(self) -> Sequence[Column]:
        # How many values are missing is known of the whole only.
        return [Column(one.name, one.kind, 0 if one.n_missing == 0 else None, one.remark) for one in self.table.columns]

    def count(self) -> int:
        return len(self.rows)

    def where(self, row: int) -> str:
        return self.table.where(int(self.rows[row]))

    def batches(self, names: Sequence[str], size: int = 65536) -> Iterator[Batch]:
        start = 0
        for batch in self.table.batches(names, size):
            chosen = self._chosen(batch.start, len(batch.values))
            if chosen.size:
                yield Batch(start, batch.values[chosen])
                start += chosen.size

    def cells(self, names: Sequence[str], size: int = 65536) -> Iterator[list[tuple[object, ...]]]:
        start = 0
        for part in self.table.cells(names, size):
            chosen = self._chosen(start, len(part))
            start += len(part)
            if chosen.size:
                yield [part[row] for row in chosen.tolist()]

    def _chosen(self, start: int, count: int) -> Ints:
        """Which of so many rows of the whole, from `start` on, are among these."""
        first, last = np.searchsorted(self.rows, [start, start + count])
        return np.asarray(self.rows[first:last] - start)


def row_numbers(table: Table, start: int, count: int) -> Ints:
    """What rows of a table are called: their numbers, from 0, in the files it was read from."""
    return table.rows[start : start + count] if isinstance(table, PartTable) else np.arange(start, start + count)


def parts_of(table: Table, column: str) -> dict[str, PartTable]:
    """The rows of each category of a column, in sorted order.

    Raises
    ------
    JobError
        A row has no category, or there are more than a hundred.
    """
    found: dict[str, list[int]] = {}
    row = 0
    for cells in table.cells([column]):
        for (cell,) in cells:
            category = cell_text(cell)
            if category is None:
                raise JobError(f"--by: {table.where(row)} has no category in column {column!r}; every row needs one.")
            found.setdefault(category, []).append(row)
            row += 1
        if len(found) > MOST_CATEGORIES:
            raise JobError(
                f"--by: column {column!r} of {table.description} has more than {MOST_CATEGORIES} categories, and each "
                "would get a model of its own; name a column with fewer."
            )
    return {
        category: PartTable(table, np.array(found[category]), f"{table.description}, {column} {category!r}")
        for category in sorted(found)
    }
