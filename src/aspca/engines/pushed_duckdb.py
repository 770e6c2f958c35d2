"""Moments of a table that DuckDB reads, taken by DuckDB itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from aspca.engines.pushed_moments import DUCKDB, Rows, pushed_moments
from aspca.moments import Moments

if TYPE_CHECKING:
    import duckdb

    from aspca.engines.file_table import FileTable

ROWS_AT_ONCE = 1024


def duckdb_moments(table: FileTable, connection: duckdb.DuckDBPyConnection, columns: Sequence[int]) -> Moments:
    """The moments of some columns of numbers, in this order; see `pushed_moments` for what is refused."""

    def run(expressions: Sequence[str], relation: str, after: str) -> Rows:
        there = replace(table, relation=relation)
        return [row for rows in there.rows(connection, list(expressions), ROWS_AT_ONCE, after) for row in rows]

    numbers = {table.columns[column].name: table.columns[column].number for column in columns}
    return pushed_moments(run, table.relation, numbers, DUCKDB)
