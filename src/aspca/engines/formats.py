"""Which format a file has, by its first bytes and then by its suffix, and the table in it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.engines.arrow_table import ARROW_MAGIC, OLD_FEATHER_MAGIC, arrow_table
from aspca.engines.csv_table import csv_table
from aspca.engines.errors import SourceError
from aspca.engines.json_lines import json_lines_table
from aspca.engines.options import ReadOptions
from aspca.engines.parquet_table import parquet_table
from aspca.engines.paths import Given
from aspca.engines.plain_text import plain_text
from aspca.engines.table import Table
from aspca.engines.unpacking import GZIP, saved_stream, unpacked

if TYPE_CHECKING:
    import duckdb

PARQUET_MAGIC = b"PAR1"
SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
OTHERS = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook; unpack it, or export the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook; export the sheet as CSV"),
    (b"BZh", "packed with bzip2; unpack it first, or use gzip"),
    (b"\xfd7zXZ", "packed with xz; unpack it first, or use gzip"),
    (b"(\xb5/\xfd", "packed with zstd; unpack it first, or use gzip"),
    (b"SQLite format 3", "an SQLite database; export the table as CSV"),
    (b"%PDF", "a PDF document; give a CSV, Parquet, Arrow or JSON lines file"),
    (b"\x89HDF", "an HDF5 file; export the table as CSV or Parquet"),
    (b"\x93NUMPY", "a NumPy array; export the table as CSV or Parquet"),
)


def table_of(given: Given, options: ReadOptions, connection: duckdb.DuckDBPyConnection, scratch: Path) -> Table:
    """The table in one file or stream.

    Raises
    ------
    SourceError
        The file cannot be read, or holds no table.
    """
    try:
        folder = Path(tempfile.mkdtemp(dir=scratch))
        path = saved_stream(given, folder) if given.is_stream or given.path is None else given.path
        name = str(given.path or "")
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
        if packed:
            path, name = unpacked(path, given.label, folder), name.removesuffix(".gz").removesuffix(".GZ")
        return _read(path, given.label, Path(name).suffix.lower(), options, connection, folder)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise SourceError(f"{given.label}: reading failed ({why}); check the disk and the temporary folder.") from None


def _read(
    path: Path,
    label: str,
    suffix: str,
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
) -> Table:
    with path.open("rb") as file:
        head = file.read(64)
    if not head:
        raise SourceError(f"{label}: the file is empty; it must hold at least one row.")
    kind = options.format or _format(head, suffix, label)
    if kind == "parquet":
        if not head.startswith(PARQUET_MAGIC):
            raise SourceError(
                f"{label}: this is not a Parquet file, for it does not begin with PAR1; check its format."
            )
        return parquet_table(path, label, connection)
    if kind == "arrow":
        return arrow_table(path, label, connection)
    plain = plain_text(path, label, options.encoding, folder)
    if kind == "jsonl":
        return json_lines_table(plain, label, connection, folder)
    if kind is None:
        with plain.open("rb") as file:
            if file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b'{"'):
                return json_lines_table(plain, label, connection, folder)
    return csv_table(plain, label, options, connection, folder)


def _format(head: bytes, suffix: str, label: str) -> str | None:
    """The format, or None for text that is CSV unless it begins like JSON."""
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    if head.startswith((ARROW_MAGIC, OLD_FEATHER_MAGIC)):
        return "arrow"
    for magic, what in OTHERS:
        if head.startswith(magic):
            raise SourceError(f"{label}: this is {what}.")
    return SUFFIXES.get(suffix)
