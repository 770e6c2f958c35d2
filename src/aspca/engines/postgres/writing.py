"""Record batches into a new table of PostgreSQL, in one transaction: all of them, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from aspca.engines.arrow_source import pyarrow
from aspca.engines.errors import SourceError
from aspca.engines.postgres.errors import adbc_module, connecting_error, server_error, shown, told
from aspca.harmless import for_sql_name, for_sql_text, quoted

LOST = "the connection to the server was lost, so that nothing was written; start again when the server is back"
# Names that are longer are cut by the server, in silence.
LONGEST_NAME = 63


def write_postgres(address: str, table: str, schema: Any, batches: Iterable[Any], *, replace: bool = False) -> int:
    """Make a table of record batches; the number of rows.

    Parameters
    ----------
    address : str
        See `open_postgres`.
    table : str
        "name", in the first schema of the search path, or "schema.name".
    schema : pyarrow.Schema
    batches : iterable of pyarrow.RecordBatch
    replace : bool
        Whether a table of this name gives way; others see the old one until all is written.

    Raises
    ------
    SourceError
        In one sentence, without secrets; nothing is left of the table then, and an old one is as it was. What the
        iterator itself raises comes as it is.
    """
    label = f"{shown(address)}, table {quoted(table)}"
    adbc = adbc_module(label)
    for name in (*_parts(table, label), *schema.names):
        if not name or "\0" in name or len(name.encode()) > LONGEST_NAME:
            raise SourceError(
                f"{label}: {quoted(name)} cannot be a name in PostgreSQL; names have 1 to {LONGEST_NAME} bytes, so "
                "rename it."
            )
    connection = told(lambda: adbc.connect(address), lambda error: connecting_error(label, error))
    counted = _Counted(batches)
    # Batches have Python's own errors, which would arrive as the driver's text.
    reader = pyarrow(label).RecordBatchReader.from_batches(schema, iter(counted))
    try:
        told(
            lambda: _written(connection, _parts(table, label), reader, replace, label),
            lambda error: counted.failed or server_error(label, error, address, LOST),
        )
    except BaseException:
        with suppress(Exception):
            connection.rollback()
        raise
    finally:
        with suppress(Exception):
            connection.close()
    return counted.n_rows


class _Counted:
    """Batches that go by: how many rows they had, and what stopped them."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches, self.n_rows = batches, 0
        self.failed: BaseException | None = None

    def __iter__(self) -> Iterator[Any]:
        try:
            for batch in self._batches:
                self.n_rows += batch.num_rows
                yield batch
        except BaseException as error:
            self.failed = error
            raise


def _written(connection: Any, parts: tuple[str, ...], reader: Any, replace: bool, label: str) -> None:
    whole = ".".join(map(for_sql_name, parts))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT to_regclass({for_sql_text(whole)}) IS NOT NULL")
        there = bool(cursor.fetchone()[0])
        if there and not replace:
            raise SourceError(
                f"{label}: there is a table of this name already; give another name, or ask to replace it."
            )
        if there:
            cursor.execute(f"DROP TABLE {whole}")
        where = {"db_schema_name": parts[0]} if len(parts) == 2 else {}
        cursor.adbc_ingest(parts[-1], reader, mode="create", **where)
    connection.commit()


def _parts(table: str, label: str) -> tuple[str, ...]:
    """The name, or schema and name."""
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else (table,)
