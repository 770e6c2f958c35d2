"""What the columns of a statement are: which SQL gives their cells in a plain type, and which gives numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aspca.engines.errors import SourceError
from aspca.engines.postgres.snapshot import Snapshot
from aspca.harmless import for_sql_name, quoted

# Asked about at once: the server allows 1,664 expressions.
COLUMNS_AT_ONCE = 400
_PLAIN = ("int2", "int4", "int8", "float4", "float8")
_DATES = ("date", "timestamp", "timestamptz")
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
class ServerColumn:
    """A column of a relation called q.

    Attributes
    ----------
    cell : str
        SQL that gives its cells in a type that Arrow has.
    number : str
        SQL that gives double precision, as DuckDB makes it of the cells; empty where they are text.
    beyond : bool
        Text, because its integers are beyond what float64 holds.
    """

    name: str
    cell: str
    number: str
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
        columns += _some(snapshot, relation, names[start : start + COLUMNS_AT_ONCE], label)
    return columns


def _some(snapshot: Snapshot, relation: str, names: Sequence[str], label: str) -> list[ServerColumn]:
    types = _types(snapshot, relation, names, label)
    columns = [_column(name, *kind) for name, kind in zip(names, types, strict=True)]
    asked = {index: _doubt(name, types[index][0]) for index, name in enumerate(names)}
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
            columns[index] = replace(columns[index], cell=f"{_named(names[index])}::text", number="", beyond=True)
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
    if several:
        # Arrow's lists are left out, so that none of them need be sent.
        return ServerColumn(name, "NULL::float8[]", "")
    cell = _named(name)
    if kind == "bool":
        return ServerColumn(name, cell, f"{cell}::int4::float8")
    if kind in _PLAIN:
        return ServerColumn(name, cell, f"{cell}::float8")
    if kind in _DATES:
        return ServerColumn(name, cell, f"extract(epoch FROM {cell})::float8")
    if kind == "numeric":
        return ServerColumn(name, f"{cell}::float8", f"{cell}::float8")
    if kind == "money":
        return ServerColumn(name, f"{cell}::numeric::float8", f"{cell}::numeric::float8")
    if kind == "oid":
        return ServerColumn(name, f"{cell}::int8", f"{cell}::int8::float8")
    return ServerColumn(name, f"{cell}::text", "")


def _doubt(name: str, kind: str) -> str:
    """SQL that counts what a type leaves open, empty where it leaves nothing."""
    cell = _named(name)
    if kind == "numeric":
        return _BEYOND.format(c=cell, nearest=_NEAREST.format(d=f"{cell}::float8"))
    return f"count(CASE WHEN NOT isfinite({cell}) THEN 1 END)" if kind in _DATES else ""


def _named(name: str) -> str:
    return f"q.{for_sql_name(name)}"
