"""The sentences for columns that look like numbers or dates but are not read as such: row, cell and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aspca.engines.file_table import FileTable
from aspca.engines.local_dates import date_sql
from aspca.engines.missing_words import BLANKS
from aspca.engines.number_columns import Against, Keys
from aspca.engines.number_shapes import ODD, shape_sql
from aspca.engines.number_signs import Signs, other_sign
from aspca.harmless import quoted

if TYPE_CHECKING:
    import duckdb

_MOST_WORDS, _LONGEST_WORD = 3, 24
NAMES = {",": "comma", ".": "point", " ": "blank", "'": "apostrophe"}


class Examples:
    """Cells of a table, looked up by what they look like."""

    def __init__(self, table: FileTable, connection: duckdb.DuckDBPyConnection) -> None:
        self._table, self._connection = table, connection

    def cell(self, index: int, keys: Keys, number: str = "NULL::DOUBLE") -> tuple[str, str, float | None] | None:
        """The first cell of a column of one of these shapes, in quotes, where it is, and its number."""
        place = f"${len(self._table.parameters) + 1}"
        asked = replace(self._table, parameters=(*self._table.parameters, list(keys)))
        where = f"c{index} IS NOT NULL AND list_contains({place}, {shape_sql(f'c{index}')})"
        return self._found(asked, index, where, number)

    def failing(self, index: int, test: str, number: str = "NULL::DOUBLE") -> tuple[str, str, Any] | None:
        """The first cell of a column of which a test gives nothing."""
        return self._found(self._table, index, f"c{index} IS NOT NULL AND ({test}) IS NULL", number)

    def having(self, index: int, pattern: str, number: str) -> tuple[str, str, Any] | None:
        """The first cell of a column that matches one of our own patterns, with what is made of it."""
        return self._found(self._table, index, f"regexp_matches(c{index}, '{pattern}')", number)

    def _found(
        self, table: FileTable, index: int, where: str, number: str = "NULL::DOUBLE"
    ) -> tuple[str, str, Any] | None:
        found = table.first(self._connection, f"{{'cell': c{index}, 'number': {number}}}", where)
        if found is None:
            return None
        row, pair = found
        return quoted(pair["cell"]), self._table.where(row), pair["number"]

    def words(self, index: int) -> list[str]:
        """The words in a column of numbers that are none, if they are few."""
        cell = f"trim(c{index}, '{BLANKS}')"
        after = f"WHERE c{index} IS NOT NULL AND {shape_sql(f'c{index}')} = '{ODD}' LIMIT {_MOST_WORDS + 1}"
        rows: list[tuple[Any, ...]] = next(self._table.rows(self._connection, [f"DISTINCT {cell}"], 9, after), [])
        words = sorted(str(row[0]) for row in rows)
        return words if len(words) <= _MOST_WORDS and all(len(word) <= _LONGEST_WORD for word in words) else []


def doubt_about(
    against: Against, index: int, name: str, signs: Signs, semicolons: bool, proof: str, examples: Examples
) -> tuple[str, tuple[str, ...]]:
    """What is wrong with a column that looks like numbers, and the remedy; `proof` is a cell that proves a sign."""
    shown = [found for keys in against.cells if (found := examples.cell(index, keys))]
    cells = [f"{cell} in {where}" for cell, where, _ in shown]
    ignore = ("--ignore", name)
    if not cells:
        return "its cells are written in several ways", ignore
    if against.reason == "odd":
        words = examples.words(index) if set(against.cells[0]) == {ODD} else []
        remedy = tuple(part for word in words for part in ("--missing", word)) or ignore
        return odd_cell(cells[0], "no number", against, words), remedy
    if against.reason == "ambiguous":
        sign = "," if "," in shown[0][0] else "."
        by_decimal = ("--decimal", sign)
        by_thousands = ("--thousands", sign)
        text = (
            f"the {NAMES[sign]} of {cells[0]} may stand before decimals or between thousands, and no other cell of the "
            f"file tells: give --decimal {sign} or --thousands {sign}"
        )
        # Who separates cells by semicolons mostly does so because the comma is the decimal sign.
        return text, by_decimal if (sign == ",") == semicolons else by_thousands
    if against.reason == "slip":
        sign = signs.decimal
        text = (
            f"{cells[-1]} may be read in two ways, and hardly more than {proof} says that the {NAMES[sign]} stands "
            f"before decimals: give --decimal {sign} if it does, or --thousands {sign} and correct that cell"
        )
        return text, ("--decimal", sign)
    if against.reason == "outvoted":
        return (
            f"{cells[0]} has another decimal sign than other cells of the file, the {NAMES[signs.decimal]}: write all "
            f"with the same one, or give --decimal {signs.decimal} or --decimal {other_sign(signs.decimal)}",
            ignore,
        )
    if against.reason == "given":
        return (
            f"{cells[0]} is no number with the decimal sign {signs.decimal!r} that was given; correct it or give the "
            f"other sign",
            ignore,
        )
    what = {
        "units": "have different units",
        "negatives": "are negative in different ways",
        "separators": "have their thousands separated in different ways",
        "codes": "look like a code, all with the same groups of digits",
    }[against.reason]
    both = " and ".join(cells)
    return f"{both} {what}; write all in the same way, or leave the column out", ignore


def odd_cell(cell: str, what: str, against: Against, words: Sequence[str] = ()) -> str:
    """What is wrong with a cell that is unlike most."""
    share = f"as {against.n_fitting} of {against.n_given} cells are"
    named = f"give --missing {' --missing '.join(map(quoted, words))}, " if words else ""
    return f"{cell} is {what}, {share}; correct it, empty it, {named}or leave the column out"


def date_doubt(
    orders: Sequence[str], given: str | None, index: int, name: str, examples: Examples
) -> tuple[str, tuple[str, ...]]:
    """What is wrong with a column of dates that has several possible orders, or none."""
    if orders:
        cell = examples.failing(index, "NULL")
        shown = f"{cell[0]} in {cell[1]}" if cell else "its dates"
        choices = " or ".join(f"--date-order {order}" for order in orders)
        return f"{shown} is a date that may be read in several ways, and no other tells: give {choices}", (
            "--date-order",
            orders[0],
        )
    tried = [given] if given else ["dmy", "mdy"]
    cells = [found for order in tried if (found := examples.failing(index, date_sql(f"c{index}", order)))]
    shown = " and ".join(f"{cell} in {where}" for cell, where, _ in cells)
    how = f"not of the order {given}" if given else "no dates in the same order of day and month"
    return f"{shown} {'is' if len(cells) == 1 else 'are'} {how}; write all in the same way", ("--ignore", name)
