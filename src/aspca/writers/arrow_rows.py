"""Tables by way of Arrow: record batches, Parquet and Arrow files, written as parts come."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np

from aspca.writers.fields import Field, Part, WritePart, as_texts

# A row group, the unit that is read at once, has at least so many rows, unless they take more than so many bytes.
GROUP_ROWS = 131_072
GROUP_BYTES = 32 * 2**20


def arrow_schema(fields: Sequence[Field]) -> Any:
    """A pyarrow.Schema of columns: int64, double, bool, and text for all else.

    Key columns are text whatever they are in their table: a schema has to be known before the first row is read, and
    text alone keeps an id with leading zeros, a long integer and a date as they are, the same from every engine.
    """
    pa = _pyarrow()
    types = {"integer": pa.int64(), "number": pa.float64(), "truth": pa.bool_()}
    return pa.schema([pa.field(field.name, types.get(field.kind, pa.string())) for field in fields])


def record_batch(fields: Sequence[Field], schema: Any, part: Part) -> Any:
    """A part as a pyarrow.RecordBatch of that schema."""
    pa = _pyarrow()
    arrays = []
    for field, column, kind in zip(fields, part, schema.types, strict=True):
        if not isinstance(column, np.ndarray):
            arrays.append(_texts_or_nothing(pa, field, column, kind))
            continue
        # Of its memory as it is: to be asked for an array of it, pyarrow would load pandas.
        plain = np.packbits(column, bitorder="little") if column.dtype.kind == "b" else np.ascontiguousarray(column)
        arrays.append(pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(plain)]))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _texts_or_nothing(pa: Any, field: Field, column: Sequence[Any], kind: Any) -> Any:
    if kind != pa.string():
        return pa.nulls(len(column), kind)
    texts = as_texts(column) if field.kind == "cell" else column
    encoded = [b"" if text is None else text.encode(errors="backslashreplace") for text in texts]
    ends = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=ends[1:])
    # No more than offsets of a column of text can tell.
    if ends[-1] >= 2**31:
        raise ValueError(f"The cells of column {field.name!r} are too long to be written; leave it out.")
    known = np.packbits([text is not None for text in texts], bitorder="little")
    buffers = [pa.py_buffer(known), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(kind, len(texts), buffers)


@contextlib.contextmanager
def parquet_rows(stream: BinaryIO, fields: Sequence[Field]) -> Iterator[WritePart]:
    """A function that writes parts as row groups of a Parquet file; every page has a checksum."""
    pa, pq = _pyarrow(), import_module("pyarrow.parquet")
    schema = arrow_schema(fields)
    # Numbers that hardly ever come twice gain nothing by a list of them.
    repeated = [field.name for field in fields if field.kind not in ("integer", "number", "truth")]
    made = pq.ParquetWriter(
        stream, schema, compression="zstd", use_dictionary=repeated or False, write_page_checksum=True
    )
    waiting: list[Any] = []

    def flush() -> None:
        table = pa.Table.from_batches(waiting, schema)
        made.write_table(table, row_group_size=max(len(table), 1))
        waiting.clear()

    def write(part: Part) -> None:
        waiting.append(record_batch(fields, schema, part))
        many = sum(batch.num_rows for batch in waiting) >= GROUP_ROWS
        if many or sum(batch.nbytes for batch in waiting) >= GROUP_BYTES:
            flush()

    with _closing(made):
        yield write
        if waiting:
            flush()


@contextlib.contextmanager
def arrow_rows(stream: BinaryIO, fields: Sequence[Field]) -> Iterator[WritePart]:
    """A function that writes parts as record batches of an Arrow file, not compressed, so that it can be mapped."""
    pa = _pyarrow()
    schema = arrow_schema(fields)
    made = pa.ipc.new_file(stream, schema)
    with _closing(made):
        yield lambda part: made.write_batch(record_batch(fields, schema, part))


@contextlib.contextmanager
def _closing(writer: Any) -> Iterator[None]:
    """Close a writer; after an error without a word, for the file goes anyway, and closing would fail like writing."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            writer.close()
        raise
    writer.close()


def _pyarrow() -> Any:
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Writing Arrow files needs pyarrow, which is not installed: pip install pyarrow."
        ) from None
