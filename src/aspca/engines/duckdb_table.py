"""A table of a DuckDB file, or the rows of a query: attached read-only, so that columns have the types that it states.

The rows of a query or a view are kept on disk: without an order, or with chance in it, another run may give others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aspca.database import cursor_errors, duckdb_path, first_line, interruptible
from aspca.engines.errors import SourceError
from aspca.engines.file_table import FileTable, unreadable
from aspca.engines.pushed_duckdb import duckdb_moments
from aspca.engines.request import ReadOptions
from aspca.engines.typed_table import typed_table
from aspca.engines.which_table import which_table
from aspca.harmless import for_sql_name, for_sql_text

if TYPE_CHECKING:
    import duckdb

DUCKDB_MAGIC, MAGIC_AT = b"DUCK", 8
# What DuckDB says of a view or a query that would leave its file: see `confine`.
_CONFINED = "disabled by configuration"


def duckdb_table(
    path: Path, label: str, options: ReadOptions, connection: duckdb.DuckDBPyConnection, folder: Path
) -> FileTable:
    """The table or view named by `options.table` (outside of the schema main: schema.name), or the only table; or the
    rows of `options.query`.

    Raises
    ------
    SourceError
        Not a whole DuckDB file of a version that can be read, one that is being written, no such table, or a query that
        fails; see `typed_table`.
    """
    # One name for each file of a source; no user's.
    database = f"file {folder.name}"
    place = for_sql_text(duckdb_path(path.resolve()))
    try:
        connection.execute(f"ATTACH {place} AS {for_sql_name(database)} (READ_ONLY, TYPE duckdb)")
    except (cursor_errors(), RuntimeError) as error:
        raise _explained(label, error) from None
    query = options.query
    if query is None:
        relation, is_view = _chosen(database, label, options.table, connection)
        query = f"SELECT * FROM {relation}" if is_view else None  # noqa: S608  # quoted
    if query is not None:
        relation = _kept(database, label, query, connection, folder)
    try:
        cursor = connection.execute(f"SELECT * FROM {relation} LIMIT 0")  # noqa: S608  # quoted
        names = [str(column[0]).strip() for column in cursor.description or ()]
    except (cursor_errors(), RuntimeError) as error:
        raise _explained(label, error) from None
    names = [one or f"column_{index}" for index, one in enumerate(names, start=1)]
    table = FileTable(label, relation, (), (), 0, lambda error: _explained(label, error), pushed=duckdb_moments)
    return typed_table(table, names, connection)


def _chosen(database: str, label: str, wanted: str | None, connection: duckdb.DuckDBPyConnection) -> tuple[str, bool]:
    """The table or view that is meant, in SQL, and whether it is a view."""
    try:
        found = connection.execute(
            "SELECT table_schema, table_name, table_type = 'VIEW' FROM information_schema.tables "
            "WHERE table_catalog = ? ORDER BY ALL",
            [database],
        ).fetchall()
    except (cursor_errors(), RuntimeError) as error:
        raise _explained(label, error) from None
    there = {(one[1] if one[0] == "main" else f"{one[0]}.{one[1]}"): one for one in found}
    tables, views = ([name for name, one in there.items() if one[2] is view] for view in (False, True))
    schema, name, is_view = there[which_table(tables, wanted, label, "table", views=views)]
    return ".".join(map(for_sql_name, (database, schema, name))), bool(is_view)


def _kept(database: str, label: str, query: str, connection: duckdb.DuckDBPyConnection, folder: Path) -> str:
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
        interruptible(connection, connection.execute, f"CREATE TABLE {kept}.main.found AS (\n{text}\n)")
    except (cursor_errors(), RuntimeError) as error:
        if isinstance(error, SourceError):
            raise
        if _CONFINED in str(error):
            raise _explained(label, error) from None
        raise SourceError(f"{label}: the query fails ({first_line(error)}); correct it.") from None
    finally:
        connection.execute("USE memory")
    return f"{kept}.main.found"


def _explained(label: str, error: Exception) -> SourceError:
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
    return unreadable(label, "a DuckDB file")(error)
