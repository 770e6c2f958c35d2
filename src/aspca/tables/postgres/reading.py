"""A table, a view or a query of PostgreSQL as a source: rows of one snapshot, streamed in the same order each time.

What its columns are says the server: which SQL gives their cells in a type that Arrow has, and which gives numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import Any

from aspca.escaping import for_sql_name, quoted
from aspca.tables.arrow_table import ArrowReading, open_arrow, pyarrow, refuse_repeated
from aspca.tables.errors import SourceError
from aspca.tables.postgres.errors import shown
from aspca.tables.postgres.snapshot import Snapshot
from aspca.tables.postgres.writing import refuse_locked_by
from aspca.tables.request import ReadOptions, which_table
from aspca.tables.source import Source

# What is before the first word of a query: blanks, comments and brackets.
_BEFORE = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_SELECTS = ("select", "with", "values", "table")
# Ordinary and partitioned tables, what is kept of a view, tables of other servers.
_TABLES = ("r", "p", "m", "f")
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


@dataclass(frozen=True)
class Relation:
    """What stands after FROM, called q.

    Attributes
    ----------
    whole : bool
        Whether every pass asks for all columns: whoever asks a view or a query for some may get another plan, and with
        it another order of rows.
    """

    sql: str
    label: str
    whole: bool


def open_postgres(address: str, options: ReadOptions) -> Source:
    """The table `options.table` ("name" or "schema.name"), the rows of `options.query`, or the only table there is.

    All passes see one snapshot: rows that others write meanwhile do not matter. Close the source soon after: as long as
    it is open the server keeps old rows.

    Parameters
    ----------
    address : str
        ``postgresql://user:password@host:port/database``, or libpq's key=value pairs; what it lacks comes from PG*
        variables and ~/.pgpass.

    Raises
    ------
    SourceError
        In one sentence, without secrets.
    """
    label = shown(address)
    with ExitStack() as resources:
        snapshot = resources.enter_context(closing(Snapshot(address, label)))
        relation = _relation(snapshot, options, label)
        everything = snapshot.schema(f"SELECT * FROM {relation.sql}", relation.label)  # noqa: S608  # quoted
        names = [str(name) for name in everything.names]
        if not names:
            raise SourceError(f"{relation.label}: the table has no columns; it must have at least one.")
        refuse_repeated(names, relation.label)
        columns = server_columns(snapshot, relation.sql, names, relation.label)
        if not snapshot.rows(f"SELECT 1 FROM {relation.sql} LIMIT 1", relation.label):  # noqa: S608  # quoted
            raise SourceError(f"{relation.label}: there are columns but no rows; there must be at least one row.")
        reading = _Reading(snapshot, relation, columns).arrow()
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
        relation = _relation(snapshot, options, label)
        snapshot.rows(f"EXPLAIN SELECT * FROM {relation.sql}", relation.label)  # noqa: S608  # quoted
        refuse_locked_by(out, table, int(snapshot.rows("SELECT pg_backend_pid()")[0][0]), relation.label)


class _Reading:
    """A relation of a snapshot as Arrow record batches."""

    def __init__(self, snapshot: Snapshot, relation: Relation, columns: Sequence[ServerColumn]) -> None:
        self._snapshot, self._relation = snapshot, relation
        self._columns = {column.name: column for column in columns}
        self._n_rows: int | None = None

    def arrow(self) -> ArrowReading:
        return ArrowReading(
            self._relation.label,
            self._schema(),
            self._read,
            lambda error: self._snapshot.explained(error, self._relation.label),
            self._snapshot.close,
            # The rows of a table are those of the snapshot, in the order of its pages; a query may give what it likes.
            watched=self._relation.whole,
            beyond=tuple(column.name for column in self._columns.values() if column.beyond),
        )

    def _schema(self) -> Any:
        pa = pyarrow(self._relation.label)
        schema = self._snapshot.schema(self._sql(list(self._columns)), self._relation.label)
        # Without what the driver notes beside the types.
        return pa.schema([pa.field(field.name, field.type) for field in schema])

    def _read(self, names: Sequence[str]) -> Iterator[Any]:
        wanted = list(self._columns) if self._relation.whole else list(names)
        n_rows = 0
        for batch in self._snapshot.batches(self._sql(wanted), self._relation.label):
            n_rows += batch.num_rows
            yield batch
        if self._n_rows is not None and n_rows != self._n_rows:
            raise SourceError(
                f"{self._relation.label}: the query gave {self._n_rows} rows first and {n_rows} later; it must "
                "give the same rows each time, so do without random() and the like."
            )
        self._n_rows = n_rows

    def _sql(self, names: Sequence[str]) -> str:
        cells = [f"{self._columns[name].cell} AS {for_sql_name(name)}" for name in names]
        return f"SELECT {', '.join(cells) or 'true AS row'} FROM {self._relation.sql}"  # noqa: S608  # quoted


def _relation(snapshot: Snapshot, options: ReadOptions, label: str) -> Relation:
    if options.query is None:
        return _table(snapshot, options.table, label)
    _refuse_no_select(options.query, label)
    # On a line of its own, so that a comment at its end ends there.
    return Relation(f"(\n{options.query.strip().rstrip(';')}\n) AS q", f"{label}, query", True)


def _table(snapshot: Snapshot, wanted: str | None, label: str) -> Relation:
    found = snapshot.rows(
        "SELECT n.nspname::text, c.relname::text, c.relkind::text, pg_table_is_visible(c.oid) FROM pg_class AS c "
        "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'm', 'f', 'v') "
        "AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
        "AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%' ORDER BY 1, 2"
    )
    seen = {name: (schema, name, kind) for schema, name, kind, visible in found if visible}
    everything = seen | {f"{schema}.{name}": (schema, name, kind) for schema, name, kind, _ in found}
    if wanted is not None and wanted not in everything:
        everything |= _partition(snapshot, wanted)
    if wanted in everything:
        schema, name, kind = everything[str(wanted)]
    else:
        near = seen if any(kind in _TABLES for _, _, kind in seen.values()) else everything
        tables, views = (
            [name for name, (_, _, kind) in near.items() if (kind in _TABLES) is table] for table in (True, False)
        )
        schema, name, kind = everything[which_table(tables, wanted, label, "table", "the database", views)]
    called = f"{label}, table {quoted(name if seen.get(name) == (schema, name, kind) else f'{schema}.{name}')}"
    return Relation(f"{for_sql_name(schema)}.{for_sql_name(name)} AS q", called, kind not in _TABLES)


def _partition(snapshot: Snapshot, wanted: str) -> dict[str, tuple[str, str, str]]:
    """One partition of a table, which is not offered but can be named."""
    rows = snapshot.rows(
        "SELECT n.nspname::text, c.relname::text, c.relkind::text, pg_table_is_visible(c.oid) FROM pg_class AS c "
        "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relispartition AND c.relkind IN ('r', 'p', 'f')"
    )
    return {
        spelled: (schema, name, kind)
        for schema, name, kind, visible in rows
        for spelled in (f"{schema}.{name}", name if visible else "")
        if spelled == wanted
    }


def _refuse_no_select(query: str, label: str) -> None:
    before = _BEFORE.match(query)
    word = re.match(r"\w*", query[before.end() if before else 0 :])
    if word is None or word[0].lower() not in _SELECTS:
        raise SourceError(
            f"{label}: the query must be one SELECT, which only reads, but it begins with "
            f"{quoted(word[0] if word else '')}; correct it."
        )


# ---- its columns


@dataclass(frozen=True)
class ServerColumn:
    """A column of a relation called q.

    Attributes
    ----------
    cell : str
        SQL that gives its cells in a type that Arrow has.
    beyond : bool
        Text, because its integers are beyond what float64 holds.
    """

    name: str
    cell: str
    beyond: bool = False


def server_columns(snapshot: Snapshot, relation: str, names: Sequence[str], label: str) -> list[ServerColumn]:
    """The columns of `relation`, which stands after FROM and ends with AS q.

    Raises
    ------
    SourceError
        A column of arrays or records, or a date that is infinite.
    """
    columns: list[ServerColumn] = []
    for start in range(0, len(names), COLUMNS_AT_ONCE):
        columns += _columns_at_once(snapshot, relation, names[start : start + COLUMNS_AT_ONCE], label)
    return columns


def _columns_at_once(snapshot: Snapshot, relation: str, names: Sequence[str], label: str) -> list[ServerColumn]:
    types = _types(snapshot, relation, names, label)
    columns = [_column(name, *kind) for name, kind in zip(names, types, strict=True)]
    asked = {index: _check_sql(name, types[index][0]) for index, name in enumerate(names)}
    asked = {index: sql for index, sql in asked.items() if sql}
    if not asked:
        return columns
    found = snapshot.rows(f"SELECT {', '.join(asked.values())} FROM {relation}", label)[0]  # noqa: S608  # quoted
    for index, count in zip(asked, found, strict=True):
        if count and types[index][0] in _DATES:
            raise SourceError(
                f"{label}: column {quoted(names[index])} holds {count} infinite date{'s' if count > 1 else ''}; every "
                "date must be finite, so correct them or leave out their rows by a query."
            )
        if count:
            columns[index] = replace(columns[index], cell=f"{_named(names[index])}::text", beyond=True)
    return columns


def _types(snapshot: Snapshot, relation: str, names: Sequence[str], label: str) -> list[tuple[str, bool]]:
    """The name of each column's type (of a domain, that below it), and whether it is made of several values."""
    listed = ", ".join(f"pg_typeof({_named(name)})::oid::int8" for name in names)
    # One row whatever there is, and nothing is run.
    probe = f"SELECT {listed} FROM (SELECT 1) AS one LEFT JOIN {relation} ON false"  # noqa: S608  # quoted
    oids = [int(oid) for oid in snapshot.rows(probe, label)[0]]
    wanted = ", ".join(map(str, sorted(set(oids))))
    rows = snapshot.rows(
        "WITH RECURSIVE base AS (SELECT oid AS given, typname, typtype, typcategory, typbasetype FROM pg_type "  # noqa: S608  # numbers
        f"WHERE oid IN ({wanted}) UNION ALL SELECT given, t.typname, t.typtype, t.typcategory, t.typbasetype "
        "FROM base JOIN pg_type AS t ON base.typtype = 'd' AND t.oid = base.typbasetype) "
        "SELECT given::int8, typname::text, typcategory = 'A' OR typtype = 'c' OR typname = 'record' FROM base "
        "WHERE typtype <> 'd'",
        label,
    )
    known = {int(oid): (str(name), bool(several)) for oid, name, several in rows}
    return [known[oid] for oid in oids]


def _column(name: str, kind: str, several: bool) -> ServerColumn:
    cell = _named(name)
    if several:
        # Arrow's lists are left out, so that none of them need be sent.
        return ServerColumn(name, "NULL::float8[]")
    return ServerColumn(name, cell if kind in _AS_IT_IS else f"{cell}::{_CASTS.get(kind, 'text')}")


def _check_sql(name: str, kind: str) -> str:
    """SQL that counts what a type leaves open, empty where it leaves nothing."""
    cell = _named(name)
    if kind == "numeric":
        return _BEYOND.format(c=cell, nearest=_NEAREST.format(d=f"{cell}::float8"))
    return f"count(CASE WHEN NOT isfinite({cell}) THEN 1 END)" if kind in _DATES else ""


def _named(name: str) -> str:
    return f"q.{for_sql_name(name)}"
