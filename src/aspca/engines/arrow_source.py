"""A table of whatever gives Arrow record batches, each time anew: what a cell means is decided by DuckDB, as for files.

So NULL, NaN, dates, truth values and long integers are the same for every engine that speaks Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from aspca.engines.errors import SourceError
from aspca.engines.file_table import FileTable
from aspca.engines.source import Source, connected
from aspca.engines.typed_table import nested_error, typed_table
from aspca.outputs.scratch import Scratch

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class ArrowReading:
    """Something that can be read as Arrow record batches as often as need be.

    Attributes
    ----------
    label : str
        What sentences call it; no secret stands in it.
    schema : pyarrow.Schema
        Of all columns.
    read : callable
        Given names of columns, an iterator over record batches that have at least these columns, in any order: all rows
        of the table, in the same order each time.
    explain : callable
        Turns whatever reading raised into a SourceError.
    close : callable
        Called when the source is closed.
    refuse_changed : callable
        Raises SourceError if the rows are known not to be those of before; called after each pass.
    """

    label: str
    schema: Any
    read: Callable[[Sequence[str]], Iterator[Any]]
    explain: Callable[[Exception], SourceError]
    close: Callable[[], None] = lambda: None
    refuse_changed: Callable[[], None] = lambda: None


def open_arrow(reading: ArrowReading, missing: tuple[str, ...] = ()) -> Source:
    """The table that a reading gives.

    Raises
    ------
    SourceError
        In one sentence: what is wrong with which column or row, and what to do.
    """
    scratch = Scratch()
    connection = None
    try:
        connection = connected(scratch)
        return Source([arrow_reading_table(reading, connection, missing)], connection, scratch, reading.close)
    except BaseException:
        if connection is not None:
            connection.close()
        scratch.close()
        reading.close()
        raise


def arrow_reading_table(
    reading: ArrowReading, connection: duckdb.DuckDBPyConnection, missing: tuple[str, ...] = ()
) -> FileTable:
    """A reading as a table of DuckDB; see `typed_table` for what is refused."""
    names = [str(name).strip() or f"column_{index}" for index, name in enumerate(reading.schema.names, start=1)]
    return replace(
        typed_table(untyped(reading, names), names, connection, missing), refuse_changed=reading.refuse_changed
    )


def untyped(reading: ArrowReading, names: Sequence[str]) -> FileTable:
    """A reading as a relation of DuckDB, whose columns are called `names`; SourceError for lists and records."""
    pa = pyarrow(reading.label)
    for name, field in zip(names, reading.schema, strict=True):
        if pa.types.is_nested(field.type):
            raise nested_error(reading.label, name)

    def attach(cursor: duckdb.DuckDBPyConnection, columns: Sequence[int] | None = None) -> None:
        # A reader is spent after one query, so that every query gets its own.
        wanted = range(len(names)) if columns is None else columns
        cursor.register("arrow_cells", _reader(pa, reading, [reading.schema.names[index] for index in wanted]))

    return FileTable(reading.label, "arrow_cells", (), (), 0, reading.explain, attach)


def _reader(pa: Any, reading: ArrowReading, wanted: list[str]) -> Any:
    """Batches of all columns of the schema, those that nobody wants without any value: columns stand where they did."""
    schema, known = reading.schema, set(wanted)

    def batches() -> Iterator[Any]:
        for batch in reading.read(wanted):
            given = {name: index for index, name in enumerate(batch.schema.names)}
            columns = [
                _as(batch.column(given[field.name]), field.type)
                if field.name in known
                else pa.nulls(batch.num_rows, field.type)
                for field in schema
            ]
            whole = pa.RecordBatch.from_arrays(columns, schema=schema)
            # A damaged offset would lead DuckDB out of the batch's memory.
            whole.validate(full=True)
            yield whole

    return pa.RecordBatchReader.from_batches(schema, batches())


def _as(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind)


def pyarrow(label: str) -> Any:
    """The library pyarrow; SourceError where it is not installed."""
    try:
        return import_module("pyarrow")
    except ImportError:
        raise SourceError(
            f"{label}: reading it needs pyarrow, which is not installed; run: pip install pyarrow."
        ) from None
