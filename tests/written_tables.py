"""More than 300 text files as people write them, with the truth beside each; made anew each time, always the same.

Numbers are drawn first and written then: nothing here reads a number out of a text.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

Cell = float | None
NBSP, THIN, NARROW, CURLY, MINUS = "\u00a0", "\u2009", "\u202f", "\u2019", "\u2212"


@dataclass(frozen=True)
class Truth:
    """A column: its name, its kind, and its numbers (None where missing); no numbers for text."""

    name: str
    kind: str
    values: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Written:
    """A file and what it holds.

    Parameters
    ----------
    columns : the truth; None where a file contradicts itself, so that it must be refused
    options : what settles the matter where the file alone does not; empty where it does
    said : whether numbers are written so that something must be said about them
    bad : texts of the cells that do not fit their column, in their order; they are missing
    """

    name: str
    data: bytes
    columns: tuple[Truth, ...] | None
    options: dict[str, Any] = field(default_factory=dict)
    said: bool = False
    bad: tuple[str, ...] = ()


@dataclass(frozen=True)
class Style:
    """How numbers are written: `negative` is minus, brackets, trailing or typographic."""

    decimal: str = "."
    group: str = ""
    indian: bool = False
    before: str = ""
    behind: str = ""
    negative: str = "minus"

    def spelled(self, value: Decimal) -> str:
        whole, _, fraction = f"{abs(value):f}".partition(".")
        body = self.grouped(whole) + (self.decimal + fraction if fraction else "")
        text = f"{self.before}{body}{self.behind}"
        if value >= 0:
            return text
        ways: dict[str, Callable[[], str]] = {
            "minus": lambda: f"-{text}",
            "inner": lambda: f"{self.before}-{body}{self.behind}",
            "brackets": lambda: f"({text})",
            "trailing": lambda: f"{text}-",
            "typographic": lambda: f"{MINUS}{text}",
        }
        return ways[self.negative]()

    def grouped(self, digits: str) -> str:
        if not self.group or len(digits) <= 3:
            return digits
        head, last = digits[:-3], digits[-3:]
        size = 2 if self.indian else 3
        parts: list[str] = []
        while head:
            parts.insert(0, head[-size:])
            head = head[:-size]
        return self.group.join([*parts, last])


PLAIN = Style()


def drawn(rng: random.Random, n: int, decimals: int, largest: int = 7, negative: bool = True) -> list[Decimal]:
    """Numbers of all sizes up to `largest` digits before the decimal sign; the first two show grouping and decimals."""
    values = [Decimal(rng.randrange(10 ** rng.randint(1, largest + decimals))).scaleb(-decimals) for _ in range(n)]
    values[:2] = [Decimal("1234567").scaleb(0), Decimal(250).scaleb(-decimals)]
    values = [value.quantize(Decimal(1).scaleb(-decimals)) for value in values]
    return [-value if negative and i % 5 == 4 else value for i, value in enumerate(values)]


def numbers(name: str, values: Sequence[Decimal | None]) -> Truth:
    return Truth(name, "number", tuple(None if value is None else float(value) for value in values))


def text_of(
    names: Sequence[str] | None, columns: Sequence[Sequence[str]], delimiter: str = ",", quote: str = "needed"
) -> str:
    def cell(text: str) -> str:
        needed = any(sign in text for sign in (delimiter, '"', "\n"))
        return f'"{text}"' if needed or quote == "all" else text

    rows = [] if names is None else [[cell(name) for name in names]]
    rows += [[cell(one) for one in row] for row in zip(*columns, strict=True)]
    return "".join(delimiter.join(row) + "\n" for row in rows)


def all_tables() -> list[Written]:
    """Every file; names are unique."""
    makers = (
        grouped, beside, missing, headers, dates, encoded, beyond, ambiguous, contradictory, codes, plain, json_lines
    )  # fmt: skip
    return [table for make in makers for table in make(random.Random(make.__name__))]  # noqa: S311  # no secret


def grouped(rng: random.Random) -> Iterator[Written]:
    styles = [Style(decimal, group) for decimal in ".," for group in ("", " ", NBSP, THIN, NARROW, "'", CURLY)]
    styles += [Style(".", ","), Style(",", "."), Style(".", ",", indian=True)]
    for number, style in enumerate(styles):
        for delimiter in ",;\t|":
            money, whole = drawn(rng, 12, 2), drawn(rng, 12, 0)
            cells = [[style.spelled(one) for one in column] for column in (money, whole)]
            quote = "all" if number % 3 == 0 else "needed"
            text = text_of(["money", "whole"], cells, delimiter, quote)
            yield Written(
                f"grouped-{number}-{delimiter!r}",
                text.encode(),
                (numbers("money", money), numbers("whole", whole)),
                said=style != PLAIN,
            )


def beside(rng: random.Random) -> Iterator[Written]:
    units = [
        ("$", ""), ("€", ""), ("", " €"), ("", "€"), ("USD ", ""), ("", " EUR"), ("£", ""), ("", " kr"), ("CHF ", ""),
        ("", "%"), ("", " %"), ("", "kg"), ("", " kg"), ("", " °C"), ("", "ms"), ("", " km/h"),
    ]  # fmt: skip
    for before, behind in units:
        for style in (Style(".", ","), Style(",", "."), Style(".", "")):
            for negative in ("minus", "brackets", "trailing", "typographic"):
                if negative == "trailing" and before:
                    negative = "inner"
                style = Style(style.decimal, style.group, False, before, behind, negative)
                values, plain = drawn(rng, 10, 1), drawn(rng, 10, 0, 3)
                cells = [[style.spelled(one) for one in values], [str(one) for one in plain]]
                yield Written(
                    f"beside-{before}x{behind}-{style.decimal}{style.group}-{negative}",
                    text_of(["a", "b"], cells, ";").encode(),
                    (numbers("a", values), numbers("b", plain)),
                    said=True,
                )


def missing(rng: random.Random) -> Iterator[Written]:
    words = ["", "NA", "n/a", "N.A.", "-", "--", ".", "null", "NULL", "None", "nan", "NaN", "?", "missing", "unknown"]
    words += ["#N/A", "#DIV/0!", "<NA>", "\\N", " ", "nil"]
    named = ["offline", "X", "not read"]
    for word in [*words, *named]:
        for style in (PLAIN, Style(",")):
            values: list[Decimal | None] = [*drawn(rng, 9, 2, 3), None, *drawn(rng, 4, 2, 3), None]
            cells = [word if one is None else style.spelled(one) for one in values]
            other = [str(i * i) for i in range(len(cells))]
            yield Written(
                f"missing-{word}-{style.decimal}",
                text_of(["a", "b"], [cells, other], ";").encode(),
                (numbers("a", values), numbers("b", [Decimal(i * i) for i in range(len(cells))])),
                said=bool(word.strip()),
                bad=(word,) * 2 if word in named else (),
            )


def headers(rng: random.Random) -> Iterator[Written]:
    for n, step, start in ((3, 1, 2019), (2, 1, 1999), (5, 5, 1990), (4, 10, 1950)):
        years = [str(start + step * i) for i in range(n)]
        for decimals in (0, 2):
            columns = [drawn(rng, 8, decimals, 3) for _ in range(n)]
            cells = [[str(one) for one in column] for column in columns]
            truth = tuple(map(numbers, years, columns))
            yield Written(f"years-{n}-{step}-{decimals}", text_of(years, cells).encode(), truth, said=True)
            named = text_of(["country", *years], [[f"land {i}" for i in range(8)], *cells]).encode()
            yield Written(f"years-named-{n}-{step}-{decimals}", named, (Truth("country", "text"), *truth), said=True)
    for n in (3, 6):
        names = [str(i) for i in range(n)]
        decimal = [drawn(rng, 8, 3, 2) for _ in range(n)]
        cells = [[str(one) for one in column] for column in decimal]
        yield Written(f"counted-{n}", text_of(names, cells).encode(), tuple(map(numbers, names, decimal)), said=True)
        index = [[str(i) for i in range(8)], *cells]
        truth = (numbers("column_1", [Decimal(i) for i in range(8)]), *map(numbers, names, decimal))
        yield Written(f"counted-index-{n}", text_of(["", *names], index).encode(), truth, said=True)
        # Whole numbers below whole numbers: a row.
        rows = [[Decimal(i), *drawn(rng, 8, 0, 2)] for i in range(n)]
        cells = [[str(one) for one in column] for column in rows]
        truth = tuple(numbers(f"column_{i + 1}", column) for i, column in enumerate(rows))
        yield Written(f"row-of-counts-{n}", text_of(None, cells).encode(), truth, {"header": False}, said=True)
        decimals = [drawn(rng, 8, 2, 2) for _ in range(n)]
        cells = [[str(one) for one in column] for column in decimals]
        truth = tuple(numbers(f"column_{i + 1}", column) for i, column in enumerate(decimals))
        yield Written(f"no-header-{n}", text_of(None, cells).encode(), truth)
        names = ["10", "20", "35", "40", "55", "60"][:n]
        whole = [drawn(rng, 8, 0, 2) for _ in range(n)]
        body = text_of(None, [[str(one) for one in column] for column in whole])
        quoted = ",".join(f'"{name}"' for name in names) + "\n" + body
        yield Written(f"quoted-names-{n}", quoted.encode(), tuple(map(numbers, names, whole)), said=True)
    rising = [[Decimal(2000 + i) for i in range(9)], drawn(rng, 9, 1, 2)]
    truth = (numbers("column_1", rising[0]), numbers("column_2", rising[1]))
    yield Written("years-going-on", text_of(None, [[str(one) for one in column] for column in rising]).encode(), truth)


def dates(rng: random.Random) -> Iterator[Written]:
    days = [datetime(2023, 1 + i % 12, 13 + i, 5 + i, 30, tzinfo=UTC) for i in range(12)]
    early = [datetime(2023, 2 + i, 1 + i // 2, tzinfo=UTC) for i in range(8)]
    values = drawn(rng, 12, 1, 3)

    def table(name: str, form: str, order: str = "", said: bool = True, times: bool = False, of: Any = days) -> Written:
        moments = [one if times else one.replace(hour=0, minute=0) for one in of]
        cells = [one.strftime(form) for one in moments]
        truth = Truth("day", "date", tuple(one.timestamp() for one in moments))
        text = text_of(["day", "v"], [cells, [str(one) for one in values[: len(cells)]]], ";")
        options = {"date_order": order} if order else {}
        return Written(f"dates-{name}", text.encode(), (truth, numbers("v", values[: len(cells)])), options, said)

    for sign in "/-.":
        yield table(f"day-first-{sign}", f"%d{sign}%m{sign}%Y")
        yield table(f"day-first-time-{sign}", f"%d{sign}%m{sign}%Y %H:%M", times=True)
        yield table(f"short-year-{sign}", f"%d{sign}%m{sign}%y", order="dmy")
    for sign in "/-":
        yield table(f"month-first-{sign}", f"%m{sign}%d{sign}%Y")
        yield table(f"month-first-pm-{sign}", f"%m{sign}%d{sign}%Y %I:%M %p", times=True)
        for order, form in (("dmy", f"%d{sign}%m{sign}%Y"), ("mdy", f"%m{sign}%d{sign}%Y")):
            yield table(f"unclear-{order}-{sign}", form, order=order, of=early)
    yield table("points-early", "%d.%m.%Y", of=early)
    yield table("iso", "%Y-%m-%d", said=False)
    yield table("iso-time", "%Y-%m-%dT%H:%M:%S", said=False, times=True)
    yield table("slashes", "%Y/%m/%d", said=False)
    yield table("points-year-first", "%Y.%m.%d")
    for form in ("%d-%b-%Y", "%d %B %Y", "%b %d, %Y"):
        yield table(f"named-{form}", form)
    mixed = [one.strftime("%d/%m/%Y" if i % 2 else "%m/%d/%Y") for i, one in enumerate(days)]
    yield Written("dates-mixed", text_of(["day", "v"], [mixed, [str(one) for one in values]]).encode(), None)


def encoded(rng: random.Random) -> Iterator[Written]:
    style = Style(",", NBSP, behind=" €")
    for encoding, needed in (
        ("utf-8", {}), ("utf-8-sig", {}), ("utf-16", {}), ("utf-16-le", {"encoding": "utf-16-le"}),
        ("cp1252", {"encoding": "cp1252"}),
    ):  # fmt: skip
        for ending in ("\n", "\r\n", "\r"):
            values, other = drawn(rng, 10, 2), drawn(rng, 10, 3, 2)
            cells = [[style.spelled(one) for one in values], [Style(",").spelled(one) for one in other]]
            text = text_of(["größe", "b"], cells, ";").replace("\n", ending)
            truth = (numbers("größe", values), numbers("b", other))
            yield Written(f"encoded-{encoding}-{ending!r}", text.encode(encoding), truth, dict(needed), said=True)


def beyond(rng: random.Random) -> Iterator[Written]:
    for digits in (17, 19, 20, 30, 45):
        ids = [str(rng.randrange(10 ** (digits - 1), 10**digits) | 1) for _ in range(8)]
        values = drawn(rng, 8, 2)
        text = text_of(["id", "v"], [ids, [str(one) for one in values]])
        yield Written(f"beyond-{digits}", text.encode(), (Truth("id", "text"), numbers("v", values)), said=True)
        mixed = [str(i) if i % 2 else one for i, one in enumerate(ids)]
        text = text_of(["id", "v"], [mixed, [str(one) for one in values]])
        yield Written(f"beyond-mixed-{digits}", text.encode(), (Truth("id", "text"), numbers("v", values)), said=True)
    exact = [Decimal(2**60 + 2**20 * i) for i in range(8)]
    values = drawn(rng, 8, 2)
    cells = [[str(one) for one in exact], [str(one) for one in values]]
    yield Written("beyond-exact", text_of(["a", "v"], cells).encode(), (numbers("a", exact), numbers("v", values)))
    longer = [Decimal(rng.randrange(10**30)).scaleb(-25) for _ in range(8)]
    cells = [[f"{one:f}" for one in longer], [str(one) for one in values]]
    yield Written("beyond-decimals", text_of(["a", "v"], cells).encode(), (numbers("a", longer), numbers("v", values)))


def thousand(rng: random.Random, n: int) -> list[Decimal]:
    return [Decimal(rng.randrange(1000, 999_999)) for _ in range(n)]


def ambiguous(rng: random.Random) -> Iterator[Written]:
    for delimiter in ",;\t|":
        for size in (3, 10, 40):
            whole = thousand(rng, size)
            plain = drawn(rng, max(size, 3), 0, 3)[:size]
            cells = [[Style(".", ",").spelled(one) for one in whole], [str(one) for one in plain]]
            text = text_of(["a", "b"], cells, delimiter).encode()
            truth = (numbers("a", whole), numbers("b", plain))
            yield Written(f"ambiguous-thousands-{delimiter!r}-{size}", text, truth, {"thousands": ","}, said=True)
            parts = tuple(one.scaleb(-3) for one in whole)
            truth = (numbers("a", parts), numbers("b", plain))
            yield Written(f"ambiguous-decimals-{delimiter!r}-{size}", text, truth, {"decimal": ","}, said=True)
    for size in (4, 20, 60):
        # Points before three digits: decimals, unless commas are proved to be.
        whole, halves = (
            thousand(rng, size),
            [*drawn(rng, size, 1, 2, negative=False)[2:], Decimal("0.5"), Decimal("1.5")],
        )
        cells = [[Style(",", ".").spelled(one) for one in whole], [Style(",").spelled(one) for one in halves]]
        text = text_of(["a", "b"], cells, ";").encode()
        yield Written(f"points-beside-commas-{size}", text, (numbers("a", whole), numbers("b", halves)), said=True)
        parts = [one.scaleb(-3) for one in whole]
        cells = [[str(one) for one in parts], [str(one) for one in halves]]
        text = text_of(["a", "b"], cells, ";").encode()
        yield Written(f"points-beside-points-{size}", text, (numbers("a", parts), numbers("b", halves)))
        one_half = [Decimal("0.5"), *drawn(rng, size, 0, 2, negative=False)[3:], Decimal(7), Decimal(8)]
        cells = [[Style(",").spelled(one) for one in parts], [Style(",").spelled(one) for one in one_half]]
        text = text_of(["a", "b"], cells, ";").encode()
        truth = (numbers("a", parts), numbers("b", one_half))
        yield Written(f"one-half-{size}", text, truth, {"decimal": ","}, said=True)
        both = [[Style(".", ",").spelled(one) for one in whole], [str(one) for one in halves]]
        text = text_of(["a", "b"], both, ";").encode()
        yield Written(f"commas-beside-points-{size}", text, (numbers("a", whole), numbers("b", halves)), said=True)
        strong = [Decimal("1034567"), *whole[1:]]
        text = text_of(["a", "b"], [[Style(",", ".").spelled(one) for one in strong], [str(i) for i in range(size)]])
        truth = (numbers("a", strong), numbers("b", [Decimal(i) for i in range(size)]))
        yield Written(f"two-points-{size}", text.encode(), truth, said=True)


def contradictory(rng: random.Random) -> Iterator[Written]:
    values = drawn(rng, 10, 2, 3)
    # A few cells that are written in another way than most, and what the others are.
    odd: dict[str, list[tuple[str, float | None]]] = {
        "units": [("12kg", 12), ("13kg", 13), ("14lb", None), ("15kg", 15), ("16kg", 16)],
        "half-units": [("12kg", 12), ("13kg", 13), ("14", None), ("15kg", 15), ("16kg", 16)],
        "currencies": [("$12", 12), ("€13", None), ("$14", 14), ("$15", 15), ("$16", 16)],
        "negatives": [("(12)", -12), ("-13", None), ("(14)", -14), ("15", 15), ("16", 16)],
        "trailing": [("12-", None), ("-13", -13), ("-14", -14), ("15", 15), ("16", 16)],
        "signs": [("0,5", None), ("1.25", 1.25), ("1,75", None), ("2.5", 2.5), ("12.5", 12.5)],
        "separators": [("1'234", 1234), ("1 234", None), ("12'345", 12345), ("12 345", None), ("1'000", 1000)],
        "letter": [("12", 12), ("13", 13), ("1O", None), ("15", 15), ("16", 16)],
        "range": [("12", 12), ("13", 13), ("14-15", None), ("15", 15), ("16", 16)],
        "below": [("12", 12), ("<5", None), ("14", 14), ("15", 15), ("16", 16)],
        "word": [("12", 12), ("13", 13), ("broken down again", None), ("15", 15), ("16", 16)],
        "long word": [("12", 12), ("13", 13), ("longer than a word for missing values", None), ("15", 15), ("16", 16)],
    }
    for name, pairs in odd.items():
        text = text_of(["a", "b"], [[cell for cell, _ in pairs] * 2, [str(one) for one in values]], ";")
        truth = (Truth("a", "number", tuple(value for _, value in pairs) * 2), numbers("b", values))
        bad = tuple(cell for cell, value in pairs if value is None) * 2
        yield Written(f"contradictory-{name}", text.encode(), truth, said=True, bad=bad)
    signs = [("0,5", "1.25"), ("1,75", "2.5"), ("12.5", "3,5")] * 4
    text = text_of(["a", "b"], [[one for pair in signs for one in pair], [str(i) for i in range(24)]], ";")
    yield Written("contradictory-half-signs", text.encode(), None)


def codes(rng: random.Random) -> Iterator[Written]:
    values = drawn(rng, 8, 2)
    columns = {
        "A12": lambda i: f"A{i}",
        "12A": lambda i: f"{12 + i}A",
        "R2": lambda i: f"R{i}",
        "versions": lambda i: f"1.{i}.{2 * i}",
        "long-versions": lambda i: f"1.{i}.10",
        "times": lambda i: f"1{i}:30",
        "postcodes": lambda i: f"SW{i} 4RT",
        "phones": lambda i: f"+49 30 1234{i}",
        "phones-in-threes": lambda i: f"555 123 45{i}",
        "machines": lambda i: f"192.168.100.10{i}",
        "other-machines": lambda i: f"10.0.0.{i}",
        "ordinals": lambda i: f"{i + 4}th",
        "days": lambda i: f"{i + 4} May",
        "shares": lambda i: f"1/{i + 2}",
        "ranges": lambda i: f"{i}-{i + 5}",
        "words": lambda i: f"number {i}",
        "underscores": lambda i: f"2020_0{i}",
        "hexadecimal": lambda i: f"0x1{i}",
    }
    for name, made in columns.items():
        cells = [[made(i) for i in range(8)], [str(one) for one in values]]
        text = text_of(["code", "v"], cells).encode()
        yield Written(f"codes-{name}", text, (Truth("code", "text"), numbers("v", values)))


def plain(rng: random.Random) -> Iterator[Written]:
    for number in range(20):
        columns = [drawn(rng, 30, number % 5, 4) for _ in range(4)]
        cells = [[str(one) for one in column] for column in columns]
        delimiter = ",;\t|"[number % 4]
        text = text_of(["a", "b", "c", "d"], cells, delimiter, "all" if number % 2 else "needed")
        yield Written(f"plain-{number}", text.encode(), tuple(map(numbers, "abcd", columns)))
    floats = [rng.gauss(0, 1) * 10 ** rng.randint(-200, 200) for _ in range(30)]
    text = text_of(["a", "b"], [[repr(one) for one in floats], [f"{one:.17g}" for one in floats]]).encode()
    yield Written("plain-floats", text, (Truth("a", "number", tuple(floats)), Truth("b", "number", tuple(floats))))


def json_lines(rng: random.Random) -> Iterator[Written]:
    for number in range(6):
        values, whole = drawn(rng, 9, 1 + number % 3), [rng.randrange(10**17, 10**18) | 1 for _ in range(9)]
        money = [Style(".", "", before="$").spelled(one) for one in values]
        lines = (
            f'{{"id": {one}, "v": {value}, "money": "{cell}"}}\n'
            for one, value, cell in zip(whole, values, money, strict=True)
        )
        truth = (Truth("id", "text"), numbers("v", values), numbers("money", values))
        yield Written(f"json-{number}", "".join(lines).encode(), truth, said=True)
