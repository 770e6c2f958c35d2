"""Numbers as people write them, by their shapes: what a cell looks like once every digit is the same.

A column of a million cells has a few dozen shapes, which DuckDB counts; all that is decided about signs, units and
negatives is decided on these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

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
# No number that anybody writes is longer.
_LONGEST = 120
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
    """A number as it is written.

    Parameters
    ----------
    body : its digits, each as 1, and what stands between them
    zero_first : whether the first digit is 0
    negative : "", "minus", "sign" (another kind of minus), "brackets" or "trailing"
    unit : what stands beside it, such as "$" or "kg", or nothing
    """

    body: str
    zero_first: bool = False
    negative: str = ""
    unit: str = ""

    def separator(self, decimal: str) -> str | None:
        """What separates thousands if `decimal` is the decimal sign: a sign, or nothing; None if it is no number then.

        All kinds of blanks are one sign, as are both apostrophes.
        """
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


def unit_of(prefix: str, suffix: str, blank: bool) -> str | None:
    """The unit of a number with these texts before and after it, empty where there are none; None if it is no unit.

    `blank`: whether one stands between the number and the suffix.
    """
    if prefix:
        both = not suffix or suffix in _CURRENCIES
        return f"{prefix} {suffix}".strip() if prefix in _CURRENCIES and both else None
    if not suffix or suffix in _UNITS or suffix in _CURRENCIES:
        return suffix
    if blank and (suffix in _BEHIND_A_BLANK or (_WORD.fullmatch(suffix) and not _NO_UNITS.fullmatch(suffix))):
        return suffix
    return None


def shape_key(cell: str) -> str:
    """What `shape_sql` makes of a cell that has a digit."""
    text = cell.strip(_AROUND)
    if len(text) > _LONGEST or not re.search("[0-9]", text):
        return INFINITE if re.fullmatch("[+-]?inf(inity)?", text, re.IGNORECASE) else ODD
    return (ZERO_FIRST if re.match("[^0-9.,]*0", text) else OTHER_FIRST) + re.sub("[0-9]", "1", text)


@lru_cache(maxsize=4096)
def shape_of(key: str) -> Shape | None:
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
    unit = unit_of(found["prefix"] or "", found["suffix"] or "", bool(found["blank"]))
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
