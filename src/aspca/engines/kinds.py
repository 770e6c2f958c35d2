"""Which kind of values the columns of a text file hold: guessed from the first rows, decided by a pass over all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aspca.engines.errors import SourceError
from aspca.engines.file_table import COLUMNS_AT_ONCE, NO_VALUE, FileColumn, FileTable
from aspca.harmless import quoted

if TYPE_CHECKING:
    import duckdb

PLAIN_NUMBER = "TRY_CAST({c} AS DOUBLE)"
# DuckDB would take 2020_01 for 202001, which no user means; one call is far cheaper than a CASE over 5,000 columns.
NUMBER = "TRY_CAST(replace({c}, '_', 'x') AS DOUBLE)"
COMMA = "TRY_CAST(translate({c}, ',._', '.xx') AS DOUBLE)"
BOOLEAN = "CASE lower(trim({c})) WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE END"
# As TIMESTAMPTZ in a session in UTC: an offset is heeded, and without one the time is taken for UTC. By microseconds,
# because their quotient is rounded once.
DATE = "CASE WHEN regexp_matches({c}, '^\\s*[0-9]') THEN epoch_us(TRY_CAST({c} AS TIMESTAMPTZ)) / 1e6 END"
# 1,234 may be a thousand or one and a bit.
THOUSANDS = "CASE WHEN regexp_full_match(trim({c}), '[+-]?[1-9][0-9]{{0,2}}(,[0-9]{{3}})+') THEN 1 END"
PLURALS = {"number": "numbers", "comma": "numbers", "boolean": "truth values", "date": "dates"}
Counts = dict[str, int]


def decide(
    table: FileTable, names: tuple[str, ...], guesses: tuple[str, ...], connection: duckdb.DuckDBPyConnection
) -> FileTable:
    """`table` with its columns and number of rows: one pass for good guesses, a second for columns that failed.

    A column is of a kind where all its cells are; a decimal comma that could as well separate thousands in every
    such column (1,234) makes text.
    """
    tests = tests_for(table.decimal)
    asked: dict[int, list[str]] = {}
    for index, guess in enumerate(guesses):
        asked[index] = [] if guess == "text" else [guess] if guess in tests else list(tests)
    n_rows, counts = _count(table, asked, connection)
    failed = {index: list(tests) for index in asked if len(asked[index]) == 1 and not _fitting(counts[index])}
    if failed:
        counts.update(_count(table, failed, connection)[1])
    kinds = [_fitting(counts[index]) or "text" for index in range(len(names))]
    if all(
        counts[index]["thousands"] == counts[index]["commas"] for index in range(len(names)) if kinds[index] == "comma"
    ):
        kinds = ["text" if kind == "comma" else kind for kind in kinds]
    columns = (_column(index, names[index], kind, n_rows, counts[index], tests) for index, kind in enumerate(kinds))
    return replace(table, columns=tuple(columns), n_rows=n_rows)


def why_not_numbers(table: FileTable, index: int, connection: duckdb.DuckDBPyConnection) -> SourceError:
    """The sentence for a column of text of which numbers are wanted: the first cell at fault."""
    column, cell = table.columns[index], table.columns[index].cell
    name, tests = quoted(column.name), tests_for(None)
    counts = _count(replace(table, decimal=None), {index: list(tests)}, connection)[1][index]
    best = max(tests, key=lambda kind: counts[kind])
    ok = [tests["number"], tests["comma"]] if best in ("number", "comma") else [tests[best]]
    odd = " AND ".join([f"{cell} IS NOT NULL", *(f"({test.format(c=cell)}) IS NULL" for test in ok)])
    found = table.first(connection, cell, odd)
    if found and 2 * counts[best] < counts["given"]:
        return SourceError(
            f"{table.label}: column {name} holds text, in {table.where(found[0])} for example {quoted(found[1])}; "
            "numbers, dates or truth values are needed, so leave the column out."
        )
    if found:
        return SourceError(
            f"{table.label}: {table.where(found[0])} has {quoted(found[1])} in column {name}, where {counts[best]} of "
            f"{counts['given']} cells are {PLURALS[best]}; correct it, empty it, or leave the column out."
        )
    return _decimal_error(table, index, connection)


def _decimal_error(table: FileTable, index: int, connection: duckdb.DuckDBPyConnection) -> SourceError:
    """The sentence for a column whose cells are all numbers, but not all written the same way."""
    cell, name = table.columns[index].cell, quoted(table.columns[index].name)
    comma = table.first(connection, cell, f"contains({cell}, ',')")
    point = table.first(connection, cell, f"contains({cell}, '.')")
    wrong = {".": comma, ",": point}.get(table.decimal or "")
    if wrong:
        return SourceError(
            f"{table.label}: {table.where(wrong[0])} has {quoted(wrong[1])} in column {name}, but the decimal sign is "
            f"said to be {table.decimal!r}; correct the cell or give the other sign."
        )
    if comma and point:
        return SourceError(
            f"{table.label}: column {name} mixes decimal signs, {quoted(point[1])} in {table.where(point[0])} and "
            f"{quoted(comma[1])} in {table.where(comma[0])}; write all with the same one."
        )
    if comma:
        return SourceError(
            f"{table.label}: {table.where(comma[0])} has {quoted(comma[1])} in column {name}, where the comma may "
            "stand before decimals or between thousands; give the decimal sign ',' or remove the commas."
        )
    return SourceError(
        f"{table.label}: column {name} holds numbers written as text; write them as numbers, or leave the column out."
    )


def tests_for(decimal: str | None) -> dict[str, str]:
    """The SQL that makes a DOUBLE of a cell of each kind, and NULL of any other; {c} stands for the cell."""
    tests = {"number": COMMA if decimal == "," else NUMBER, "comma": COMMA, "boolean": BOOLEAN, "date": DATE}
    return tests if decimal is None else {kind: test for kind, test in tests.items() if kind != "comma"}


def strict_test(kind: str, decimal: str | None, underscores: bool) -> str:
    """The test of a kind that fails for a cell of another kind; `underscores`: whether cells may have some."""
    test = tests_for(decimal)[kind]
    if test == NUMBER and not underscores:
        test = PLAIN_NUMBER
    if test.startswith("TRY_CAST"):
        return test.removeprefix("TRY_")
    return f"CASE WHEN {{c}} IS NOT NULL THEN coalesce({test}, error('of another kind')) END"


def assumed_column(index: int, name: str, kind: str, n_rows: int, n_missing: int, decimal: str | None) -> FileColumn:
    """The column of which every cell is missing or of this kind."""
    given = n_rows - n_missing
    counts = {"given": given} if kind == "text" else {"given": given, kind: given}
    return _column(index, name, _fitting(counts) or "text", n_rows, counts, tests_for(decimal))


def _fitting(counts: Counts) -> str | None:
    """The first kind that all given cells have, if any cell is given."""
    return next((kind for kind in PLURALS if counts.get(kind) == counts["given"] > 0), None)


def _count(
    table: FileTable, asked: dict[int, list[str]], connection: duckdb.DuckDBPyConnection
) -> tuple[int, dict[int, Counts]]:
    """How many rows, and for each column how many cells are given and how many pass each test asked of it."""
    indices = list(asked)
    if len(indices) > COLUMNS_AT_ONCE:
        # Pass after pass over a wide file, because each column in flight takes memory.
        n_rows, counted = 0, dict[int, Counts]()
        for start in range(0, len(indices), COLUMNS_AT_ONCE):
            part = {index: asked[index] for index in indices[start : start + COLUMNS_AT_ONCE]}
            n_rows, found = _count(table, part, connection)
            counted.update(found)
        return n_rows, counted
    tests = tests_for(table.decimal) | {"thousands": THOUSANDS, "commas": "CASE WHEN contains({c}, ',') THEN 1 END"}
    keys: list[tuple[int, str]] = []
    expressions = ["count(*)"]
    for index, kinds in asked.items():
        cell = table.columns[index].cell if table.columns else f"c{index}"
        extra = ["thousands", "commas"] if "comma" in kinds else []
        for kind in ["given", *kinds, *extra]:
            keys.append((index, kind))
            expressions.append(f"count({tests[kind].format(c=cell) if kind in tests else cell})")
    values = next(table.rows(connection, expressions, 1))[0]
    counts: dict[int, Counts] = {index: {} for index in asked}
    for (index, kind), value in zip(keys, values[1:], strict=True):
        counts[index][kind] = int(value)
    return int(values[0]), counts


def _column(index: int, name: str, kind: str, n_rows: int, counts: Counts, tests: dict[str, str]) -> FileColumn:
    n_missing = n_rows - counts["given"]
    if kind != "text":
        number = tests[kind].format(c=f"c{index}")
        cell = f"({number}) = 1.0" if kind == "boolean" else f"c{index}"
        return FileColumn(name, "number" if kind == "comma" else kind, n_missing, number, cell)
    tried = [each for each in PLURALS if each in counts]
    best = max(tried, key=lambda each: counts[each], default=None)
    remark = ""
    if not counts["given"]:
        remark = "it has no values"
    elif best is not None and counts[best] == counts["given"]:
        remark = "its commas may stand before decimals or between thousands"
    elif best is not None and 2 * counts[best] >= counts["given"]:
        remark = f"{counts[best]} of {counts['given']} cells are {PLURALS[best]}, the others are not"
    # Beside other files, one in which a column has no values may still be read.
    number = "" if counts["given"] else NO_VALUE
    return FileColumn(name, "text", n_missing, number, f"c{index}", remark)
