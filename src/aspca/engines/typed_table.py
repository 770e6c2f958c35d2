"""Tables whose columns have types (Parquet, Arrow, DuckDB): kinds come from the types that they state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aspca.engines.announcements import beyond_numbers
from aspca.engines.errors import SourceError
from aspca.engines.file_table import COLUMNS_AT_ONCE, NO_VALUE, FileColumn, FileTable, make_names_unique
from aspca.engines.missing_words import numbers_named

if TYPE_CHECKING:
    import duckdb

NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
# Integers of these types may be beyond those that float64 holds.
LONG = ("BIGINT", "HUGEINT", "DECIMAL")
ROUNDED = (
    "count(CASE WHEN abs(CAST({c} AS DOUBLE)) >= 9007199254740992 AND {c} = trunc({c}) "
    "AND coalesce(TRY_CAST(CAST({c} AS DOUBLE) AS HUGEINT) <> TRY_CAST({c} AS HUGEINT), true) THEN 1 END)"
)
LISTS = "it holds lists or records"
BEYOND = "its integers are beyond 2^53, so they are no numbers but names"
NESTED = ("STRUCT", "MAP", "UNION", "LIST", "ARRAY", "VARIANT", "JSON", "GEOMETRY")


def typed_table(
    table: FileTable, names: list[str], connection: duckdb.DuckDBPyConnection, missing: tuple[str, ...] = ()
) -> FileTable:
    """`table`, whose columns have types, with columns called c0, c1, ... and their kinds and missing cells.

    Its parameters are $1, $2, ... in its relation. `missing` are cells that stand for no value: texts, and numbers.
    Integers that float64 cannot hold are kept as text, which is said. Columns of lists or records have no values.

    Raises
    ------
    SourceError
        No columns or no rows, or names that occur twice.
    """
    table, types = shape_columns(table, names, connection, missing)
    return finish_table(table, count_cells(table, types, connection))


@dataclass(frozen=True)
class Counts:
    """How many rows there are, and of each column how many have a value, how many are no float64 though whole, and the
    least and the largest number, None where there is none."""

    n_rows: int
    given: list[int]
    rounded: list[int]
    extremes: list[tuple[float, float] | None]

    def merged(self, later: Counts) -> Counts:
        """Of the rows of both."""
        return Counts(
            self.n_rows + later.n_rows,
            [one + other for one, other in zip(self.given, later.given, strict=True)],
            [one + other for one, other in zip(self.rounded, later.rounded, strict=True)],
            [_wider(one, other) for one, other in zip(self.extremes, later.extremes, strict=True)],
        )


def _wider(one: tuple[float, float] | None, other: tuple[float, float] | None) -> tuple[float, float] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def shape_columns(
    table: FileTable, names: list[str], connection: duckdb.DuckDBPyConnection, missing: tuple[str, ...] = ()
) -> tuple[FileTable, list[str]]:
    """`table` with columns as their types tell, nothing counted, and these types; it needs one row, of any content."""
    if not names:
        raise SourceError(f"{table.label}: the file has no columns; it must have at least one.")
    unique, notes = make_names_unique(names, table.label)
    aliases = ", ".join(f"c{index}" for index in range(len(names)))
    table = replace(table, relation=f"{table.relation} AS cells({aliases})", remarks=(*table.remarks, *notes))
    types = [str(row[0]) for row in _described(table, len(names), connection)]
    columns = [_column(index, unique[index], kind) for index, kind in enumerate(types)]
    if missing:
        table = _without_missing(table, columns, missing)
    return replace(table, columns=tuple(columns)), types


def count_cells(table: FileTable, types: list[str], connection: duckdb.DuckDBPyConnection) -> Counts:
    """The counts of a table that has its shape from `shape_columns`, or of a part of its rows."""
    columns = table.columns
    given, rounded, extremes = list[int](), list[int](), list[tuple[float, float] | None]()
    n_rows = 0
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        part = range(start, min(start + COLUMNS_AT_ONCE, len(columns)))
        # Dates and texts without the cost of writing them out.
        written = [columns[index].kind in ("date", "text") and not columns[index].remark for index in part]
        cells = [f"c{index}" if bare else columns[index].cell for index, bare in zip(part, written, strict=True)]
        lost = [
            ROUNDED.format(c=f"c{index}")
            if columns[index].kind == "number" and types[index].removeprefix("U").startswith(LONG)
            else "0"
            for index in part
        ]
        numbers = [
            f"CAST({columns[index].cell} AS DOUBLE)" if columns[index].kind in ("number", "boolean") else NO_VALUE
            for index in part
        ]
        asked = ["count(*)", *(f"count({cell})" for cell in cells), *lost]
        asked += [f"{which}({number})" for which in ("min", "max") for number in numbers]
        n_rows, *found = next(table.rows(connection, asked, 1))[0]
        many = len(part)
        given.extend(found[:many])
        rounded.extend(found[many : 2 * many])
        ends = zip(found[2 * many : 3 * many], found[3 * many :], strict=True)
        extremes.extend(None if low is None else (float(low), float(high)) for low, high in ends)
    return Counts(n_rows, given, rounded, extremes)


def finish_table(table: FileTable, counts: Counts) -> FileTable:
    """A table that has its shape from `shape_columns`, once its rows are counted."""
    n_rows, rounded = counts.n_rows, counts.rounded
    if n_rows == 0:
        raise SourceError(f"{table.label}: the file has columns but no rows; it must hold at least one row.")
    columns = (
        replace(
            _as_text(index, column) if rounded[index] else column,
            n_missing=n_rows - count,
            extremes=counts.extremes[index],
        )
        if count
        else replace(column, n_missing=n_rows, number=NO_VALUE)
        for index, (column, count) in enumerate(zip(table.columns, counts.given, strict=True))
    )
    table = replace(table, columns=tuple(columns), n_rows=n_rows)
    beyond = beyond_numbers(table.label, [table.columns[index].name for index, count in enumerate(rounded) if count])
    return replace(table, remarks=(*table.remarks, *beyond))


def _as_text(index: int, column: FileColumn) -> FileColumn:
    return replace(column, kind="text", number="", cell=f"CAST(c{index} AS VARCHAR)", remark=BEYOND)


def named_beyond(table: FileTable, names: list[str]) -> FileTable:
    """`table`, which says of these columns of text that their integers are beyond what float64 holds."""
    columns = tuple(replace(one, remark=BEYOND) if one.name in names else one for one in table.columns)
    return replace(table, columns=columns, remarks=(*table.remarks, *beyond_numbers(table.label, names)))


def _without_missing(table: FileTable, columns: list[FileColumn], missing: tuple[str, ...]) -> FileTable:
    """`table` with NULL for every cell that was named as missing."""
    place = f"${len(table.parameters) + 1}"
    numbers = ", ".join(f"{number!r}::DOUBLE" for number in numbers_named(missing))
    cells = []
    for index, column in enumerate(columns):
        if column.remark == LISTS:
            cells.append(f"c{index}")
            continue
        test = f"list_contains({place}, trim(CAST(c{index} AS VARCHAR)))"
        if numbers and column.kind == "number":
            test = f"({test} OR coalesce({column.number} IN ({numbers}), false))"
        cells.append(f"CASE WHEN {test} THEN NULL ELSE c{index} END AS c{index}")
    relation = f"(SELECT {', '.join(cells)} FROM {table.relation}) AS known"  # noqa: S608  # our own names only
    return replace(table, relation=relation, parameters=(*table.parameters, list(missing)))


def _described(table: FileTable, width: int, connection: duckdb.DuckDBPyConnection) -> list[tuple[str]]:
    rows = next(table.rows(connection, [f"typeof(c{index})" for index in range(width)], 1, "LIMIT 1"), None)
    if rows is None:
        raise SourceError(f"{table.label}: the file has columns but no rows; it must hold at least one row.")
    return [(str(kind),) for kind in rows[0]]


def _column(index: int, name: str, kind: str) -> FileColumn:
    cell = f"c{index}"
    if kind.startswith(NESTED) or kind.endswith("]"):
        return FileColumn(name, "text", 0, NO_VALUE, "NULL::VARCHAR", LISTS)
    plain = kind.removeprefix("U")
    if plain.startswith(NUMBERS):
        number = f"CAST({cell} AS DOUBLE)"
        # A NaN is a missing value, as in a data frame. Neither by a comparison nor by isnan: the statistics of Parquet
        # pass over NaN, so that DuckDB takes both for always false.
        known = f"CASE WHEN isfinite({number}) OR isinf({number}) THEN {number} END"
        return FileColumn(name, "number", 0, number, cell if "INT" in plain else known)
    if kind == "BOOLEAN":
        return FileColumn(name, "boolean", 0, f"CAST({cell} AS DOUBLE)", cell)
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        # There is no epoch_us of TIMESTAMPTZ_NS.
        stamp = f"CAST({cell} AS TIMESTAMPTZ)" if kind.startswith("TIMESTAMPTZ") else cell
        return FileColumn(name, "date", 0, f"epoch_us({stamp}) / 1e6", f"CAST({cell} AS VARCHAR)")
    return FileColumn(name, "text", 0, "", f"CAST({cell} AS VARCHAR)")
