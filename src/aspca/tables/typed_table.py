"""Tables whose columns have types (Parquet, Arrow, DuckDB): kinds come from the types that they state."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.tables.cell_tests import parse_numbers
from aspca.tables.column_notes import describe_rounded
from aspca.tables.errors import SourceError
from aspca.tables.file_table import COLUMNS_AT_ONCE, NO_VALUE, FileColumn, FileTable, make_names_unique

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


def read_typed_table(
    table: FileTable, names: list[str], connection: duckdb.DuckDBPyConnection, missing: tuple[str, ...] = ()
) -> FileTable:
    """`table`, whose columns have types, with columns called c0, c1, ... and their kinds and missing cells.

    `missing` are cells that stand for no value: texts, and numbers. Integers that float64 cannot hold are kept as text,
    which is said. Columns of lists or records have no values.
    """
    table, types = shape_columns(table, names, connection, missing)
    return finish_table(table, count_cells(table, types, connection))


@dataclass(frozen=True, eq=False)
class Counts:
    """How many rows there are, and of each column (p, 4): how many cells have a value, how many are no float64 though
    whole, and the least and the largest number, NaN where there is none."""

    n_rows: int
    of_columns: Floats

    def merged(self, later: Counts) -> Counts:
        """Of the rows of both."""
        one, other = self.of_columns, later.of_columns
        both = np.column_stack(
            [one[:, :2] + other[:, :2], np.fmin(one[:, 2], other[:, 2]), np.fmax(one[:, 3], other[:, 3])]
        )
        return Counts(self.n_rows + later.n_rows, both)


def shape_columns(
    table: FileTable, names: list[str], connection: duckdb.DuckDBPyConnection, missing: tuple[str, ...] = ()
) -> tuple[FileTable, list[str]]:
    """`table` with columns as their types tell, nothing counted, and these types; it needs one row, of any content."""
    if not names:
        raise SourceError(f"{table.label}: the file has no columns; it must have at least one.")
    unique, notes = make_names_unique(names, table.label)
    aliases = ", ".join(f"c{index}" for index in range(len(names)))
    table = replace(table, relation=f"{table.relation} AS cells({aliases})", remarks=(*table.remarks, *notes))
    row = next(table.rows(connection, [f"typeof(c{index})" for index in range(len(names))], 1, "LIMIT 1"), None)
    if row is None:
        raise _no_rows_error(table)
    types = [str(kind) for kind in row[0]]
    columns = [_column(index, unique[index], kind) for index, kind in enumerate(types)]
    if missing:
        table = _without_missing(table, columns, missing)
    return replace(table, columns=tuple(columns)), types


def count_cells(table: FileTable, types: list[str], connection: duckdb.DuckDBPyConnection) -> Counts:
    """The counts of a table that has its shape from `shape_columns`, or of a part of its rows."""
    found, n_rows = list[object](), 0
    for start in range(0, len(types), COLUMNS_AT_ONCE):
        part = range(start, min(start + COLUMNS_AT_ONCE, len(types)))
        asked = []
        for index in part:
            column, kind = table.columns[index], types[index]
            # Dates and texts without the cost of writing them out.
            cell = f"c{index}" if column.kind in ("date", "text") and not column.remark else column.cell
            may_be_rounded = column.kind == "number" and kind.removeprefix("U").startswith(LONG)
            number = f"CAST({column.cell} AS DOUBLE)" if column.kind in ("number", "boolean") else NO_VALUE
            rounded = ROUNDED.format(c=f"c{index}") if may_be_rounded else "0"
            asked += [f"count({cell})", rounded, f"min({number})", f"max({number})"]
        (n_rows, *counts), *_ = table.all_rows(connection, ["count(*)", *asked])
        found += counts
    # float64 makes NaN of None.
    return Counts(n_rows, np.array(found, dtype=np.float64).reshape(-1, 4))


def finish_table(table: FileTable, counts: Counts) -> FileTable:
    """A table that has its shape from `shape_columns`, once its rows are counted."""
    n_rows = counts.n_rows
    if n_rows == 0:
        raise _no_rows_error(table)
    columns, beyond = list[FileColumn](), list[str]()
    for index, (column, numbers) in enumerate(zip(table.columns, counts.of_columns.tolist(), strict=True)):
        given, rounded, low, high = numbers
        if not given:
            columns.append(replace(column, n_missing=n_rows, number=NO_VALUE))
            continue
        if rounded:
            column = replace(column, kind="text", number="", cell=f"CAST(c{index} AS VARCHAR)")
            beyond.append(column.name)
        extremes = None if math.isnan(low) else (low, high)
        columns.append(replace(column, n_missing=n_rows - int(given), extremes=extremes))
    return mark_beyond_float(replace(table, columns=tuple(columns), n_rows=n_rows), beyond)


def mark_beyond_float(table: FileTable, names: list[str]) -> FileTable:
    """`table`, which says of these columns of text that their integers are beyond what float64 holds."""
    columns = tuple(replace(one, remark=BEYOND) if one.name in names else one for one in table.columns)
    return replace(table, columns=columns, remarks=(*table.remarks, *describe_rounded(table.label, names)))


def _no_rows_error(table: FileTable) -> SourceError:
    return SourceError(f"{table.label}: the file has columns but no rows; it must hold at least one row.")


def _without_missing(table: FileTable, columns: list[FileColumn], missing: tuple[str, ...]) -> FileTable:
    """`table` with NULL for every cell that was named as missing."""
    place = f"${len(table.parameters) + 1}"
    numbers = ", ".join(f"{number!r}::DOUBLE" for number in parse_numbers(missing))
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
