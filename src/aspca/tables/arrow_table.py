"""Tables of whatever gives Arrow record batches: Arrow files, pyarrow, lazy frames of Polars, relations of DuckDB.

What a cell means is decided by DuckDB, as for other files: so NULL, NaN, dates, truth values and long integers are the
same for every engine that speaks Arrow. What can be read again is read again in each pass; what can be read only once
is kept in a private file meanwhile. Of neither there is more in memory than some batches, each checked in full before
it is used: a damaged offset would lead DuckDB out of the batch's memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aspca.address_space import LEAST_WITH_ARROW, refuse_small_address_space
from aspca.duckdb_session import first_line
from aspca.escaping import quoted
from aspca.tables.arrow_types import convert_array, find_wide_decimals, note_rounded_decimals, to_readable_schema
from aspca.tables.errors import SourceError, enumerated
from aspca.tables.file_table import FileTable, unreadable
from aspca.tables.same_rows import SameRows
from aspca.tables.source import Source, open_connection
from aspca.tables.table import BATCH_ROWS, rows_at_once
from aspca.tables.typed_table import mark_beyond_float, typed_table
from aspca.writers.scratch import Scratch

if TYPE_CHECKING:
    import duckdb

ARROW_MAGIC = b"ARROW1"
OLD_FEATHER_MAGIC = b"FEA1"
_ONLY_ONCE = "if it can be read only once, hand it over before anybody reads it; otherwise write it to a file first"


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
        Given names of columns, an iterator over record batches that have at least these columns, in any order, or just
        those of the schema: all rows of the table, in the same order each time.
    explain : callable
        Turns whatever reading raised into a SourceError.
    close : callable
        Called when the source is closed.
    watched : bool
        Whether passes are compared with each other (`aspca.tables.same_rows`); False where the rows cannot change.
    beyond : tuple of str
        Columns that are given as text because their integers are beyond what float64 holds, which is said.
    """

    label: str
    schema: Any
    read: Callable[[Sequence[str]], Iterator[Any]]
    explain: Callable[[Exception], SourceError]
    close: Callable[[], None] = lambda: None
    watched: bool = True
    beyond: tuple[str, ...] = ()


def open_arrow(reading: ArrowReading, missing: tuple[str, ...] = (), library: str = "pandas") -> Source:
    """The table that a reading gives; results are to be of the data-frame `library`.

    Raises
    ------
    SourceError
        In one sentence: what is wrong with which column or row, and what to do.
    """
    with ExitStack() as resources:
        resources.callback(reading.close)
        connection = open_connection(resources.enter_context(Scratch()))
        resources.callback(connection.close)
        names = [str(name).strip() or f"column_{index}" for index, name in enumerate(reading.schema.names, start=1)]
        refuse_repeated(names, reading.label)
        table = typed_table(make_untyped(reading, names), names, connection, missing)
        ours = dict(zip(reading.schema.names, names, strict=True))
        table = mark_beyond_float(table, [ours[name] for name in reading.beyond])
        source = Source([table], connection, resources.pop_all())
    source.library = library
    return source


def refuse_repeated(names: Sequence[str], label: str) -> None:
    """Raise SourceError for a name that several columns have: the source is asked for columns by their names."""
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        places = [str(place) for place, name in enumerate(names, start=1) if name == repeated]
        raise SourceError(
            f"{label}: the name {quoted(repeated)} is given to columns {enumerated(places)}; every column needs a name "
            "of its own."
        )


def make_untyped(reading: ArrowReading, names: Sequence[str]) -> FileTable:
    """A reading as a relation of DuckDB, whose columns are called `names`; nothing is known of them yet."""
    pa = pyarrow(reading.label)
    readable = to_readable_schema(reading.schema)
    same = SameRows(reading.label)
    # DuckDB keeps the words of what was raised inside of it, and no more.
    raised: list[Exception] = []

    def read(wanted: list[str]) -> Iterator[Any]:
        """Batches of all columns, those that nobody wants without any value: columns stand where they did."""
        try:
            # Rows are counted even where no column is needed.
            batches = reading.read(wanted or readable.names[:1])
            given = (_complete(pa, batch, readable, set(wanted)) for batch in batches)
            yield from same.watched(given, wanted) if reading.watched else given
        except Exception as error:
            raised.append(error)
            raise

    def attach(cursor: duckdb.DuckDBPyConnection, columns: Sequence[int] | None = None) -> None:
        # A reader is spent after one query, so that every query gets its own.
        wanted = reading.schema.names if columns is None else [reading.schema.names[index] for index in columns]
        cursor.register("arrow_cells", pa.RecordBatchReader.from_batches(readable, read(wanted)))

    def explain(error: Exception) -> SourceError:
        cause = raised.pop() if raised else error
        return cause if isinstance(cause, SourceError) else reading.explain(cause)

    notes = note_rounded_decimals(reading.label, find_wide_decimals(reading.schema, names))
    table = FileTable(reading.label, "arrow_cells", (), (), 0, explain, attach, remarks=notes)
    return replace(table, refuse_changed=same.refuse_changed)


def _complete(pa: Any, batch: Any, schema: Any, known: set[str]) -> Any:
    """A record batch with the columns of a schema: those of `known` names, and no values in the others."""
    batch.validate(full=True)
    given = batch.schema.names
    # By place where the columns are those of the schema: names may occur twice.
    places = None if given == schema.names else {name: place for place, name in enumerate(given)}
    columns = [
        convert_array(batch.column(index if places is None else places[field.name]), field.type)
        if field.name in known
        else pa.nulls(batch.num_rows, field.type)
        for index, field in enumerate(schema)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def pyarrow(label: str, what: str = "it") -> Any:
    """The library pyarrow; SourceError where it is not installed."""
    refuse_small_address_space(LEAST_WITH_ARROW)
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError:
        raise SourceError(
            f"{label}: reading {what} needs pyarrow, which is not installed; run: pip install pyarrow."
        ) from None


# ---- files


def read_arrow_file(
    path: Path, label: str, connection: duckdb.DuckDBPyConnection, folder: Path, missing: tuple[str, ...] = ()
) -> FileTable:
    """The table in an Arrow file (Feather is one) or stream, copied into `folder` unless it is there.

    Raises
    ------
    SourceError
        pyarrow is not installed, the file is damaged or of an old version, or see `typed_table`.
    """
    pa = pyarrow(label, "Arrow files")
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(OLD_FEATHER_MAGIC):
        raise SourceError(f"{label}: this is a Feather file of version 1; write it anew as version 2 or as Parquet.")
    if folder not in path.parents:
        # It is mapped into memory: whoever cut the file short meanwhile would end the process with a signal.
        path = Path(shutil.copyfile(path, folder / "arrow"))
    explain = unreadable(label, "an Arrow file")

    def opened() -> tuple[Any, Iterator[Any]]:
        """Its schema and its record batches."""
        # Mapped, not read: pages come and go as they are needed.
        mapped = pa.memory_map(str(path))
        if head.startswith(ARROW_MAGIC):
            file = pa.ipc.open_file(mapped)
            return file.schema, (file.get_batch(index) for index in range(file.num_record_batches))
        stream = pa.ipc.open_stream(mapped)
        return stream.schema, iter(stream)

    try:
        schema, _ = opened()
        names = list(schema.names)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise explain(error) from None
    reading = ArrowReading(label, schema, lambda names: opened()[1], explain, watched=False)
    return typed_table(make_untyped(reading, names), names, connection, missing)


# ---- objects of other libraries


def open_arrow_table(table: Any, label: str, missing: tuple[str, ...] = ()) -> Source:
    """A table of pyarrow, which may be mapped from a file larger than memory."""

    def read(names: Sequence[str]) -> Iterator[Any]:
        yield from table.select(list(names)).to_batches(max_chunksize=rows_at_once(BATCH_ROWS, len(table.schema.names)))

    return open_arrow(ArrowReading(label, table.schema, read, _explain_as(label), watched=False), missing, "pyarrow")


def open_arrow_array(array: Any, label: str, missing: tuple[str, ...] = ()) -> Source:
    """Whatever gives an Arrow array of records."""
    pa = pyarrow(label)
    try:
        table = pa.Table.from_batches([pa.record_batch(array)])
    except Exception as error:
        raise _explain_as(label)(error) from None
    return open_arrow_table(table, label, missing)


def open_arrow_dataset(dataset: Any, label: str, missing: tuple[str, ...] = ()) -> Source:
    """A dataset of pyarrow, scanned in each pass."""

    def read(names: Sequence[str]) -> Iterator[Any]:
        # One thread, and no more ahead than must be: what is ahead is in memory.
        options = {
            "columns": list(names),
            "batch_size": rows_at_once(BATCH_ROWS, len(dataset.schema.names)),
            "batch_readahead": 2,
        }
        options |= {"use_threads": False, "fragment_scan_options": _scan_options(dataset)}
        parts = _fragments(dataset)
        if parts is None:
            yield from dataset.scanner(fragment_readahead=1, **options).to_batches()
            return
        for part in parts:
            yield from part.to_batches(schema=dataset.schema, **options)

    return open_arrow(ArrowReading(label, dataset.schema, read, _explain_as(label)), missing, "pyarrow")


def _fragments(dataset: Any) -> Iterator[Any] | None:
    """Parts of a dataset to be read one after the other, of Parquet files groups of rows; None where it has a filter.

    A scan of the whole reads ahead without an end if whoever takes the rows is slower.
    """
    try:
        fragments = dataset.get_fragments()
    except ValueError:
        return None
    return (
        part
        for fragment in fragments
        for part in (fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else (fragment,))
    )


def _scan_options(dataset: Any) -> Any:
    """For Parquet files, those that do not keep all that was read until the file ends; None for others."""
    if type(getattr(dataset, "format", None)).__name__ != "ParquetFileFormat":
        return None
    return import_module("pyarrow.dataset").ParquetFragmentScanOptions(pre_buffer=False)


def open_lazy_polars(frame: Any, label: str, missing: tuple[str, ...] = ()) -> Source:
    """A lazy frame of Polars, collected in each pass by its streaming engine, batch by batch and in order."""
    if not hasattr(frame, "collect_batches"):
        raise SourceError(
            f"{label}: lazy frames are read with polars 1.34 or later, which is not installed; run: pip install "
            "'polars>=1.34', or collect the frame first."
        )
    explain = _explain_as(label)
    try:
        schema = frame.collect_schema().to_frame().to_arrow().schema
    except Exception as error:
        raise explain(error) from None

    def read(names: Sequence[str]) -> Iterator[Any]:
        wanted = frame.select(list(names))
        for part in wanted.collect_batches(
            chunk_size=rows_at_once(BATCH_ROWS, len(schema.names)), maintain_order=True, engine="streaming"
        ):
            yield from part.to_arrow().to_batches()

    return open_arrow(ArrowReading(label, schema, read, explain), missing, "polars")


def open_relation(relation: Any, label: str, missing: tuple[str, ...] = ()) -> Source:
    """A relation of DuckDB, computed once on its own connection.

    Once, since a connection has one open result at a time, and numbers and names of rows are read side by side.
    """
    try:
        reader = relation.to_arrow_reader(BATCH_ROWS)
    except Exception as error:
        raise _explain_as(label)(error) from None
    return open_stream(reader, label, missing, "pandas")


def open_stream(stream: Any, label: str, missing: tuple[str, ...] = (), library: str = "pyarrow") -> Source:
    """Whatever gives an Arrow stream, once: it is kept in a private file, and removed with the source."""
    pa = pyarrow(label)
    explain = _explain_as(label)
    try:
        reader = stream if isinstance(stream, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(stream)
    except Exception as error:
        raise explain(error) from None
    with ExitStack() as resources:
        path = str(resources.enter_context(Scratch()) / "stream.arrow")
        try:
            _write_stream(pa, path, reader)
        except Exception as error:
            raise explain(error) from None
        read, close = _reader_of(pa, path, reader.schema), resources.pop_all().close
    return open_arrow(ArrowReading(label, reader.schema, read, explain, close, watched=False), missing, library)


def _write_stream(pa: Any, path: str, batches: Any) -> None:
    size = rows_at_once(BATCH_ROWS, len(batches.schema.names))
    # Dictionaries may grow from batch to batch, which a file cannot hold but a stream can.
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, batches.schema) as writer:
        for batch in batches:
            batch.validate(full=True)
            for start in range(0, batch.num_rows, size):
                writer.write_batch(batch.slice(start, size))


def _reader_of(pa: Any, path: str, schema: Any) -> Callable[[Sequence[str]], Iterator[Any]]:
    places = {name: place for place, name in enumerate(schema.names)}

    def read(names: Sequence[str]) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=sorted(places[name] for name in names))
        # Read, not mapped: its pages are the system's to keep or drop, and never memory of the process.
        with pa.OSFile(path, "rb") as file, pa.ipc.open_stream(file, options=options) as batches:
            yield from batches

    return read


def _explain_as(label: str) -> Callable[[Exception], SourceError]:
    def explain(error: Exception) -> SourceError:
        if isinstance(error, SourceError):
            return error
        if isinstance(error, OSError) and error.errno is not None:
            what = error.strerror or type(error).__name__
            return SourceError(f"{label}: reading failed ({what}); check the disk and the temporary folder.")
        return SourceError(f"{label}: reading it failed ({first_line(error)}); {_ONLY_ONCE}.")

    return explain
