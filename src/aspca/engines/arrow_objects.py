"""Tables of other libraries that give Arrow record batches: pyarrow's, lazy frames of Polars, relations of DuckDB.

What can be read again is read again in each pass; what can be read only once is kept in a private file meanwhile. Of
neither there is more in memory than some batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from aspca.database import first_line
from aspca.engines.arrow_source import ArrowReading, open_arrow, pyarrow
from aspca.engines.errors import SourceError
from aspca.engines.source import Source
from aspca.outputs.scratch import Scratch

# Rows at once, as everywhere.
ROWS = 65536
# A column takes so much of the memory for batches that wide tables need smaller ones.
CELLS = 4_000_000
_ONLY_ONCE = "if it can be read only once, hand it over before anybody reads it; otherwise write it to a file first"


def open_arrow_table(table: Any, label: str, missing: tuple[str, ...] = ()) -> Source:
    """A table of pyarrow, which may be mapped from a file larger than memory."""

    def read(names: Sequence[str]) -> Iterator[Any]:
        yield from table.select(list(names)).to_batches(max_chunksize=_rows_of(table.schema))

    return _opened(ArrowReading(label, table.schema, read, _failed(label), watched=False), missing, "pyarrow")


def open_arrow_array(array: Any, label: str, missing: tuple[str, ...] = ()) -> Source:
    """Whatever gives an Arrow array of records."""
    pa = pyarrow(label)
    try:
        table = pa.Table.from_batches([pa.record_batch(array)])
    except Exception as error:
        raise _failed(label)(error) from None
    return open_arrow_table(table, label, missing)


def open_arrow_dataset(dataset: Any, label: str, missing: tuple[str, ...] = ()) -> Source:
    """A dataset of pyarrow, scanned in each pass."""

    def read(names: Sequence[str]) -> Iterator[Any]:
        # One thread, and no more ahead than must be: what is ahead is in memory.
        options = {"columns": list(names), "batch_size": _rows_of(dataset.schema), "batch_readahead": 2}
        options |= {"use_threads": False, "fragment_scan_options": _scan_options(dataset)}
        parts = _parts(dataset)
        if parts is None:
            yield from dataset.scanner(fragment_readahead=1, **options).to_batches()
            return
        for part in parts:
            yield from part.to_batches(schema=dataset.schema, **options)

    return _opened(ArrowReading(label, dataset.schema, read, _failed(label)), missing, "pyarrow")


def _parts(dataset: Any) -> Iterator[Any] | None:
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
    explain = _failed(label)
    try:
        schema = frame.collect_schema().to_frame().to_arrow().schema
    except Exception as error:
        raise explain(error) from None

    def read(names: Sequence[str]) -> Iterator[Any]:
        wanted = frame.select(list(names))
        for part in wanted.collect_batches(chunk_size=_rows_of(schema), maintain_order=True, engine="streaming"):
            yield from part.to_arrow().to_batches()

    return _opened(ArrowReading(label, schema, read, explain), missing, "polars")


def open_relation(relation: Any, label: str, missing: tuple[str, ...] = ()) -> Source:
    """A relation of DuckDB, computed once on its own connection.

    Once, since a connection has one open result at a time, and numbers and names of rows are read side by side.
    """
    try:
        reader = relation.to_arrow_reader(ROWS)
    except Exception as error:
        raise _failed(label)(error) from None
    return open_stream(reader, label, missing, "pandas")


def open_stream(stream: Any, label: str, missing: tuple[str, ...] = (), library: str = "pyarrow") -> Source:
    """Whatever gives an Arrow stream, once: it is kept in a private file, and removed with the source."""
    pa = pyarrow(label)
    explain = _failed(label)
    try:
        reader = stream if isinstance(stream, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(stream)
    except Exception as error:
        raise explain(error) from None
    schema = reader.schema
    scratch = Scratch()
    try:
        path = str(scratch.path / "stream.arrow")
        try:
            _write(pa, path, schema, reader)
        except Exception as error:
            raise explain(error) from None
        read = _kept(pa, path, schema)
        return _opened(ArrowReading(label, schema, read, explain, close=scratch.close, watched=False), missing, library)
    except BaseException:
        scratch.close()
        raise


def _write(pa: Any, path: str, schema: Any, batches: Iterable[Any]) -> None:
    size = _rows_of(schema)
    # Dictionaries may grow from batch to batch, which a file cannot hold but a stream can.
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for batch in batches:
            batch.validate(full=True)
            for start in range(0, batch.num_rows, size):
                writer.write_batch(batch.slice(start, size))


def _kept(pa: Any, path: str, schema: Any) -> Callable[[Sequence[str]], Iterator[Any]]:
    places = {name: place for place, name in enumerate(schema.names)}

    def read(names: Sequence[str]) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=sorted(places[name] for name in names))
        # Read, not mapped: its pages are the system's to keep or drop, and never memory of the process.
        with pa.OSFile(path, "rb") as file, pa.ipc.open_stream(file, options=options) as batches:
            yield from batches

    return read


def _opened(reading: ArrowReading, missing: tuple[str, ...], library: str) -> Source:
    source = open_arrow(reading, missing)
    source.library = library
    return source


def _rows_of(schema: Any) -> int:
    return max(1, min(ROWS, CELLS // max(1, len(schema.names))))


def _failed(label: str) -> Callable[[Exception], SourceError]:
    def explain(error: Exception) -> SourceError:
        if isinstance(error, SourceError):
            return error
        if isinstance(error, OSError) and error.errno is not None:
            what = error.strerror or type(error).__name__
            return SourceError(f"{label}: reading failed ({what}); check the disk and the temporary folder.")
        return SourceError(f"{label}: reading it failed ({first_line(error)}); {_ONLY_ONCE}.")

    return explain
