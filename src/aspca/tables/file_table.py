"""One file as a relation of DuckDB, and its numbers kept as float64 in a scratch file: text is parsed once.

Columns are called c0, c1, ... in SQL: no name of a user enters it.
"""

from __future__ import annotations

import ctypes
import errno
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.duckdb_session import MEMORY_LIMIT, get_error_type, run_interruptibly
from aspca.escaping import quoted
from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.row_blocks import cached_parts
from aspca.preparation.cell_format import NO_FORMAT, BadCell, CellFormat
from aspca.tables.errors import SourceError, join_names

if TYPE_CHECKING:
    import duckdb

Rows = list[tuple[Any, ...]]
# DuckDB's optimizer takes minutes over thousands of expressions, and has nothing to gain where all columns are read.
MANY_EXPRESSIONS = 600
# Each column in flight takes memory and time to plan: wide files are counted in several passes.
COLUMNS_AT_ONCE = 500
# DuckDB's batches of columns have up to 131,072 rows, 100 MB: wider tables are fetched by rows, so many cells at once.
WIDE = 100
PIECE_CELLS = 200_000
NO_VALUE = "NULL::DOUBLE"
# No user's text stands in a query, so whatever looks like the name of a column is one.
_COLUMN = re.compile(r"\bc(\d+)\b")
NUMERIC_KINDS = ("number", "boolean", "date")
# Rows that are turned from columns at once: they stay in the cache.
TURNED_ROWS = 2048
# Rows of an array at most: half a batch of DuckDB's, so that its memory is used again and again.
MOST_ROWS = 65536


@dataclass(frozen=True)
class FileColumn:
    """A column of one file: a `Column`, and how its cells are selected."""

    name: str
    kind: str
    n_missing: int
    number: str  # SQL of a DOUBLE, dates as seconds since 1970
    cell: str  # SQL of the cell
    remark: str = ""
    remedy: tuple[str, ...] = ()
    extremes: tuple[float, float] | None = None


@dataclass(frozen=True)
class NumberFile:
    """`n_rows` rows of float64, one after the other, without a header: a file of this machine and this run.

    Plain reads and writes, no mapping: its pages are the system's to keep or drop, and never memory of the process.
    """

    path: Path
    columns: tuple[int, ...]  # of the table, in the order in which a row holds them
    n_rows: int
    finite: bool = False  # whether it is known that no value is infinite

    def rows(self, columns: Sequence[int], size: int) -> Iterator[Floats]:
        """These columns, `size` rows at a time: (m, q), C-contiguous; OSError where the file is gone or cut short."""
        places = {column: place for place, column in enumerate(self.columns)}
        chosen = [places[column] for column in columns]
        everything = chosen == list(range(len(self.columns)))
        with self.path.open("rb") as file:
            for start in range(0, self.n_rows, size):
                rows = np.empty((min(size, self.n_rows - start), len(self.columns)))
                if file.readinto(rows.data) < rows.nbytes:
                    raise OSError(errno.EIO, "cut short", str(self.path))
                yield rows if everything else np.ascontiguousarray(rows[:, chosen])


@dataclass(frozen=True)
class FileTable:
    """One file as a relation; no text of the user's stands in its SQL: columns are called c0, c1, ... there."""

    label: str
    relation: str  # stands after FROM
    parameters: tuple[Any, ...]  # $1, $2, ... in it
    columns: tuple[FileColumn, ...]
    n_rows: int
    explain: Callable[[Exception], SourceError]  # the sentence for DuckDB's errors
    # Called before each query with its cursor and the numbers of the columns that it reads.
    attach: Callable[[duckdb.DuckDBPyConnection, Sequence[int]], Any] = lambda connection, columns: None
    line_of: Callable[[int], int | None] = lambda row: None  # the line (from 1) in which a row (from 0) begins
    kept: NumberFile | None = None  # all of its numbers
    refuse_changed: Callable[[], None] = lambda: None  # SourceError if it is not what it was when it was opened
    remarks: tuple[str, ...] = ()  # what was guessed about its numbers
    alone: Callable[[Sequence[int]], str | None] = lambda rows: None  # a file of some rows, where that is less work
    bad_cells: tuple[BadCell, ...] = ()  # those that are not what their columns hold
    cell_format: CellFormat = NO_FORMAT  # how cells are written

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where the column of each name stands; every name occurs once."""
        return {column.name: index for index, column in enumerate(self.columns)}

    def locate(self, row: int) -> str:
        """`row 17 (line 19)`, or `row 17` where the file has no lines; rows count from 0, without the header."""
        line = self.line_of(row)
        return f"row {row}" if line is None else f"row {row} (line {line})"

    def batches(self, connection: duckdb.DuckDBPyConnection, names: Sequence[str], size: int) -> Iterator[Floats]:
        """The columns `names` as numbers (m, q), `size` rows at a time and the rest at the end; NaN where missing."""
        columns = [self.positions[name] for name in names]
        if self.kept is None:
            numbers = self.numbers(connection, [self.columns[column].number for column in columns])
            yield from rebatch((values for values, _ in numbers), size)
            return
        try:
            yield from self.kept.rows(columns, size)
        except OSError as error:
            raise SourceError(
                f"{self.label}: its numbers, kept in the temporary folder, cannot be read any more "
                f"({error.strerror or type(error).__name__}); leave that folder alone and start again."
            ) from error

    def rows(
        self, connection: duckdb.DuckDBPyConnection, expressions: list[str], size: int, after: str = ""
    ) -> Iterator[Rows]:
        """At most `size` rows at a time, in the order of the file; `after` follows the relation in the query."""
        with self._query(connection, expressions, after) as (cursor, query):
            run_interruptibly(cursor, cursor.execute, query, list(self.parameters))
            while rows := run_interruptibly(cursor, cursor.fetchmany, size):
                yield rows

    def all_rows(self, connection: duckdb.DuckDBPyConnection, expressions: list[str], after: str = "") -> Rows:
        """All rows of a query that gives few."""
        return [row for rows in self.rows(connection, expressions, 4096, after) for row in rows]

    def numbers(self, connection: duckdb.DuckDBPyConnection, expressions: list[str]) -> Iterator[tuple[Floats, Ints]]:
        """The rows of q expressions that give DOUBLE, in batches of any size (m, q), NaN for NULL; and how many of each
        are NULL (q,)."""
        if len(expressions) > WIDE:
            for rows in self.rows(connection, expressions, max(1, PIECE_CELLS // len(expressions))):
                values = np.array(rows, dtype=np.float64)
                # Among them those that are NaN without being NULL, which are rare.
                nulls = np.zeros(len(expressions), dtype=np.intp)
                for row, column in zip(*np.nonzero(np.isnan(values)), strict=True):
                    nulls[column] += rows[row][column] is None
                yield values, nulls
            return
        with self._query(connection, expressions) as (cursor, query):
            yield from number_batches(cursor, query, list(self.parameters))

    @contextmanager
    def _query(
        self, connection: duckdb.DuckDBPyConnection, expressions: list[str], after: str = ""
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        """A cursor and the query for it; what goes wrong with them is explained."""
        # A cursor of its own for every reader: two of them may run side by side.
        cursor = connection.cursor()
        listed = ", ".join(f"{expression} AS e{index}" for index, expression in enumerate(expressions))
        query = f"SELECT {listed} FROM {self.relation} {after}"  # noqa: S608  # our own names only, see the class
        try:
            self.attach(cursor, sorted({int(number) for number in _COLUMN.findall(listed + after)}))
            cursor.execute("SET TimeZone = 'UTC'")
            if len(expressions) > MANY_EXPRESSIONS:
                cursor.execute("PRAGMA disable_optimizer")
            yield cursor, query
        except (RuntimeError, ValueError, OSError, get_error_type()) as error:
            if isinstance(error, SourceError):
                raise
            # The cause stays with the error for those who look for it; the sentence does without it.
            if type(error).__name__ == "OutOfMemoryException" or str(error).startswith("Out of Memory"):
                raise SourceError(
                    f"{self.label}: reading needs more memory than the limit of {MEMORY_LIMIT}; "
                    "write it with smaller row groups, or in several files."
                ) from error
            raise self.explain(error) from error
        finally:
            cursor.close()

    def first(self, connection: duckdb.DuckDBPyConnection, expression: str, where: str) -> tuple[int, Any] | None:
        """Number of the first row (from 0, without the header) for which `where` holds, and its `expression`."""
        # Without an order, another thread may come first.
        return next(iter(self.find_rows(connection, expression, where, "LIMIT 1")), None)

    def find_rows(
        self, connection: duckdb.DuckDBPyConnection, expression: str, where: str, limit: str = ""
    ) -> list[tuple[int, Any]]:
        """Numbers of all rows (from 0) for which `where` holds, ascending, each with its `expression`."""
        found = self._numbered.all_rows(connection, ["n", expression], f"WHERE {where} ORDER BY n {limit}")
        return [(int(number) - 1, value) for number, value in found]

    def take(self, connection: duckdb.DuckDBPyConnection, expressions: list[str], rows: Sequence[int]) -> Rows:
        """The rows with these numbers (from 0, ascending), and no others."""
        alone = self.alone(rows)
        if alone is not None:
            # A file of these rows only takes the place of the first parameter.
            return replace(self, parameters=(alone, *self.parameters[1:])).all_rows(connection, expressions)
        wanted = ", ".join(str(int(row) + 1) for row in rows)
        after = f"WHERE n IN (SELECT unnest([{wanted}])) ORDER BY n"
        return self._numbered.all_rows(connection, expressions, after)

    @property
    def _numbered(self) -> FileTable:
        """The same with a column n beside, the number of each row from 1."""
        numbered = f"(SELECT row_number() OVER () AS n, * FROM {self.relation}) AS numbered"  # noqa: S608  # as above
        return replace(self, relation=numbered)


def has_no_infinity(values: Floats) -> bool:
    """Whether none of the values (m, q) is infinite; NaN is a value that is missing."""
    return not any(np.isinf(values[part]).any() for part in cached_parts(*values.shape))


def rebatch(pieces: Iterator[Floats], size: int) -> Iterator[Floats]:
    """Pieces of rows as arrays of `size` rows, the last one shorter."""
    parts: list[Floats] = []
    held = 0
    for piece in pieces:
        part = piece
        while held + len(part) >= size:
            cut = size - held
            # Mostly pieces are what is asked for.
            yield np.concatenate([*parts, part[:cut]]) if parts else part[:cut]
            parts, held, part = [], 0, part[cut:]
        if len(part):
            parts, held = [*parts, part], held + len(part)
    if parts:
        yield parts[0] if len(parts) == 1 else np.concatenate(parts)


def explain_unreadable(label: str, what: str) -> Callable[[Exception], SourceError]:
    """The explanation for files that are not written by hand: where they are damaged is no help."""

    def explain(error: Exception) -> SourceError:
        return SourceError(f"{label}: this is not {what}, or it is damaged or cut short; copy or write it anew.")

    return explain


def make_names_unique(names: Sequence[str], label: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Every column with a name of its own, and a note where one had none, or that of another.

    Names stay as they are; the second `amount` becomes `amount_2`, the fourth column without a name `column_4`.
    """
    given = {name for name in names if name}
    unique: list[str] = []
    repeated: list[str] = []
    for place, name in enumerate(names, start=1):
        base, number = (name, 1) if name else (f"column_{place}", 1)
        found = base
        while found in unique or (found != name and found in given):
            number += 1
            found = f"{base}_{number}"
        if name and found != name:
            repeated.append(f"{quoted(name)} in column {place} becomes {quoted(found)}")
        unique.append(found)
    notes = []
    unnamed = [quoted(new) for name, new in zip(names, unique, strict=True) if not name]
    if given and unnamed:
        notes.append(f"{label}: columns without a name are called {join_names(unnamed)}.")
    if repeated:
        notes.append(f"{label}: names of columns occur more than once: {join_names(repeated)}.")
    return tuple(unique), tuple(notes)


# ---- numbers out of DuckDB by the Arrow C stream interface: columns at full speed, and no pyarrow, which text does
# without. The structures are those of https://arrow.apache.org/docs/format/CStreamInterface.html, fixed for good.


class _Array(ctypes.Structure):
    """ArrowArray: a record batch, or one of its columns."""


_Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    """ArrowArrayStream."""

    _fields_ = (
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def number_batches(
    cursor: duckdb.DuckDBPyConnection, query: str, parameters: list[Any]
) -> Iterator[tuple[Floats, Ints]]:
    """The rows of a query whose q columns are all DOUBLE, as values (m, q), C-contiguous, NaN for NULL, and how many of
    each column are NULL (q,); duckdb.Error or RuntimeError where the query fails, at once or further on."""
    relation = run_interruptibly(cursor, cursor.sql, query, params=parameters)
    # The capsule owns the stream, and releases it.
    capsule = run_interruptibly(cursor, relation.__arrow_c_stream__)
    stream = _Stream.from_address(_pointer_of(capsule, b"arrow_array_stream"))
    address = ctypes.addressof(stream)
    while True:
        batch = _Array()
        if run_interruptibly(cursor, stream.get_next, address, ctypes.addressof(batch)):
            raise RuntimeError((stream.get_last_error(address) or b"the query failed").decode(errors="replace"))
        if not batch.release:
            return
        try:
            for start in range(0, batch.length, MOST_ROWS):
                yield _turned(batch, start, min(MOST_ROWS, batch.length - start))
        finally:
            batch.release(ctypes.addressof(batch))


def _turned(batch: _Array, start: int, n_rows: int) -> tuple[Floats, Ints]:
    """Some rows of a record batch; nothing of its memory is kept."""
    columns = [_column(batch.children[index].contents, start, n_rows) for index in range(batch.n_children)]
    values = np.empty((n_rows, batch.n_children))
    for begin in range(0, n_rows, TURNED_ROWS):
        rows = slice(begin, begin + TURNED_ROWS)
        np.stack([column[rows] for column, _ in columns], axis=1, out=values[rows])
    return values, np.array([nulls for _, nulls in columns], dtype=np.intp)


def _column(array: _Array, start: int, length: int) -> tuple[Floats, int]:
    """Values of a column, from `start` on, and how many of them are NULL; a view where none is."""
    first = array.offset + start
    values = np.frombuffer((ctypes.c_double * (first + length)).from_address(array.buffers[1]))[first:]
    if array.null_count == 0 or not array.buffers[0]:
        return values, 0
    bits = np.frombuffer((ctypes.c_uint8 * ((first + length + 7) // 8)).from_address(array.buffers[0]), dtype=np.uint8)
    given = np.unpackbits(bits, count=first + length, bitorder="little")[first:]
    return np.where(given, values, np.nan), length - int(np.count_nonzero(given))
