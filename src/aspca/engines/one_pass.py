"""A text file in one pass: its numbers, by the kinds that its first rows suggest, straight into a file of float64.

Most files are what they seem. The pass ends at the first cell that is not, and then kinds are decided over all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aspca.engines.errors import SourceError
from aspca.engines.kinds import assumed_column, strict_test, tests_for
from aspca.engines.number_file import NumberFile
from aspca.engines.table import Table
from aspca.linalg.arrays import Floats, Ints

if TYPE_CHECKING:
    import duckdb

# Of a column of text only the missing cells are counted.
PRESENT = "CASE WHEN {c} IS NOT NULL THEN 0.0::DOUBLE END"


def in_one_pass(
    table: Table,
    names: tuple[str, ...],
    guesses: tuple[str, ...],
    underscores: bool,
    connection: duckdb.DuckDBPyConnection,
    target: Path,
) -> Table | None:
    """`table` with its columns and number of rows as `decide` finds them, and its numbers kept in the file `target`.

    `underscores`: whether there are any in its cells.

    None if a cell is not of the kind guessed for its column, if commas may mean two things, if the table cannot be
    read, or if the disk is full.
    """
    kinds = [_assumed(guess, table.decimal) for guess in guesses]
    if "comma" in kinds:
        return None
    tests = [PRESENT if kind == "text" else strict_test(kind, table.decimal, underscores) for kind in kinds]
    # What is wrong with the file is found out by those who come after; here it only matters that something is.
    blunt = replace(table, explain=lambda error: SourceError(str(error)))
    numeric = tuple(index for index, kind in enumerate(kinds) if kind != "text")
    try:
        pieces = blunt.numbers(connection, [test.format(c=f"c{index}") for index, test in enumerate(tests)])
        written = _written(pieces, numeric, len(names), target)
    except SourceError:
        target.unlink(missing_ok=True)
        return None
    if written is None:
        return None
    kept, nulls = written
    columns = (
        assumed_column(index, name, kind, kept.n_rows, int(missing), table.decimal)
        for index, (name, kind, missing) in enumerate(zip(names, kinds, nulls, strict=True))
    )
    return replace(table, columns=tuple(columns), n_rows=kept.n_rows, kept=kept)


def with_numbers(table: Table, connection: duckdb.DuckDBPyConnection, target: Path) -> Table:
    """`table`, whose columns are known, with its numbers kept in the file `target`; as it is if the disk is full."""
    numeric = tuple(index for index, column in enumerate(table.columns) if column.number)
    if not numeric:
        return table
    pieces = table.numbers(connection, [table.columns[index].number for index in numeric])
    written = _written(pieces, numeric, len(numeric), target)
    return table if written is None else replace(table, kept=written[0])


def _assumed(guess: str, decimal: str | None) -> str:
    if guess == "unknown" or (guess == "comma" and decimal == ","):
        return "number"
    return guess if guess == "text" or guess in tests_for(decimal) else "comma"


def _written(
    pieces: Iterator[tuple[Floats, Ints]], columns: tuple[int, ...], width: int, target: Path
) -> tuple[NumberFile, Ints] | None:
    """The numbers of all pieces in a file, and the NULLs in each of the `width` columns of the pieces.

    Of these the ones at `columns` are written, or all where there are no others.
    """
    nulls = np.zeros(width, dtype=np.intp)
    n_rows = 0
    try:
        with target.open("wb") as file:
            for values, missing in pieces:
                file.write((values if len(columns) == width else np.ascontiguousarray(values[:, columns])).data)
                nulls += missing
                n_rows += len(values)
    except OSError:
        # No room for it. The text can be read again instead, only more slowly.
        target.unlink(missing_ok=True)
        return None
    return NumberFile(target, columns, n_rows), nulls
