"""One sentence for every guess that changes numbers: signs, units, negatives, words for missing, orders of dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from aspca.engines.errors import enumerated
from aspca.engines.local_dates import TWO_DIGITS, changed_clock_sql
from aspca.engines.number_columns import Style
from aspca.engines.number_signs import Signs
from aspca.engines.request import ReadOptions
from aspca.harmless import quoted

if TYPE_CHECKING:
    from aspca.engines.doubts import Examples

NAMES = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}
_ORDERS = {"dmy": "the day first", "mdy": "the month first", "ymd": "the year first"}


def announced(
    label: str,
    signs: Signs,
    styles: Mapping[str, Style],
    orders: Mapping[str, str],
    words: Mapping[str, Mapping[str, int]],
    options: ReadOptions,
    examples: Examples,
    places: Sequence[str] = (),
) -> list[str]:
    """What was guessed about a table: the signs of its numbers, what stands beside them, what is missing.

    `places` are columns of dates with a place behind the time, as in Europe/Berlin.
    """
    say = _Sentences(label, examples)
    if signs.why != "given":
        decimal = [name for name, style in styles.items() if style.examples["decimal"]]
        if signs.decimal == "," and decimal:
            say.numbers("commas stand before decimals", decimal, styles, "decimal", "--decimal . if they do not")
        for separator in NAMES:
            some = [name for name, style in styles.items() if style.separator == separator]
            cure = f"--decimal {separator} if they do not" if separator in ",." else "--thousands none if they do not"
            say.numbers(f"{NAMES[separator]} separate thousands", some, styles, "separator", cure)
    for unit in dict.fromkeys(style.unit for style in styles.values() if style.unit):
        some = [name for name, style in styles.items() if style.unit == unit]
        say.numbers(f"numbers are taken without their unit {quoted(unit)}", some, styles, "unit", "")
    for way, what in (("brackets", "in brackets"), ("trailing", "before a minus"), ("sign", "behind such a minus")):
        some = [name for name, style in styles.items() if style.negative == way]
        say.numbers(f"numbers {what} are negative", some, styles, "negative", "")
    for order in dict.fromkeys(orders.values()):
        if options.date_order is None:
            say.dates(_ORDERS.get(order), [name for name in orders if orders[name] == order])
    for name in places:
        say.changed_clocks(name)
    return [*say.sentences, *describe_missing_words(label, words, options.missing)]


def beyond_numbers(label: str, columns: Sequence[str]) -> list[str]:
    """The sentence on columns of integers that float64 cannot hold."""
    names = [quoted(name) for name in columns]
    if not names:
        return []
    which = f"column{'s' * (len(names) > 1)} {enumerated(names)}"
    return [f"{label}: integers beyond 2^53, of which digits would be lost, are kept as text in {which}."]


def describe_zone_letters(label: str, columns: Sequence[str], examples: Examples) -> list[str]:
    """A sentence on each column of times with letters for their zone, such as BST."""
    sentences = []
    for name in columns:
        found = examples.having(name, "[A-Za-z]{2,5}[ \\t]*$", lambda number: "")
        shown = f": {found[0]} in {found[1]}" if found else ""
        sentences.append(
            f"{label}: times are kept as text in column {quoted(name)}, since the letters for their zone may mean "
            f"several{shown}; write an offset instead, as in +01:00, or UTC."
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
    return [f"{label}: taken for missing values: {enumerated(found)}."] if found else []


class _Sentences:
    """Sentences about a table, each with a cell that shows what is meant."""

    def __init__(self, label: str, examples: Examples) -> None:
        self.label, self.examples = label, examples
        self.sentences: list[str] = []

    def numbers(self, what: str, columns: list[str], styles: Mapping[str, Style], which: str, cure: str) -> None:
        if not columns:
            return
        found = self.examples.cell(columns[0], styles[columns[0]].examples[which], number=True)
        shown = f": {found[0]} in {found[1]} is {found[2]:.15g}" if found and found[2] is not None else ""
        self._say(what, columns, f"{shown}{f'; {cure}' if cure else ''}")

    def dates(self, what: str | None, columns: list[str]) -> None:
        found = self.examples.failing(columns[0], lambda cell: "NULL")
        if what is not None:
            self._say(f"dates have {what}", columns, f": {found[0]} in {found[1]}; see --date-order" if found else "")
        short = self.examples.having(
            columns[0], TWO_DIGITS, lambda number: f"strftime(make_timestamp(({number} * 1e6)::BIGINT), '%Y')"
        )
        if short:
            self._say("years have two digits", columns, f": {short[0]} in {short[1]} is in {short[2]}")

    def changed_clocks(self, name: str) -> None:
        found = self.examples.failing(
            name,
            lambda cell: f"CASE WHEN {changed_clock_sql(cell)} THEN NULL ELSE 1 END",
            lambda number: f"strftime(make_timestamp(({number} * 1e6)::BIGINT), '%Y-%m-%d %H:%M:%S UTC')",
        )
        if found:
            rest = f": {found[0]} in {found[1]} is taken for {found[2]}; write them with an offset, as in +01:00"
            self._say("times that a change of clocks left out or repeated are in doubt", [name], rest)

    def _say(self, what: str, columns: list[str], rest: str) -> None:
        names = enumerated([quoted(name) for name in columns])
        self.sentences.append(f"{self.label}: {what} in column{'s' * (len(columns) > 1)} {names}{rest}.")
