"""The protocol that every table keeps.

`Table` is what all other packages see. Kept by `Source` (files, databases, whatever gives Arrow record batches: DuckDB
reads them), `PartedTable` and `Part` (Dask and Spark, and a part of them on a worker), `MemoryTable`, `MappedArray`,
and `RowsView`, some rows of another. All of them promise:

- Rows are numbered from 0 and come in the same order each time, however often and in whatever batches they are read;
  there is never a whole file in memory.
- What columns hold is decided once, of all cells.
- What goes wrong is a SourceError, in one sentence; rows that changed between two reads are refused, not mixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from aspca.linalg.arrays import Floats
from aspca.preparation.cell_format import BadCell, CellFormat

# Rows of a batch where nobody asks for another number: 0.5 MB a column, which numbers and sums of a block fit in.
BATCH_ROWS = 65536
# 32 MB of float64: a batch of a wide table has fewer rows than asked for.
MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    kind: str  # "number", "boolean", "date" or "text"
    n_missing: int | None  # cells without a value; None: some
    remark: str = ""  # why it is text though most of its cells are not, or that it has no values
    # Words of a command line that settle what the remark says, such as ("--decimal", ","): a column of text that has
    # some seems to be meant as something else.
    remedy: tuple[str, ...] = ()
    extremes: tuple[float, float] | None = None  # least and largest number, where they were seen


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows `start`, `start + 1`, ... (from 0, over all files) as `values` (m, p); NaN where a cell is missing."""

    start: int
    values: Floats


class Table(Protocol):
    """Rows that are read as often as asked for, always in the same order; the module says what all promise."""

    @property
    def columns(self) -> Sequence[Column]: ...

    @property
    def description(self) -> str:
        """What sentences call the table."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """One sentence for every guess that changes numbers."""

    @property
    def cell_format(self) -> CellFormat:
        """How the cells of texts are written."""

    @property
    def bad_cells(self) -> tuple[BadCell, ...]:
        """Cells that are not what their columns hold, by row; they count as missing."""

    def count(self) -> int:
        """Number of rows."""

    def locate(self, row: int) -> str:
        """The file and the place in it of a row, counted from 0."""

    def batches(self, names: Sequence[str], size: int = ...) -> Iterator[Batch]:
        """Columns of numbers, truth values (0 and 1) and dates (seconds since 1970, UTC where they name no zone), at
        most `size` rows at a time; SourceError for text and infinite values."""

    def cells(self, names: Sequence[str], size: int = ...) -> Iterator[list[tuple[object, ...]]]:
        """Columns of any kind as Python values, None where missing, at most `size` rows at a time."""

    def take(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        """The cells of some rows (numbers, ascending), as `cells` gives them."""


def limit_rows(size: int, n_columns: int) -> int:
    """So many rows, or fewer of many columns."""
    return max(1, min(size, MOST_CELLS // max(1, n_columns)))


def find_column(table: Table, name: str) -> Column | None:
    """The column of that name, if there is one."""
    return next((column for column in table.columns if column.name == name), None)


def read_cells(table: Table, name: str) -> Iterator[object]:
    """The cells of one column, one by one, to be read beside batches of numbers."""
    return (cell for rows in table.cells([name]) for (cell,) in rows)
