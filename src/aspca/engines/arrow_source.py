"""A table of whatever gives Arrow record batches, each time anew: what a cell means is decided by DuckDB, as for files.

So NULL, NaN, dates, truth values and long integers are the same for every engine that speaks Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from aspca.address_space import LEAST_WITH_ARROW, refuse_small_address_space
from aspca.engines.arrow_types import converted, decimals_to_round, readable_schema, rounded_decimals
from aspca.engines.errors import SourceError, enumerated
from aspca.engines.file_table import FileTable
from aspca.engines.same_rows import SameRows
from aspca.engines.source import Source, connected
from aspca.engines.typed_table import named_beyond, typed_table
from aspca.harmless import quoted
from aspca.moments import Moments
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
    watched : bool
        Whether passes are compared with each other as well (`aspca.engines.same_rows`); False where the rows cannot
        change.
    ordered : bool
        Whether another order of the rows is a change, too.
    beyond : tuple of str
        Columns that are given as text because their integers are beyond what float64 holds, which is said.
    pushed : callable or None
        Given names of columns of numbers, their moments as the engine itself takes them.
    """

    label: str
    schema: Any
    read: Callable[[Sequence[str]], Iterator[Any]]
    explain: Callable[[Exception], SourceError]
    close: Callable[[], None] = lambda: None
    refuse_changed: Callable[[], None] = lambda: None
    watched: bool = True
    ordered: bool = True
    beyond: tuple[str, ...] = ()
    pushed: Callable[[Sequence[str]], Moments] | None = None


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
    refuse_repeated(names, reading.label)
    made = typed_table(untyped(reading, names), names, connection, missing)
    ours = dict(zip(reading.schema.names, names, strict=True))
    return _pushing(named_beyond(made, [ours[name] for name in reading.beyond]), reading)


def refuse_repeated(names: Sequence[str], label: str) -> None:
    """Raise SourceError for a name that several columns have: the source is asked for columns by their names."""
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        places = [str(place) for place, name in enumerate(names, start=1) if name == repeated]
        raise SourceError(
            f"{label}: the name {quoted(repeated)} is given to columns {enumerated(places)}; every column needs a name "
            "of its own."
        )


def untyped(reading: ArrowReading, names: Sequence[str]) -> FileTable:
    """A reading as a relation of DuckDB, whose columns are called `names`."""
    pa = pyarrow(reading.label)
    readable = readable_schema(reading.schema)
    same = SameRows(reading.label, ordered=reading.ordered)
    # DuckDB keeps the words of what was raised inside of it, and no more.
    raised: list[Exception] = []

    def attach(cursor: duckdb.DuckDBPyConnection, columns: Sequence[int] | None = None) -> None:
        # A reader is spent after one query, so that every query gets its own.
        wanted = range(len(names)) if columns is None else columns
        chosen = [reading.schema.names[index] for index in wanted]
        cursor.register("arrow_cells", _reader(pa, reading, readable, chosen, same, raised))

    def explain(error: Exception) -> SourceError:
        cause = raised.pop() if raised else error
        return cause if isinstance(cause, SourceError) else reading.explain(cause)

    def refuse_changed() -> None:
        reading.refuse_changed()
        same.refuse_changed()

    said = rounded_decimals(reading.label, decimals_to_round(reading.schema, names))
    table = FileTable(reading.label, "arrow_cells", (), (), 0, explain, attach, remarks=said)
    return replace(table, refuse_changed=refuse_changed)


def _pushing(table: FileTable, reading: ArrowReading) -> FileTable:
    pushed = reading.pushed
    if pushed is None:
        return table

    def moments(itself: FileTable, connection: duckdb.DuckDBPyConnection, columns: Sequence[int]) -> Moments:
        return pushed([reading.schema.names[column] for column in columns])

    return replace(table, pushed=moments, engine="postgres")


def _reader(
    pa: Any, reading: ArrowReading, schema: Any, wanted: list[str], same: SameRows, raised: list[Exception]
) -> Any:
    """Batches of all columns of the schema, those that nobody wants without any value: columns stand where they did."""
    known = set(wanted)

    def batches() -> Iterator[Any]:
        try:
            # Rows are counted even where no column is needed.
            given = (_whole(pa, batch, schema, known) for batch in reading.read(wanted or schema.names[:1]))
            yield from same.watched(given, wanted) if reading.watched else given
        except Exception as error:
            raised.append(error)
            raise

    return pa.RecordBatchReader.from_batches(schema, batches())


def _whole(pa: Any, batch: Any, schema: Any, known: set[str]) -> Any:
    given = {name: index for index, name in enumerate(batch.schema.names)}
    columns = [
        converted(batch.column(given[field.name]), field.type)
        if field.name in known
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    whole = pa.RecordBatch.from_arrays(columns, schema=schema)
    # A damaged offset would lead DuckDB out of the batch's memory.
    whole.validate(full=True)
    return whole


def pyarrow(label: str) -> Any:
    """The library pyarrow; SourceError where it is not installed."""
    refuse_small_address_space(LEAST_WITH_ARROW)
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError:
        raise SourceError(
            f"{label}: reading it needs pyarrow, which is not installed; run: pip install pyarrow."
        ) from None
