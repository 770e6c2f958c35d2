"""A table whose rows lie in parts on the machines of an engine: passes run where the rows are.

It is a table like any other too: read from here, it comes part after part, and never as a whole.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

from aspca.database import first_line
from aspca.engines.arrow_table import ArrowReading, make_untyped, pyarrow, refuse_repeated
from aspca.engines.errors import SourceError
from aspca.engines.file_table import regrouped
from aspca.engines.part_files import Write, write_folder
from aspca.engines.parts import (
    CHUNK_ROWS,
    Mapped,
    Mapping,
    Merge,
    Outcome,
    Part,
    Pass,
    Places,
    TableLayout,
    Task,
    chunks,
    refuse_unlike,
    rows_changed_error,
)
from aspca.engines.serialization import deserialize
from aspca.engines.source import MOST_CELLS, Batch, Column, Source, open_connection
from aspca.engines.typed_table import Counts, finish_table, shape_columns
from aspca.outputs.scratch import Scratch


class PartedTable(ABC):
    """See `aspca.jobs.tables.TableSource`; close it, or use it in a `with` statement.

    Rows are numbered from 0 in the order of the parts, and in each part as the engine gives them.

    Parameters
    ----------
    label : str
        What sentences call it.
    names : list of str
        Of its columns.
    schema : pyarrow.Schema
        Of its columns, which are called c0, c1, ... there.
    missing : tuple of str
        Cells that stand for no value.

    Raises
    ------
    SourceError
        In one sentence: what is wrong with which column or row, and what to do.
    """

    engine: str

    def __init__(self, label: str, names: list[str], schema: Any, missing: tuple[str, ...] = ()) -> None:
        pa = pyarrow(label)
        with ExitStack() as resources:
            connection = open_connection(resources.enter_context(Scratch()))
            resources.callback(connection.close)
            refuse_repeated(names, label)
            nothing = pa.RecordBatch.from_arrays([pa.nulls(1, field.type) for field in schema], schema=schema)
            reading = ArrowReading(label, schema, lambda names: iter([nothing]), self._explained, watched=False)
            table, types = shape_columns(make_untyped(reading, names), names, connection, missing)
            self.description = label
            self._layout = TableLayout(label, schema, table.relation, table.parameters, table.columns, types)
            # Its own is the first pass, which finds out how many rows each part has.
            self._seen, self._places = Outcome(), Places()
            counts, self._seen = self._gathered(Pass(self._layout, self._places, _count, Counts.merged), small=True)
            rows = self._seen.rows
            self._places = Places(tuple(rows.get(number, 0) for number in range(max(rows, default=-1) + 1)))
            table = finish_table(table, counts or Counts(0, [], [], []))
            # Only what is asked before rows are read: kinds, places and sentences that show a cell.
            first = make_untyped(replace(reading, read=self._first), names)
            self._here = Source([replace(table, attach=first.attach)], connection, resources.pop_all())
        self.columns: tuple[Column, ...] = self._here.columns
        self.remarks: tuple[str, ...] = self._here.remarks
        self.cell_format, self.bad_cells = self._here.cell_format, self._here.bad_cells
        self._layout = replace(self._layout, columns=table.columns, n_rows=table.n_rows, kinds=self.columns)
        self._connection = connection

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove temporary files; the table cannot be read any more."""
        self._here.close()

    # ---- what each engine does in its own way

    @abstractmethod
    def _pass(self, work: Pass | Write, columns: Sequence[int], small: bool) -> bytes:
        """What `work` makes of all parts, merged in their order; on the workers, unless it is `small`."""

    @abstractmethod
    def _batches(self, columns: Sequence[int], first: int, end: int) -> Iterator[Any]:
        """Record batches of some columns of the rows from `first` to before `end`, in their order.

        No more is brought here at once than the first time somebody asks, and no part as a whole.
        """

    @abstractmethod
    def _lazy(self, work: Mapped, columns: Sequence[int]) -> Any:
        """A data frame of the engine's own, of what is made of each part once somebody asks for it."""

    def _explained(self, error: Exception) -> SourceError:
        """The sentence for what an engine raises."""
        if isinstance(error, SourceError):
            return error
        return SourceError(
            f"{self.description}: {self.engine} cannot read or pass over the rows "
            f"({type(error).__name__}: {_reason(error)}); what it says of its workers tells more."
        )

    # ---- where the rows are

    def each(self, task: Task, merge: Merge, names: Sequence[str] | None = None) -> Any:
        """Run a task over the chunks of each part, on the workers, and merge what comes back, in the order of the rows.

        Parameters
        ----------
        task : callable
            Given a table of some rows and the number of the first of them; sent to the workers as the engine sends
            functions. It returns what `aspca.engines.serialization` can write.
        merge : callable
            Given the results of rows and of those that follow; it may change the first.
        names : sequence of str, optional
            The only columns that are read, so that others need not be; all unless given.

        Raises
        ------
        SourceError
            Rows cannot be read, or are not those of an earlier pass.
        Exception
            Any sentence that the task raises, as it was raised.
        """
        columns = self._chosen(names)
        found, _ = self._gathered(Pass(self._layout.only(columns), self._places, task, merge), columns)
        return found

    def mapped(self, schema: Any, function: Mapping, names: Sequence[str] | None = None) -> Any:
        """A data frame of the engine's own, not computed yet, of the record batches made of each chunk of rows.

        Parameters
        ----------
        schema : pyarrow.Schema
        function : callable
            Given a table of some rows and the number of the first of them, record batches of that schema.
        names : as for `each`
        """
        columns = self._chosen(names)
        return self._lazy(Mapped(self._layout.only(columns), self._places, schema, function), columns)

    def write_parquet(
        self, folder: str | os.PathLike[str], schema: Any, function: Mapping, names: Sequence[str] | None = None
    ) -> int:
        """The same, written by the workers into a folder of Parquet files, a file for each part; returns their rows.

        The folder gets its name when all is written: the whole of it, or nothing.

        Raises
        ------
        OutputError, OSError
            It cannot be written there.
        """
        columns = self._chosen(names)
        mapped = Mapped(self._layout.only(columns), self._places, schema, function)

        def write(place: str) -> dict[int, int]:
            rows, _ = self._gathered(Write(mapped, place), columns)
            return rows or {}

        return write_folder(folder, write)

    def _gathered(
        self, work: Pass | Write, columns: Sequence[int] | None = None, small: bool = False
    ) -> tuple[Any, Outcome]:
        chosen = range(len(self._layout.columns)) if columns is None else columns
        try:
            outcome: Outcome = deserialize(self._pass(work, chosen, small))
        except Exception as error:
            raise self._explained(error) from error
        if outcome.error is not None:
            raise outcome.error
        if self._places.rows is not None and not isinstance(work, Write):
            refuse_unlike(self.description, self._seen, outcome)
        return next(iter(outcome.found), None), outcome

    def _chosen(self, names: Sequence[str] | None) -> list[int]:
        if names is None:
            return list(range(len(self.columns)))
        self._here.cells(names)
        places = {column.name: index for index, column in enumerate(self.columns)}
        return sorted({places[name] for name in names})

    # ---- from here

    def count(self) -> int:
        """Number of rows."""
        return self._here.count()

    def where(self, row: int) -> str:
        """`frame: row 17`."""
        return self._here.where(row)

    def batches(self, names: Sequence[str], size: int = 65536) -> Iterator[Batch]:
        """See `Source.batches`: streamed to this process, part after part."""
        # Refuses what cannot be asked for, at once.
        self._here.batches(names, size)
        return self._numbers(list(names), _narrowed(size, names))

    def _numbers(self, names: list[str], size: int) -> Iterator[Batch]:
        pieces = (batch.values for part, _ in self._parts(names, size) for batch in part.batches(names, size))
        start = 0
        for values in regrouped(pieces, size):
            yield Batch(start, values)
            start += len(values)

    def cells(self, names: Sequence[str], size: int = 65536) -> Iterator[list[tuple[object, ...]]]:
        """See `Source.cells`: streamed to this process, part after part."""
        self._here.cells(names, size)
        size = _narrowed(size, names)
        return (rows for part, _ in self._parts(list(names), size) for rows in part.cells(names, size))

    def picked(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        """See `Source.picked`: only the parts that hold these rows are read, where they are."""
        columns = self._chosen(names)
        if not len(rows):
            return []
        starts = [self._places.start(number) for number in range(len(self._places.rows or ()) + 1)]
        wanted = frozenset(
            number for number, (first, end) in enumerate(pairwise(starts)) if any(first <= row < end for row in rows)
        )
        task = _Picked(tuple(names), tuple(int(row) for row in rows))
        found, _ = self._gathered(Pass(self._layout.only(columns), self._places, task, _joined, wanted), columns)
        return found or []

    def _parts(self, names: list[str], first: int) -> Iterator[tuple[Part, int]]:
        columns = self._chosen(names)
        layout = self._layout.only(columns)
        start = 0
        for chunk in chunks(self._told(columns, first), first):
            with Part(layout, self._connection, chunk, start) as part:
                yield part, start
                start += part.count()
        if start != self.count():
            raise rows_changed_error(self.description, f"there were {self.count():,}, and now there are {start:,}")

    def _told(self, columns: Sequence[int], first: int) -> Iterator[Any]:
        """All rows; the first few on their own, since many ask for no more."""
        count = sum(self._places.rows or ())
        few = min(first, count)
        try:
            for start, end in ((0, few), (few, count)):
                if start < end:
                    yield from self._batches(columns, start, end)
        except Exception as error:
            raise self._explained(error) from error

    def _first(self, names: Sequence[str]) -> Iterator[Any]:
        size = _narrowed(CHUNK_ROWS, names)
        yield from next(chunks(self._told([int(name[1:]) for name in names], size), size), [])


def _narrowed(size: int, names: Sequence[str]) -> int:
    """So many rows, or fewer of many columns: as in `Source.batches`."""
    return max(1, min(size, MOST_CELLS // len(names)))


def _reason(error: Exception) -> str:
    """What an error says, in one line: where it quotes that of a worker, or of Java, what that one says."""
    _, quoting, trace = str(error).partition("Traceback (most recent call last):\n")
    told = next((line for line in trace.splitlines() if line and not line.startswith(" ")), "") if quoting else ""
    _, quoting, cause = str(error).rpartition("\nCaused by: ")
    told = told or (cause if quoting else "")
    return first_line(Exception(told)) if told else first_line(error)


def _count(part: Part, start: int) -> Counts:
    return part.counts()


@dataclass(frozen=True)
class _Picked:
    """Some cells of some rows, by their numbers in the whole table."""

    names: tuple[str, ...]
    rows: tuple[int, ...]

    def __call__(self, part: Part, start: int) -> list[tuple[object, ...]]:
        inside = [row - start for row in self.rows if start <= row < start + part.count()]
        return part.picked(self.names, inside) if inside else []


def _joined(before: list[Any], later: Iterable[Any]) -> list[Any]:
    before.extend(later)
    return before
