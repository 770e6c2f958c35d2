"""The sentences for columns that look like numbers or dates but are not read as such: row, cell and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from aspca.engines.column_counts import BOOLEAN, DATE
from aspca.engines.file_table import FileTable
from aspca.engines.local_dates import date_sql
from aspca.engines.number_columns import Against, Keys
from aspca.engines.number_shapes import shape_sql
from aspca.engines.number_signs import Signs, other_sign
from aspca.harmless import quoted

if TYPE_CHECKING:
    import duckdb

NAMES = {",": "comma", ".": "point", " ": "blank", "'": "apostrophe"}


class Examples:
    """Cells of one or more tables, looked up by what they look like."""

    def __init__(self, tables: Sequence[FileTable], connection: duckdb.DuckDBPyConnection) -> None:
        self._tables, self._connection = tables, connection

    def cell(self, name: str, keys: Keys, *, number: bool = False) -> tuple[str, str, Any] | None:
        """The first cell of a column of one of these shapes, in quotes, where it is, and its number, if asked for."""

        def find(table: FileTable, index: int) -> tuple[int, Any] | None:
            place = f"${len(table.parameters) + 1}"
            asked = replace(table, parameters=(*table.parameters, list(keys)))
            where = f"c{index} IS NOT NULL AND list_contains({place}, {shape_sql(f'c{index}')})"
            return asked.first(self._connection, _pair(index, table.columns[index].number if number else ""), where)

        return self._first(name, find)

    def failing(
        self, name: str, test: Callable[[str], str], made: Callable[[str], str] = lambda number: ""
    ) -> tuple[str, str, Any] | None:
        """The first cell of a column of which a test, made of the name of a cell, gives nothing, with what is made of
        its number."""
        return self._first(
            name,
            lambda table, index: table.first(
                self._connection,
                _pair(index, made(table.columns[index].number)),
                f"c{index} IS NOT NULL AND ({test(f'c{index}')}) IS NULL",
            ),
        )

    def having(self, name: str, pattern: str, made: Callable[[str], str]) -> tuple[str, str, Any] | None:
        """The first cell of a column that matches one of our own patterns, with what is made of its number."""
        return self._first(
            name,
            lambda table, index: table.first(
                self._connection,
                _pair(index, made(table.columns[index].number)),
                f"regexp_matches(c{index}, '{pattern}')",
            ),
        )

    def _first(
        self, name: str, find: Callable[[FileTable, int], tuple[int, Any] | None]
    ) -> tuple[str, str, Any] | None:
        for table in self._tables:
            found = find(table, table.positions[name]) if name in table.positions else None
            if found is not None:
                row, pair = found
                label = f"{table.label}, " if len(self._tables) > 1 else ""
                return quoted(pair["cell"]), f"{label}{table.where(row)}", pair["number"]
        return None


def _pair(index: int, number: str = "") -> str:
    return f"{{'cell': c{index}, 'number': {number or 'NULL::DOUBLE'}}}"


def doubt_about(
    against: Against, name: str, signs: Signs, semicolons: bool, proof: str, examples: Examples, *, learned: bool
) -> tuple[str, tuple[str, ...]]:
    """What is wrong with a column that looks like numbers, and the remedy; `proof` is a cell that proves a sign.

    `learned`: signs are those of the rows that rules were learned from.
    """
    shown = [found for keys in against.cells if (found := examples.cell(name, keys))]
    cells = [f"{cell} in {where}" for cell, where, _ in shown]
    ignore = ("--ignore", name)
    if not cells:
        return "its cells are written in several ways", ignore
    if against.reason == "learned unit":
        return (
            f"{cells[0]} has another unit than the rows that the rules were learned from, which have "
            f"{against.expected}; write all in the same unit",
            (),
        )
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
        whose = "of the rows that the rules were learned from" if learned else "that was given"
        other = other_sign(signs.decimal)
        return (
            f"{cells[0]} is no number with the decimal sign {signs.decimal!r} {whose}; correct it, or give "
            f"--decimal {other} if that is right",
            ("--decimal", other) if learned else ignore,
        )
    what = {
        "units": "have different units",
        "negatives": "are negative in different ways",
        "separators": "have their thousands separated in different ways",
        "codes": "look like a code, all with the same groups of digits",
    }[against.reason]
    both = " and ".join(cells)
    return f"{both} {what}; write all in the same way, or leave the column out", ignore


def describe_misfits(against: Against, name: str, examples: Examples | None) -> str:
    """Why a column is text though most of its cells are not: how many do not fit, and the first."""
    n_odd = against.n_given - against.n_fitting
    found = None
    if examples is not None and against.cells:
        found = examples.cell(name, against.cells[0])
    elif examples is not None:
        test = BOOLEAN if against.expected == "true or false" else DATE
        found = examples.failing(name, lambda cell: test.format(c=cell))
    shown = f", the first {found[0]} in {found[1]}" if found else ""
    return f"{n_odd:,} of {against.n_given:,} cells are not {against.expected}{shown}"


def date_doubt(orders: Sequence[str], given: str | None, name: str, examples: Examples) -> tuple[str, tuple[str, ...]]:
    """What is wrong with a column of dates that has several possible orders, or none."""
    if orders:
        cell = examples.failing(name, lambda cell: "NULL")
        shown = f"{cell[0]} in {cell[1]}" if cell else "its dates"
        choices = " or ".join(f"--date-order {order}" for order in orders)
        return f"{shown} is a date that may be read in several ways, and no other tells: give {choices}", (
            "--date-order",
            orders[0],
        )
    tried = [given] if given else ["dmy", "mdy"]
    cells = [found for order in tried if (found := examples.failing(name, partial(date_sql, order=order)))]
    shown = " and ".join(f"{cell} in {where}" for cell, where, _ in cells)
    how = f"not of the order {given}" if given else "no dates in the same order of day and month"
    return f"{shown} {'is' if len(cells) == 1 else 'are'} {how}; write all in the same way", ("--ignore", name)
