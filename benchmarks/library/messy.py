"""CSV files with the defects of real ones, and what they should be read as.

    for file in messy_files(seed=0, n=200, folder=Path("/tmp/messy")): ...

Every file is an everyday table (`library.everyday`) that gets one to three of `DEFECTS`: those of public portals,
spreadsheets exported by hand, and programs that write CSV in their own way. Defects of one slot exclude each other.
"""

from __future__ import annotations

import datetime as dt
import gzip
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from library.everyday import Field, everyday, plain

# In the order in which defects are applied (first what cells are, then where they stand, then what bytes are), with how
# often they come first in a file: what trials met most comes most.
SLOTS = {
    **{"texts": 1, "locale": 2, "style": 2, "truth": 1, "dates": 2, "missing": 2, "cells": 5, "ids": 1, "names": 2},
    **{"delimiter": 1, "quotes": 1, "second": 1, "above": 2, "below": 2, "inside": 1, "rows": 3, "control": 1},
    **{"lines": 1, "encoding": 2, "file": 1},
}
ODD_CELLS = "16a;**;At-Large;bbbb;#REF!;<5;~12;5*;1,2,3;N.A.?;see note;12-15;TBD;1O5;ca. 30;three;>100;7..5;x".split(
    ";"
)
MISSING = ". - NA n/a (blank) * -999 .. null NULL ? unknown N/A -- #N/A".split()
LATIN = "José Peña;Zoë Müller;François Côté;Søren Åberg;Übersee;São Tomé;Île Verte", "Größe;Año;Température;Stück"
ALPHABETS = {
    "utf-8-sig": LATIN,
    "latin-1": LATIN,
    "cp1252": ("Café “Zur Post”;10 – 20 €;Søren’s;Œuvre;Übersee", "Preis in €;Größe;Œuvres"),  # noqa: RUF001
    "cp1250": ("Łukasz Wójcik;Žofia Dvořáková;Győr;Świętokrzyskie;Kraków", "Ilość;Příjmení;Województwo"),
    "cp1251": ("Анна Иванова;Пётр Сидоров;Казань;Нижний Новгород", "Количество;Сумма;Регион"),  # noqa: RUF001
    "mac-roman": LATIN,
    "shift_jis": ("東京都;大阪府;北海道;山田太郎;ソニー", "数量;価格;都道府県"),
    "gbk": ("北京市;上海;广东省;王小明", "数量;价格;省份"),
    "utf-16-le": LATIN,
    "utf-16-be": LATIN,
    "utf-16-le without a mark": LATIN,
}
FILES = (
    "my data.csv",
    "it's 100% done (final) [v2].csv",
    'the "best" table.csv',
    "übersicht & co.csv",
    "a;b $HOME.csv",
)


@dataclass
class Draft:
    """A file before it is written: fields, and everything that stands around and between them."""

    rng: np.random.Generator
    fields: list[Field]
    n: int
    decimal: str = "."
    thousands: str = ""
    styles: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    delimiter: str = ","
    quoting: str = "minimal"
    above: list[str] = field(default_factory=list)
    second: list[list[str]] = field(default_factory=list)
    inside: dict[int, tuple[str, str]] = field(default_factory=dict)
    below: list[tuple[str, str]] = field(default_factory=list)
    edits: dict[int, Callable[[list[str]], list[str]]] = field(default_factory=dict)
    header: bool = True
    header_begin: int = 0
    tail: str = ""
    header_tail: str = ""
    newlines: tuple[str, ...] = ("\n",)
    encoding: str = "utf-8"
    ending: str = ""
    name: str = ""
    suffix: str = ".csv"
    odd: list[tuple[int, int, str]] = field(default_factory=list)
    damaged: set[int] = field(default_factory=set)
    refusable: bool = False

    def some(self, *options: object) -> object:
        return options[int(self.rng.integers(len(options)))]

    def row(self) -> int:
        return int(self.rng.integers(5, self.n - 3))

    def numbers(self, test: Callable[[Field], bool] = lambda one: True) -> list[int]:
        """The columns of numbers that pass a test, in any order."""
        found = [k for k, one in enumerate(self.fields) if one.kind == "number" and one.units and test(one)]
        return [found[k] for k in self.rng.permutation(len(found))]

    def texts(self) -> list[int]:
        return [k for k, one in enumerate(self.fields) if one.kind == "text" and one.decimals == 0]

    def quoted(self, cell: str, number: bool = False) -> str:
        needed = any(sign in cell for sign in (self.delimiter, '"', "\n", "\r")) or cell != cell.strip("\x0c\x07")
        wanted = (
            self.quoting == "all" or (self.quoting == "numbers" and number) or (self.quoting == "text" and not number)
        )
        return '"' + cell.replace('"', '""') + '"' if needed or wanted else cell

    def spelled(self, k: int, units: int) -> str:
        """A number by the signs of the file and the style of its column."""
        before, behind, negative = self.styles.get(k, ("", "", "-"))
        whole, _, fraction = plain(abs(units), self.fields[k].decimals).partition(".")
        whole = re.sub(r"(?<=\d)(?=(\d{3})+$)", self.thousands, whole)
        text = before + whole + (self.decimal + fraction if fraction else "") + behind
        return text if units >= 0 else {"()": f"({text})", "5-": f"{text}-"}.get(negative, negative + text)

    def spell(self) -> None:
        """Write all numbers so, but those that are written in another way already."""
        for k, one in enumerate(self.fields):
            if k in self.written:
                one.cells = [cell.replace(".", self.decimal) for cell in one.cells]
            elif one.units:
                cells = zip(one.units, one.cells, strict=True)
                one.cells = ["" if cell == "" else self.spelled(k, units) for units, cell in cells]

    def proven(self) -> bool:
        """Whether the cells alone tell the decimal sign."""
        cells = [cell for one in self.fields if one.units for cell in one.cells]
        bodies = [found[0] for cell in cells if (found := re.search(r"[\d.,]*\d", cell))]
        unclear = [body for body in bodies if re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", body)]
        proof = [body for body in bodies if re.search("[.,]", body) and body not in set(unclear)]
        return not unclear or (len(proof) >= 2 and len(proof) >= 0.06 * (len(proof) + len(unclear)))


@dataclass(frozen=True)
class MessyFile:
    """A file and the truth about it.

    Parameters
    ----------
    fields : the columns; `optional` of them, at the end or (index) the first, may be left out
    rows : for each row of the table the line in which it begins, from 1, and its text
    others : lines that are no row but may be taken for one: kind, the row before which they stand, line, text
    odd : unparsable cells: row, column, text
    damaged : rows whose cells are not all in place; what is read of them, or that they are dropped, must be said
    broken : a row in which a relation is broken
    refusable : nobody can know how to read it, so it may be refused
    """

    path: Path
    theme: str
    defects: tuple[str, ...]
    fields: tuple[Field, ...]
    optional: tuple[int, ...]
    rows: tuple[tuple[int, str], ...]
    others: tuple[tuple[str, int, int, str], ...]
    odd: tuple[tuple[int, int, str], ...]
    damaged: frozenset[int]
    broken: int | None
    refusable: bool


Defect = Callable[[Draft], bool | None]
DEFECTS: dict[str, tuple[str, Defect]] = {}


def defect(slot: str, *names: str) -> Callable[[Callable[..., bool | None]], Callable[..., bool | None]]:
    """Register a defect, or one for each name, which is then its second argument; False: not possible here."""

    def register(make: Callable[..., bool | None]) -> Callable[..., bool | None]:
        for name in names:
            DEFECTS[name] = slot, (lambda draft, name=name: make(draft, name)) if len(names) > 1 else make
        return make

    return register


# ---- what cells are


@defect("locale", "decimal comma", "thousands , and decimals .", "thousands . and decimals ,", "thousands blank", "thousands nbsp", "thousands '")  # fmt: skip
def _locale(draft: Draft, name: str) -> bool | None:
    if not draft.numbers(lambda one: one.decimals in (1, 2)):
        return False
    if "thousands" in name:
        if not draft.numbers(lambda one: max(map(abs, one.units)) >= 1000 * 10**one.decimals):
            return False
        draft.thousands = {"b": " ", "n": "\xa0"}.get(name.split()[1][0], name.split()[1][0])
    draft.decimal = (
        ","
        if "decimals ," in name or "comma" in name or (draft.thousands in " \xa0" and draft.rng.random() < 0.5)
        else "."
    )
    if draft.decimal == "," and draft.rng.random() < 0.8:
        draft.delimiter = ";"
    return None


@defect("locale", "thousands , without proof")
def _unproven(draft: Draft) -> bool | None:
    draft.fields = [
        one for one in draft.fields if not one.units or (one.decimals == 0 and max(map(abs, one.units)) < 10**6)
    ]
    draft.thousands, draft.refusable = ",", True
    return bool(draft.numbers(lambda one: max(one.units) > 2000)) and len(draft.numbers()) > 2


@defect("style", "currency", "unit", "percent sign", "brackets for negatives", "minus behind", "typographic minus")
def _style(draft: Draft, name: str) -> bool | None:
    tests: dict[str, Callable[[Field], bool]] = {
        "currency": lambda one: one.decimals == 2,
        "unit": lambda one: one.decimals > 0,
        "percent sign": lambda one: one.decimals == 1 and 0 <= min(one.units) and max(one.units) <= 1000,
    }
    found = draft.numbers(tests.get(name, lambda one: min(one.units) < 0))
    style = {
        "currency": draft.some(
            ("$", "", "-"), ("€ ", "", "-"), ("", " €", "-"), ("£", "", "-"), ("USD ", "", "-"), ("$", "", "()")
        ),
        "unit": ("", str(draft.some(" kg", "kWh", " °C", " m", " mg/l")), "-"),
        "percent sign": ("", str(draft.some("%", " %")), "-"),
        "brackets for negatives": ("", "", "()"),
        "minus behind": ("", "", "5-"),
    }.get(name, ("", "", "−"))  # noqa: RUF001
    draft.styles = dict.fromkeys(found[:2], style)  # type: ignore[arg-type]
    return bool(found)


@defect("style", "scientific notation", "cells padded with blanks")
def _written(draft: Draft, name: str) -> bool | None:
    found = draft.numbers(lambda one: one.decimals > 0 or "blanks" in name)[:2]
    for k in found:
        one = draft.fields[k]
        digits = max(len(str(abs(units))) for units in one.units)
        one.cells = [f"{value:.{digits}E}" if "sci" in name and value is not None else f"{cell:>12} " for value, cell in zip(one.values, one.cells, strict=True)]  # fmt: skip
        one.values = [None if not cell.strip() else float(cell) for cell in one.cells]
        draft.written.add(k)
    return bool(found)


@defect("truth", "yes/no", "Y/N", "TRUE/FALSE", "t/f")
def _truth(draft: Draft, name: str) -> bool | None:
    chosen = draft.rng.integers(0, 2, draft.n).tolist()
    cells = [name.split("/")[1 - one] for one in chosen]
    draft.fields.insert(
        int(draft.rng.integers(len(draft.fields))), Field("Active", "truth", [float(one) for one in chosen], cells)
    )
    return None


@defect(
    "dates", "day first", "month first", "points in dates", "month names", "years of two digits", "day or month first"
)
def _dates(draft: Draft, name: str) -> bool | None:
    found = [one for one in draft.fields if one.kind == "date"]
    named = "%d-%b-%Y;%b %d, %Y;%d %B %Y;%B %d, %Y;%d-%b-%y".split(";")
    way = {
        "day first": "%d/%m/%Y",
        "month first": "%m/%d/%Y",
        "points in dates": "%d.%m.%Y",
        "month names": named[draft.rng.integers(5)],
        "years of two digits": "%m/%d/%y",
    }.get(name, str(draft.some("%d/%m/%Y", "%m/%d/%Y")))
    for one in found:
        times = [dt.datetime.fromtimestamp(value, dt.UTC) for value in one.values]
        if name == "day or month first":
            times = [time.replace(day=1 + time.day % 12) for time in times]
            draft.refusable = True
        elif max(time.day for time in times) < 13:
            return False
        clock = " %H:%M" if any(time.hour for time in times) else ""
        one.values, one.cells = [time.timestamp() for time in times], [f"{time:{way}{clock}}" for time in times]
    return bool(found)


@defect("missing", *[f"missing: {word}" for word in MISSING])
def _missing(draft: Draft, name: str) -> bool | None:
    word = name.removeprefix("missing: ")
    share = draft.rng.uniform(0.02, 0.25)
    for k in draft.numbers()[: draft.rng.integers(1, 4)]:
        one = draft.fields[k]
        for i in np.flatnonzero(draft.rng.random(draft.n) < share).tolist() or [1]:
            one.values[i], one.cells[i] = None, word
    return None


@defect("cells", "one unparsable cell", "unparsable cells, up to 1.5 %", "unparsable cells, above 2 %")
def _unparsable(draft: Draft, name: str) -> bool | None:
    if draft.n < 70:
        return False
    for k in draft.numbers()[: 1 if "one" in name else draft.rng.integers(1, 4)]:
        one = draft.fields[k]
        share = draft.rng.uniform(0.04, 0.15) if "above" in name else draft.rng.uniform(0.001, 0.015)
        # Of the cells that are given: beside words for missing ones the share would be another.
        given = [i for i, value in enumerate(one.values) if value is not None]
        count = 1 if "one" in name else max(1, int(share * len(given)))
        if count > 0.018 * len(given) and "above" not in name:
            return False
        words = draft.rng.choice(ODD_CELLS, max(5, count) if "above" in name else int(draft.rng.integers(1, 4)))
        for place, i in enumerate(sorted(draft.rng.choice(given, count, replace=False).tolist())):
            one.values[i], one.cells[i] = None, str(words[place % len(words)])
            draft.odd.append((i, k, one.cells[i]))
    return None


@defect("texts", "cells of several lines", "stray quotes in cells")
def _texts(draft: Draft, name: str) -> bool | None:
    for k in draft.texts()[:1]:
        one = draft.fields[k]
        for i in draft.rng.choice(draft.n, max(1, draft.n // 20), replace=False).tolist():
            one.cells[i] = f"{one.cells[i]}\nsecond line" if "lines" in name else f'{draft.rng.integers(1, 9)}" pipe'
        one.decimals = 0 if "lines" in name else -1  # written as it is
    return bool(draft.texts()) if "lines" in name else any(one.decimals < 0 for one in draft.fields)


# ---- columns and their names


@defect("ids", "row index without a name", "row names of R")
def _index(draft: Draft, name: str) -> bool | None:
    start = 0 if "index" in name else 1
    cells = [str(k) if start == 0 else f'"{k}"' for k in range(start, start + draft.n)]
    draft.fields.insert(0, Field(None, "index", [float(k) for k in range(start, start + draft.n)], cells, title=""))
    draft.odd = [(i, k + 1, text) for i, k, text in draft.odd]
    draft.header_begin, draft.quoting = start, "text" if start else draft.quoting
    return None


@defect(
    "names", "duplicate names", "empty names", "blank names", "very long names", "names of several lines", "no header"
)
def _names(draft: Draft, name: str) -> bool | None:
    chosen = [k for k in draft.rng.permutation(len(draft.fields)).tolist() if draft.fields[k].name][
        : draft.rng.integers(2, 4)
    ]
    for k in chosen if name != "no header" else range(len(draft.fields)):
        one, old = draft.fields[k], draft.fields[k].name
        if name in ("duplicate names", "empty names", "blank names", "no header"):
            title = {"d": draft.fields[chosen[0]].title or draft.fields[chosen[0]].name, "e": "", "b": "   "}.get(
                name[0]
            )
            one.name, one.title = None, title
        else:
            one.name = (
                f"{old} (as reported by the responsible office" + ", see the notes" * 12 + ")"
                if "long" in name
                else f"{old}\n(final)"
            )
    draft.header = name != "no header"
    draft.suffix = ".data" if not draft.header else draft.suffix
    return None


@defect("delimiter", "semicolons", "tabs", "bars", "sep= line")
def _delimiter(draft: Draft, name: str) -> bool | None:
    draft.delimiter = {"t": "\t", "b": "|"}.get(name[0], ";")
    draft.suffix = str(draft.some(".tsv", ".txt")) if name == "tabs" else draft.suffix
    if name == "sep= line":
        draft.above = ["sep=;"]
    return None


@defect("quotes", "all quoted", "numbers in quotes", "text in quotes")
def _quoting(draft: Draft, name: str) -> bool | None:
    draft.quoting = {"a": "all", "n": "numbers"}.get(name[0], "text")
    return None


# ---- what stands around and between the rows


@defect("second", "line of units", "names and codes", "header twice")
def _second(draft: Draft, name: str) -> bool | None:
    if not draft.header or draft.header_begin:
        return False
    numbers = {*draft.numbers()}
    if name == "line of units":
        cells = [
            str(draft.some("kg", "%", "EUR", "count", "m/s", "°C")) if k in numbers else ""
            for k in range(len(draft.fields))
        ]
    else:
        cells = [f"HD{k:02d}_VD{k + 1:02d}" for k in range(len(draft.fields))]
    if name == "header twice":
        cells = [one.title if one.name is None else one.name for one in draft.fields]  # type: ignore[misc]
        draft.inside[draft.row()] = ("second", draft.delimiter.join(draft.quoted(str(cell)) for cell in cells))
    else:
        draft.second = [cells]
    return None


@defect("above", "title lines", "title lines with delimiters", "title and blank line", "comment lines above")
def _above(draft: Draft, name: str) -> bool | None:
    d = draft.delimiter
    titles = [
        "Annual report of the Department of Sanitation",
        "Table 3. Figures by place and year",
        "Extracted by hand on 2024-03-05 10:15",
        "Values in thousands unless stated otherwise",
    ]
    if name == "title lines with delimiters":
        titles = [
            f"Table 3{d} figures by place{d} 2019 to 2023",
            f"Region:{d}All",
            f"Version{d}2{d * (len(draft.fields) - 2)}",
        ]
    lines = [titles[k] for k in draft.rng.permutation(len(titles))[: draft.rng.integers(1, 5)]]
    lines = [f"# {line}" for line in lines] if "comment" in name else lines
    if name != "comment lines above" and draft.rng.random() < 0.4:
        lines = [line if d in line else line + d * (len(draft.fields) - 1) for line in lines]
    draft.above += [*lines, ""] if "blank" in name else lines
    return draft.header


@defect(
    "below",
    "total line",
    "notes below",
    "notes below a blank line",
    "rows without a value at the end",
    "lines of # at the end",
)
def _below(draft: Draft, name: str) -> bool | None:
    d, p = draft.delimiter, len(draft.fields)
    notes = [
        "Source: city portal, 2023 estimates",
        "* Preliminary figures.",
        "1 Includes Alaska and Hawaii",
        "Generated 03/05/2024",
    ]
    notes = [draft.quoted(notes[k]) for k in draft.rng.permutation(4)[: draft.rng.integers(1, 4)]]
    if name == "total line":
        sums = [draft.spelled(k, sum(one.units)) if one.units else "" for k, one in enumerate(draft.fields)]
        first = next((k for k, one in enumerate(draft.fields) if not one.units), 0)
        draft.below = [("total", d.join(draft.quoted("Total" if k == first else text) for k, text in enumerate(sums)))]
    elif name.startswith("rows"):
        draft.below = [("blank", d * (p - 1))] * int(draft.rng.integers(1, 12))
    elif name.startswith("lines"):
        draft.below = [("note", f"# {note}") for note in notes]
    else:
        padded = draft.rng.random() < 0.4
        draft.below = [("blank", d * (p - 1) if padded else "")] if "blank" in name else []
        draft.below += [("note", note + d * (p - 1) * padded) for note in notes]
    return None


@defect("inside", "comment lines inside", "blank lines inside", "rows without a value inside")
def _inside(draft: Draft, name: str) -> bool | None:
    text = {"c": "# sensor replaced", "b": ""}.get(name[0], draft.delimiter * (len(draft.fields) - 1))
    for row in draft.rng.choice(np.arange(3, draft.n), int(draft.rng.integers(1, 4)), replace=False).tolist():
        draft.inside[row] = "note" if name[0] == "c" else "blank", text
    return None


@defect("rows", "trailing delimiters", "trailing delimiters below the header", "trailing empty columns")
def _trailing(draft: Draft, name: str) -> bool | None:
    count = int(draft.rng.integers(2, 6)) if "columns" in name else 1
    draft.tail = draft.delimiter * count
    draft.header_tail = "" if "below" in name else draft.tail
    draft.fields += [Field(None, "empty", [None] * draft.n, [""] * draft.n, title="") for _ in range(count)]
    return draft.header and not draft.header_begin


@defect("rows", "short row", "cell lost in a row", "cells too many", "comma without quotes", "unclosed quote")
def _ragged(draft: Draft, name: str) -> bool | None:
    texts = [k for k in draft.texts() if any(one.units for one in draft.fields[k + 1 :])]
    if "comma" in name and not (draft.delimiter == "," and draft.quoting == "minimal" and texts):
        return False
    if ("quote" in name and "comma" not in name) and not (texts and draft.quoting == "minimal"):
        return False
    for row in {draft.row() for _ in range(1 if "quote" in name else draft.rng.integers(1, 4))}:
        draft.damaged.add(row)
        if name == "short row":
            keep = int(draft.rng.integers(len(draft.fields) // 2, len(draft.fields)))
            draft.edits[row] = lambda cells, keep=keep: cells[:keep]  # type: ignore[misc]
            for one in draft.fields[keep:]:
                one.values[row], one.cells[row] = None, ""
            draft.odd = [odd for odd in draft.odd if (odd[0], odd[1] >= keep) != (row, True)]
        elif name == "cell lost in a row":
            lost = int(draft.rng.integers(0, len(draft.fields) - 1))
            draft.edits[row] = lambda cells, lost=lost: cells[:lost] + cells[lost + 1 :]  # type: ignore[misc]
        elif name == "cells too many":
            more = [str(draft.some("", "checked by hand", "7"))] * int(draft.rng.integers(1, 3))
            draft.edits[row] = lambda cells, more=more: cells + more  # type: ignore[misc]
        else:
            new = ["Smith, Jr."] if "comma" in name else ['"Smith']
            draft.edits[row] = lambda cells, k=texts[0], new=new: cells[:k] + new + cells[k + 1 :]  # type: ignore[misc]
            draft.refusable |= "unclosed" in name
    return None


# ---- bytes


@defect("control", "NUL in a cell", "NULs at the end", "control characters", "Ctrl-Z at the end")
def _control(draft: Draft, name: str) -> bool | None:
    if name.endswith("end"):
        draft.ending = "\0" * 40 if "NUL" in name else "\x1a"
        return None
    for k in draft.texts()[:1]:
        for row in [draft.row(), draft.row()]:
            draft.fields[k].cells[row] += "\0" if "NUL" in name else str(draft.some("\x07", "\x0c", "\x1b[31m", "\x01"))
    return bool(draft.texts())


@defect("lines", "CRLF", "CR", "mixed line endings")
def _lines(draft: Draft, name: str) -> bool | None:
    draft.newlines = {"CRLF": ("\r\n",), "CR": ("\r",)}.get(name, ("\n", "\r\n"))
    return None


@defect("encoding", *ALPHABETS)
def _encoding(draft: Draft, name: str) -> bool | None:
    words, names = (part.split(";") for part in ALPHABETS[name])
    for k in draft.texts():
        one = draft.fields[k]
        known = {cell: words[place % len(words)] for place, cell in enumerate(dict.fromkeys(one.values))}
        one.cells = [known.get(cell, cell) for cell in one.cells]
    # At least one name and one column of text: nobody sees an encoding in figures.
    for place, k in enumerate([*draft.texts()[:1], *draft.numbers()[:1]]):
        if draft.fields[k].name is not None and "\n" not in str(draft.fields[k].name):
            draft.fields[k].name = names[place]
    draft.encoding = name
    return bool(draft.texts()) or draft.header


@defect("file", "gzip", "odd suffix", "odd file name")
def _file(draft: Draft, name: str) -> bool | None:
    draft.suffix = (
        ".csv.gz"
        if name == "gzip"
        else str(draft.some(".txt", ".dat", ".data", ""))
        if "suffix" in name
        else draft.suffix
    )
    draft.name = str(draft.some(*FILES)) if "name" in name else ""
    return None


# ---- from a draft to a file


def messy_files(seed: int, n: int, folder: Path) -> Iterator[MessyFile]:
    """Write n files into the folder; the same for the same seed."""
    rng = np.random.default_rng(seed)
    names = {slot: rng.permutation([name for name in DEFECTS if DEFECTS[name][0] == slot]).tolist() for slot in SLOTS}
    turns = rng.permutation([slot for slot, weight in SLOTS.items() for _ in range(weight)]).tolist()
    for number in range(n):
        slot = turns[number % len(turns)]
        # Every defect of a slot comes in turn.
        names[slot] = [*names[slot][1:], names[slot][0]]
        for attempt in range(1000):
            made = _messy(np.random.default_rng([seed, number, attempt]), names[slot][-1], number, folder)
            if made is not None:
                yield made
                break


def _messy(rng: np.random.Generator, first: str, number: int, folder: Path) -> MessyFile | None:
    """A file with this defect and up to two more; None where they do not go together."""
    n = int(np.exp(rng.uniform(np.log(30), np.log(2000))))
    theme, fields, broken = everyday(rng, n)
    chosen = {DEFECTS[first][0]: first}
    for slot in rng.choice(list(SLOTS), int(rng.choice(3, p=[0.4, 0.35, 0.25]))).tolist():
        chosen.setdefault(slot, str(rng.choice([name for name in DEFECTS if DEFECTS[name][0] == slot])))
    draft = Draft(rng, fields, n)
    # Most tables have gaps.
    for k in draft.numbers()[: int(rng.choice([0, 0, 1, 2]))]:
        for i in np.flatnonzero(rng.random(n) < 0.04).tolist():
            fields[k].values[i], fields[k].cells[i] = None, ""
    for slot in SLOTS:
        if slot in chosen and DEFECTS[chosen[slot]][1](draft) is False:
            return None
        if slot == "style":
            draft.spell()
            if draft.thousands not in ("", ",") and not draft.proven():
                return None
    draft.refusable |= not draft.proven()
    if broken is not None and any(one.relation and one.values[broken] is None for one in draft.fields):
        broken = None
    suffix = Path(draft.name).suffix if draft.name else draft.suffix
    path = folder / (f"{number:03d} {draft.name}" if draft.name else f"{number:03d}{suffix}")
    try:
        return _written_file(draft, path, theme, tuple(sorted(chosen.values(), key=lambda one: one != first)), broken)
    except UnicodeEncodeError:
        return None


def _written_file(draft: Draft, path: Path, theme: str, defects: tuple[str, ...], broken: int | None) -> MessyFile:
    d, fields = draft.delimiter, [one for one in draft.fields if one.kind != "empty"]
    lines: list[tuple[str, int | tuple[str, int] | None]] = [(line, None) for line in draft.above]
    if draft.header:
        titles = [one.title if one.name is None else one.name for one in fields[draft.header_begin :]]
        lines.append((d.join(draft.quoted(str(title)) for title in titles) + draft.header_tail, None))
    lines += [(d.join(map(draft.quoted, cells)) + draft.tail, ("second", 0)) for cells in draft.second]
    for i in range(draft.n):
        if i in draft.inside:
            kind, text = draft.inside[i]
            lines.append((text, (kind, i)))
        # Cells of stray quotes and of R's names are as they stand.
        cells = [
            one.cells[i] if one.kind == "index" or one.decimals < 0 else draft.quoted(one.cells[i], bool(one.units))
            for one in fields
        ]
        lines.append((d.join(draft.edits.get(i, list)(cells)) + draft.tail, i))
    lines += [(text, (kind, draft.n)) for kind, text in draft.below]
    rows: list[tuple[int, str]] = []
    others: list[tuple[str, int, int, str]] = []
    text, line = "", 1
    for content, what in lines:
        if isinstance(what, int):
            rows.append((line, content))
        elif what is not None and content:
            others.append((*what, line, content))
        newline = draft.newlines[int(draft.rng.integers(len(draft.newlines)))]
        text += content.replace("\n", draft.newlines[0]) + newline
        line += 1 + content.count("\n")
    text += draft.ending
    encoding = draft.encoding.split()[0]
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(draft.encoding, b"")
    content_bytes = mark + text.encode(encoding)
    path.write_bytes(gzip.compress(content_bytes, mtime=0) if path.suffix == ".gz" else content_bytes)
    optional = tuple(k for k, one in enumerate(draft.fields) if one.kind in ("empty", "index"))
    odd, damaged = tuple(sorted(draft.odd)), frozenset(draft.damaged)
    return MessyFile(path, theme, defects, tuple(draft.fields), optional, tuple(rows), tuple(others), odd, damaged, broken, draft.refusable)  # fmt: skip
