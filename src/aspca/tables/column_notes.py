"""Sentences on columns of text files: every guess that changes numbers, and why a column is not read as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aspca.escaping import quoted
from aspca.tables.cell_tests import BOOLEAN, DATE, TWO_DIGITS, changed_clock_sql, local_date_sql
from aspca.tables.errors import SourceError, join_names
from aspca.tables.file_table import FileTable
from aspca.tables.number_text import Keys, Refusal, Signs, Style, shape_sql
from aspca.tables.request import ReadOptions
from aspca.tables.text_table import TextTable

if TYPE_CHECKING:
    import duckdb

_SIGNS = {",": "comma", ".": "point", " ": "blank", "'": "apostrophe"}
_ORDERS = {"dmy": "the day first", "mdy": "the month first", "ymd": "the year first"}
# A sentence, and the words of a command line that settle what it says.
Advice = tuple[str, tuple[str, ...]]


class Examples:
    """Cells of one or more tables, looked up by what they look like."""

    def __init__(self, tables: Sequence[FileTable], connection: duckdb.DuckDBPyConnection) -> None:
        self._tables, self._connection = tables, connection

    def find(
        self,
        name: str,
        where: Callable[[str], str] = lambda cell: "true",
        value: Callable[[str], str] = lambda number: "NULL",
        keys: Keys | None = None,
    ) -> tuple[str, str, Any] | None:
        """The first cell of a column that is of one of these shapes, if any are given, and for which `where`, made of
        the name of a cell, holds: in quotes, in which row it is, and the `value` that is made of its number."""
        for table in self._tables:
            if name not in table.positions:
                continue
            index = table.positions[name]
            cell, column, condition = f"c{index}", table.columns[index], where(f"c{index}")
            if keys is not None:
                table = replace(table, parameters=(*table.parameters, list(keys)))
                condition = f"list_contains(${len(table.parameters)}, {shape_sql(cell)})"
            pair = f"{{'cell': {cell}, 'value': {value(column.number) or 'NULL'}}}"
            found = table.first(self._connection, pair, f"{cell} IS NOT NULL AND ({condition})")
            if found is not None:
                label = f"{table.label}, " if len(self._tables) > 1 else ""
                return quoted(found[1]["cell"]), f"{label}{table.locate(found[0])}", found[1]["value"]
        return None

    def show(self, name: str, where: Callable[[str], str] = lambda cell: "true", keys: Keys | None = None) -> str:
        """`'5 kg' in row 17 (line 19)`, as `find` finds it; empty where there is none."""
        found = self.find(name, where, keys=keys)
        return f"{found[0]} in {found[1]}" if found else ""


def describe_guesses(
    label: str,
    signs: Signs,
    styles: Mapping[str, Style],
    orders: Mapping[str, str],
    options: ReadOptions,
    examples: Examples,
    places: Sequence[str] = (),
) -> list[str]:
    """What was guessed about a table: the signs of its numbers, what stands beside them, how its dates are written.
    `places` are columns of dates with a place behind the time, as in Europe/Berlin."""
    sentences: list[str] = []

    def say(what: str, columns: list[str], rest: str) -> None:
        sentences.append(f"{label}: {what} in {_name_columns(columns)}{rest}.")

    def say_of_numbers(what: str, columns: list[str], which: str, cure: str = "") -> None:
        if columns:
            keys = styles[columns[0]].examples[which]
            found = examples.find(columns[0], value=lambda number: number, keys=keys)
            shown = f": {found[0]} in {found[1]} is {found[2]:.15g}" if found and found[2] is not None else ""
            say(what, columns, f"{shown}{f'; {cure}' if cure else ''}")

    if not signs.given:
        if signs.decimal == ",":
            decimal = [name for name, style in styles.items() if style.examples["decimal"]]
            say_of_numbers("commas stand before decimals", decimal, "decimal", "--decimal . if they do not")
        for separator, called in _SIGNS.items():
            some = [name for name, style in styles.items() if style.separator == separator]
            cure = f"--decimal {separator} if they do not" if separator in ",." else "--thousands none if they do not"
            say_of_numbers(f"{called}s separate thousands", some, "separator", cure)
    for unit in dict.fromkeys(style.unit for style in styles.values() if style.unit):
        some = [name for name, style in styles.items() if style.unit == unit]
        say_of_numbers(f"numbers are taken without their unit {quoted(unit)}", some, "unit")
    for way, what in (("brackets", "in brackets"), ("trailing", "before a minus"), ("sign", "behind such a minus")):
        some = [name for name, style in styles.items() if style.negative == way]
        say_of_numbers(f"numbers {what} are negative", some, "negative")
    for order in dict.fromkeys(orders.values()) if options.date_order is None else ():
        columns = [name for name in orders if orders[name] == order]
        if order in _ORDERS:
            shown = examples.show(columns[0])
            say(f"dates have {_ORDERS[order]}", columns, f": {shown}; see --date-order" if shown else "")
        short = examples.find(columns[0], lambda cell: f"regexp_matches({cell}, '{TWO_DIGITS}')", _moment_sql("%Y"))
        if short:
            say("years have two digits", columns, f": {short[0]} in {short[1]} is in {short[2]}")
    for name in places:
        found = examples.find(name, changed_clock_sql, _moment_sql("%Y-%m-%d %H:%M:%S UTC"))
        if found:
            rest = f": {found[0]} in {found[1]} is taken for {found[2]}; write them with an offset, as in +01:00"
            say("times that a change of clocks left out or repeated are in doubt", [name], rest)
    return sentences


def _moment_sql(written: str) -> Callable[[str], str]:
    return lambda number: f"strftime(make_timestamp(({number} * 1e6)::BIGINT), '{written}')"


def _name_columns(columns: Sequence[str]) -> str:
    return f"column{'s' * (len(columns) > 1)} {join_names([quoted(name) for name in columns])}"


def describe_rounded(label: str, columns: Sequence[str]) -> list[str]:
    """The sentence on columns of integers that float64 cannot hold."""
    lost = "integers beyond 2^53, of which digits would be lost, are kept as text in"
    return [f"{label}: {lost} {_name_columns(columns)}."] if columns else []


def describe_zone_letters(label: str, columns: Sequence[str], examples: Examples) -> list[str]:
    """A sentence on each column of times with letters for their zone, such as BST."""
    sentences = []
    for name in columns:
        shown = examples.show(name, lambda cell: f"regexp_matches({cell}, '[A-Za-z]{{2,5}}[ \\t]*$')")
        sentences.append(
            f"{label}: times are kept as text in column {quoted(name)}, since the letters for their zone may mean "
            f"several{f': {shown}' if shown else ''}; write an offset instead, as in +01:00, or UTC."
        )
    return sentences


def describe_missing_words(label: str, words: Mapping[str, Mapping[str, int]], named: Sequence[str]) -> list[str]:
    """The sentence on words that were taken for missing, but for those that the user named."""
    found = [
        f"{quoted(word)} {count:,} time{'s' * (count != 1)} in column {quoted(name)}"
        for name, counts in words.items()
        for word, count in sorted(counts.items())
        if word and word not in named
    ]
    return [f"{label}: taken for missing values: {join_names(found)}."] if found else []


def explain_refusal(
    refusal: Refusal, name: str, signs: Signs, text: TextTable, proof: str, examples: Examples | None
) -> Advice:
    """Why a column is text though most of its cells are not, and the remedy; `proof` is a cell that proves a sign.
    Without `examples` no cell is looked up."""
    if refusal.reason == "beyond":
        return "its integers are beyond 2^53, so they are no numbers but names", ()
    if refusal.reason == "letters":
        return "its times have zones of letters, which may mean several", ()
    if refusal.reason == "odd":
        return _describe_misfits(refusal, name, examples), ()
    ignore, sign = ("--ignore", name), signs.decimal
    if examples is None:
        return "it seems to hold numbers, but not all of its cells can be read", ignore
    if refusal.reason == "order":
        return _explain_dates(refusal.orders, text.options.date_order, name, examples)
    found = [cell for keys in refusal.cells if (cell := examples.find(name, keys=keys))]
    cells = [f"{cell} in {where}" for cell, where, _ in found]
    if not cells:
        return "its cells are written in several ways", ignore
    if refusal.reason == "learned unit":
        return (
            f"{cells[0]} has another unit than the rows that the rules were learned from, which have "
            f"{refusal.expected}; write all in the same unit",
            (),
        )
    if refusal.reason == "ambiguous":
        sign = "," if "," in found[0][0] else "."
        # Who separates cells by semicolons mostly does so because the comma is the decimal sign.
        return (
            f"the {_SIGNS[sign]} of {cells[0]} may stand before decimals or between thousands, and no other cell of "
            f"the file tells: give --decimal {sign} or --thousands {sign}",
            ("--decimal" if (sign == ",") == text.semicolons else "--thousands", sign),
        )
    if refusal.reason == "slip":
        return (
            f"{cells[-1]} may be read in two ways, and hardly more than {proof} says that the {_SIGNS[sign]} stands "
            f"before decimals: give --decimal {sign} if it does, or --thousands {sign} and correct that cell",
            ("--decimal", sign),
        )
    if refusal.reason == "outvoted":
        return (
            f"{cells[0]} has another decimal sign than other cells of the file, the {_SIGNS[sign]}: write all "
            f"with the same one, or give --decimal {sign} or --decimal {signs.other}",
            ignore,
        )
    if refusal.reason == "given":
        learned = bool(text.options.learned.columns)
        whose = "of the rows that the rules were learned from" if learned else "that was given"
        return (
            f"{cells[0]} is no number with the decimal sign {sign!r} {whose}; correct it, or give "
            f"--decimal {signs.other} if that is right",
            ("--decimal", signs.other) if learned else ignore,
        )
    what = {
        "units": "have different units",
        "negatives": "are negative in different ways",
        "separators": "have their thousands separated in different ways",
        "codes": "look like a code, all with the same groups of digits",
    }[refusal.reason]
    return f"{' and '.join(cells)} {what}; write all in the same way, or leave the column out", ignore


def _describe_misfits(refusal: Refusal, name: str, examples: Examples | None) -> str:
    """How many cells of a column do not fit, and the first."""
    shown = ""
    if examples is not None and refusal.cells:
        shown = examples.show(name, keys=refusal.cells[0])
    elif examples is not None:
        test = BOOLEAN if refusal.expected == "true or false" else DATE
        shown = examples.show(name, lambda cell: f"({test.format(c=cell)}) IS NULL")
    n_odd = refusal.n_given - refusal.n_fitting
    first = f", the first {shown}" if shown else ""
    return f"{n_odd:,} of {refusal.n_given:,} cells are not {refusal.expected}{first}"


def _explain_dates(orders: Sequence[str], given: str | None, name: str, examples: Examples) -> Advice:
    """What is wrong with a column of dates that has several possible orders, or none."""
    if orders:
        choices = " or ".join(f"--date-order {order}" for order in orders)
        shown = examples.show(name) or "its dates"
        text = f"{shown} is a date that may be read in several ways, and no other tells: give {choices}"
        return text, ("--date-order", orders[0])

    def fails(order: str) -> Callable[[str], str]:
        return lambda cell: f"({local_date_sql(cell, order)}) IS NULL"

    tried = [given] if given else ["dmy", "mdy"]
    cells = [shown for order in tried if (shown := examples.show(name, fails(order)))]
    how = f"not of the order {given}" if given else "no dates in the same order of day and month"
    are = "is" if len(cells) == 1 else "are"
    return f"{' and '.join(cells)} {are} {how}; write all in the same way", ("--ignore", name)


def explain_text_column(table: FileTable, index: int, connection: duckdb.DuckDBPyConnection) -> SourceError:
    """The sentence for a column of text of which numbers are wanted: the first cell at fault."""
    column = table.columns[index]
    if column.remark:
        return SourceError(f"{table.label}: column {quoted(column.name)} is not read: {column.remark}.", column.remedy)
    found = table.first(connection, column.cell, f"{column.cell} IS NOT NULL")
    shown = "" if found is None else f", in {table.locate(found[0])} for example {quoted(found[1])}"
    return SourceError(
        f"{table.label}: column {quoted(column.name)} holds text{shown}; numbers, dates or truth values are needed, so "
        "leave the column out.",
        ("--ignore", column.name),
    )
