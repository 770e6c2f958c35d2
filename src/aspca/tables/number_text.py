"""Numbers as people write them, by their shapes: what a cell looks like once every digit is the same.

A column of a million cells has a few dozen shapes, which DuckDB counts; all that is decided about signs, units and
negatives is decided on these: the decimal sign of a file by the evidence of all cells, and each column by that sign.
A cell proves a sign if it is a number with that sign only: 0,5 or 1.034,50 or 1.034.000. Most cells of the kind 1,034
prove nothing, and are read as the others say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from aspca.escaping import quoted
from aspca.tables.cell_tests import BLANKS

APOSTROPHES = "'’"  # noqa: RUF001  # the Swiss write both
_MINUSES = "\\-−–﹣－"  # noqa: RUF001  # minus signs as programs write them, for a class of characters
SIGNS = ".,"
_SEPARATORS = SIGNS + APOSTROPHES + BLANKS.replace("\t", "")
_BODY = rf"(?:[.,]D+|D+(?:[{_SEPARATORS}]D+)*[.,]?)(?:[eE][+-]?D+)?"
_BODY_OF_KEYS = _BODY.replace("D", "1")
_BODY_SQL = _BODY.replace("D", "[0-9]").replace("'", "''")
# A word that ends in a point is none of the number.
_WORD_SQL = "(?:[^0-9.,]*\\p{L}[.])?"
# What may stand around a number: all that DuckDB passes over there, too.
_AROUND = BLANKS + "\v\f\r\n"
_LONGEST = 120  # no number that anybody writes is longer
ODD, INFINITE, ZERO_FIRST, OTHER_FIRST = "odd", "infinite", "z", "n"

# A point may end a word before the number, as in Rs.500, but not a sign, as in $.50.
_BEFORE = rf"[^\d.,()+{_MINUSES}{BLANKS}]+(?:(?<=[^\W\d_])[.])?"
_BEHIND = rf"[^\d.,()+{_MINUSES}{BLANKS}][^\d,()+{_MINUSES}{BLANKS}]*"
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[+{_MINUSES}])?[{BLANKS}]*(?P<prefix>{_BEFORE})?[{BLANKS}]*"
    rf"(?P<inner>\()?(?P<second>[+{_MINUSES}])?[{BLANKS}]*(?P<body>{_BODY_OF_KEYS})(?P<close>\))?"
    rf"(?P<trailing>[{_MINUSES}])?(?P<blank>[{BLANKS}]*)(?P<suffix>{_BEHIND})?(?P<last>[{_MINUSES}])?(?P<end>\))?"
)

# What may stand beside a number without being part of it: currencies, percent, units; never what may be a code.
_CURRENCY_NAMES = """
    $ € £ ¥ ₹ ₽ ₩ ₪ ₺ ₴ ₫ ฿ ¢ US$ R$ A$ C$ CA$ AU$ NZ$ HK$ NT$ S$ Rs Rs. kr kr. zł Kč Ft Fr. лв TL
    AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW KWD LKR MAD MXN
    MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR
"""
_UNIT_NAMES = """
    % ‰ pct percent ppm ppb kg g mg µg μg ug lb lbs oz km m cm mm µm μm um nm mi ft in yd l ml mL dl cl hl gal
    s ms µs μs us ns sec secs min mins h hr hrs days day yr yrs years months weeks °C °F ° ºC ºF deg rad mV kV mA µA kW
    MW GW Wh kWh MWh GWh kJ MJ cal kcal Hz kHz MHz GHz Pa hPa kPa MPa bar mbar psi atm kN Nm rpm m/s km/h kmh mph kph kn
    kt m² m³ cm² cm³ km² ft² ha mol mmol dB dBm px kB KB MB GB TB KiB MiB GiB bit bits byte bytes Ω kΩ ohm lx lm mmHg
    mg/dL mg/l mg/L g/l g/L µg/m³ kg/m³ W/m² €/kWh €/m² pcs items units people persons rows times
"""  # both letters for micro are in use
_CURRENCIES, _UNITS = frozenset(_CURRENCY_NAMES.split()), frozenset(_UNIT_NAMES.split())
# One capital letter is a unit only behind a blank: 12A may be a product.
_BEHIND_A_BLANK = frozenset("AVWJNKCFLBTtdΩ")
# Any other word must be one that is no date, no time of day, no name of a thousand and no way to count.
_WORD = re.compile(r"[^\W\d_]{3,16}")
_NO_UNITS = re.compile(
    r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|thousand|mln|million|mio|bln|billion|mrd|trillion|tsd|hundred",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Shape:
    """A number as it is written."""

    body: str  # its digits, each as 1, and what stands between them
    zero_first: bool = False  # whether the first digit is 0
    negative: str = ""  # "minus", "sign" (another kind of minus), "brackets" or "trailing"
    unit: str = ""  # what stands beside it, such as "$" or "kg"

    def separator(self, decimal: str) -> str | None:
        """What separates thousands if `decimal` is the decimal sign: a sign, or nothing; None if it is no number then.
        All kinds of blanks are one sign, as are both apostrophes."""
        digits, *exponent = re.split("[eE]", self.body)
        whole, *fractions = digits.split(decimal)
        if len(fractions) > 1 or (fractions and not re.fullmatch("1*", fractions[0])):
            return None
        used = {"'" if sign in APOSTROPHES else " " if sign in BLANKS else sign for sign in whole if sign != "1"}
        if not used:
            return ""
        sizes = [len(group) for group in re.split(r"[^1]", whole)]
        threes = all(size == 3 for size in sizes[1:])
        indian = used == {","} and len(sizes) > 2 and sizes[-1] == 3 and all(size == 2 for size in sizes[1:-1])
        if len(used) > 1 or exponent or self.zero_first or not (threes or indian):
            return None
        return next(iter(used)) if 1 <= sizes[0] <= (3 if threes else 2) else None

    @property
    def proved_sign(self) -> str | None:
        """The decimal sign that it must have; None where it may have either, or has none."""
        valid = [sign for sign in SIGNS if self.separator(sign) is not None]
        return valid[0] if len(valid) == 1 and set(self.body) & set(SIGNS) else None

    @property
    def ambiguous_sign(self) -> str | None:
        """The sign that may stand before decimals or between thousands, as in 1,034; None in others."""
        if all(self.separator(sign) is not None for sign in SIGNS):
            return next((sign for sign in SIGNS if sign in self.body), None)
        return None


def find_unit(prefix: str, suffix: str, blank: bool) -> str | None:
    """The unit of a number with these texts before and after it, empty where there are none; None if it is no unit.
    `blank`: whether one stands between the number and the suffix."""
    if prefix:
        both = not suffix or suffix in _CURRENCIES
        return f"{prefix} {suffix}".strip() if prefix in _CURRENCIES and both else None
    if not suffix or suffix in _UNITS or suffix in _CURRENCIES:
        return suffix
    if blank and (suffix in _BEHIND_A_BLANK or (_WORD.fullmatch(suffix) and not _NO_UNITS.fullmatch(suffix))):
        return suffix
    return None


def make_shape_key(cell: str) -> str:
    """What `shape_sql` makes of a cell that has a digit."""
    text = cell.strip(_AROUND)
    if len(text) > _LONGEST or not re.search("[0-9]", text):
        return INFINITE if re.fullmatch("[+-]?inf(inity)?", text, re.IGNORECASE) else ODD
    return (ZERO_FIRST if re.match("[^0-9.,]*0", text) else OTHER_FIRST) + re.sub("[0-9]", "1", text)


@lru_cache(maxsize=4096)
def parse_shape(key: str) -> Shape | None:
    """The number that a key stands for, by one decimal sign or the other; None if it is none."""
    found = _NUMBER.fullmatch(key[1:]) if key[:1] in (ZERO_FIRST, OTHER_FIRST) else None
    if found is None:
        return None
    brackets = [bool(found["open"]), bool(found["inner"])]
    closed = [bool(found["end"]), bool(found["close"])]
    minuses = [sign for sign in (found["sign"], found["second"], found["trailing"], found["last"]) if sign]
    trailing = found["trailing"] or found["last"]
    # The Swiss write 5.- for five francs.
    if trailing and found["body"][-1] in SIGNS:
        return None
    # ($5), $(5) and (5) $ are all closed once.
    if sum(brackets) != sum(closed) or sum(brackets) + len(minuses) > 1:
        return None
    unit = find_unit(found["prefix"] or "", found["suffix"] or "", bool(found["blank"]))
    if unit is None:
        return None
    negative = "" if not minuses or minuses[0] == "+" else "trailing" if trailing else "minus"
    if negative == "minus" and minuses[0] != "-":
        negative = "sign"
    shape = Shape(found["body"], key[0] == ZERO_FIRST, "brackets" if any(brackets) else negative, unit)
    return shape if any(shape.separator(sign) is not None for sign in SIGNS) else None


def shape_sql(cell: str) -> str:
    """The SQL that gives the key of a cell; the usual shapes at once, since there are many cells of these."""
    text = f"trim({cell}, '{_AROUND}')"
    minus = f"CASE WHEN starts_with({cell}, '-') THEN '-' ELSE '' END"
    usual = (
        ("-?[1-9][0-9]{0,14}", OTHER_FIRST, "1"),
        (r"-?[1-9][0-9]{0,14}[.](?:[0-9]{1,2}|[0-9]{4,30})", OTHER_FIRST, "1.1"),
        ("-?[1-9][0-9]{0,14}[,](?:[0-9]{1,2}|[0-9]{4,30})", OTHER_FIRST, "1,1"),
        (r"-?[1-9][0-9]{0,2}[.][0-9]{3}", OTHER_FIRST, "1.111"),
        ("-?[1-9][0-9]{0,2}[,][0-9]{3}", OTHER_FIRST, "1,111"),
        ("-?0[.][0-9]{1,30}", ZERO_FIRST, "1.1"),
        ("-?0[,][0-9]{1,30}", ZERO_FIRST, "1,1"),
    )
    cases = " ".join(
        f"WHEN regexp_full_match({cell}, '{pattern}') THEN '{first}' || {minus} || '{key}'"
        for pattern, first, key in usual
    )
    first = f"CASE WHEN regexp_matches({text}, '^[^0-9.,]*0') THEN '{ZERO_FIRST}' ELSE '{OTHER_FIRST}' END"
    return (
        f"CASE {cases} WHEN regexp_full_match({text}, '[+-]?(?i:inf|infinity)') THEN '{INFINITE}' "
        f"WHEN length({text}) > {_LONGEST} OR NOT regexp_matches({text}, '[0-9]') THEN '{ODD}' "
        f"ELSE {first} || translate({text}, '0123456789', '1111111111') END"
    )


def digits_sql(cell: str, decimal: str) -> str:
    """The SQL that gives the digits of the number in a cell of a known shape, with a point for decimals; no sign."""
    found = f"regexp_extract(trim({cell}, '{_AROUND}'), '^{_WORD_SQL}[^0-9.,]*({_BODY_SQL})', 1)"
    gone = "".join(sign for sign in _SEPARATORS if sign != decimal).replace("'", "''")
    return f"translate({found}, '{decimal}{gone}', '.')"


def number_sql(cell: str, decimal: str, *, styled: bool) -> str:
    """The SQL that gives the number in a cell of a known shape as DOUBLE; `styled`: not all are plain."""
    text = f"trim({cell}, '{_AROUND}')"
    if not styled:
        return f"TRY_CAST(replace({text}, '{decimal}', '.') AS DOUBLE)"
    size = f"TRY_CAST({digits_sql(cell, decimal)} AS DOUBLE)"
    minus = f"regexp_matches({text}, '^{_WORD_SQL}[^0-9.,]*[{_MINUSES}(]|[0-9][{_MINUSES}]|[0-9][^0-9]*[{_MINUSES}]$')"
    return f"(CASE WHEN {minus} THEN -({size}) ELSE {size} END)"


def rounded_sql(cell: str, decimal: str) -> str:
    """The SQL that counts the integers among numbers that are not what float64 makes of them."""
    digits = digits_sql(cell, decimal)
    size = f"TRY_CAST({digits} AS DOUBLE)"
    exact = f"coalesce(TRY_CAST({size} AS HUGEINT) = TRY_CAST({digits} AS HUGEINT), false)"
    whole = f"regexp_full_match({digits}, '[0-9]+')"
    return f"count(CASE WHEN {whole} AND {size} >= {2**53} AND NOT {exact} THEN 1 END)"


# ---- the signs of a file


Keys = tuple[str, ...]
Shapes = Mapping[Shape, int]


def are_few(n_odd: int, n_given: int) -> bool:
    """Whether so many cells that do not fit are slips in a column that the others fit: at most 5, or 2 % of them. More
    would be another way of writing it, or codes."""
    return n_odd <= max(5, 0.02 * n_given) and 2 * n_odd < max(n_given, 1)


def select_numbers(keys: Mapping[str, int]) -> dict[str, Shape]:
    """The shapes that are numbers by one sign or the other."""
    return {key: shape for key in keys if (shape := parse_shape(key)) is not None}


def is_evidence(keys: Mapping[str, int]) -> bool:
    """Whether nearly all cells of a column are numbers, so that its signs count for the file."""
    n_numbers, n_given = sum(keys[key] for key in select_numbers(keys)), sum(keys.values())
    return n_given > 0 and (n_numbers >= 0.9 * n_given or are_few(n_given - n_numbers, n_given))


@dataclass(frozen=True)
class Signs:
    """What was decided."""

    decimal: str
    thousands: str | None  # what may separate thousands; None: anything else
    given: bool  # whether the user named one of them
    # Columns that are not numbers by this, and why: "ambiguous", "outvoted" (proof of the other sign, but more columns
    # prove this one) or "slip" (too little proof against cells that it would change).
    unclear: Mapping[str, str] = field(default_factory=dict)

    @property
    def other(self) -> str:
        """A point where the decimal sign is a comma, and the other way round."""
        return SIGNS.replace(self.decimal, "")

    def separator(self, shape: Shape) -> str | None:
        """What separates thousands in a number; None if it is none by these signs."""
        found = shape.separator(self.decimal)
        return found if found in (None, "") or self.thousands in (None, found) else None


def find_signs(columns: Mapping[str, Shapes], decimal: str | None, thousands: str | None) -> Signs:
    """The signs of a file, from the shapes of its columns of numbers and from what the user named."""
    if decimal is None and thousands in (".", ","):
        decimal = SIGNS.replace(thousands, "")
    allowed = thousands if thousands != "none" else ""
    if decimal is not None:
        return Signs(decimal, allowed, True)
    # Cells by sign: how many prove it, and how many could be either.
    proofs, either = Counter[str](), Counter[str]()
    firm, proving, unclear = ({sign: list[str]() for sign in SIGNS} for _ in range(3))
    for name, shapes in columns.items():
        for sign in SIGNS:
            n_proofs = sum(count for shape, count in shapes.items() if shape.proved_sign == sign)
            n_either = sum(count for shape, count in shapes.items() if shape.ambiguous_sign == sign)
            proofs[sign] += n_proofs
            either[sign] += n_either
            proving[sign] += [name] if n_proofs else []
            unclear[sign] += [name] if n_either else []
            # A few cells of a column may be slips.
            firm[sign] += [name] if n_proofs and not are_few(n_proofs, sum(shapes.values())) else []
    if allowed == "":
        # Nothing is between thousands: what occurs is the decimal sign.
        return Signs("," if either[","] + proofs[","] > either["."] + proofs["."] else ".", allowed, True)
    if not proofs.total():
        # Numbers with points alone are what every program takes them for.
        in_question = unclear["."] + unclear[","] if unclear[","] else []
        return Signs(".", allowed, False, dict.fromkeys(in_question, "ambiguous"))
    winner = max(SIGNS, key=lambda sign: (len(firm[sign]), len(proving[sign]), proofs[sign], sign == "."))
    loser = SIGNS.replace(winner, "")
    contested = firm[loser] if firm[winner] else proving[loser]
    why = dict.fromkeys(contested, "outvoted")
    # Points before three digits are decimals by custom: only to read them otherwise takes more than a cell or two.
    changed = unclear[","] if winner == "." else [*unclear["."], *unclear[","]]
    if contested:
        why |= {name: "ambiguous" for name in changed if name not in proving[winner]}
    # One cell may be a slip of the pen: proof is two cells and a twentieth of those that it would change, or both signs
    # in one cell.
    enough = proofs[winner] >= max(2, 0.05 * (proofs[winner] + either.total()))
    strong = (
        shape.proved_sign == winner and shape.separator(winner) for shapes in columns.values() for shape in shapes
    )
    if changed and not enough and not any(strong):
        why |= dict.fromkeys((*changed, *proving[winner]), "slip")
    return Signs(winner, allowed, False, why)


# ---- the numbers of a column


@dataclass(frozen=True)
class Style:
    """How numbers are written."""

    styled: bool  # whether they must be picked out of their cells
    unit: str  # what stands beside each
    negative: str  # "brackets", "trailing" or "sign" where negatives are written so, otherwise nothing
    separator: str  # what separates thousands, if anything does
    examples: Mapping[str, Keys]  # of cells that show the unit, the negatives, the separator and the decimal sign
    odd: Keys = ()  # of the few cells that are not written so
    n_odd: int = 0  # how many these are


@dataclass(frozen=True)
class Refusal:
    """Why a column is text."""

    reason: str
    cells: tuple[Keys, ...] = ()  # keys of cells that show it, one group for each cell to be named
    n_fitting: int = 0  # of `n_given` cells, how many are what is `expected`
    n_given: int = 0
    expected: str = "a number"
    orders: tuple[str, ...] = ()  # those that its dates may have


def judge_numbers(keys: Mapping[str, int], name: str, signs: Signs, unit: str | None = None) -> Style | Refusal:
    """How the numbers of a column are written, or why they are none; `unit` is the one it must have, if any."""
    shapes = select_numbers(keys)
    n_given, n_numbers = sum(keys.values()), sum(keys[key] for key in shapes)
    odd = tuple(key for key in keys if key not in shapes)

    def refuse(reason: str, *cells: Keys, expected: str = "a number") -> Refusal:
        return Refusal(reason, cells, n_numbers, n_given, expected)

    def count(several: Keys) -> int:
        return sum(keys[key] for key in several)

    def which(holds: Callable[[Shape], bool]) -> Keys:
        return tuple(key for key, shape in shapes.items() if holds(shape))

    # From a half on odd cells are slips in a column of numbers; below, a column is text that has numbers among it.
    if not n_given or 2 * n_numbers < n_given:
        return refuse("text")
    if not are_few(count(odd), n_given):
        return refuse("odd", odd)
    wrong = which(lambda shape: signs.separator(shape) is None)
    unclear = signs.unclear.get(name)
    if unclear is not None and not (unclear == "outvoted" and are_few(count((*odd, *wrong)), n_given)):
        either = which(lambda shape: shape.ambiguous_sign is not None)
        proofs = which(lambda shape: shape.proved_sign == (signs.other if unclear == "outvoted" else signs.decimal))
        cells = {"ambiguous": (either,), "outvoted": (proofs,), "slip": (proofs, either)}[unclear]
        return refuse(unclear, *(group for group in cells if group))
    ways: tuple[tuple[str, Callable[[Shape], str]], ...] = (
        ("given" if signs.given else "outvoted", lambda shape: "wrong" if signs.separator(shape) is None else "right"),
        ("units", lambda shape: shape.unit or "none"),
        ("negatives", lambda shape: "minus" if shape.negative == "sign" else shape.negative),
        ("separators", lambda shape: signs.separator(shape) or ""),
    )
    for reason, way in ways:
        groups: dict[str, Keys] = {}
        for key, shape in shapes.items():
            # Numbers without a minus, or below a thousand, go along with the others.
            if written := way(shape):
                groups[written] = (*groups.get(written, ()), key)
        most = max(groups, key=lambda written: count(groups[written]), default="")
        others = tuple(key for written in groups if written != most for key in groups[written])
        if most == "wrong" or not are_few(count((*odd, *others)), n_given):
            return refuse(reason, *((groups["wrong"],) if "wrong" in groups else tuple(groups.values())[:2]))
        odd = (*odd, *others)
        shapes = {key: shape for key, shape in shapes.items() if key not in others}
    found = next((shape.unit for shape in shapes.values()), "")
    if unit is not None and found != unit:
        return refuse("learned unit", tuple(shapes), expected=quoted(unit) if unit else "no unit")
    separator = next((sign for shape in shapes.values() if (sign := signs.separator(shape))), "")
    if separator and n_given >= 3 and _are_codes({shape.body for shape in shapes.values()}):
        return refuse("codes", tuple(shapes))
    negatives = {shape.negative for shape in shapes.values()}
    negative = next((way for way in ("brackets", "trailing", "sign") if way in negatives), "")
    # A sign and a blank before a number, as in - 5, are more than DuckDB takes.
    apart = any(key[1:].lstrip("+-") != shape.body for key, shape in shapes.items())
    examples = {
        "unit": tuple(shapes) if found else (),
        "negative": which(lambda shape: shape.negative == negative) if negative else (),
        "separator": which(lambda shape: bool(signs.separator(shape))),
        "decimal": which(lambda shape: signs.decimal in shape.body),
    }
    return Style(bool(found or negative or separator or apart), found, negative, separator, examples, odd, count(odd))


def _are_codes(bodies: set[str]) -> bool:
    """Whether all are groups of three digits, as many in each cell: addresses of machines and telephones are so."""
    body = next(iter(bodies))
    groups = {len(group) for group in body.replace(body.strip("1")[:1] or "?", " ").split()}
    return len(bodies) == 1 and groups == {3} and body.count("1") > 6
