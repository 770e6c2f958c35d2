"""What a cell of text is, if it is no number: missing, a truth value or a date; in Python for a few, in SQL for all.

Of dates with the day or the month first, days beyond 12 tell which is which. Behind a time may stand UTC, a place whose
clocks are changed, or letters that mean several zones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

# Taken for missing in columns of every kind (those of pandas, and the ? of the UCI collection).
EVERYWHERE = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "-nan", "-NaN", "null", "NULL", "None", "?")
# In capitals or not, where all other cells are numbers, dates or truth values; among texts they may be categories.
_AMONG_VALUES = """
    - -- --- . .. ... ‐ – — * na n/a n.a. n.a n/d n.d. nd #na <na> #n/a nan -nan +nan nat null (null) <null> #null! nil
    none void missing unknown undefined blank empty \\n ? ?? #div/0! #ref! #value! #num! #name?
"""  # noqa: RUF001  # dashes as people type them
AMONG_VALUES = frozenset(_AMONG_VALUES.split()) | {"not available", "no data"}
# Blanks that may stand around a cell, or between thousands, as programs write them.
BLANKS = " \t\u00a0\u2007\u2009\u202f"

BOOLEAN = "CASE lower(trim({c})) WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE END"
# A place behind a time, as in Europe/Berlin; and letters that may mean several zones, as in BST.
PLACE = "[A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+"
LETTERS = r"(:[0-9]{2}[0-9:.]*)[ \t]*[A-Za-z]{2,5}[ \t]*$"
# As TIMESTAMPTZ in a session in UTC: an offset is heeded, and without one the time is taken for UTC. By microseconds,
# because their quotient is rounded once. DuckDB would take 24-12-31 for the year 24, and BST for Bangladesh.
_DATE = (
    "CASE WHEN regexp_full_match({{c}}, '\\s*[0-9]{{{{4}}}}[-/][-0-9/:.tT+\\s]*{zone}\\s*') "
    "THEN epoch_us(TRY_CAST({{c}} AS TIMESTAMPTZ)) / 1e6 END"
)
DATE = _DATE.format(zone=f"(?:(?i:z|utc|gmt)|{PLACE})?")
# Without places, of whose clocks something may have to be said.
PLAIN_DATE = _DATE.format(zone="(?i:z|utc|gmt)?")

_UTC = "(?i:z|utc|gmt)"
_TIME = rf"(?:[T ]+[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:[.][0-9]{{1,6}})?)?(?: ?[AaPp][Mm])?(?: ?{_UTC})?)?"
_NAME = (
    "(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)[.]?"
)
_YEAR = "(?:[0-9]{4}|[0-9]{2})"
# With points and a year of two digits only in full: 1.2.10 is a version.
_NUMBERED = (
    f"(?:[0-9]{{1,2}}/[0-9]{{1,2}}/{_YEAR}|[0-9]{{1,2}}-[0-9]{{1,2}}-{_YEAR}"
    f"|[0-9]{{1,2}}[.][0-9]{{1,2}}[.][0-9]{{4}}|[0-9]{{2}}[.][0-9]{{2}}[.][0-9]{{2}}){_TIME}"
)
_YEAR_FIRST = rf"[0-9]{{4}}[.][0-9]{{1,2}}[.][0-9]{{1,2}}{_TIME}"
_NAMED = (
    f"(?:[0-9]{{1,2}}[-/. ]+{_NAME}[-/., ]+{_YEAR}|{_NAME}[-/ ]+[0-9]{{1,2}}[-/, ]+[0-9]{{4}}"
    f"|[0-9]{{4}}[-/ ]{_NAME}[-/ ][0-9]{{1,2}}){_TIME}"
)
_LOCAL = f"{_NUMBERED}|{_YEAR_FIRST}|{_NAMED}"
ORDERS = {"dmy": "%d/%m/{y}", "mdy": "%m/%d/{y}", "ymd": "{y}/%m/%d"}
_NAMED_ORDERS = ("%d/%b/{y}", "%b/%d/{y}", "{y}/%b/%d")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
TWO_DIGITS = f"^[0-9]{{1,2}}[-/. ]+(?:[0-9]{{1,2}}|{_NAME})[-/., ]+[0-9]{{2}}(?:[^0-9]|$)"


def is_missing(cell: str) -> bool:
    """Whether a cell among values is missing."""
    return cell in EVERYWHERE or cell.strip(BLANKS).lower() in AMONG_VALUES or not cell.strip(BLANKS)


def missing_sql(cell: str, is_text: bool, named: str) -> str:
    """The SQL that says whether a cell is missing; `named` is the parameter that lists words of the user's, if any."""
    words = ", ".join(f"'{word}'" for word in sorted(EVERYWHERE if is_text else {*AMONG_VALUES, ""}))
    if is_text:
        usual = f"{cell} IN ({words})"
    else:
        ordinary = f"regexp_full_match({cell}, '-?[0-9]+[.,]?[0-9]*')"
        usual = f"(CASE WHEN {ordinary} THEN false ELSE lower(trim({cell}, '{BLANKS}')) IN ({words}) END)"
    return f"({usual} OR list_contains({named}, trim({cell}, '{BLANKS}')))" if named else usual


def parse_numbers(words: Sequence[str]) -> list[float]:
    """The finite numbers among words that stand for no value: in columns of numbers they do so however written."""
    numbers = []
    for word in words:
        try:
            numbers.append(float(word.replace(",", ".")))
        except ValueError:
            continue
    return [number for number in numbers if math.isfinite(number)]


def is_local_date(cell: str) -> bool:
    """Whether a cell may be a date in an order of some country, whatever letters stand behind its time."""
    return bool(re.fullmatch(_LOCAL, re.sub(LETTERS, r"\1", cell.strip(BLANKS))))


def local_date_sql(cell: str, order: str) -> str:
    """The SQL that gives the seconds since 1970 of a date written in this order or with the name of its month."""
    text = f"trim({cell}, '{BLANKS}')"
    # One sign between all parts, one blank before the time, names of months by their first letters.
    parts = rf"regexp_replace({text}, '[T ]+([0-9]{{1,2}}:)', '#\1')"
    day = rf"regexp_replace(split_part({parts}, '#', 1), '([A-Za-z]{{3}})[A-Za-z]*', '\1')"
    day = rf"regexp_replace({day}, '[-/., ]+', '/', 'g')"
    clock = rf"regexp_replace(split_part({parts}, '#', 2), ' ?{_UTC}$', '')"
    clock = rf"regexp_replace({clock}, ' ?([AaPp][Mm])$', ' \1')"
    # %Y takes 24 for the year 24.
    long, short = (
        ", ".join(f"'{one.format(y=year)}{clock}'" for one in (ORDERS[order], *_NAMED_ORDERS) for clock in _CLOCKS)
        for year in ("%Y", "%y")
    )
    whole = f"trim({day} || ' ' || {clock})"
    stamp = (
        f"CASE WHEN NOT regexp_full_match({text}, '{_LOCAL}') THEN NULL WHEN regexp_matches({text}, '{TWO_DIGITS}') "
        f"THEN try_strptime({whole}, [{short}]) ELSE try_strptime({whole}, [{long}]) END"
    )
    return f"(epoch_us({stamp}) / 1e6)"


def local_date_tests(cell: str) -> dict[str, str]:
    """The SQL that says of what orders a date may be, and what else tells: all orders give the same, points stand
    between its parts (those who write them write the day first), or its month has a name."""
    return {order: f"{local_date_sql(cell, order)} IS NOT NULL" for order in ORDERS} | {
        "same": f"{local_date_sql(cell, 'dmy')} = {local_date_sql(cell, 'mdy')}",
        "points": f"regexp_matches({cell}, '^[0-9]{{1,2}}[.]')",
        "named": f"regexp_full_match(trim({cell}, '{BLANKS}'), '{_NAMED}')",
    }


def date_tests(cell: str) -> dict[str, str]:
    """The SQL that says whether a cell is a date with the year first, whether a place stands behind its time, and
    whether it is a date of any order but for letters behind its time."""
    bare = rf"regexp_replace({cell}, '{LETTERS}', '\1')"
    local = f"regexp_full_match(trim({bare}, '{BLANKS}'), '{_LOCAL}')"
    letters = f"regexp_matches({cell}, '{LETTERS}') AND NOT regexp_matches({cell}, '(?i:[ap]m)[ \\t]*$')"
    return {
        "date": f"({DATE.format(c=cell)}) IS NOT NULL",
        "place": f"regexp_matches({cell}, '[0-9 ]{PLACE}\\s*$')",
        "letters": f"({letters} AND ({local} OR ({DATE.format(c=bare)}) IS NOT NULL))",
    }


def changed_clock_sql(cell: str) -> str:
    """The SQL that says whether the time of a cell, at a place, was left out or repeated when clocks were changed."""
    place = f"regexp_extract({cell}, '({PLACE})\\s*$', 1)"
    moment = f"TRY_CAST({cell} AS TIMESTAMPTZ)"
    local = f"TRY_CAST(regexp_replace({cell}, '{PLACE}\\s*$', '') AS TIMESTAMP)"
    again = " OR ".join(
        f"timezone({place}, {moment} {sign} INTERVAL {minutes} MINUTE) = {local}"
        for minutes in (30, 60, 120)  # so far clocks are set forward or back
        for sign in "+-"
    )
    changed = f"(timezone({place}, {moment}) <> {local} OR {again})"
    return f"(CASE WHEN {place} <> '' AND {moment} IS NOT NULL THEN {changed} ELSE false END)"
