"""Some rows of a table that lies in parts on the machines of an engine, as a table where these rows are.

What columns are is decided once, for the whole table, and sent along as a `Form`: no part decides for itself.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.database import first_line
from aspca.engines.arrow_source import ArrowReading, untyped
from aspca.engines.errors import SourceError
from aspca.engines.file_table import FileColumn, FileTable
from aspca.engines.source import Batch, Column, Source, connected
from aspca.engines.typed_table import Counts, counted
from aspca.linalg.arrays import Floats

if TYPE_CHECKING:
    import duckdb

# What is worked on at once: enough rows that what each chunk costs does not show, and no more than a worker can spare.
CHUNK_ROWS = 131072
CHUNK_BYTES = 64 << 20
_WRAPPED = 1 << 64
# Odd, and no two alike: a value that moves to another column changes the sum.
_ODD = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Form:
    """What the rows of a table mean.

    Attributes
    ----------
    label : str
        What sentences call the table.
    schema : pyarrow.Schema
        Of all columns, which are called c0, c1, ... in it.
    relation, parameters, columns
        As of a `FileTable`; `columns` are those that can be asked for.
    kinds : tuple of Column
        The same columns as users see them.
    types : list of str
        DuckDB's types of all columns.
    """

    label: str
    schema: Any
    relation: str
    parameters: tuple[Any, ...]
    columns: tuple[FileColumn, ...]
    types: list[str]
    n_rows: int = 0
    kinds: tuple[Column, ...] = ()

    def only(self, columns: Sequence[int]) -> Form:
        """The same where no other columns can be asked for."""
        chosen = tuple(self.columns[index] for index in columns)
        kinds = tuple(self.kinds[index] for index in columns) if self.kinds else ()
        return replace(self, columns=chosen, kinds=kinds)

    def part(self, connection: duckdb.DuckDBPyConnection, batches: Sequence[Any], start: int) -> Part:
        """A table of the rows of some record batches, the first of which is row `start` of the whole."""
        return Part(self, connection, batches, start)


@dataclass(frozen=True)
class _PartTable(FileTable):
    """Rows are called by their numbers in the whole table."""

    start: int = field(default=0, kw_only=True)

    def where(self, row: int) -> str:
        return f"row {self.start + row}"


class Part(Source):
    """Some rows of a table, to be read as often as need be.

    Attributes
    ----------
    sums : dict
        By names of columns: a sum over the bits of all their numbers, in whatever order rows come; once these columns
        were read to the end.
    """

    def __init__(self, form: Form, connection: duckdb.DuckDBPyConnection, batches: Sequence[Any], start: int) -> None:
        n_rows = sum(batch.num_rows for batch in batches)

        def explain(error: Exception) -> SourceError:
            return SourceError(f"{form.label}: rows from {start} on cannot be read ({first_line(error)}).")

        reading = ArrowReading(form.label, form.schema, lambda names: iter(batches), explain, watched=False)
        bare = untyped(reading, form.schema.names)
        columns = tuple(
            replace(column, n_missing=n_rows if form.n_rows and column.n_missing == form.n_rows else 0)
            for column in form.columns
        )
        table = _PartTable(
            form.label, form.relation, form.parameters, columns, n_rows, explain, bare.attach, start=start
        )
        super().__init__([table], connection.cursor(), None)
        # How many values are missing is known of the whole only: all, none, or some.
        self.columns = tuple(
            replace(kind, n_missing=n_rows if kind.n_missing == form.n_rows else None if kind.n_missing else 0)
            for kind in form.kinds
        )
        self._types = form.types
        self.sums: dict[tuple[str, ...], int] = {}

    def counts(self) -> Counts:
        """Rows, values, and integers beyond float64: of all columns, so that the form must have them all."""
        return counted(self._tables[0], self._types, self._connection)

    def batches(self, names: Sequence[str], size: int = 65536) -> Iterator[Batch]:
        return self._summed(super().batches(names, size), tuple(names))

    def _summed(self, batches: Iterator[Batch], names: tuple[str, ...]) -> Iterator[Batch]:
        total = 0
        for batch in batches:
            total += bits_summed(batch.values)
            yield batch
        self.sums[names] = total % _WRAPPED


def bits_summed(values: Floats) -> int:
    """A sum over the bits of numbers (m, q), modulo 2^64: the same for the same rows in any order."""
    sums = np.ascontiguousarray(values).view(np.uint64).sum(axis=0, dtype=np.uint64)
    factors = np.arange(1, 2 * len(sums), 2, dtype=np.uint64) * np.uint64(_ODD)
    return int((sums * factors).sum(dtype=np.uint64))


# Connections of this process that nobody uses just now: to make one takes longer than a small part does.
_idle: list[tuple[int, duckdb.DuckDBPyConnection]] = []
atexit.register(_idle.clear)


@contextmanager
def own_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB for one part on a worker: one thread, since the engine has a worker per core, and nothing on disk."""
    owner = connection = None
    with suppress(IndexError):
        owner, connection = _idle.pop()
    # A fork has what its parent had, but not the threads in it.
    if connection is None or owner != os.getpid():
        connection = connected(None, threads=1)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    _idle.append((os.getpid(), connection))


def chunks(batches: Iterator[Any], first: int = CHUNK_ROWS) -> Iterator[list[Any]]:
    """Record batches put together or cut, so that a few ten megabytes are worked on at once.

    Nothing is read ahead: the first chunk is there as soon as it has `first` rows.
    """
    held: list[Any] = []
    rows = size = 0
    most = min(first, CHUNK_ROWS)
    for batch in batches:
        for piece in _cut(batch):
            held.append(piece)
            rows, size = rows + piece.num_rows, size + piece.nbytes
            if rows >= most or size >= CHUNK_BYTES:
                yield held
                held, rows, size, most = [], 0, 0, CHUNK_ROWS
    if held:
        yield held


def _cut(batch: Any) -> Iterator[Any]:
    most = min(CHUNK_ROWS, rows_of(CHUNK_BYTES, batch.nbytes / max(1, batch.num_rows)))
    for start in range(0, batch.num_rows, most):
        yield batch.slice(start, most)


def rows_of(size: int, each: float) -> int:
    """How many rows of so many bytes each make `size` bytes, at least one."""
    return max(1, int(size / max(1.0, each)))
