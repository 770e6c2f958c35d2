"""Columns of a text that are of one kind in every row, in SQL: strict tests of cells, and what is made of them."""

from __future__ import annotations

from aspca.engines.column_counts import BOOLEAN, DATE, PLAIN_DATE
from aspca.engines.file_table import NO_VALUE, FileColumn
from aspca.engines.number_shapes import digits_sql, number_sql

PLAIN_NUMBER = "CAST({c} AS DOUBLE)"
# DuckDB would take 2020_01 for 202001 and +-5 for -5, which no user means; calls are far cheaper than a CASE over 5,000
# columns.
NUMBER = "CAST(replace(replace({c}, '_', 'x'), '+-', 'x') AS DOUBLE)"
COMMA = "CAST(replace(translate({c}, ',._', '.xx'), '+-', 'x') AS DOUBLE)"
SAFE_INTEGER = 2**53


def strict_test(kind: str, decimal: str | None, odd_signs: bool) -> str:
    """The SQL that makes a DOUBLE of a cell {c} of a kind and fails for any other; `odd_signs`: it may hold _ or +."""
    if kind == "number":
        return COMMA if decimal == "," else NUMBER if odd_signs else PLAIN_NUMBER
    test = {"boolean": BOOLEAN, "date": PLAIN_DATE}[kind]
    return f"CASE WHEN {{c}} IS NOT NULL THEN coalesce({test}, error('of another kind')) END"


def assumed_column(index: int, name: str, kind: str, n_rows: int, n_missing: int, decimal: str | None) -> FileColumn:
    """The column of which every cell is missing or of this kind."""
    numbers = {"boolean": BOOLEAN.format(c=f"c{index}"), "date": DATE.format(c=f"c{index}"), "text": ""}
    number = numbers.get(kind, number_sql(f"c{index}", decimal or ".", styled=False))
    return column_of_kind(index, name, kind, number, n_missing, n_rows)


def column_of_kind(index: int, name: str, kind: str, number: str, n_missing: int, n_rows: int) -> FileColumn:
    """The column of these cells, `number` being the SQL of its numbers."""
    if n_missing == n_rows:
        # Beside other files, one in which a column has no values may still be read.
        return FileColumn(name, "text", n_missing, NO_VALUE, f"c{index}", "it has no values")
    cell = f"({number}) = 1.0" if kind == "boolean" else f"c{index}"
    return FileColumn(name, kind, n_missing, "" if kind == "text" else number, cell)


def rounded_sql(cell: str, decimal: str) -> str:
    """The SQL that counts the integers among numbers that are not what float64 makes of them."""
    digits = digits_sql(cell, decimal)
    size = f"TRY_CAST({digits} AS DOUBLE)"
    exact = f"coalesce(TRY_CAST({size} AS HUGEINT) = TRY_CAST({digits} AS HUGEINT), false)"
    whole = f"regexp_full_match({digits}, '[0-9]+')"
    return f"count(CASE WHEN {whole} AND {size} >= {SAFE_INTEGER} AND NOT {exact} THEN 1 END)"
