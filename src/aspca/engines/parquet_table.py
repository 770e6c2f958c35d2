"""A Parquet file as a table: kinds come from the types it states."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.database import plain_path
from aspca.engines.dialect import refuse_repeated
from aspca.engines.errors import SourceError
from aspca.engines.table import COLUMNS_AT_ONCE, NO_VALUE, Table, TableColumn, unreadable
from aspca.harmless import quoted

if TYPE_CHECKING:
    import duckdb

NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
NESTED = ("STRUCT", "MAP", "UNION", "LIST", "ARRAY", "VARIANT", "JSON", "GEOMETRY")


def parquet_table(path: Path, label: str, connection: duckdb.DuckDBPyConnection) -> Table:
    """The table in a Parquet file.

    Raises
    ------
    SourceError
        Not a whole Parquet file, no rows, a column that holds lists or records, or names that occur twice.
    """
    explain = unreadable(label, "a Parquet file")
    with path.open("rb") as file:
        file.seek(-min(4, path.stat().st_size), os.SEEK_END)
        if file.read() != b"PAR1":
            raise SourceError(
                f"{label}: this Parquet file is cut short, for it does not end with PAR1; copy or write it anew."
            )
    where = plain_path(path)
    schema = Table(label, "parquet_schema(?)", (where,), (), 0, explain)
    # The first entry is the root; the names DuckDB gives to columns differ from the file's where case alone does.
    entries = [row for rows in schema.rows(connection, ["name", "num_children"], 4096) for row in rows][1:]
    for name, children in entries:
        if children:
            raise nested_error(label, name)
    return typed_table(
        Table(label, "read_parquet(?, hive_partitioning = false)", (where,), (), 0, explain),
        [str(name) for name, _ in entries],
        connection,
    )


def typed_table(table: Table, names: list[str], connection: duckdb.DuckDBPyConnection) -> Table:
    """`table`, whose columns have types, with columns called c0, c1, ... and their kinds and missing cells.

    Raises
    ------
    SourceError
        No columns or no rows, a column that holds lists or records, or names that occur twice.
    """
    if not names:
        raise SourceError(f"{table.label}: the file has no columns; it must have at least one.")
    refuse_repeated(names, table.label)
    aliases = ", ".join(f"c{index}" for index in range(len(names)))
    table = replace(table, relation=f"{table.relation} AS cells({aliases})")
    types = [str(row[0]) for row in _described(table, len(names), connection)]
    columns = [_column(index, names[index], kind, table.label) for index, kind in enumerate(types)]
    given: list[int] = []
    n_rows = 0
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        part = range(start, min(start + COLUMNS_AT_ONCE, len(columns)))
        cells = (columns[index].cell if columns[index].kind == "number" else f"c{index}" for index in part)
        n_rows, *found = next(table.rows(connection, ["count(*)", *(f"count({cell})" for cell in cells)], 1))[0]
        given.extend(found)
    if n_rows == 0:
        raise SourceError(f"{table.label}: the file has columns but no rows; it must hold at least one row.")
    counted = (
        replace(column, n_missing=n_rows - count, number=column.number if count else NO_VALUE)
        for column, count in zip(columns, given, strict=True)
    )
    return replace(table, columns=tuple(counted), n_rows=n_rows)


def nested_error(label: str, name: object) -> SourceError:
    """The sentence for a column of lists or records."""
    return SourceError(
        f"{label}: column {quoted(name)} holds lists or records; every cell must be one value, "
        "so leave the column out or split it into columns."
    )


def _described(table: Table, width: int, connection: duckdb.DuckDBPyConnection) -> list[tuple[str]]:
    rows = next(table.rows(connection, [f"typeof(c{index})" for index in range(width)], 1, "LIMIT 1"), None)
    if rows is None:
        raise SourceError(f"{table.label}: the file has columns but no rows; it must hold at least one row.")
    return [(str(kind),) for kind in rows[0]]


def _column(index: int, name: str, kind: str, label: str) -> TableColumn:
    cell = f"c{index}"
    if kind.startswith(NESTED) or kind.endswith("]"):
        raise nested_error(label, name)
    plain = kind.removeprefix("U")
    if plain.startswith(NUMBERS):
        number = f"CAST({cell} AS DOUBLE)"
        # A NaN is a missing value, as in a data frame. Not by nullif: the statistics of Parquet pass over NaN, so that
        # DuckDB takes a comparison with it for always false.
        known = f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"
        return TableColumn(name, "number", 0, number, cell if "INT" in plain else known)
    if kind == "BOOLEAN":
        return TableColumn(name, "boolean", 0, f"CAST({cell} AS DOUBLE)", cell)
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return TableColumn(name, "date", 0, f"epoch_us({cell}) / 1e6", f"CAST({cell} AS VARCHAR)")
    return TableColumn(name, "text", 0, "", f"CAST({cell} AS VARCHAR)")
