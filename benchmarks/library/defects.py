"""Defects of real CSV files, as changes of a draft: those of public portals, spreadsheets and programs.

Defects of one slot exclude each other; what a table cannot have raises `UnfitError`.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from library.draft import Draft
from library.everyday import Field, listed

ODD_CELLS = listed("16a;**;At-Large;bbbb;#REF!;<5;~12;5*;1,2,3;N.A.?;see note;12-15;TBD;1O5;ca. 30;three;>100;7..5;x")
MISSING = listed(".;-;NA;n/a;(blank);*;-999;..;null;NULL;?;unknown;N/A;--;#N/A")
LATIN = "José Peña;Zoë Müller;François Côté;Søren Åberg;Übersee;São Tomé;Île Verte", "Größe;Año;Température;Stück"
ALPHABETS = {
    "utf-8-sig": LATIN,
    "latin-1": LATIN,
    "cp1252": ("Café “Zur Post”;10 – 20 €;Søren’s;Œuvre;Übersee", "Preis in €;Größe;Œuvres"),  # noqa: RUF001
    "cp1250": ("Łukasz Wójcik;Žofia Dvořáková;Győr;Świętokrzyskie;Kraków", "Ilość;Příjmení;Województwo"),
    "cp1251": ("Анна Иванова;Пётр Сидоров;Казань;Нижний Новгород", "Количество;Сумма;Регион"),
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
Make = Callable[[Draft, str], None]
# What needs no more than other settings: slot, and these.
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "semicolons": ("delimiter", {"delimiter": ";"}),
    "tabs": ("delimiter", {"delimiter": "\t", "suffix": ".tsv"}),
    "bars": ("delimiter", {"delimiter": "|"}),
    "sep= line": ("delimiter", {"delimiter": ";", "above": ["sep=;"]}),
    "all quoted": ("quotes", {"quoting": "all"}),
    "numbers in quotes": ("quotes", {"quoting": "numbers"}),
    "text in quotes": ("quotes", {"quoting": "text"}),
    "NULs at the end": ("control", {"ending": "\0" * 40}),
    "Ctrl-Z at the end": ("control", {"ending": "\x1a"}),
    "CRLF": ("lines", {"newlines": ("\r\n",)}),
    "CR": ("lines", {"newlines": ("\r",)}),
    "mixed line endings": ("lines", {"newlines": ("\n", "\r\n")}),
    "gzip": ("file", {"suffix": ".csv.gz"}),
    "suffix .txt": ("file", {"suffix": ".txt"}),
    "suffix .data": ("file", {"suffix": ".data"}),
    "no suffix": ("file", {"suffix": ""}),
    **{f"file name {name}": ("file", {"name": name}) for name in FILES},
}
DEFECTS: dict[str, tuple[str, Make]] = {}


def defect(slot: str, names: str | Sequence[str]) -> Callable[[Make], Make]:
    """Register what makes defects of these names (with semicolons between)."""

    def register(make: Make) -> Make:
        DEFECTS.update((name, (slot, make)) for name in (listed(names) if isinstance(names, str) else names))
        return make

    return register


def _set(draft: Draft, name: str) -> None:
    for key, value in SETTINGS[name][1].items():
        setattr(draft, key, value)


DEFECTS |= {name: (slot, _set) for name, (slot, _) in SETTINGS.items()}


# ---- what cells are


@defect(
    "locale", "decimal comma;thousands , decimals .;thousands . decimals ,;thousands blank;thousands nbsp;thousands '"
)
def _locale(draft: Draft, name: str) -> None:
    draft.need(draft.numbers(lambda one: one.decimals in (1, 2)))
    if name != "decimal comma":
        draft.need(draft.numbers(lambda one: max(map(abs, one.units)) >= 1000 * 10**one.decimals))
        sign = name.split()[1]
        draft.thousands = {"blank": " ", "nbsp": "\xa0"}.get(sign, sign)
    free = name in ("thousands blank", "thousands nbsp") and draft.rng.random() < 0.5
    if free or name in ("decimal comma", "thousands . decimals ,"):
        draft.decimal, draft.delimiter = ",", str(draft.some(";;;,"))


@defect("locale", "thousands , without proof")
def _unproven(draft: Draft, name: str) -> None:
    fields = [one for one in draft.fields if one.decimals == 0 and max(map(abs, one.units), default=0) < 10**6]
    draft.fields, draft.thousands, draft.refusable = fields, ",", True
    draft.need(draft.numbers(lambda one: max(one.units) > 2000) and len(draft.numbers()) > 2)


@defect("style", "currency;unit;percent sign;brackets for negatives;minus behind;typographic minus")
def _style(draft: Draft, name: str) -> None:
    ways: dict[str, tuple[Callable[[Field], bool], str]] = {
        "currency": (lambda one: one.decimals == 2, "$||-;€ ||-;| €|-;£||-;USD ||-;$||()"),
        "unit": (lambda one: one.decimals > 0, "| kg|-;|kWh|-;| °C|-;| mg/l|-"),
        "percent sign": (lambda one: one.decimals == 1 and 0 <= min(one.units) <= max(one.units) <= 1000, "|%|-;| %|-"),
        "brackets for negatives": (lambda one: min(one.units) < 0, "||()"),
        "minus behind": (lambda one: min(one.units) < 0, "||5-"),
        "typographic minus": (lambda one: min(one.units) < 0, "||−"),  # noqa: RUF001
    }
    found = draft.numbers(ways[name][0])
    before, behind, negative = draft.some(ways[name][1].split(";")).split("|")
    draft.need(found)
    draft.styles = dict.fromkeys(found[:2], (before, behind, negative))


@defect("style", "scientific notation;cells padded with blanks")
def _written(draft: Draft, name: str) -> None:
    found = draft.numbers(lambda one: one.decimals > 0 or "blanks" in name)[:2]
    draft.need(found)
    for one in [draft.fields[k] for k in found]:
        digits = max(len(str(abs(units))) for units in one.units)
        way = "{:>12} " if "blanks" in name else f"{{:.{digits}E}}"
        values = one.cells if "blanks" in name else one.values
        one.cells = [way.format(value) if cell else "" for value, cell in zip(values, one.cells, strict=True)]
    draft.written.update(found)


@defect("truth", "yes/no;Y/N;TRUE/FALSE;t/f")
def _truth(draft: Draft, name: str) -> None:
    values = draft.rng.integers(0, 2, draft.n).astype(float).tolist()
    made = Field("Active", "truth", values, [name.split("/")[0 if value else 1] for value in values])
    draft.fields.append(made)


@defect("dates", "day first;month first;points in dates;month names;years of two digits;day or month first")
def _dates(draft: Draft, name: str) -> None:
    ways = {
        "day first": ["%d/%m/%Y"],
        "month first": ["%m/%d/%Y"],
        "points in dates": ["%d.%m.%Y"],
        "month names": listed("%d-%b-%Y;%b %d, %Y;%d %B %Y;%B %d, %Y;%d-%b-%y"),
        "years of two digits": ["%m/%d/%y"],
    }
    way = draft.some(ways.get(name, ["%d/%m/%Y", "%m/%d/%Y"]))
    found = [one for one in draft.fields if one.kind == "date"]
    draft.need(found)
    for one in found:
        times = [dt.datetime.fromtimestamp(value, dt.UTC) for value in one.values]
        if name == "day or month first":
            times, draft.refusable = [time.replace(day=1 + time.day % 12) for time in times], True
        draft.need(draft.refusable or max(time.day for time in times) > 12)
        clock = " %H:%M" if any(time.hour for time in times) else ""
        one.values, one.cells = [time.timestamp() for time in times], [f"{time:{way}{clock}}" for time in times]


@defect("missing", [f"missing: {word}" for word in MISSING])
def _missing(draft: Draft, name: str) -> None:
    share = draft.rng.uniform(0.02, 0.25)
    # Among negative numbers nobody can tell what -999 is.
    found = draft.numbers(lambda one: "-999" not in name or min(one.units) >= 0)
    draft.need(found)
    for one in [draft.fields[k] for k in found[: draft.rng.integers(1, 4)]]:
        for i in np.flatnonzero(draft.rng.random(draft.n) < share).tolist() or [1]:
            one.values[i], one.cells[i] = None, name.removeprefix("missing: ")


@defect("cells", "one unparsable cell;unparsable cells, up to 1.5 %;unparsable cells, above 2 %")
def _unparsable(draft: Draft, name: str) -> None:
    draft.need(draft.n >= 70)
    many = "above" in name
    for k in draft.numbers()[: 1 if "one" in name else draft.rng.integers(1, 4)]:
        one = draft.fields[k]
        # A share of the cells that are given: some may be missing already.
        given = [i for i, value in enumerate(one.values) if value is not None]
        share = draft.rng.uniform(0.04, 0.15) if many else draft.rng.uniform(0.001, 0.015)
        count = 1 if "one" in name else max(1, int(share * len(given)))
        draft.need(many or count <= 0.015 * len(given))
        words = draft.rng.choice(ODD_CELLS, count if many else int(draft.rng.integers(1, 4)))
        for place, i in enumerate(sorted(draft.rng.choice(given, count, replace=False).tolist())):
            one.values[i], one.cells[i] = None, str(words[place % len(words)])
            draft.odd.append((i, k, one.cells[i]))


@defect("texts", "cells of several lines;stray quotes in cells")
def _texts(draft: Draft, name: str) -> None:
    draft.need(draft.texts())
    one = draft.fields[draft.texts()[0]]
    for i in draft.rng.choice(draft.n, max(1, draft.n // 20), replace=False).tolist():
        one.cells[i] = f"{one.cells[i]}\nsecond line" if "lines" in name else f'{draft.rng.integers(1, 9)}" pipe'
    # Less than no decimals: written as it is.
    one.decimals = 0 if "lines" in name else -1


# ---- columns and their names


@defect("ids", "row index without a name;row names of R")
def _index(draft: Draft, name: str) -> None:
    start = int(name == "row names of R")
    cells = [f'"{k}"' if start else str(k) for k in range(start, start + draft.n)]
    made = Field(None, "index", [float(k) for k in range(start, start + draft.n)], cells, decimals=-1, title="")
    draft.fields.insert(0, made)
    draft.odd = [(i, k + 1, text) for i, k, text in draft.odd]
    draft.unnamed, draft.quoting = start, "text" if start else "minimal"


@defect("names", "duplicate names;empty names;blank names;very long names;names of several lines;no header")
def _names(draft: Draft, name: str) -> None:
    named = [one for one in draft.fields if one.name is not None]
    chosen = [named[k] for k in draft.rng.permutation(len(named))[: draft.rng.integers(2, 4)]]
    long = " (as reported by the responsible office" + ", see the notes" * 12 + ")"
    if name in ("very long names", "names of several lines"):
        for one in chosen:
            one.name = f"{one.name}{long if 'long' in name else chr(10) + '(final)'}"
        return
    title = {"duplicate names": chosen[0].name, "empty names": "", "blank names": "   "}.get(name)
    for one in draft.fields if name == "no header" else chosen:
        one.name, one.title = None, title
    draft.header, draft.suffix = name != "no header", ".data" if name == "no header" else ".csv"


# ---- what stands around and between the rows


@defect("second", "line of units;names and codes;header twice;numbers of columns")
def _second(draft: Draft, name: str) -> None:
    draft.need(draft.header and not draft.unnamed)
    cells = [f"HD{k:02d}_VD{k + 1:02d}" for k in range(len(draft.fields))]
    if name == "line of units":
        cells = [draft.some(["kg", "%", "EUR", "count", "m/s"]) if one.units else "" for one in draft.fields]
    elif name == "numbers of columns":
        cells = [str(k + 1) for k in range(len(draft.fields))]
    elif name == "header twice":
        cells = [str(one.title if one.name is None else one.name) for one in draft.fields]
    place = draft.row() if name == "header twice" else 0
    draft.inside[place] = "second", draft.delimiter.join(map(draft.quoted, cells))


@defect("above", "title lines;title lines with delimiters;title and blank line;comment lines above")
def _above(draft: Draft, name: str) -> None:
    draft.need(draft.header)
    titles = "Report of the Department of Sanitation;Table 3. Figures by place;Extracted 2024-03-05 10:15;In thousands"
    if name == "title lines with delimiters":
        titles = f"Table 3|figures by place|2019 to 2023;Region:|All;Version|2{draft.empty_row()[1:]}"
        titles = (
            titles.replace("|", draft.delimiter) if draft.delimiter != ";" else "Table 3|figures|2019".replace("|", ";")
        )
    lines = draft.rng.permutation(titles.split(";"))[: draft.rng.integers(1, 5)].tolist()
    if name == "comment lines above":
        lines = [f"# {line}" for line in lines]
    elif draft.rng.random() < 0.4:
        lines = [line if draft.delimiter in line else line + draft.empty_row() for line in lines]
    draft.above += [*lines, ""] if "blank" in name else lines


@defect(
    "below", "total line;notes below;notes below a blank line;rows without a value at the end;lines of # at the end"
)
def _below(draft: Draft, name: str) -> None:
    notes = listed("Source: city portal, 2023 estimates;* Preliminary figures.;1 Includes Alaska;Generated 03/05/2024")
    notes = [draft.quoted(note) for note in draft.rng.permutation(notes)[: draft.rng.integers(1, 4)].tolist()]
    if name == "total line":
        sums = [draft.spelled(k, sum(one.units)) if one.units else "" for k, one in enumerate(draft.fields)]
        sums[next((k for k, one in enumerate(draft.fields) if not one.units), 0)] = "Total"
        draft.below = [("total", draft.delimiter.join(map(draft.quoted, sums)))]
    elif name.startswith("rows"):
        draft.below = [("blank", draft.empty_row())] * int(draft.rng.integers(1, 12))
    elif name.startswith("lines"):
        draft.below = [("note", f"# {note}") for note in notes]
    else:
        padding = draft.some([draft.empty_row(), ""])
        draft.below = [("blank", padding)] if "blank" in name else []
        draft.below += [("note", note + padding) for note in notes]


@defect("inside", "comment lines inside;blank lines inside;rows without a value inside")
def _inside(draft: Draft, name: str) -> None:
    made = {"c": ("note", "# sensor replaced"), "b": ("blank", "")}.get(name[0], ("blank", draft.empty_row()))
    draft.inside |= {draft.row(): made for _ in range(draft.rng.integers(1, 4))}


@defect("rows", "trailing delimiters;trailing delimiters below the header;trailing empty columns")
def _trailing(draft: Draft, name: str) -> None:
    draft.need(draft.header and not draft.unnamed)
    count = int(draft.rng.integers(2, 6)) if "columns" in name else 1
    draft.tail = draft.delimiter * count
    draft.header_tail = "" if "below" in name else draft.tail
    draft.fields += [Field(None, "empty", [None] * draft.n, [""] * draft.n, title="") for _ in range(count)]


@defect("rows", "short row;cell lost in a row;cells too many;comma without quotes;unclosed quote")
def _ragged(draft: Draft, name: str) -> None:
    texts = [k for k in draft.texts() if any(one.units for one in draft.fields[k + 1 :])]
    if name in ("comma without quotes", "unclosed quote"):
        draft.need(texts and draft.quoting == "minimal" and (draft.delimiter == "," or name == "unclosed quote"))
    for row in {draft.row() for _ in range(1 if name == "unclosed quote" else draft.rng.integers(1, 4))}:
        start, end, new = len(draft.fields), len(draft.fields), [draft.some(["", "checked by hand", "7"])]
        if name == "short row":
            start, new = int(draft.rng.integers(end // 2, end)), []
            for one in draft.fields[start:]:
                one.values[row], one.cells[row] = None, ""
            draft.odd = [odd for odd in draft.odd if odd[0] != row or odd[1] < start]
        elif name == "cell lost in a row":
            start, new = int(draft.rng.integers(0, end - 1)), []
            end = start + 1
        elif name != "cells too many":
            start, end, new = texts[0], texts[0] + 1, ["Smith, Jr." if "comma" in name else '"Smith']
        draft.edits[row] = lambda cells, a=start, b=end, new=new: [*cells[:a], *new, *cells[b:]]  # type: ignore[misc]
        draft.damaged.add(row)
        draft.refusable |= name == "unclosed quote"


# ---- signs


@defect("control", "NUL in a cell;control characters")
def _control(draft: Draft, name: str) -> None:
    draft.need(draft.texts())
    for row in [draft.row(), draft.row()]:
        draft.fields[draft.texts()[0]].cells[row] += "\0" if "NUL" in name else draft.some(["\x07", "\x1b[31m", "\x01"])


@defect("encoding", list(ALPHABETS))
def _encoding(draft: Draft, name: str) -> None:
    draft.need(draft.texts())
    words, names = (part.split(";") for part in ALPHABETS[name])
    for one in [draft.fields[k] for k in draft.texts()]:
        known = dict(zip(dict.fromkeys(one.values), itertools.cycle(words)))  # words come again
        one.cells = [known.get(cell, cell) for cell in one.cells]
    for new, k in zip(names, [*draft.texts()[:1], *draft.numbers()[:1]], strict=False):
        if draft.fields[k].name is not None:
            draft.fields[k].name = new
    draft.encoding = name
