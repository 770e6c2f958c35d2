"""One table out of all that DuckDB reads: files, databases and whatever gives Arrow record batches (`arrow_table`)."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from aspca.duckdb_session import MOST_THREADS, confine, connect
from aspca.escaping import quoted
from aspca.preparation.cell_format import BadCell, CellFormat
from aspca.tables.column_notes import explain_text_column
from aspca.tables.errors import SourceError, join_names
from aspca.tables.file_table import NUMERIC_KINDS, FileTable, has_no_infinity
from aspca.tables.table import BATCH_ROWS, Batch, Column, limit_rows

if TYPE_CHECKING:
    import duckdb

NO_VALUES = "it has no values"


class Source:
    """One table out of one or more files with the same columns; close it, or use it in a `with` statement.

    See `aspca.tables.table.Table`. Cells of text and dates are text as the file has it; truth values are bool; numbers
    are int where exact, otherwise float (of a text file the text itself, so that an id keeps its zeros).
    """

    engine = ""  # what the rows come from, where that is to be said

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
        self.columns = _merged_columns(tables)
        self.description = description or (tables[0].label if len(tables) == 1 else f"{len(tables)} files")
        self.library = "pandas"  # the data-frame library that results are to be of
        self.remarks = tuple(remark for table in tables for remark in table.remarks)
        known = [table.cell_format for table in tables if table.cell_format.columns]
        encoding = next((one.encoding for one in known if one.encoding), None)
        self.cell_format = replace(known[0], encoding=encoding) if known else CellFormat()
        self.bad_cells: tuple[BadCell, ...] = tuple(
            replace(cell, row=cell.row + start) for start, table in self._by_start() for cell in table.bad_cells
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove temporary files; the source cannot be read any more."""
        self._finalizer()

    def count(self) -> int:
        return sum(table.n_rows for table in self._tables)

    def _by_start(self) -> Iterator[tuple[int, FileTable]]:
        """Each file with the number of its first row."""
        start = 0
        for table in self._tables:
            yield start, table
            start += table.n_rows

    def locate(self, row: int) -> str:
        """`data.csv: row 17 (line 19)` for a row counted from 0 over all files; in its file it counts from 0, too."""
        for start, table in self._by_start():
            if row < start + table.n_rows:
                return f"{table.label}: {table.locate(row - start)}"
        raise IndexError(f"There are {self.count()} rows, so there is no row {row}.")

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Batch]:
        """See `Table`; wide tables come in smaller batches."""
        self._check(names, size)
        wanted = set(names)
        for column in self.columns:
            if column.name in wanted and column.kind not in NUMERIC_KINDS:
                raise _text_error(self._tables, column, self._connection)
        return self._batches(list(names), limit_rows(size, len(names)))

    def _batches(self, names: list[str], size: int) -> Iterator[Batch]:
        for first, table in self._by_start():
            start = first
            for values in table.batches(self._connection, names, size):
                known = table.kept is not None and table.kept.finite
                if not known and not has_no_infinity(values):
                    row, column = (int(index[0]) for index in np.nonzero(np.isinf(values)))
                    raise SourceError(
                        f"{self.locate(start + row)} has the value {values[row, column]} in column "
                        f"{quoted(names[column])}; all values must be finite float64 numbers, so correct or remove it."
                    )
                yield Batch(start, values)
                start += len(values)
            if table.kept is None:
                table.refuse_changed()

    def cells(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[list[tuple[object, ...]]]:
        self._check(names, size)
        return self._cells(list(names), limit_rows(size, len(names)))

    def _cells(self, names: list[str], size: int) -> Iterator[list[tuple[object, ...]]]:
        for table in self._tables:
            expressions = [table.columns[table.positions[name]].cell for name in names]
            yield from table.rows(self._connection, expressions, size)
            table.refuse_changed()

    def take(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        self._check(names, 1)
        found: list[tuple[object, ...]] = []
        for start, table in self._by_start():
            inside = [row - start for row in rows if start <= row < start + table.n_rows]
            if inside:
                expressions = [table.columns[table.positions[name]].cell for name in names]
                found += table.take(self._connection, expressions, inside)
                table.refuse_changed()
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
            few = join_names([quoted(column.name) for column in self.columns])
            raise SourceError(f"{self.description}: there is no column {quoted(unknown[0])}; the columns are {few}.")


def open_connection(
    folder: Path | None, files: Sequence[Path] = (), threads: int = MOST_THREADS
) -> duckdb.DuckDBPyConnection:
    """DuckDB, which reaches these files, the scratch in `folder` and nothing else."""
    try:
        connection = connect(folder, threads=threads)
        confine(connection, folder, files)
        return connection
    except ModuleNotFoundError:
        raise SourceError(
            "Reading files needs DuckDB, which is not installed; run: pip install 'aspca[cli]'."
        ) from None


def _merged_columns(tables: list[FileTable]) -> tuple[Column, ...]:
    """The columns of all files, in the order of the first; SourceError where a file lacks one or has one more."""
    first = tables[0]
    for table in tables[1:]:
        for one, other, has, first_has in ((first, table, "lacks", "has"), (table, first, "has", "lacks")):
            odd = next((column.name for column in one.columns if column.name not in other.positions), None)
            if odd is not None:
                raise SourceError(
                    f"{table.label}: this file {has} the column {quoted(odd)}, which the first file {first_has} "
                    f"({first.label}); all files need the same columns."
                )
    return tuple(_merged(column.name, tables) for column in first.columns)


def _merged(name: str, tables: list[FileTable]) -> Column:
    parts = [table.columns[table.positions[name]] for table in tables]
    n_missing = sum(part.n_missing for part in parts)
    # A file in which every cell is missing goes along with the others.
    kinds = {part.kind: table for part, table in zip(parts, tables, strict=True) if part.n_missing < table.n_rows}
    if not kinds:
        return Column(name, "text", n_missing, next((part.remark for part in parts if part.remark), NO_VALUES))
    if len(kinds) > 1 and set(kinds) != {"number", "boolean"}:
        return Column(name, "text", n_missing, ", ".join(f"{kind} in {table.label}" for kind, table in kinds.items()))
    remark, remedy = next(((part.remark, part.remedy) for part in parts if part.remark), ("", ()))
    extremes = [part.extremes for part in parts if part.extremes is not None]
    known = len(extremes) == len(parts)
    widest = (min(low for low, _ in extremes), max(high for _, high in extremes)) if known else None
    return Column(name, "number" if len(kinds) == 2 else next(iter(kinds)), n_missing, remark, remedy, widest)


def _text_error(tables: list[FileTable], column: Column, connection: duckdb.DuckDBPyConnection) -> SourceError:
    """The sentence for a column of which numbers are wanted but which is text."""
    places = [(table, table.positions[column.name]) for table in tables]
    valued = [(table, place) for table, place in places if table.columns[place].n_missing < table.n_rows]
    for table, place in valued:
        if table.columns[place].kind not in NUMERIC_KINDS:
            return explain_text_column(table, place, connection)
    if not valued:
        why = "has no values at all" if column.remark == NO_VALUES else column.remark.removeprefix("it ")
        return SourceError(f"{tables[0].label}: column {quoted(column.name)} {why}; leave it out.")
    return SourceError(
        f"{tables[0].label}: column {quoted(column.name)} is not of one kind in all files ({column.remark}); "
        "write it the same way in all."
    )
