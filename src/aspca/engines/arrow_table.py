"""An Arrow file (Feather is one) or stream as a table, by pyarrow, one record batch in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aspca.engines.errors import SourceError
from aspca.engines.parquet_table import nested_error, typed_table
from aspca.engines.table import Table, unreadable

if TYPE_CHECKING:
    import duckdb

ARROW_MAGIC = b"ARROW1"
OLD_FEATHER_MAGIC = b"FEA1"


def arrow_table(path: Path, label: str, connection: duckdb.DuckDBPyConnection) -> Table:
    """The table in an Arrow file or stream.

    Raises
    ------
    SourceError
        pyarrow is not installed, the file is damaged or of an old version, or see `typed_table`.
    """
    pa = _pyarrow(label)
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(OLD_FEATHER_MAGIC):
        raise SourceError(f"{label}: this is a Feather file of version 1; write it anew as version 2 or as Parquet.")
    is_file = head.startswith(ARROW_MAGIC)
    explain = unreadable(label, "an Arrow file")

    def attach(cursor: duckdb.DuckDBPyConnection) -> None:
        # A reader is spent after one query, so that every query gets its own.
        cursor.register("arrow_cells", _reader(pa, path, is_file))

    try:
        schema = _reader(pa, path, is_file).schema
    except (pa.ArrowException, OSError) as error:
        raise explain(error) from None
    for field in schema:
        if pa.types.is_nested(field.type):
            raise nested_error(label, field.name)
    return typed_table(Table(label, "arrow_cells", (), (), 0, explain, attach), list(schema.names), connection)


def _pyarrow(label: str) -> Any:
    try:
        return import_module("pyarrow")
    except ImportError:
        raise SourceError(
            f"{label}: reading Arrow files needs pyarrow, which is not installed; run: pip install pyarrow."
        ) from None


def _reader(pa: Any, path: Path, is_file: bool) -> Any:
    # Mapped, not read: pages come and go as they are needed.
    mapped = pa.memory_map(str(path))
    if not is_file:
        return pa.ipc.open_stream(mapped)
    file = pa.ipc.open_file(mapped)

    def batches() -> Iterator[Any]:
        for index in range(file.num_record_batches):
            yield file.get_batch(index)

    return pa.RecordBatchReader.from_batches(file.schema, batches())
