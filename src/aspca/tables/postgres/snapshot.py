"""One snapshot of a database, on as many connections as there are readers: whatever others write does not matter."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

from aspca.escaping import for_sql_text
from aspca.tables.errors import SourceError
from aspca.tables.postgres.errors import LOST, connect, lock_timeout, run_explained, server_error

# Rows come by COPY, in record batches of about so many bytes: 100,000 rows of five numbers.
BATCH_BYTES = 4 * 2**20
# Readers wait only for those who change a table as such, which takes a moment; whoever takes longer is stuck.
LONGEST_WAIT = 60
# For this transaction alone. Rows of a table come in the order of its pages, in every pass: no reader joins another's
# scan in the middle, none is cut among workers, and none goes along an index because it asks for few columns.
SETTINGS = (
    "synchronize_seqscans = off",
    "max_parallel_workers_per_gather = 0",
    "enable_indexonlyscan = off",
    # Hundreds of sums are compiled for longer than they run.
    "jit = off",
    # The first connection only holds the snapshot meanwhile.
    "idle_in_transaction_session_timeout = 0",
    # Cells as text read the same whatever the server's habits.
    "TimeZone = 'UTC'",
    "DateStyle = 'ISO'",
    "IntervalStyle = 'postgres'",
    "bytea_output = 'hex'",
    "extra_float_digits = 1",
    "application_name = 'aspca'",
)


class Snapshot:
    """A database as it was when this was made; close it.

    Parameters
    ----------
    address : str
        A URI, or libpq's key=value pairs; what it lacks comes from PG* variables and ~/.pgpass.
    label : str
        What sentences call it, without secrets.

    Raises
    ------
    SourceError
        In one sentence, without secrets.
    """

    def __init__(self, address: str, label: str) -> None:
        self._address, self._label = address, label
        self._lock, self._closed = threading.Lock(), False
        self._idle: list[Any] = []
        self._main = self._begun()
        try:
            self._name = str(self.rows("SELECT pg_export_snapshot()")[0][0])
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str, label: str | None = None) -> list[tuple[Any, ...]]:
        """All rows of a statement that gives few."""
        return run_explained(
            lambda: self._rows(sql), lambda error: self.explained(error, label), self._main.adbc_cancel
        )

    def schema(self, sql: str, label: str | None = None) -> Any:
        """The names and types of a statement's columns, without running it."""

        def asked() -> Any:
            with self._main.cursor() as cursor:
                return cursor.adbc_execute_schema(sql)

        return run_explained(asked, lambda error: self.explained(error, label), self._main.adbc_cancel)

    def batches(self, sql: str, label: str | None = None) -> Iterator[Any]:
        """The rows of a statement as record batches, on a connection that no other reader uses meanwhile."""
        connection, whole = self._taken(), False
        open_things = ExitStack()
        try:

            def begun() -> Any:
                cursor = open_things.enter_context(closing(connection.cursor()))
                cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)})
                cursor.execute(sql)
                return open_things.enter_context(closing(cursor.fetch_record_batch()))

            def explain(error: Exception) -> SourceError:
                return self.explained(error, label)

            reader = run_explained(begun, explain, connection.adbc_cancel)
            while (batch := run_explained(lambda: next(reader, None), explain, connection.adbc_cancel)) is not None:
                yield batch
            whole = True
        finally:
            # In this order: a connection does not close as long as a statement of it is open.
            with suppress(Exception):
                open_things.close()
            self._given_back(connection, whole)

    def explained(self, error: Exception, label: str | None = None) -> SourceError:
        """The sentence for what went wrong."""
        return server_error(label or self._label, error, self._address, LOST)

    def close(self) -> None:
        """Let the server forget the snapshot; readers under way fail."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in (*idle, self._main):
            _ended(connection)

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._main.cursor() as cursor:
            # Not by COPY: the statement is done when it returns, and Ctrl-C ends it.
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            cursor.execute(sql)
            return [tuple(row) for row in cursor.fetchall()]

    def _taken(self) -> Any:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._begun(self._name)

    def _given_back(self, connection: Any, whole: bool) -> None:
        with self._lock:
            keep = whole and not self._closed
            if keep:
                self._idle.append(connection)
        if not keep:
            # In the middle of a COPY there is no other way out.
            _ended(connection)

    def _begun(self, name: str | None = None) -> Any:
        connection = connect(self._address, self._label)

        def apply_settings() -> None:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                if name is not None:
                    cursor.execute(f"SET TRANSACTION SNAPSHOT {for_sql_text(name)}")
                for setting in SETTINGS:
                    cursor.execute(f"SET LOCAL {setting}")
                cursor.execute(lock_timeout(LONGEST_WAIT))

        try:
            run_explained(apply_settings, self.explained, connection.adbc_cancel)
        except BaseException:
            _ended(connection)
            raise
        return connection


def _ended(connection: Any) -> None:
    with suppress(Exception):
        connection.close()
