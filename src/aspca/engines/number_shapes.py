"""Numbers as people write them, by their shapes: what a cell looks like once every digit is the same.

A column of a million cells has a few dozen shapes, which DuckDB counts; all that is decided about signs, units and
negatives is decided on these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from aspca.engines.missing_words import BLANKS
from aspca.engines.units import unit_of

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
_DIGITS = str.maketrans("0123456789", "1111111111")
LONGEST = 120
SAFE_DIGITS = 16
ODD, INFINITE, ZERO_FIRST, OTHER_FIRST = "odd", "infinite", "z", "n"

# A point may end a word before the number, as in Rs.500, but not a sign, as in $.50.
_BEFORE = rf"[^\d.,()+{_MINUSES}{BLANKS}]+(?:(?<=[^\W\d_])[.])?"
_BEHIND = rf"[^\d.,()+{_MINUSES}{BLANKS}][^\d,()+{_MINUSES}{BLANKS}]*"
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[+{_MINUSES}])?[{BLANKS}]*(?P<prefix>{_BEFORE})?[{BLANKS}]*"
    rf"(?P<inner>\()?(?P<second>[+{_MINUSES}])?[{BLANKS}]*(?P<body>{_BODY_OF_KEYS})(?P<close>\))?"
    rf"(?P<trailing>[{_MINUSES}])?(?P<blank>[{BLANKS}]*)(?P<suffix>{_BEHIND})?(?P<last>[{_MINUSES}])?(?P<end>\))?"
)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


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

    @property
    def bare(self) -> bool:
        """Whether nothing but an ordinary minus stands beside its digits."""
        return not self.unit and self.negative in ("", "minus")

    @property
    def long(self) -> bool:
        """Whether it may be an integer beyond those that float64 holds, up to 2^53."""
        return self.body.count("1") >= SAFE_DIGITS

    def separator(self, decimal: str) -> str | None:
        """What separates thousands if `decimal` is the decimal sign: a sign, or nothing; None if it is no number then.

        All kinds of blanks are one sign, as are both apostrophes.
        """
        digits, *exponent = re.split("[eE]", self.body)
        whole, *fractions = digits.split(decimal)
        if len(fractions) > 1 or (fractions and not re.fullmatch("1*", fractions[0])):
            return None
        used = {_one_kind(sign) for sign in whole if sign != "1"}
        if not used:
            return ""
        groups = re.split(r"[^1]", whole)
        sizes = [len(group) for group in groups]
        threes = all(size == 3 for size in sizes[1:])
        indian = used == {","} and len(sizes) > 2 and sizes[-1] == 3 and all(size == 2 for size in sizes[1:-1])
        if len(used) > 1 or exponent or self.zero_first or not (threes or indian):
            return None
        return next(iter(used)) if 1 <= sizes[0] <= (3 if threes else 2) else None


def _one_kind(sign: str) -> str:
    return "'" if sign in APOSTROPHES else " " if sign in BLANKS else sign


def shape_key(cell: str) -> str:
    """What `shape_sql` makes of a cell that has a digit."""
    text = cell.strip(_AROUND)
    if len(text) > LONGEST or not re.search("[0-9]", text):
        return INFINITE if _INFINITE.fullmatch(text) else ODD
    return (ZERO_FIRST if re.match("[^0-9.,]*0", text) else OTHER_FIRST) + text.translate(_DIGITS)


@lru_cache(maxsize=4096)
def shape_of(key: str) -> Shape | None:
    """The number that a key stands for; None if it is none."""
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
    return Shape(found["body"], key[0] == ZERO_FIRST, "brackets" if any(brackets) else negative, unit)


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
    zero = f"regexp_matches({text}, '^[^0-9.,]*0')"
    first = f"CASE WHEN {zero} THEN '{ZERO_FIRST}' ELSE '{OTHER_FIRST}' END"
    return (
        f"CASE {cases} WHEN regexp_full_match({text}, '[+-]?(?i:inf|infinity)') THEN '{INFINITE}' "
        f"WHEN length({text}) > {LONGEST} OR NOT regexp_matches({text}, '[0-9]') THEN '{ODD}' "
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
