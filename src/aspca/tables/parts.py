"""What workers do with the parts of a table: see the rows of one as a table, and run a task over them.

What columns are is decided once, for the whole table, and sent along as a `TableLayout`: no part decides for itself.
Results travel as bytes. Sentences for people that are raised meanwhile are results too: the first of them, in the order
of the rows, is raised where the pass was asked for. All else is the engine's to try again.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.duckdb_session import describe_briefly
from aspca.linalg.arrays import Floats
from aspca.tables.arrow_table import ArrowReading, make_untyped
from aspca.tables.errors import SourceError
from aspca.tables.file_table import FileColumn, FileTable
from aspca.tables.serialization import PACKAGE, deserialize, serialize
from aspca.tables.source import Source, open_connection
from aspca.tables.table import Batch
from aspca.tables.typed_table import Counts, count_cells

if TYPE_CHECKING:
    import duckdb

# What is worked on at once: enough rows that what each chunk costs does not show, and no more than a worker can spare.
CHUNK_ROWS = 131072
CHUNK_BYTES = 64 << 20
_WRAPPED = 1 << 64
# Odd, and no two alike: a value that moves to another column changes the sum.
_ODD = 0x9E3779B97F4A7C15

# What is made of some rows as a table, and of the number of the first of them; and of two results, in their order.
Task = Callable[["Part", int], Any]
Merge = Callable[[Any, Any], Any]
# Record batches made of the rows of a part.
Mapping = Callable[["Part", int], Iterable[Any]]


@dataclass(frozen=True)
class TableLayout:
    """What the rows of a table mean, and where they are."""

    label: str
    schema: Any  # pyarrow.Schema of all columns, which are called c0, c1, ... in it
    relation: str  # this and what follows are as of a `FileTable`
    parameters: tuple[Any, ...]
    columns: tuple[FileColumn, ...]  # those that can be asked for
    types: list[str]  # DuckDB's, of all columns
    rows: tuple[int, ...] | None = None  # of each part; None before they are counted

    def only(self, columns: Sequence[int]) -> TableLayout:
        """The same where no other columns can be asked for."""
        return replace(self, columns=tuple(self.columns[index] for index in columns))

    def start(self, number: int) -> int:
        """The number of the first row of a part; 0 before they are counted."""
        return sum((self.rows or ())[:number])

    def between(self, first: int, end: int) -> Iterator[tuple[int, int, int | None]]:
        """The parts that hold rows from `first` to before `end`: the number of each, and where these begin and end in
        it; None for all that follow, so that rows which a part did not have before are seen."""
        start = 0
        for number, rows in enumerate(self.rows or ()):
            low, high = max(first - start, 0), end - start
            if low < min(high, rows):
                yield number, low, high if high < rows else None
            start += rows

    def read(self, number: int, batches: Iterable[Any]) -> Iterator[Part]:
        """The chunks of a part as tables; SourceError in the end if they are not as many rows as they were."""
        found, start = 0, self.start(number)
        with borrow_connection() as connection:
            for chunk in cut_chunks(iter(batches)):
                with Part(self, connection, chunk, start + found) as part:
                    yield part
                    found += part.count()
        known = found if self.rows is None else sum(self.rows[number : number + 1])
        if found != known:
            raise explain_changed_rows(self.label, f"part {number} had {known:,} rows and now has {found:,}")


class Part(Source):
    """Some rows of a table, to be read as often as need be; `start` is the number of the first of them.

    `sums` holds, by names of columns that were read to the end, a sum over the bits of all their numbers.
    """

    def __init__(
        self, layout: TableLayout, connection: duckdb.DuckDBPyConnection, batches: Sequence[Any], start: int
    ) -> None:
        n_rows = sum(batch.num_rows for batch in batches)

        def explain(error: Exception) -> SourceError:
            return SourceError(f"{layout.label}: rows from {start} on cannot be read ({describe_briefly(error)}).")

        reading = ArrowReading(layout.label, layout.schema, lambda names: iter(batches), explain, watched=False)
        attach = make_untyped(reading, layout.schema.names).attach
        # How many values are missing is known of the whole only: all, none, or some.
        missing = [column.n_missing for column in layout.columns]
        everything = None if layout.rows is None else sum(layout.rows)
        columns = tuple(
            replace(column, n_missing=n_rows if count == everything else 0)
            for column, count in zip(layout.columns, missing, strict=True)
        )
        table = FileTable(layout.label, layout.relation, layout.parameters, columns, n_rows, explain, attach)
        resources = ExitStack()
        super().__init__([table], resources.enter_context(connection.cursor()), resources)
        self.start, self._types = start, layout.types
        self.columns = tuple(
            column if count in (0, everything) else replace(column, n_missing=None)
            for column, count in zip(self.columns, missing, strict=True)
        )
        self.sums: dict[tuple[str, ...], int] = {}

    def counts(self) -> Counts:
        """Rows, values, and integers beyond float64: of all columns, so that the layout must have them all."""
        return count_cells(self._tables[0], self._types, self._connection)

    def locate(self, row: int) -> str:
        """Rows are called by their numbers in the whole table."""
        return f"{self.description}: row {self.start + row}"

    def _batches(self, names: list[str], size: int) -> Iterator[Batch]:
        total = 0
        for batch in super()._batches(names, size):
            total += sum_bits(batch.values)
            yield batch
        self.sums[tuple(names)] = total % _WRAPPED


def sum_bits(values: Floats) -> int:
    """A sum over the bits of numbers (m, q), modulo 2^64: the same for the same rows in any order."""
    sums = np.ascontiguousarray(values).view(np.uint64).sum(axis=0, dtype=np.uint64)
    factors = np.arange(1, 2 * len(sums), 2, dtype=np.uint64) * np.uint64(_ODD)
    return int((sums * factors).sum(dtype=np.uint64))


# Connections of this process that nobody uses just now: to make one takes longer than a small part does.
_idle: list[tuple[int, duckdb.DuckDBPyConnection]] = []
atexit.register(_idle.clear)


@contextmanager
def borrow_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB for one part on a worker: one thread, since the engine has a worker per core, and nothing on disk."""
    owner = connection = None
    with suppress(IndexError):
        owner, connection = _idle.pop()
    # A fork has what its parent had, but not the threads in it.
    if connection is None or owner != os.getpid():
        connection = open_connection(None, threads=1)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    _idle.append((os.getpid(), connection))


def cut_chunks(batches: Iterator[Any], first: int = CHUNK_ROWS) -> Iterator[list[Any]]:
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


# ---- work on a part


@dataclass
class Outcome:
    """What came of some parts, one after the other."""

    rows: dict[int, int] = field(default_factory=dict)  # by the number of a part
    # By names of columns that were read, and the number of a part: see `Part`.
    sums: dict[tuple[str, ...], dict[int, int]] = field(default_factory=dict)
    found: list[Any] = field(default_factory=list)  # the result, or nothing where there were no rows
    error: Exception | None = None  # what was raised first

    def add(self, found: Any, merge: Merge) -> None:
        """Take in the result of the rows that follow."""
        self.found = [merge(self.found[0], found)] if self.found else [found]

    def note(self, number: int, part: Part) -> None:
        """Take in what was seen of a chunk of a part."""
        self.rows[number] += part.count()
        for names, total in part.sums.items():
            of_part = self.sums.setdefault(names, {})
            of_part[number] = (of_part.get(number, 0) + total) % _WRAPPED

    @contextmanager
    def catch_sentence(self) -> Iterator[None]:
        """A sentence for people that is raised meanwhile becomes the outcome."""
        try:
            yield
        except ValueError as error:
            if type(error) is not ValueError and type(error).__module__.partition(".")[0] != PACKAGE:
                raise
            self.error, self.found = error, []


def explain_changed_rows(label: str, how: str) -> SourceError:
    """The sentence for rows that are not what they were."""
    return SourceError(
        f"{label}: its rows changed between passes ({how}); they must stay as they are, so write them to Parquet, or "
        "persist the frame, and start again."
    )


@dataclass(frozen=True)
class Pass:
    """Runs a task over each chunk of a part; `only` are the numbers of parts that it is for, None for all."""

    layout: TableLayout
    task: Task
    merge: Merge
    only: frozenset[int] | None = None

    def __call__(self, number: int, batches: Iterable[Any]) -> bytes:
        outcome = Outcome()
        if self.only is None or number in self.only:
            outcome.rows[number] = 0
            with outcome.catch_sentence():
                for part in self.layout.read(number, batches):
                    outcome.add(self.task(part, part.start), self.merge)
                    outcome.note(number, part)
        return serialize(outcome)


def merge_outcomes(merge: Merge, outcomes: Sequence[bytes]) -> bytes:
    """What came of parts that follow each other; each is decoded anew, so that a merge may change what it is given."""
    whole: Outcome = deserialize(outcomes[0])
    for data in outcomes[1:]:
        if whole.error is not None:
            break
        later: Outcome = deserialize(data)
        with whole.catch_sentence():
            if later.error is not None:
                raise later.error
            for found in later.found:
                whole.add(found, merge)
            whole.rows |= later.rows
            for names, totals in later.sums.items():
                whole.sums.setdefault(names, {}).update(totals)
    return serialize(whole)


@dataclass(frozen=True)
class Mapped:
    """Makes other rows of those of a part."""

    layout: TableLayout
    schema: Any
    function: Mapping

    def __call__(self, number: int, batches: Iterable[Any]) -> Iterator[Any]:
        for part in self.layout.read(number, batches):
            for batch in self.function(part, part.start):
                yield batch if batch.schema == self.schema else batch.cast(self.schema)


def refuse_unlike(label: str, before: Outcome, now: Outcome) -> None:
    """Raise SourceError if parts do not have the numbers that they had; what is new is taken down."""
    for names, totals in now.sums.items():
        known = before.sums.setdefault(names, {})
        for number, total in totals.items():
            if known.setdefault(number, total) != total:
                how = f"part {number} has other numbers in the columns that were read before"
                raise explain_changed_rows(label, how)
