"""Files as one table: which format a file has, by its first bytes and then by its suffix, and the table in it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.duckdb_session import escape_path, get_error_type
from aspca.escaping import for_terminal
from aspca.tables.arrow_table import ARROW_MAGIC, OLD_FEATHER_MAGIC, read_arrow_file
from aspca.tables.column_kinds import read_text_tables
from aspca.tables.csv_table import read_csv_table
from aspca.tables.databases import DUCKDB_MAGIC, MAGIC_AT, SQLITE_MAGIC, read_duckdb_file, read_sqlite_file
from aspca.tables.errors import SourceError
from aspca.tables.file_bytes import GZIP, decode_text, save_stream, unpack
from aspca.tables.file_table import FileTable
from aspca.tables.json_lines import read_json_lines
from aspca.tables.parquet import read_parquet_file
from aspca.tables.paths import PARQUET_MAGIC, Given, expand
from aspca.tables.request import ReadOptions
from aspca.tables.source import Source, open_connection
from aspca.tables.text_table import TextTable
from aspca.writers.scratch import Scratch

if TYPE_CHECKING:
    import duckdb

SUFFIXES = dict.fromkeys((".parquet", ".pq"), "parquet")
SUFFIXES |= dict.fromkeys((".feather", ".arrow", ".arrows", ".ipc"), "arrow")
SUFFIXES |= dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl")
# Databases, and what they are called.
NAMES = {"duckdb": "DuckDB", "sqlite": "SQLite"}
OTHERS = (
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook, or one with a password; save it as .xlsx without one, or as CSV"),
    (b"BZh", "packed with bzip2; unpack it first, or use gzip"),
    (b"\xfd7zXZ", "packed with xz; unpack it first, or use gzip"),
    (b"(\xb5/\xfd", "packed with zstd; unpack it first, or use gzip"),
    (b"%PDF", "a PDF document; give a table, such as a CSV or an .xlsx file"),
    (b"\x89HDF", "an HDF5 file; export the table as CSV or Parquet"),
    (b"\x93NUMPY", "a NumPy array; export the table as CSV or Parquet"),
)


def open_source(paths: Sequence[str], options: ReadOptions | None = None) -> Source:
    """Open one or more files as one table: CSV, Parquet, Arrow (Feather), JSON lines, .xlsx, .ods, SQLite, DuckDB.

    Parameters
    ----------
    paths : files, globs, folders of Parquet files, addresses of DuckDB and SQLite files, or "-" for standard input;
        the matches of a glob are sorted by name.
    options : see `ReadOptions`.

    SourceError says in one sentence which file, which column or row, what is wrong, what to do.
    """
    given = expand(paths)
    options = options or ReadOptions()
    with ExitStack() as resources:
        scratch = resources.enter_context(Scratch())
        connection = open_connection(scratch, [one.path for one in given if one.path is not None])
        resources.callback(connection.close)
        given = drop_empty_files(given, connection)
        found = [read_table(one, options, connection, scratch) for one in given]
        texts = iter(read_text_tables([one for one in found if isinstance(one, TextTable)], connection))
        tables = [next(texts) if isinstance(one, TextTable) else one for one in found]
        folder = given[0].folder if len(paths) == 1 else None
        return Source(tables, connection, resources.pop_all(), None if folder is None else for_terminal(folder))


def read_table(
    given: Given, options: ReadOptions, connection: duckdb.DuckDBPyConnection, scratch: Path
) -> FileTable | TextTable:
    """The table in one file or stream; a text before it is decided what its columns hold."""
    watched = None if given.is_stream else given.path

    def refuse_changed() -> None:
        if watched is not None and _read_state(watched) != before:
            raise SourceError(
                f"{given.label}: this file was changed while it was read; wait until nobody writes to it, or copy it."
            )

    def watch(known: FileTable) -> FileTable:
        refuse_changed()
        return replace(known, refuse_changed=refuse_changed)

    try:
        # The file is read several times.
        before = None if watched is None else _read_state(watched)
        folder = Path(tempfile.mkdtemp(dir=scratch))
        path = watched or save_stream(given, folder)
        name = str(given.path or "")
        head = _read_head(path)
        if head.startswith(GZIP):
            path, name = unpack(path, given.label, folder), name.removesuffix(".gz").removesuffix(".GZ")
            head = _read_head(path)
        if not head:
            raise SourceError(f"{given.label}: the file is empty; it must hold at least one row.")
        kind = options.format or _find_format(head, path, Path(name).suffix.lower(), given.label)
        if given.format is not None and kind != given.format:
            raise SourceError(
                f"{given.label}: the address says that this is a file of {NAMES[given.format]}, but it is none; give "
                "its path alone to have its format found."
            )
        if kind == "parquet" and not head.startswith(PARQUET_MAGIC):
            raise SourceError(
                f"{given.label}: this is not a Parquet file, for it does not begin with PAR1; check its format."
            )
        table = _read(path, given, kind, options, connection, folder)
        return table.then(watch) if isinstance(table, TextTable) else watch(table)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise SourceError(f"{given.label}: reading failed ({why}); check the disk and the temporary folder.") from None


def drop_empty_files(given: list[Given], connection: duckdb.DuckDBPyConnection) -> list[Given]:
    """The inputs, of folders only the files that have rows: engines write empty ones beside them. All of them where
    none has any, for the sentence that says so; and those whose rows cannot be counted."""
    kept = [one for one in given if one.folder is None or not _has_no_rows(one, connection)]
    return kept or given


def _has_no_rows(given: Given, connection: duckdb.DuckDBPyConnection) -> bool:
    try:
        found = connection.execute("SELECT num_rows FROM parquet_file_metadata(?)", [escape_path(given.path or "")])
        return found.fetchall() == [(0,)]
    except get_error_type():
        return False


def _read_state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _read_head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(64)


def _read(
    path: Path,
    given: Given,
    kind: str | None,
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
) -> FileTable | TextTable:
    label = given.label
    if options.query is not None and kind not in NAMES:
        raise SourceError(
            f"{label}: --query is for databases, which are DuckDB and SQLite files and postgresql:// addresses; leave "
            "it out, or make the table by the query first."
        )
    # Readers of what is not met every day are loaded when it is.
    if kind in ("xlsx", "ods"):
        from aspca.tables.workbook import read_workbook

        return read_workbook(path, label, kind, options, connection, folder)
    if kind == "sqlite":
        return read_sqlite_file(path, label, options, connection, folder)
    if kind == "duckdb":
        return read_duckdb_file(path, label, options, connection, folder)
    if options.table is not None:
        raise SourceError(f"{label}: this file holds one table, so there is none to name; leave out --table.")
    if kind == "parquet":
        return read_parquet_file(path, label, connection, options.missing, given.partitions)
    if kind == "arrow":
        return read_arrow_file(path, label, connection, folder, options.missing)
    text = decode_text(path, label, options.encoding, folder, options.learned.encoding)
    begins_as_object = text.head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b'{"')
    if kind == "jsonl" or (kind is None and begins_as_object):
        return read_json_lines(text, label, options, connection, folder)
    return read_csv_table(text, label, options, connection, folder)


def _find_format(head: bytes, path: Path, suffix: str, label: str) -> str | None:
    """The format, or None for text that is CSV unless it begins like JSON."""
    if head.startswith(b"PK\x03\x04"):
        from aspca.tables.workbook import find_workbook_kind

        return find_workbook_kind(path, label)
    if head.startswith(SQLITE_MAGIC):
        return "sqlite"
    if head[MAGIC_AT:].startswith(DUCKDB_MAGIC):
        return "duckdb"
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    if head.startswith((ARROW_MAGIC, OLD_FEATHER_MAGIC)):
        return "arrow"
    for magic, what in OTHERS:
        if head.startswith(magic):
            raise SourceError(f"{label}: this is {what}.")
    return SUFFIXES.get(suffix)
