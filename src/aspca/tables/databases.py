"""A table of a DuckDB or an SQLite file, or the rows of a query: read-only, and nothing of the file runs but a SELECT.

DuckDB attaches its own files, so that columns have the types that they state. The rows of a query or a view are stored
on disk: without an order, or with chance in it, another run may give others. SQLite is read by Python's own library,
row by row; its columns have no types, only cells: as in CSV, kinds are those of all cells of a column.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.duckdb_session import describe_briefly, duckdb_path, get_error_type, run_interruptibly
from aspca.escaping import for_sql_name, for_sql_text, for_terminal, quoted
from aspca.tables.errors import SourceError
from aspca.tables.file_table import FileTable, explain_unreadable, make_names_unique
from aspca.tables.request import ReadOptions, choose_table
from aspca.tables.text_table import TextTable
from aspca.tables.typed_rows import read_typed_rows
from aspca.tables.typed_table import read_typed_table

if TYPE_CHECKING:
    import duckdb

DUCKDB_MAGIC, MAGIC_AT = b"DUCK", 8
# What DuckDB says of a view or a query that would leave its file: see `confine`.
_CONFINED = "disabled by configuration"
SQLITE_MAGIC = b"SQLite format 3\0"
# Cells of SQLite are Python objects, about 100 bytes each: so many rows of them are in memory at once.
ROWS_AT_ONCE = 10_000
# What SQLite keeps beside a file while it is written: without it the file lacks rows, or holds half of a change.
UNFINISHED = ("-wal", "-journal")
# Bytes 18 and 19 of a file whose newest rows are written to a -wal file first.
WAL_MODE = b"\x02\x02"


# ---- DuckDB


def read_duckdb_file(
    path: Path, label: str, options: ReadOptions, connection: duckdb.DuckDBPyConnection, folder: Path
) -> FileTable:
    """The table or view named by `options.table` (outside of the schema main: schema.name), or the only table; or the
    rows of `options.query`."""
    # One name for each file of a source; no user's.
    database = f"file {folder.name}"
    place = for_sql_text(duckdb_path(path.resolve()))
    try:
        connection.execute(f"ATTACH {place} AS {for_sql_name(database)} (READ_ONLY, TYPE duckdb)")
    except (get_error_type(), RuntimeError) as error:
        raise _explain_duckdb(label, error) from None
    query = options.query
    if query is None:
        relation, is_view = _choose_relation(database, label, options.table, connection)
        query = f"SELECT * FROM {relation}" if is_view else None  # noqa: S608  # quoted
    if query is not None:
        relation = _store_query(database, label, query, connection, folder)
    try:
        cursor = connection.execute(f"SELECT * FROM {relation} LIMIT 0")  # noqa: S608  # quoted
        names = [str(column[0]).strip() for column in cursor.description or ()]
    except (get_error_type(), RuntimeError) as error:
        raise _explain_duckdb(label, error) from None
    names = [one or f"column_{index}" for index, one in enumerate(names, start=1)]
    table = FileTable(label, relation, (), (), 0, lambda error: _explain_duckdb(label, error))
    return read_typed_table(table, names, connection)


def _choose_relation(
    database: str, label: str, wanted: str | None, connection: duckdb.DuckDBPyConnection
) -> tuple[str, bool]:
    """The table or view that is meant, in SQL, and whether it is a view."""
    try:
        found = connection.execute(
            "SELECT table_schema, table_name, table_type = 'VIEW' FROM information_schema.tables "
            "WHERE table_catalog = ? ORDER BY ALL",
            [database],
        ).fetchall()
    except (get_error_type(), RuntimeError) as error:
        raise _explain_duckdb(label, error) from None
    there = {(one[1] if one[0] == "main" else f"{one[0]}.{one[1]}"): one for one in found}
    tables, views = ([name for name, one in there.items() if one[2] is view] for view in (False, True))
    schema, name, is_view = there[choose_table(tables, wanted, label, "table", views=views)]
    return ".".join(map(for_sql_name, (database, schema, name))), bool(is_view)


def _store_query(database: str, label: str, query: str, connection: duckdb.DuckDBPyConnection, folder: Path) -> str:
    """A table of the rows of a query, in a file of its own in `folder`."""
    kept = for_sql_name(f"query {folder.name}")
    try:
        statements = connection.extract_statements(query)
        if [str(statement.type) for statement in statements] != ["StatementType.SELECT"]:
            raise SourceError(f"{label}: --query must be one SELECT and nothing else; correct it.")
        place = for_sql_text(duckdb_path(folder.resolve() / "query.duckdb"))
        connection.execute(f"ATTACH {place} AS {kept} (TYPE duckdb)")
        # Names without more mean tables of the file.
        connection.execute(f"USE {for_sql_name(database)}")
        # It is one SELECT, of the user's own; a remark at its end must not swallow what follows.
        text = statements[0].query.strip().rstrip(";")
        run_interruptibly(connection, connection.execute, f"CREATE TABLE {kept}.main.found AS (\n{text}\n)")
    except (get_error_type(), RuntimeError) as error:
        if isinstance(error, SourceError):
            raise
        if _CONFINED in str(error):
            raise _explain_duckdb(label, error) from None
        raise SourceError(f"{label}: the query fails ({describe_briefly(error)}); correct it.") from None
    finally:
        connection.execute("USE memory")
    return f"{kept}.main.found"


def _explain_duckdb(label: str, error: Exception) -> SourceError:
    if "set lock" in str(error):
        return SourceError(f"{label}: another program is writing this database; close it, or copy the table out of it.")
    if _CONFINED in str(error):
        return SourceError(
            f"{label}: what is asked for reads another file, which a database may not do; read that file itself, or "
            "copy its rows into a table."
        )
    if "newer version" in str(error) or "version number" in str(error):
        return SourceError(
            f"{label}: this database was written by another version of DuckDB than can be read here; install that "
            "version, or export the table as Parquet."
        )
    return explain_unreadable(label, "a DuckDB file")(error)


# ---- SQLite


def read_sqlite_file(
    path: Path, label: str, options: ReadOptions, connection: duckdb.DuckDBPyConnection, folder: Path
) -> TextTable:
    """The table or view named by `options.table`, or the only table; or the rows of `options.query`."""
    _refuse_unfinished(path, label)

    def rows() -> Iterator[tuple[object, ...]]:
        with _open_sqlite(path) as database:
            cursor = _select(database, label, options)
            while part := cursor.fetchmany(ROWS_AT_ONCE):
                yield from part

    try:
        with _open_sqlite(path) as database:
            given = [str(column[0]).strip() for column in _select(database, label, options).description]
        names, notes = make_names_unique(given, label)
        table = read_typed_rows(rows, label, options, connection, folder, names)
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        raise explain_unreadable(label, "an SQLite file")(error) from None
    return table.then(lambda known: replace(known, remarks=(*notes, *known.remarks)))


@contextmanager
def _open_sqlite(path: Path) -> Iterator[sqlite3.Connection]:
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


def _select(database: sqlite3.Connection, label: str, options: ReadOptions) -> sqlite3.Cursor:
    """The rows asked for."""
    if options.query is None:
        listed = "SELECT name FROM sqlite_master WHERE type = ? AND substr(name, 1, 7) <> 'sqlite_' ORDER BY rowid"
        tables, views = ([str(name) for (name,) in database.execute(listed, [kind])] for kind in ("table", "view"))
        name = choose_table(tables, options.table, label, "table", views=views)
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
