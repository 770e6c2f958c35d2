"""One snapshot of a database, on as many connections as there are readers: whatever others write does not matter."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any, TypeVar

from aspca.escaping import for_sql_text
from aspca.tables.errors import SourceError
from aspca.tables.postgres.errors import LOST, connect, explain_server_error, lock_timeout, run_explained

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

Result = TypeVar("Result")


class Snapshot:
    """A database as it was when this was made; close it.

    `address` is a URI, or libpq's key=value pairs; sentences call it `label`. SourceError holds no secrets.
    """

    def __init__(self, address: str, label: str) -> None:
        self._address, self._label = address, label
        self._lock, self._closed = threading.Lock(), False
        self._idle: list[Any] = []
        self._main = self._begin()
        try:
            self._name = str(self.rows("SELECT pg_export_snapshot()")[0][0])
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str, label: str | None = None) -> list[tuple[Any, ...]]:
        """All rows of a statement that gives few."""

        def fetch() -> list[tuple[Any, ...]]:
            with self._main.cursor() as cursor:
                # Not by COPY: the statement is done when it returns, and Ctrl-C ends it.
                cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
                cursor.execute(sql)
                return [tuple(row) for row in cursor.fetchall()]

        return self._run(fetch, self._main, label)

    def schema(self, sql: str, label: str | None = None) -> Any:
        """The names and types of a statement's columns, without running it."""

        def ask() -> Any:
            with self._main.cursor() as cursor:
                return cursor.adbc_execute_schema(sql)

        return self._run(ask, self._main, label)

    def batches(self, sql: str, label: str | None = None) -> Iterator[Any]:
        """The rows of a statement as record batches, on a connection that no other reader uses meanwhile."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._begin(self._name)
        whole = False
        open_things = ExitStack()
        try:

            def begin() -> Any:
                cursor = open_things.enter_context(closing(connection.cursor()))
                cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)})
                cursor.execute(sql)
                return open_things.enter_context(closing(cursor.fetch_record_batch()))

            reader = self._run(begin, connection, label)
            while (batch := self._run(lambda: next(reader, None), connection, label)) is not None:
                yield batch
            whole = True
        finally:
            # In this order: a connection does not close as long as a statement of it is open.
            with suppress(Exception):
                open_things.close()
            with self._lock:
                # In the middle of a COPY there is no way out but to close it.
                keep = whole and not self._closed
                if keep:
                    self._idle.append(connection)
            if not keep:
                _end(connection)

    def explained(self, error: Exception, label: str | None = None) -> SourceError:
        """The sentence for what went wrong."""
        return explain_server_error(label or self._label, error, self._address, LOST)

    def close(self) -> None:
        """Let the server forget the snapshot; readers under way fail."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in (*idle, self._main):
            _end(connection)

    def _run(self, work: Callable[[], Result], connection: Any, label: str | None = None) -> Result:
        return run_explained(work, lambda error: self.explained(error, label), connection.adbc_cancel)

    def _begin(self, name: str | None = None) -> Any:
        """A connection that sees the snapshot of this name, or a new one."""
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
            self._run(apply_settings, connection)
        except BaseException:
            _end(connection)
            raise
        return connection


def _end(connection: Any) -> None:
    with suppress(Exception):
        connection.close()
