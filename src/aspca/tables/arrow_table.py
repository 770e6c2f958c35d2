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
from aspca.duckdb_session import describe_briefly
from aspca.escaping import quoted
from aspca.tables.arrow_types import convert_array, note_rounded_decimals, to_readable_type
from aspca.tables.errors import SourceError, join_names
from aspca.tables.file_table import FileTable, explain_unreadable
from aspca.tables.same_rows import SameRows
from aspca.tables.source import Source, open_connection
from aspca.tables.table import BATCH_ROWS, limit_rows
from aspca.tables.typed_table import mark_beyond_float, read_typed_table
from aspca.writers.scratch import Scratch

if TYPE_CHECKING:
    import duckdb

ARROW_MAGIC = b"ARROW1"
OLD_FEATHER_MAGIC = b"FEA1"


@dataclass(frozen=True)
class ArrowReading:
    """Something that can be read as Arrow record batches as often as need be."""

    label: str  # what sentences call it; no secret stands in it
    schema: Any  # pyarrow.Schema of all columns
    # Given names of columns, record batches that have at least these columns, in any order, or just those of the
    # schema: all rows of the table, in the same order each time.
    read: Callable[[Sequence[str]], Iterator[Any]]
    explain: Callable[[Exception], SourceError]  # the sentence for whatever reading raised
    close: Callable[[], None] = lambda: None  # called when the source is closed
    watched: bool = True  # whether passes are compared with each other; False where the rows cannot change
    beyond: tuple[str, ...] = ()  # columns given as text because their integers are beyond what float64 holds
    library: str = "pandas"  # that results are to be of


def open_arrow(reading: ArrowReading, missing: tuple[str, ...] = ()) -> Source:
    """The table that a reading gives."""
    with ExitStack() as resources:
        resources.callback(reading.close)
        connection = open_connection(resources.enter_context(Scratch()))
        resources.callback(connection.close)
        names = [str(name).strip() or f"column_{index}" for index, name in enumerate(reading.schema.names, start=1)]
        refuse_repeated(names, reading.label)
        table = read_typed_table(make_untyped(reading, names), names, connection, missing)
        ours = dict(zip(reading.schema.names, names, strict=True))
        table = mark_beyond_float(table, [ours[name] for name in reading.beyond])
        source = Source([table], connection, resources.pop_all())
    source.library = reading.library
    return source


def refuse_repeated(names: Sequence[str], label: str) -> None:
    """Raise SourceError for a name that several columns have: the source is asked for columns by their names."""
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        places = [str(place) for place, name in enumerate(names, start=1) if name == repeated]
        raise SourceError(
            f"{label}: the name {quoted(repeated)} is given to columns {join_names(places)}; every column needs a name "
            "of its own."
        )


def make_untyped(reading: ArrowReading, names: Sequence[str]) -> FileTable:
    """A reading as a relation of DuckDB, whose columns are called `names`; nothing is known of them yet."""
    pa = load_pyarrow(reading.label)
    readable = pa.schema([pa.field(field.name, to_readable_type(field.type)) for field in reading.schema])
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

    def attach(cursor: duckdb.DuckDBPyConnection, columns: Sequence[int]) -> None:
        # A reader is spent after one query, so that every query gets its own.
        wanted = [reading.schema.names[index] for index in columns]
        cursor.register("arrow_cells", pa.RecordBatchReader.from_batches(readable, read(wanted)))

    def explain(error: Exception) -> SourceError:
        cause = raised.pop() if raised else error
        return cause if isinstance(cause, SourceError) else reading.explain(cause)

    notes = note_rounded_decimals(reading.label, reading.schema, names)
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


def load_pyarrow(label: str, what: str = "it") -> Any:
    """The library pyarrow; SourceError where it is not installed."""
    refuse_small_address_space(LEAST_WITH_ARROW)
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError:
        raise SourceError(
            f"{label}: reading {what} needs pyarrow, which is not installed; run: pip install pyarrow."
        ) from None


def read_arrow_file(
    path: Path, label: str, connection: duckdb.DuckDBPyConnection, folder: Path, missing: tuple[str, ...] = ()
) -> FileTable:
    """The table in an Arrow file (Feather is one) or stream, copied into `folder` unless it is there."""
    pa = load_pyarrow(label, "Arrow files")
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(OLD_FEATHER_MAGIC):
        raise SourceError(f"{label}: this is a Feather file of version 1; write it anew as version 2 or as Parquet.")
    if folder not in path.parents:
        # It is mapped into memory: whoever cut the file short meanwhile would end the process with a signal.
        path = Path(shutil.copyfile(path, folder / "arrow"))
    explain = explain_unreadable(label, "an Arrow file")

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
    return read_typed_table(make_untyped(reading, names), names, connection, missing)


# ---- objects of other libraries


def arrow_reading(source: Any, label: str) -> ArrowReading | None:
    """How an object of another library, told by the names of its types, is read as record batches; None for data frames
    and arrays in memory, and whatever is no table."""
    roots = {kind.__module__.partition(".")[0] for kind in type(source).__mro__}
    name = type(source).__name__
    try:
        if name == "LazyFrame" and "polars" in roots:
            return _read_lazy_polars(source, label)
        if name == "DuckDBPyRelation":
            # Computed once, since a connection has one open result at a time, and numbers and names of rows are read
            # side by side.
            return _spool(source.to_arrow_reader(BATCH_ROWS), label, "pandas")
        if "pyarrow" in roots:
            if name == "Table":
                return _read_table(source, label)
            if name == "RecordBatch":
                return _read_table(load_pyarrow(label).Table.from_batches([source]), label)
            if hasattr(source, "scanner"):
                return _read_dataset(source, label)
            if name in ("Scanner", "RecordBatchReader"):
                # A scanner may be one of a stream, which gives its rows once.
                return _spool(source if name == "RecordBatchReader" else source.to_reader(), label)
        if (known := _ask_narwhals(source)) == "frame":
            return None
        if hasattr(source, "__arrow_c_stream__"):
            return _spool(load_pyarrow(label).RecordBatchReader.from_stream(source), label)
        # An array of pyarrow has it as well, and is no table.
        if hasattr(source, "__arrow_c_array__") and "pyarrow" not in roots:
            pa = load_pyarrow(label)
            return _read_table(pa.Table.from_batches([pa.record_batch(source)]), label)
        return None if known is None else _read_table(known.collect("pyarrow").to_native(), label)
    except MemoryError:
        raise
    except Exception as error:
        raise _explain_as(label)(error) from None


def _ask_narwhals(source: Any) -> Any:
    """A lazy frame of narwhals; "frame" for a data frame whose rows are there, or a column of one; None: not known."""
    import narwhals.stable.v2 as nw

    try:
        known = nw.from_native(source, pass_through=True, allow_series=True)
    except Exception:
        # A data frame all the same, such as one with a name twice: its own sentence comes later.
        return "frame"
    if isinstance(known, nw.LazyFrame):
        return known
    return "frame" if isinstance(known, nw.DataFrame | nw.Series) else None


def _read_table(table: Any, label: str) -> ArrowReading:
    """A table of pyarrow, which may be mapped from a file larger than memory."""

    def read(names: Sequence[str]) -> Iterator[Any]:
        yield from table.select(list(names)).to_batches(max_chunksize=limit_rows(BATCH_ROWS, len(table.schema.names)))

    return ArrowReading(label, table.schema, read, _explain_as(label), watched=False, library="pyarrow")


def _read_dataset(dataset: Any, label: str) -> ArrowReading:
    """A dataset of pyarrow, scanned in each pass."""

    def read(names: Sequence[str]) -> Iterator[Any]:
        options = {"columns": list(names), "batch_size": limit_rows(BATCH_ROWS, len(dataset.schema.names))}
        # One thread, and no more ahead than must be: what is ahead is in memory.
        options |= {"batch_readahead": 2, "use_threads": False}
        if type(getattr(dataset, "format", None)).__name__ == "ParquetFileFormat":
            # Not all that was read is kept until the file ends.
            parquet = import_module("pyarrow.dataset").ParquetFragmentScanOptions(pre_buffer=False)
            options["fragment_scan_options"] = parquet
        try:
            fragments = dataset.get_fragments()
        except ValueError:
            # It has a filter.
            yield from dataset.scanner(fragment_readahead=1, **options).to_batches()
            return
        # One after the other: a scan of the whole reads ahead without an end if whoever takes the rows is slower.
        for fragment in fragments:
            parts = fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else (fragment,)
            for part in parts:
                yield from part.to_batches(schema=dataset.schema, **options)

    return ArrowReading(label, dataset.schema, read, _explain_as(label), library="pyarrow")


def _read_lazy_polars(frame: Any, label: str) -> ArrowReading:
    """A lazy frame of Polars, collected in each pass by its streaming engine, batch by batch and in order."""
    if not hasattr(frame, "collect_batches"):
        raise SourceError(
            f"{label}: lazy frames are read with polars 1.34 or later, which is not installed; run: pip install "
            "'polars>=1.34', or collect the frame first."
        )
    schema = frame.collect_schema().to_frame().to_arrow().schema

    def read(names: Sequence[str]) -> Iterator[Any]:
        size = limit_rows(BATCH_ROWS, len(schema.names))
        wanted = frame.select(list(names))
        for part in wanted.collect_batches(chunk_size=size, maintain_order=True, engine="streaming"):
            yield from part.to_arrow().to_batches()

    return ArrowReading(label, schema, read, _explain_as(label), library="polars")


def _spool(reader: Any, label: str, library: str = "pyarrow") -> ArrowReading:
    """Record batches that come once: they are kept in a private file, and removed with the source."""
    pa = load_pyarrow(label)
    schema = reader.schema
    size = limit_rows(BATCH_ROWS, len(schema.names))
    places = {name: place for place, name in enumerate(schema.names)}
    with ExitStack() as resources:
        path = str(resources.enter_context(Scratch()) / "stream.arrow")
        # Dictionaries may grow from batch to batch, which a file cannot hold but a stream can.
        with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, schema) as writer:
            for batch in reader:
                batch.validate(full=True)
                for start in range(0, batch.num_rows, size):
                    writer.write_batch(batch.slice(start, size))
        close = resources.pop_all().close

    def read(names: Sequence[str]) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=sorted(places[name] for name in names))
        # Read, not mapped: its pages are the system's to keep or drop, and never memory of the process.
        with pa.OSFile(path, "rb") as file, pa.ipc.open_stream(file, options=options) as batches:
            yield from batches

    return ArrowReading(label, schema, read, _explain_as(label), close, watched=False, library=library)


def _explain_as(label: str) -> Callable[[Exception], SourceError]:
    def explain(error: Exception) -> SourceError:
        if isinstance(error, SourceError):
            return error
        if isinstance(error, OSError) and error.errno is not None:
            what = error.strerror or type(error).__name__
            return SourceError(f"{label}: reading failed ({what}); check the disk and the temporary folder.")
        return SourceError(
            f"{label}: reading it failed ({describe_briefly(error)}); if it can be read only once, hand it over before "
            "anybody reads it; otherwise write it to a file first."
        )

    return explain
