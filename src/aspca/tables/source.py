"""The protocol that every table keeps, and its implementation for all that DuckDB reads.

`Table` is what all other packages see. Five classes keep it:

- `Source`: files, databases and whatever gives Arrow record batches (`arrow_table`), which DuckDB reads in batches;
- `PartedTable` (`parted`), a `Source` of Dask or Spark; `each` reduces an accumulator over the parts, where they are;
- `Part` (`parts`), a `Source` of some rows of one, on a worker;
- `MappedArray` (`mapped_array`): a memory map of NumPy; `MemoryTable` (`aspca.pipeline.tables`): a data frame or array.

All of them promise:

- Rows are numbered from 0 and come in the same order each time, however often and in whatever batches they are read;
  there is never a whole file in memory.
- `columns` says what each column holds: "number", "boolean", "date" or "text", decided once of all its cells, and how
  many are missing. `batches` gives columns of the first three kinds as float64 (truth values 0 and 1, dates in seconds
  since 1970, NaN where missing) and raises SourceError for text; `cells` gives any column as Python values, None where
  missing; `picked` gives those of some rows.
- What goes wrong is a SourceError, in one sentence; rows that changed between two reads are refused, not mixed.

Several files make one `Source` if they have the same columns, each of one kind.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from aspca.duckdb_session import MOST_THREADS, confine, connect
from aspca.escaping import quoted
from aspca.linalg.arrays import Floats
from aspca.preparation.cell_format import BadCell, CellFormat
from aspca.tables.column_notes import why_not_numbers
from aspca.tables.errors import SourceError, enumerated
from aspca.tables.file_table import NUMERIC_KINDS, FileColumn, FileTable, all_finite_or_missing

if TYPE_CHECKING:
    import duckdb

# Rows of a batch where nobody asks for another number: 0.5 MB a column, which numbers and sums of a block fit in.
BATCH_ROWS = 65536
# 32 MB of float64: a batch of a wide table has fewer rows than asked for.
MOST_CELLS = 4_000_000
NO_VALUES = "it has no values"


@dataclass(frozen=True)
class Column:
    """A column of a source.

    Parameters
    ----------
    name : as in the file, without blanks around it; columns without a name are column_1, column_2, ...
    kind : "number", "boolean", "date" or "text"
    n_missing : number of cells without a value
    remark : why a column is text though most of its cells are not, or that it has no values; otherwise empty.
    extremes : the least and the largest number of a column, where they were seen when its cells were counted; else None
    remedy : words of a command line that settle what the remark says, such as ("--decimal", ","). A column of text that
        has a remedy seems to be meant as something else.
    """

    name: str
    kind: str
    n_missing: int | None
    remark: str = ""
    remedy: tuple[str, ...] = ()
    extremes: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows `start`, `start + 1`, ... (from 0, over all files) as `values` (m, p); NaN where a cell is missing."""

    start: int
    values: Floats


class Table(Protocol):
    """Rows that are read as often as asked for, always in the same order; see the module for what all tables promise.

    Attributes
    ----------
    columns : sequence of Column
    description : what sentences call the table
    remarks : one sentence for every guess that changes numbers
    cell_format : how the cells of texts are written
    bad_cells : cells that are not what their columns hold, by row (from 0); they count as missing
    """

    @property
    def columns(self) -> Sequence[Column]: ...

    @property
    def description(self) -> str: ...

    @property
    def remarks(self) -> tuple[str, ...]: ...

    @property
    def cell_format(self) -> CellFormat: ...

    @property
    def bad_cells(self) -> tuple[BadCell, ...]: ...

    def count(self) -> int:
        """Number of rows."""

    def where(self, row: int) -> str:
        """The file and the place in it of a row, counted from 0."""

    def batches(self, names: Sequence[str], size: int = ...) -> Iterator[Batch]:
        """The columns `names` as numbers, at most `size` rows at a time."""

    def cells(self, names: Sequence[str], size: int = ...) -> Iterator[list[tuple[object, ...]]]:
        """The columns `names` as Python values, None where missing, at most `size` rows at a time."""

    def picked(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        """The cells of some rows (numbers, ascending), as `cells` gives them."""


class Source:
    """One table out of one or more files with the same columns; close it, or use it in a `with` statement.

    Attributes
    ----------
    columns : tuple of Column, in the order of the first file
    description : the file's or folder's name, or "3 files"
    library : the data-frame library that results are to be of
    remarks : one sentence for every guess that changes numbers
    cell_format : how the cells of texts are written, for other rows to be read in the same way
    bad_cells : cells that are not what their columns hold, by row (from 0, over all files); they count as missing
    """

    # What the rows come from, where that is to be said.
    engine = ""

    def __init__(
        self,
        tables: list[FileTable],
        connection: duckdb.DuckDBPyConnection,
        resources: ExitStack,
        description: str | None = None,
    ) -> None:
        """`resources` is closed with the source: the connection, temporary files, and whatever else it needs."""
        self._tables, self._connection = tables, connection
        self._finalizer = weakref.finalize(self, resources.close)
        self.columns: tuple[Column, ...] = _merged_columns(tables)
        self.description: str = description or (tables[0].label if len(tables) == 1 else f"{len(tables)} files")
        # The data-frame library that results are to be of, where the rows came from one.
        self.library = "pandas"
        self.remarks: tuple[str, ...] = tuple(remark for table in tables for remark in table.remarks)
        self.cell_format: CellFormat = _merged_format(tables)
        self.bad_cells: tuple[BadCell, ...] = _merged_bad_cells(tables)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove temporary files; the source cannot be read any more."""
        self._finalizer()

    def count(self) -> int:
        """Number of rows, over all files."""
        return sum(table.n_rows for table in self._tables)

    def where(self, row: int) -> str:
        """`data.csv: row 17 (line 19)` for a row counted from 0 over all files; in its file it counts from 0, too."""
        before = 0
        for table in self._tables:
            if row < before + table.n_rows:
                return f"{table.label}: {table.where(row - before)}"
            before += table.n_rows
        raise IndexError(f"There are {self.count()} rows, so there is no row {row}.")

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Batch]:
        """The columns `names` as numbers, at most `size` rows at a time; wide tables come in smaller batches.

        Truth values are 0 and 1, dates seconds since 1970 (UTC where they name no zone), missing cells NaN.

        Raises
        ------
        SourceError
            An unknown name, a column of text, or an infinite value; the file, column and row are named.
        """
        self._check(names, size)
        self._refuse_text(names)
        return self._batches(list(names), rows_at_once(size, len(names)))

    def _refuse_text(self, names: Sequence[str]) -> None:
        wanted = set(names)
        for column in self.columns:
            if column.name in wanted and column.kind not in NUMERIC_KINDS:
                raise _not_numeric(self._tables, column, self._connection)

    def _batches(self, names: list[str], size: int) -> Iterator[Batch]:
        start = 0
        for table in self._tables:
            for values in table.batches(self._connection, names, size):
                known = table.kept is not None and table.kept.finite
                if not known and not all_finite_or_missing(values):
                    row, column = (int(index[0]) for index in np.nonzero(np.isinf(values)))
                    raise SourceError(
                        f"{self.where(start + row)} has the value {values[row, column]} in column "
                        f"{quoted(names[column])}; all values must be finite float64 numbers, so correct or remove it."
                    )
                yield Batch(start, values)
                start += len(values)
            if table.kept is None:
                table.refuse_changed()

    def cells(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[list[tuple[object, ...]]]:
        """The columns `names` as Python values, None where missing, at most `size` rows at a time.

        Text and dates are text as the file has it; truth values are bool; numbers are int where exact, otherwise
        float (from a text file: the text itself, so that an id keeps its zeros).

        Raises
        ------
        SourceError
            An unknown name.
        """
        self._check(names, size)
        return self._cells(list(names), rows_at_once(size, len(names)))

    def _cells(self, names: list[str], size: int) -> Iterator[list[tuple[object, ...]]]:
        for table in self._tables:
            expressions = [table.columns[table.positions[name]].cell for name in names]
            yield from table.rows(self._connection, expressions, size)
            table.refuse_changed()

    def picked(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        """The cells of some rows (numbers from 0 over all files, ascending), as `cells` gives them."""
        self._check(names, 1)
        found: list[tuple[object, ...]] = []
        before = 0
        for table in self._tables:
            inside = [row - before for row in rows if before <= row < before + table.n_rows]
            if inside:
                expressions = [table.columns[table.positions[name]].cell for name in names]
                found += table.picked(self._connection, expressions, inside)
                table.refuse_changed()
            before += table.n_rows
        return found

    def _check(self, names: Sequence[str], size: int) -> None:
        if not self._finalizer.alive:
            raise SourceError(f"{self.description}: the source is closed; open it again.")
        if isinstance(names, str) or not len(names):
            raise SourceError(f"{self.description}: no columns are named; give a list of at least one column.")
        if size < 1:
            raise SourceError(f"{self.description}: a batch must have at least 1 row, not {size}.")
        known = {column.name for column in self.columns}
        unknown = [name for name in names if name not in known]
        if unknown:
            few = enumerated([quoted(column.name) for column in self.columns])
            raise SourceError(f"{self.description}: there is no column {quoted(unknown[0])}; the columns are {few}.")


def rows_at_once(size: int, n_columns: int) -> int:
    """So many rows, or fewer of many columns."""
    return max(1, min(size, MOST_CELLS // max(1, n_columns)))


def open_connection(
    folder: Path | None, files: Sequence[Path] = (), threads: int = MOST_THREADS
) -> duckdb.DuckDBPyConnection:
    """DuckDB, which reaches these files, the scratch in `folder` and nothing else.

    Raises
    ------
    SourceError
        It is not installed.
    """
    try:
        connection = connect(folder, threads=threads)
        confine(connection, folder, files)
        return connection
    except ModuleNotFoundError:
        raise SourceError(
            "Reading files needs DuckDB, which is not installed; run: pip install 'aspca[cli]'."
        ) from None


def _merged_columns(tables: list[FileTable]) -> tuple[Column, ...]:
    """The columns of all files, in the order of the first.

    Raises
    ------
    SourceError
        A file lacks a column or has one more.
    """
    first = tables[0]
    for table in tables[1:]:
        for one, other, what in ((first, table, "lacks"), (table, first, "has")):
            odd = [column.name for column in one.columns if column.name not in other.positions]
            if odd:
                than = "which the first file has" if what == "lacks" else "which the first file lacks"
                raise SourceError(
                    f"{table.label}: this file {what} the column {quoted(odd[0])}, {than} ({first.label}); "
                    "all files need the same columns."
                )
    return tuple(_merged(column.name, tables) for column in first.columns)


def _merged(name: str, tables: list[FileTable]) -> Column:
    parts = [(table.columns[table.positions[name]], table) for table in tables]
    n_missing = sum(part.n_missing for part, _ in parts)
    # A file in which every cell is missing goes along with the others.
    kinds = {part.kind: table for part, table in parts if part.n_missing < table.n_rows}
    if not kinds:
        return Column(name, "text", n_missing, next((part.remark for part, _ in parts if part.remark), NO_VALUES))
    if len(kinds) == 1 or set(kinds) == {"number", "boolean"}:
        remark, remedy = next(((part.remark, part.remedy) for part, _ in parts if part.remark), ("", ()))
        kind = "number" if len(kinds) == 2 else next(iter(kinds))
        return Column(name, kind, n_missing, remark, remedy, _widest([part for part, _ in parts]))
    return Column(name, "text", n_missing, ", ".join(f"{kind} in {table.label}" for kind, table in kinds.items()))


def _merged_format(tables: list[FileTable]) -> CellFormat:
    """How the cells of texts are written, which is the same in all of them."""
    known = [table.cell_format for table in tables if table.cell_format.columns]
    encoding = next((one.encoding for one in known if one.encoding), None)
    return replace(known[0], encoding=encoding) if known else CellFormat()


def _merged_bad_cells(tables: list[FileTable]) -> tuple[BadCell, ...]:
    before, found = 0, list[BadCell]()
    for table in tables:
        found += [replace(cell, row=cell.row + before) for cell in table.bad_cells]
        before += table.n_rows
    return tuple(found)


def _widest(parts: list[FileColumn]) -> tuple[float, float] | None:
    """The extremes of a column of several files; None where those of one are not known."""
    known = [part.extremes for part in parts if part.extremes is not None]
    if len(known) < len(parts):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _not_numeric(tables: list[FileTable], column: Column, connection: duckdb.DuckDBPyConnection) -> SourceError:
    """The sentence for a column of which numbers are wanted but which is text."""
    for table in tables:
        part = table.columns[table.positions[column.name]]
        if part.kind not in NUMERIC_KINDS and part.n_missing < table.n_rows:
            return why_not_numbers(table, table.positions[column.name], connection)
    if all(table.columns[table.positions[column.name]].n_missing == table.n_rows for table in tables):
        why = "has no values at all" if column.remark == NO_VALUES else column.remark.removeprefix("it ")
        return SourceError(f"{tables[0].label}: column {quoted(column.name)} {why}; leave it out.")
    return SourceError(
        f"{tables[0].label}: column {quoted(column.name)} is not of one kind in all files ({column.remark}); "
        "write it the same way in all."
    )
