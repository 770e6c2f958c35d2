"""A table, a view or a query of PostgreSQL as a source: rows of one snapshot, streamed in the same order each time.

A snapshot is read on as many connections as there are readers: whatever others write does not matter. What its columns
are says the server: which SQL gives their cells in a type that Arrow has, and which gives numbers.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from aspca.escaping import for_sql_name, for_sql_text, quoted
from aspca.tables.arrow_table import ArrowReading, load_pyarrow, open_arrow, refuse_repeated
from aspca.tables.errors import SourceError
from aspca.tables.postgres.errors import LOST, connect, explain_server_error, lock_timeout, run_explained, shown
from aspca.tables.postgres.writing import refuse_locked_by
from aspca.tables.request import ReadOptions, choose_table
from aspca.tables.source import Source

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


# What is before the first word of a query: blanks, comments and brackets.
_BEFORE = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_SELECTS = ("select", "with", "values", "table")
# Ordinary and partitioned tables, what is kept of a view, tables of other servers.
_TABLES = ("r", "p", "m", "f")
_LIST_RELATIONS = (
    "SELECT n.nspname::text, c.relname::text, c.relkind::text, pg_table_is_visible(c.oid) FROM pg_class AS c "
    "JOIN pg_namespace AS n ON n.oid = c.relnamespace"
)
# Asked about at once: the server allows 1,664 expressions.
COLUMNS_AT_ONCE = 400
_DATES = ("date", "timestamp", "timestamptz")
# Types that Arrow has, and what others are sent as; all else is text.
_AS_IT_IS = ("bool", "int2", "int4", "int8", "float4", "float8", *_DATES)
_CASTS = {"numeric": "float8", "money": "numeric::float8", "oid": "int8"}
# An integer as the float64 nearest to it, in all its digits: float8 alone would be turned into 15 of them.
_NEAREST = (
    "trunc({d} / 9223372036854775808)::int8::numeric * 9223372036854775808"
    " + ({d} - trunc({d} / 9223372036854775808) * 9223372036854775808)::int8::numeric"
)
# As in `typed_table`: integers beyond 2^53 that float64 does not hold; beyond 2^126 none is looked at.
_BEYOND = (
    "count(CASE WHEN abs({c}) >= 9007199254740992 AND {c}::text NOT IN ('NaN', 'Infinity', '-Infinity') "
    "AND {c} = trunc({c}) THEN CASE WHEN abs({c}) >= 85070591730234615865843651857942052864 OR {c} <> {nearest} "
    "THEN 1 END END)"
)


class Relation(NamedTuple):
    """What stands after FROM, called q."""

    sql: str
    label: str
    # Whether every pass asks for all columns: whoever asks a view or a query for some may get another plan, and with it
    # another order of rows.
    whole: bool


def open_postgres(address: str, options: ReadOptions) -> Source:
    """The table `options.table` ("name" or "schema.name"), the rows of `options.query`, or the only table there is.

    All passes see one snapshot: rows that others write meanwhile do not matter. Close the source soon after: as long as
    it is open the server keeps old rows. `address` is ``postgresql://user:password@host:port/database``, or libpq's
    key=value pairs; what it lacks comes from PG* variables and ~/.pgpass. SourceError holds no secrets.
    """
    label = shown(address)
    with ExitStack() as resources:
        snapshot = resources.enter_context(closing(Snapshot(address, label)))
        relation = _find_relation(snapshot, options, label)
        everything = snapshot.schema(f"SELECT * FROM {relation.sql}", relation.label)  # noqa: S608  # quoted
        names = [str(name) for name in everything.names]
        if not names:
            raise SourceError(f"{relation.label}: the table has no columns; it must have at least one.")
        refuse_repeated(names, relation.label)
        columns: list[ServerColumn] = []
        for start in range(0, len(names), COLUMNS_AT_ONCE):
            columns += _server_columns(snapshot, relation, names[start : start + COLUMNS_AT_ONCE])
        if not snapshot.rows(f"SELECT 1 FROM {relation.sql} LIMIT 1", relation.label):  # noqa: S608  # quoted
            raise SourceError(f"{relation.label}: there are columns but no rows; there must be at least one row.")
        reading = _read_relation(snapshot, relation, {column.name: column for column in columns})
        # From here on it is closed with the reading.
        resources.pop_all()
    source = open_arrow(reading, options.missing)
    source.engine = "PostgreSQL"
    return source


def refuse_same_table(address: str, options: ReadOptions, out: str, table: str) -> None:
    """Raise OutputError if what is read of one address is, or takes rows from, the table that is written at another.

    The server itself says: a plan of the rows holds the tables that they come from, by whatever names and views.
    """
    label = shown(address)
    with closing(Snapshot(address, label)) as snapshot:
        relation = _find_relation(snapshot, options, label)
        snapshot.rows(f"EXPLAIN SELECT * FROM {relation.sql}", relation.label)  # noqa: S608  # quoted
        refuse_locked_by(out, table, int(snapshot.rows("SELECT pg_backend_pid()")[0][0]), relation.label)


def _read_relation(snapshot: Snapshot, relation: Relation, columns: Mapping[str, ServerColumn]) -> ArrowReading:
    """A relation of a snapshot as Arrow record batches."""
    label = relation.label
    counted: list[int] = []

    def select(names: Iterable[str]) -> str:
        cells = [f"{columns[name].cell} AS {for_sql_name(name)}" for name in names]
        return f"SELECT {', '.join(cells) or 'true AS row'} FROM {relation.sql}"  # noqa: S608  # quoted

    def read(names: Sequence[str]) -> Iterator[Any]:
        n_rows = 0
        for batch in snapshot.batches(select(columns if relation.whole else names), label):
            n_rows += batch.num_rows
            yield batch
        if counted and n_rows != counted[0]:
            raise SourceError(
                f"{label}: the query gave {counted[0]} rows first and {n_rows} later; it must "
                "give the same rows each time, so do without random() and the like."
            )
        counted.append(n_rows)

    pa = load_pyarrow(label)
    # Without what the driver notes beside the types.
    schema = pa.schema([pa.field(field.name, field.type) for field in snapshot.schema(select(columns), label)])
    return ArrowReading(
        label,
        schema,
        read,
        lambda error: snapshot.explained(error, label),
        snapshot.close,
        # The rows of a table are those of the snapshot, in the order of its pages; a query may give what it likes.
        watched=relation.whole,
        beyond=tuple(column.name for column in columns.values() if column.beyond),
    )


def _find_relation(snapshot: Snapshot, options: ReadOptions, label: str) -> Relation:
    if options.query is None:
        return _find_table(snapshot, options.table, label)
    before = _BEFORE.match(options.query)
    word = re.match(r"\w*", options.query[before.end() if before else 0 :])
    if word is None or word[0].lower() not in _SELECTS:
        raise SourceError(
            f"{label}: the query must be one SELECT, which only reads, but it begins with "
            f"{quoted(word[0] if word else '')}; correct it."
        )
    # On a line of its own, so that a comment at its end ends there.
    return Relation(f"(\n{options.query.strip().rstrip(';')}\n) AS q", f"{label}, query", True)


def _find_table(snapshot: Snapshot, wanted: str | None, label: str) -> Relation:
    found = snapshot.rows(
        f"{_LIST_RELATIONS} WHERE c.relkind IN ('r', 'p', 'm', 'f', 'v') "
        "AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
        "AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%' ORDER BY 1, 2"
    )
    seen = {name: (schema, name, kind) for schema, name, kind, visible in found if visible}
    everything = seen | {f"{schema}.{name}": (schema, name, kind) for schema, name, kind, _ in found}
    if wanted is not None and wanted not in everything:
        # One partition of a table is not offered, but can be named.
        parts = snapshot.rows(f"{_LIST_RELATIONS} WHERE c.relispartition AND c.relkind IN ('r', 'p', 'f')")
        for schema, name, kind, visible in parts:
            if wanted in (f"{schema}.{name}", name if visible else None):
                everything[wanted] = schema, name, kind
    if wanted not in everything:
        near = seen if any(kind in _TABLES for _, _, kind in seen.values()) else everything
        tables, views = (
            [name for name, (_, _, kind) in near.items() if (kind in _TABLES) is table] for table in (True, False)
        )
        wanted = choose_table(tables, wanted, label, "table", "the database", views)
    schema, name, kind = everything[wanted]
    called = f"{label}, table {quoted(name if seen.get(name) == (schema, name, kind) else f'{schema}.{name}')}"
    return Relation(f"{for_sql_name(schema)}.{for_sql_name(name)} AS q", called, kind not in _TABLES)


# ---- its columns


@dataclass(frozen=True)
class ServerColumn:
    """A column of a relation called q."""

    name: str
    cell: str  # SQL of its cells in a type that Arrow has
    beyond: bool = False  # text, because its integers are beyond what float64 holds


def _server_columns(snapshot: Snapshot, relation: Relation, names: Sequence[str]) -> list[ServerColumn]:
    """Some columns of a relation; SourceError for a date that is infinite."""
    types = _find_types(snapshot, relation, names)
    asked: dict[int, str] = {}
    for index, (name, (kind, _)) in enumerate(zip(names, types, strict=True)):
        cell = _named(name)
        if kind == "numeric":
            asked[index] = _BEYOND.format(c=cell, nearest=_NEAREST.format(d=f"{cell}::float8"))
        elif kind in _DATES:
            asked[index] = f"count(CASE WHEN NOT isfinite({cell}) THEN 1 END)"
    query = f"SELECT {', '.join(asked.values())} FROM {relation.sql}"  # noqa: S608  # quoted
    counts = dict(zip(asked, snapshot.rows(query, relation.label)[0], strict=True)) if asked else {}
    columns: list[ServerColumn] = []
    for index, (name, (kind, several)) in enumerate(zip(names, types, strict=True)):
        cell, count = _named(name), counts.get(index, 0)
        if count and kind in _DATES:
            raise SourceError(
                f"{relation.label}: column {quoted(name)} holds {count} infinite date{'s' if count > 1 else ''}; every "
                "date must be finite, so correct them or leave out their rows by a query."
            )
        if several:
            # Arrow's lists are left out, so that none of them need be sent.
            cell = "NULL::float8[]"
        elif count or kind not in _AS_IT_IS:
            cell = f"{cell}::{'text' if count else _CASTS.get(kind, 'text')}"
        columns.append(ServerColumn(name, cell, bool(count)))
    return columns


def _find_types(snapshot: Snapshot, relation: Relation, names: Sequence[str]) -> list[tuple[str, bool]]:
    """The name of each column's type (of a domain, that below it), and whether it is made of several values."""
    listed = ", ".join(f"pg_typeof({_named(name)})::oid::int8" for name in names)
    # One row whatever there is, and nothing is run.
    probe = f"SELECT {listed} FROM (SELECT 1) AS one LEFT JOIN {relation.sql} ON false"  # noqa: S608  # quoted
    oids = [int(oid) for oid in snapshot.rows(probe, relation.label)[0]]
    wanted = ", ".join(map(str, sorted(set(oids))))
    rows = snapshot.rows(
        "WITH RECURSIVE base AS (SELECT oid AS given, typname, typtype, typcategory, typbasetype FROM pg_type "  # noqa: S608  # numbers
        f"WHERE oid IN ({wanted}) UNION ALL SELECT given, t.typname, t.typtype, t.typcategory, t.typbasetype "
        "FROM base JOIN pg_type AS t ON base.typtype = 'd' AND t.oid = base.typbasetype) "
        "SELECT given::int8, typname::text, typcategory = 'A' OR typtype = 'c' OR typname = 'record' FROM base "
        "WHERE typtype <> 'd'",
        relation.label,
    )
    known = {int(oid): (str(name), bool(several)) for oid, name, several in rows}
    return [known[oid] for oid in oids]


def _named(name: str) -> str:
    return f"q.{for_sql_name(name)}"
