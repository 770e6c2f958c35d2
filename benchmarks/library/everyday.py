"""Everyday tables with a known truth: ledgers, sensors, surveys, statistics of sports, census extracts, invoices.

Each theme is a list of fields, ``name:kind:...``: numbers in a range (``num:lowest:highest:decimals``, ``walk`` for
readings that follow each other), exact relations (``=Net+Tax``), percentages, dates, codes, names, 0/1.
Numbers are whole multiples of a power of ten, so that relations hold to the last digit and every cell is exact.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np


def listed(text: str) -> list[str]:
    """What stands between semicolons."""
    return text.split(";")


THEMES = {
    "ledger": "Entry No:seq;Posting date:date;Account:code:6;Description:words;Cost centre:cat:Sales/IT/HR/Plant;"
    "Debit:num:0:90000:2;Credit:num:0:60000:2;Balance:=Debit-Credit;VAT:pct;Posted:01;Attachments:num:0:9:0",
    "sensors": "timestamp:stamp;station:cat:North/South/Port;temp:walk:-15:38:1;humidity:pct;pressure:walk:970:1040:1;"
    "inlet:num:200:900:2;loss:num:0:80:2;outlet:=inlet-loss;battery:walk:2:5:2;alarm:01;samples:num:50:60:0",
    "survey": "Respondent:seq;Completed:date;Region:cat:East/West/North;Age:num:18:94:0;Household size:num:1:8:0;"
    "Q1:num:1:5:0;Q2:num:1:5:0;Q3:num:1:5:0;Score:=Q1+Q2+Q3;Income:num:9000:240000:0;Consent:yn;Comment:words",
    "sports": "Player:person;Team:cat:BOS/CHI/DAL/NYK;Pos:cat:C/F/G;Age:num:18:41:0;W:num:0:60:0;L:num:0:60:0;G:=W+L;"
    "PTS:num:0:40:1;REB:num:0:18:1;FG%:pct;Salary:num:500000:45000000:0;Rookie:01;Debut:date",
    "census": "GEOID:code:5;County:place;Male:num:300:480000:0;Female:num:300:490000:0;Total population:=Male+Female;"
    "Households:num:90:300000:0;Median income:num:18000:140000:0;Pct urban:pct;Area:num:10:9000:1;Metro:yn",
    "invoices": "Invoice:code:7;Customer:company;Issued:date;Due:date;Net:num:5:25000:2;Tax:num:1:4700:2;"
    "Gross:=Net+Tax;Items:num:1:60:0;Discount:pct;Paid:yn;Reminder:01;Country:cat:AT/CH/DE/FR",
    "requests": "Request:big;Opened:stamp;Agency:cat:DOT/DPR/NYPD;Street:place;ZIP:code:5;Latitude:num:40:41:5;"
    "Longitude:num:-75:-73:5;Calls:num:1:40:0;Visits:num:0:12:0;Contacts:=Calls+Visits;Days open:num:0:400:0;Closed:01",
    "energy": "Day:date;Solar:num:0:4000:1;Wind:num:0:7000:1;Hydro:num:100:900:1;Generation:=Solar+Wind+Hydro;"
    "Load:num:2000:9500:1;Net import:=Load-Generation;Price:num:-40:310:2;Outage:01;Peak hour:clock",
    "laboratory": "Sample:code:8;Drawn:stamp;Analyst:person;Na:num:120:150:1;K:num:3:6:2;Cl:num:90:110:1;"
    "Cations:=Na+K;Glucose:num:2:19:2;Haematocrit:pct;Repeat:yn;Dilution:num:1:8:0;Volume:num:1:9:3",
    "stock": "SKU:code:9;Product:words;Warehouse:cat:A/B/C/D;Opening:num:0:9000:0;In:num:0:4000:0;Out:num:0:3000:0;"
    "Closing:=Opening+In-Out;Unit cost:num:0:700:2;Reorder:01;Last count:date;Weight:num:0:80:3",
}
MORE = (
    "Rank:num:1:900:0;Index:num:80:130:2;2018:num:100:9900:0;2019:num:100:9900:0;Share:pct;Weight factor:num:0:4:3;"
    "Notes:words;Margin of error:num:0:90:1;Flag:01;Change:num:-50:50:1;Rate per 1000:num:0:30:2;Height:num:-20:3200:0"
)
PEOPLE = listed("Ann Lee;Bob Stone;Carla Diaz;Dev Patel;Eve Moore;Finn Ward;Gus Hall;Hana Kim;Ian Fox;Joan Reyes")
PLACES = listed("Adams, WA;Boone County;Clay Street;Dover;East Hill Rd;Fulton;Grant Ave;Holt;Iron River;Juneau")
FIRMS = listed('Acme Ltd;Baker & Sons;"Star" Foods;Delta Inc.;Elm Co., LLC;Fisher;Globe AG;Hooper')
WORDS = listed(
    "paid in full;left at door;office supplies;no answer;replaced filter;see also row above;travel, hotel;spare part"
)
POOLS = {"person": PEOPLE, "place": PLACES, "company": FIRMS, "words": WORDS}


@dataclass
class Field:
    """A column: what it holds, and how its cells are written.

    Parameters
    ----------
    name : None where the file gives it no usable one
    kind : "number", "date", "truth" (numbers or text), "code" (text, or the
        number exactly) or "text"; also "index" (1, 2, ...) and "empty"
    values : float or None, seconds since 1970 for dates, else the text
    units : numbers as multiples of ``10 ** -decimals``, else nothing
    title : what the header has instead of a name
    """

    name: str | None
    kind: str
    values: list[Any]
    cells: list[str]
    decimals: int = 0
    units: list[int] = field(default_factory=list)
    relation: str = ""
    title: str | None = None


def plain(units: int, decimals: int) -> str:
    """A number in the plainest way."""
    digits = f"{abs(units):0{decimals + 1}d}"
    whole, fraction = (digits[:-decimals], f".{digits[-decimals:]}") if decimals else (digits, "")
    return f"{'-' if units < 0 else ''}{whole}{fraction}"


def everyday(rng: np.random.Generator, n: int) -> tuple[str, list[Field], int | None]:
    """A theme, its fields with n rows, and the row in which a relation was broken (None: in none)."""
    theme = str(rng.choice(list(THEMES)))
    wanted = [one.split(":") for one in THEMES[theme].split(";")]
    parts = {name for _, kind, *_ in wanted if kind.startswith("=") for name in re.split(r"[-+]", kind[1:])}
    more = [one.split(":") for one in MORE.split(";")]
    more = [more[k] for k in sorted(rng.permutation(len(more))[: rng.integers(0, 9)])]
    # Whatever no relation needs may be left out.
    kept = [one for one in wanted if one[0] in parts or one[1].startswith("=") or rng.random() < 0.8]
    fields: list[Field] = []
    for name, kind, *rest in [*kept, *more][:20]:
        fields.append(_made(rng, name, kind, rest, n, {one.name: one for one in fields}))
    broken = None
    total = next((one for one in fields if one.relation), None)
    if total is not None and n >= 50:
        broken = int(rng.integers(n // 4, n))
        total.units[broken] += (max(map(abs, total.units)) + 10) * int(rng.choice([-1, 1]))
    for one in fields:
        if one.units:
            one.cells = [plain(unit, one.decimals) for unit in one.units]
            one.values = [float(cell) for cell in one.cells]
    return theme, fields, broken


def _made(rng: np.random.Generator, name: str, kind: str, rest: list[str], n: int, others: dict[Any, Field]) -> Field:
    if kind.startswith("="):
        terms = re.findall(r"([-+]?)([^-+]+)", kind[1:])
        decimals = max(others[term].decimals for _, term in terms)
        size = {term: 10 ** (decimals - others[term].decimals) * (-1 if sign == "-" else 1) for sign, term in terms}
        sums = [sum(size[term] * others[term].units[i] for term in size) for i in range(n)]
        return Field(name, "number", [], [], decimals, sums, kind)
    if kind in ("num", "walk", "pct"):
        low, high, decimals = (float(rest[0]), float(rest[1]), int(rest[2])) if rest else (0.0, 100.0, 1)
        law = rng.integers(3) if kind != "walk" else 3
        spread = [rng.random(n), rng.beta(2, 2, n), rng.beta(0.8, 5, n), _walk(rng, n)][law]
        size = 10**decimals
        return Field(name, "number", [], [], decimals, [round((low + share * (high - low)) * size) for share in spread])
    if kind in ("seq", "01"):
        start = int(rng.choice([0, 1, 1001]))
        return Field(
            name, "number", [], [], 0, [*range(start, start + n)] if kind == "seq" else rng.integers(0, 2, n).tolist()
        )
    if kind in ("date", "stamp"):
        start, step = dt.datetime(2010, 1, 1) + dt.timedelta(days=int(rng.integers(4000))), int(rng.integers(1, 5))
        hours = rng.integers(0, 24 * 60, n) if kind == "stamp" else np.zeros(n, int)
        days = np.arange(n) * step if rng.random() < 0.5 else rng.integers(0, 2000, n)
        times = [
            start + dt.timedelta(days=int(day), minutes=int(minute)) for day, minute in zip(days, hours, strict=True)
        ]
        cells = [f"{time:%Y-%m-%d}" if kind == "date" else f"{time:%Y-%m-%d %H:%M}" for time in times]
        return Field(name, "date", [time.replace(tzinfo=dt.UTC).timestamp() for time in times], cells)
    if kind == "yn":
        chosen = rng.integers(0, 2, n).tolist()
        yes, no = [("yes", "no"), ("Y", "N"), ("TRUE", "FALSE"), ("True", "False"), ("x", "o")][rng.integers(5)]
        return Field(name, "truth", [float(one) for one in chosen], [yes if one else no for one in chosen])
    if kind in ("code", "big"):
        digits = int(rest[0]) if rest else 18
        codes = [
            f"{code:0{digits}d}" for code in rng.choice(10 ** min(digits, 5), n) + (7 * 10**17 if kind == "big" else 0)
        ]
        return Field(name, "code", list(codes), codes)
    if kind == "clock":
        cells = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in rng.integers(0, 1440, n).tolist()]
    else:
        cells = rng.choice(rest[0].split("/") if kind == "cat" else POOLS[kind], n).tolist()
    return Field(name, "text", list(cells), list(cells))


def _walk(rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    steps = np.cumsum(rng.normal(size=n))
    return (steps - steps.min()) / (np.ptp(steps) or 1.0)
