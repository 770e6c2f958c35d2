"""Record batches into a new table of PostgreSQL, in one transaction: all of them, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from secrets import token_hex
from typing import Any

from aspca.escaping import for_sql_name, for_sql_text, quoted
from aspca.tables.arrow_table import load_pyarrow
from aspca.tables.errors import SourceError
from aspca.tables.postgres.errors import connect, explain_server_error, lock_timeout, run_explained, shown
from aspca.writers.fields import TABLE_MARK
from aspca.writers.replaced_file import OutputError

LOST = "the connection to the server was lost, so that nothing was written; start again when the server is back"
# Whoever waits to replace a table makes all others wait who come to read it.
LONGEST_WAIT = 10
# Names that are longer are cut by the server, in silence.
LONGEST_NAME = 63


def write_postgres(address: str, table: str, schema: Any, batches: Iterable[Any], *, replace: bool = False) -> int:
    """Make a table of record batches; the number of rows.

    `table` is "name", in the first schema of the search path, or "schema.name". With `replace`, one of this name that
    aspca did not write gives way, too; others see the old one until all is written.

    Raises
    ------
    OutputError
        There is a table of this name that aspca did not write, or a view.
    SourceError
        In one sentence, without secrets; nothing is left of the table then, and an old one is as it was. What the
        iterator itself raises comes as it is.
    """
    label = f"{shown(address)}, table {quoted(table)}"
    for name in (*table.split(".", 1), *schema.names):
        if not name or "\0" in name or len(name.encode()) > LONGEST_NAME:
            raise SourceError(
                f"{label}: {quoted(name)} cannot be a name in PostgreSQL; names have 1 to {LONGEST_NAME} bytes, so "
                "rename it."
            )
    connection = connect(address, label)
    n_rows, failed = 0, list[BaseException]()

    def counted() -> Iterator[Any]:
        nonlocal n_rows
        try:
            for batch in batches:
                n_rows += batch.num_rows
                yield batch
        except BaseException as error:
            # What the iterator raises would arrive as the driver's text.
            failed.append(error)
            raise

    reader = load_pyarrow(label).RecordBatchReader.from_batches(schema, counted())
    try:
        run_explained(
            lambda: _write(connection, table, reader, replace, label),
            lambda error: failed[0] if failed else explain_server_error(label, error, address, LOST),
            connection.adbc_cancel,
        )
    except BaseException:
        with suppress(Exception):
            connection.rollback()
        raise
    finally:
        with suppress(Exception):
            connection.close()
    return n_rows


def _write(connection: Any, table: str, reader: Any, replace: bool, label: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(lock_timeout(LONGEST_WAIT))
        schema, name, there = _find(cursor, table)
        if there is not None:
            asked = "SELECT relkind = 'r' AND NOT relispartition, obj_description(oid, 'pg_class') FROM pg_class "
            cursor.execute(f"{asked} WHERE oid = {there}")
            alone, mark = cursor.fetchone()
            if not alone:
                raise OutputError(
                    f"{label}: this is a view or a part of a table, whose place no table should take; name another."
                )
            if mark != TABLE_MARK and not replace:
                raise OutputError(
                    f"{label}: there is a table of this name that aspca did not write; name another with "
                    "--output-table, or replace it with --replace."
                )
        hidden = f"aspca {token_hex(8)}"
        old, new = (f"{for_sql_name(schema)}.{for_sql_name(one)}" for one in (name, hidden))
        if there is not None:
            # What stands in the way is known before any row is judged; until the end others go on reading.
            for statement in ("SAVEPOINT untouched", f"DROP TABLE {old}", "ROLLBACK TO untouched"):
                cursor.execute(statement)
        cursor.adbc_ingest(hidden, reader, mode="create", db_schema_name=schema)
        if there is not None:
            cursor.execute(f"DROP TABLE {old}")
        cursor.execute(f"ALTER TABLE {new} RENAME TO {for_sql_name(name)}")
        cursor.execute(f"COMMENT ON TABLE {old} IS {for_sql_text(TABLE_MARK)}")
    connection.commit()


def _find(cursor: Any, table: str) -> tuple[str, str, int | None]:
    """The schema and the name of a table, and the number that the server has for it, if it is there."""
    schema, dot, name = table.partition(".")
    if not dot:
        cursor.execute("SELECT current_schema()")
        schema, name = str(cursor.fetchone()[0] or "public"), table
    whole = ".".join(map(for_sql_name, (schema, name)))
    cursor.execute(f"SELECT to_regclass({for_sql_text(whole)})::oid::int8")
    found = cursor.fetchone()[0]
    return schema, name, None if found is None else int(found)


def refuse_locked_by(address: str, table: str, backend: int, read: str) -> None:
    """Raise OutputError if a transaction of this server, `backend`, which reads `read`, holds the table that is to be
    written: it would wait for itself."""
    label = f"{shown(address)}, table {quoted(table)}"
    connection = connect(address, label)

    def asked() -> bool:
        with connection.cursor() as cursor:
            number = _find(cursor, table)[2]
            cursor.execute(
                f"SELECT count(*) FROM pg_locks WHERE pid = {backend} AND relation = {number or 0} AND database = "  # noqa: S608
                "(SELECT oid FROM pg_database WHERE datname = current_database())"
            )
            return bool(cursor.fetchone()[0])

    try:
        held = run_explained(asked, lambda error: explain_server_error(label, error, address), connection.adbc_cancel)
    finally:
        with suppress(Exception):
            connection.close()
    if held:
        raise OutputError(
            f"{label}: this table is read from ({read}), so it cannot be replaced as well; name another with "
            "--output-table."
        )
