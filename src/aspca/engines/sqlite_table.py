"""A table of an SQLite file, read by Python's own library: read-only, row by row, nothing of it executed but SELECT."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.engines.cells_as_text import table_of_cells
from aspca.engines.errors import SourceError
from aspca.engines.file_table import make_names_unique, unreadable
from aspca.engines.request import ReadOptions
from aspca.engines.text_table import TextTable
from aspca.engines.which_table import which_table
from aspca.harmless import for_sql_name, for_terminal, quoted

if TYPE_CHECKING:
    import duckdb

SQLITE_MAGIC = b"SQLite format 3\0"
ROWS_AT_ONCE = 10_000
# What SQLite keeps beside a file while it is written: without it the file lacks rows, or holds half of a change.
UNFINISHED = ("-wal", "-journal")
# Bytes 18 and 19 of a file whose newest rows are written to a -wal file first.
WAL_MODE = b"\x02\x02"


def sqlite_table(
    path: Path, label: str, options: ReadOptions, connection: duckdb.DuckDBPyConnection, folder: Path
) -> TextTable:
    """The table or view named by `options.table`, or the only table; or the rows of `options.query`.

    Columns have no types there, only cells: as in CSV, kinds are those of all cells of a column.

    Raises
    ------
    SourceError
        Not a whole SQLite file, one that is being written, no such table, or no rows.
    """
    _refuse_unfinished(path, label)

    def rows() -> Iterator[tuple[object, ...]]:
        with _opened(path) as database:
            yield from _rows(_selected(database, label, options))

    try:
        with _opened(path) as database:
            given = [str(column[0]).strip() for column in _selected(database, label, options).description]
        names, notes = make_names_unique(given, label)
        table = table_of_cells(rows, label, options, connection, folder, names, lambda row: None)
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        raise unreadable(label, "an SQLite file")(error) from None
    return table.then(lambda known: replace(known, remarks=(*notes, *known.remarks)))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A database to read from: immutable, so that nothing is locked and no file is made beside it."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        database.execute("PRAGMA trusted_schema = OFF")
        database.text_factory = lambda text: text.decode("utf-8", errors="replace")
        yield database


def _refuse_unfinished(path: Path, label: str) -> None:
    """Raise SourceError where rows stand in a file beside the database, or may: such a file is called after the name
    by which the database was opened to write it."""
    real = path.resolve()
    found = real.stat()
    names = {real}
    if found.st_nlink > 1:
        with os.scandir(real.parent) as entries:
            names |= {real.with_name(entry.name) for entry in entries if entry.inode() == found.st_ino}
        with path.open("rb") as file:
            in_wal_mode = file.read(20)[18:] == WAL_MODE
        if in_wal_mode and len(names) < found.st_nlink:
            raise SourceError(
                f"{label}: this database has another name in another folder (it is a hard link), and its newest rows "
                "may stand in a file beside that name; give that name, or a copy made by SQLite's VACUUM INTO."
            )
    for beside in (name.with_name(name.name + ending) for name in sorted(names | {path}) for ending in UNFINISHED):
        if beside.exists() and beside.stat().st_size:
            raise SourceError(
                f"{label}: the database is being written, or was left so, for {quoted(beside.name)} stands beside it; "
                "close the program that writes it, or copy the table out of it."
            )


def _selected(database: sqlite3.Connection, label: str, options: ReadOptions) -> sqlite3.Cursor:
    """The rows asked for."""
    if options.query is None:
        tables, views = (_names(database, kind) for kind in ("table", "view"))
        name = which_table(tables, options.table, label, "table", views=views)
        return database.execute(f"SELECT * FROM {for_sql_name(name)}")  # noqa: S608  # quoted
    # Whatever else it asks for, such as another file to attach, is refused.
    allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
    database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY)
    try:
        cursor = database.execute(options.query)
    except (sqlite3.Error, sqlite3.Warning) as error:
        if "not authorized" in str(error) or "one statement" in str(error):
            raise SourceError(f"{label}: --query must be one SELECT and nothing else; correct it.") from None
        raise SourceError(f"{label}: the query fails ({for_terminal(str(error))[:160]}); correct it.") from None
    if cursor.description is None:
        raise SourceError(f"{label}: --query must be one SELECT and nothing else; correct it.")
    return cursor


def _names(database: sqlite3.Connection, kind: str) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = ? AND substr(name, 1, 7) <> 'sqlite_' ORDER BY rowid"
    return [str(name) for (name,) in database.execute(query, [kind])]


def _rows(cursor: sqlite3.Cursor) -> Iterator[tuple[object, ...]]:
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
        yield from rows
