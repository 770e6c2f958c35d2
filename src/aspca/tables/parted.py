"""A table whose rows lie in parts on the machines of an engine: passes run where the rows are.

It is a table like any other too: read from here, it comes part after part, and never as a whole. Workers write a folder
of Parquet files, one for each part: the whole of it or nothing. A worker that dies leaves a file of a hidden name, one
that runs twice replaces its file by the same; the folder gets its name when every part is there.
"""

from __future__ import annotations

import io
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from operator import iadd, or_
from pathlib import Path
from typing import Any

import numpy as np

from aspca.duckdb_session import describe_briefly
from aspca.tables.arrow_table import ArrowReading, load_pyarrow, make_untyped, refuse_repeated
from aspca.tables.errors import SourceError
from aspca.tables.file_table import rebatch
from aspca.tables.parts import (
    CHUNK_ROWS,
    Mapped,
    Mapping,
    Merge,
    Outcome,
    Part,
    Pass,
    TableLayout,
    Task,
    cut_chunks,
    explain_changed_rows,
    refuse_unlike,
)
from aspca.tables.serialization import deserialize, serialize
from aspca.tables.source import Source, open_connection
from aspca.tables.table import Batch, limit_rows
from aspca.tables.typed_table import Counts, finish_table, shape_columns
from aspca.writers.folder import replaced_folder
from aspca.writers.replaced_file import OutputError
from aspca.writers.scratch import Scratch

_HIDDEN = ".part-"


class PartedTable(Source, ABC):
    """A `Source` whose rows are read, and whose passes run, part by part.

    Rows are numbered from 0 in the order of the parts, and in each part as the engine gives them. Columns are called
    c0, c1, ... in `schema`, and `names` by users; cells in `missing` stand for no value.
    """

    engine: str

    def __init__(self, label: str, names: list[str], schema: Any, missing: tuple[str, ...] = ()) -> None:
        pa = load_pyarrow(label)
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
            self._seen = Outcome()
            counts, self._seen = self._reduce(Pass(self._layout, _count, Counts.merged), small=True)
            known = self._seen.rows
            rows = tuple(known.get(number, 0) for number in range(max(known, default=-1) + 1))
            table = finish_table(table, counts or Counts(0, np.empty((0, 4))))

            def read_first(names: Sequence[str]) -> Iterator[Any]:
                size = limit_rows(CHUNK_ROWS, len(names))
                yield from next(cut_chunks(self._stream([int(name[1:]) for name in names], size), size), [])

            # Only what is asked before rows are read: kinds, places and sentences that show a cell.
            first = make_untyped(replace(reading, read=read_first), names)
            super().__init__([replace(table, attach=first.attach)], connection, resources.pop_all())
        self._layout = replace(self._layout, columns=table.columns, rows=rows)

    # ---- what each engine does in its own way

    @abstractmethod
    def _pass(self, work: Pass | Write, columns: Sequence[int], small: bool) -> bytes:
        """What `work` makes of all parts, merged in their order; on the workers, unless it is `small`."""

    @abstractmethod
    def _read_rows(self, columns: Sequence[int], first: int, end: int) -> Iterator[Any]:
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

    def reduce(self, task: Task, merge: Merge, names: Sequence[str] | None = None) -> Any:
        """Run a task over the chunks of each part, on the workers, and merge what comes back, in the order of the rows.

        The task is sent as the engine sends functions, and returns what `aspca.tables.serialization` can write; `merge`
        may change its first argument; `names` are the only columns that are read, all unless given.

        Raises
        ------
        SourceError
            Rows cannot be read, or are not those of an earlier pass.
        Exception
            Any sentence that the task raises, as it was raised.
        """
        columns = self._chosen(names)
        found, _ = self._reduce(Pass(self._layout.only(columns), task, merge), columns)
        return found

    def map(self, schema: Any, function: Mapping, names: Sequence[str] | None = None) -> Any:
        """A data frame of the engine's own, not computed yet, of the record batches made of each chunk of rows."""
        return self._lazy(*self._mapping(schema, function, names))

    def _mapping(self, schema: Any, function: Mapping, names: Sequence[str] | None) -> tuple[Mapped, list[int]]:
        columns = self._chosen(names)
        return Mapped(self._layout.only(columns), schema, function), columns

    def write_parquet(
        self, folder: str | os.PathLike[str], schema: Any, function: Mapping, names: Sequence[str] | None = None
    ) -> int:
        """The same, written by the workers into a folder of Parquet files, a file for each part; returns their rows.

        The folder gets its name when all is written: the whole of it, or nothing.

        Raises
        ------
        OutputError
            Something else stands there, or the workers do not write where this process looks.
        """
        mapped, columns = self._mapping(schema, function, names)
        with replaced_folder(folder) as staged:
            try:
                found, _ = self._reduce(Write(mapped, str(staged)), columns)
            except WriteFailure as error:
                raise OSError(error.number, error.reason, os.fspath(folder)) from error
            for left in staged.glob(f"{_HIDDEN}*"):
                # Of a worker that is no more.
                left.unlink()
            rows: dict[int, int] = found or {}
            if not all((staged / _name(number)).is_file() for number in rows):
                raise OutputError(
                    f"{os.fspath(folder)!r} is not the same folder for this process and for the workers; name one that "
                    "all of them share."
                )
        return sum(rows.values())

    def _reduce(
        self, work: Pass | Write, columns: Sequence[int] | None = None, small: bool = False
    ) -> tuple[Any, Outcome]:
        chosen = range(len(self._layout.columns)) if columns is None else columns
        try:
            outcome: Outcome = deserialize(self._pass(work, chosen, small))
        except Exception as error:
            raise self._explained(error) from error
        if outcome.error is not None:
            raise outcome.error
        if self._layout.rows is not None and not isinstance(work, Write):
            refuse_unlike(self.description, self._seen, outcome)
        return next(iter(outcome.found), None), outcome

    def _chosen(self, names: Sequence[str] | None) -> list[int]:
        if names is None:
            return list(range(len(self.columns)))
        self._check(names, 1)
        places = {column.name: index for index, column in enumerate(self.columns)}
        return sorted({places[name] for name in names})

    # ---- from here: streamed to this process, part after part

    def _batches(self, names: list[str], size: int) -> Iterator[Batch]:
        pieces = (batch.values for part in self._parts(names, size) for batch in part.batches(names, size))
        start = 0
        for values in rebatch(pieces, size):
            yield Batch(start, values)
            start += len(values)

    def _cells(self, names: list[str], size: int) -> Iterator[list[tuple[object, ...]]]:
        return (rows for part in self._parts(names, size) for rows in part.cells(names, size))

    def take(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        """See `Source.picked`: only the parts that hold these rows are read, where they are."""
        columns = self._chosen(names)
        if not len(rows):
            return []
        wanted = frozenset(number for row in rows for number, *_ in self._layout.between(row, row + 1))
        task = partial(_pick, names=tuple(names), rows=tuple(int(row) for row in rows))
        found, _ = self._reduce(Pass(self._layout.only(columns), task, iadd, wanted), columns)
        return found or []

    def _parts(self, names: list[str], first: int) -> Iterator[Part]:
        columns = self._chosen(names)
        layout = self._layout.only(columns)
        start = 0
        for chunk in cut_chunks(self._stream(columns, first), first):
            with Part(layout, self._connection, chunk, start) as part:
                yield part
                start += part.count()
        if start != self.count():
            raise explain_changed_rows(self.description, f"there were {self.count():,}, and now there are {start:,}")

    def _stream(self, columns: Sequence[int], first: int) -> Iterator[Any]:
        """All rows; the first few on their own, since many ask for no more."""
        count = sum(self._layout.rows or ())
        few = min(first, count)
        try:
            for start, end in ((0, few), (few, count)):
                if start < end:
                    yield from self._read_rows(columns, start, end)
        except Exception as error:
            raise self._explained(error) from error


def _reason(error: Exception) -> str:
    """What an error says, in one line: where it quotes that of a worker, or of Java, what that one says."""
    _, quoting, trace = str(error).partition("Traceback (most recent call last):\n")
    words = next((line for line in trace.splitlines() if line and not line.startswith(" ")), "") if quoting else ""
    _, quoting, cause = str(error).rpartition("\nCaused by: ")
    words = words or (cause if quoting else "")
    return describe_briefly(Exception(words)) if words else describe_briefly(error)


def _count(part: Part, start: int) -> Counts:
    return part.counts()


def _pick(part: Part, start: int, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
    """Some cells of some rows, by their numbers in the whole table."""
    inside = [row - start for row in rows if start <= row < start + part.count()]
    return part.take(names, inside) if inside else []


# ---- a folder of Parquet files


class WriteFailure(ValueError):
    """A file that a worker cannot write: `number` is the system's, such as that of a full disk."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number, self.reason = number, reason


@dataclass(frozen=True)
class Write:
    """Writes what is made of the rows of a part into a file of its own; the result is how many rows those are."""

    mapped: Mapped
    folder: str
    merge: Merge = or_

    def __call__(self, number: int, batches: Iterable[Any]) -> bytes:
        outcome = Outcome({number: 0})
        with outcome.catch_sentence():
            written = self._write(number, batches)
            if written:
                outcome.add({number: written}, self.merge)
        return serialize(outcome)

    def _write(self, number: int, batches: Iterable[Any]) -> int:
        parquet = import_module("pyarrow.parquet")
        hidden = os.path.join(self.folder, f"{_HIDDEN}{number:06d}.{secrets.token_hex(8)}")
        written = 0
        try:
            with io.BufferedWriter(_PartFile(hidden, "xb")) as file:
                with parquet.ParquetWriter(file, self.mapped.schema) as writer:
                    for batch in self.mapped(number, batches):
                        written += batch.num_rows
                        writer.write_batch(batch)
                file.flush()
            if written:
                os.replace(hidden, Path(self.folder, _name(number)))
        finally:
            Path(hidden).unlink(missing_ok=True)
        return written


class _PartFile(io.FileIO):
    """A full disk is no fault of the engine's, which is not to try again: it comes back to whoever asked."""

    def __init__(self, path: str, mode: str) -> None:
        try:
            super().__init__(path, mode)
        except OSError as error:
            raise WriteFailure(error.errno or 0, error.strerror or "") from error

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise WriteFailure(error.errno or 0, error.strerror or "") from error


def _name(number: int) -> str:
    return f"part-{number:06d}.parquet"
