"""Dates with the day or the month first, and with names of months: which is which is decided by days beyond 12.

And what stands behind a time: UTC, or a place whose clocks are changed, or letters that mean several zones.
"""

from __future__ import annotations

import re

from aspca.engines.missing_words import BLANKS

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
_PATTERN = f"{_NUMBERED}|{_YEAR_FIRST}|{_NAMED}"
LOCAL = re.compile(_PATTERN)
ORDERS = {"dmy": "%d/%m/{y}", "mdy": "%m/%d/{y}", "ymd": "{y}/%m/%d"}
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_NAMED_ORDERS = ("%d/%b/{y}", "%b/%d/{y}", "{y}/%b/%d")
TWO_DIGITS = f"^[0-9]{{1,2}}[-/. ]+(?:[0-9]{{1,2}}|{_NAME})[-/., ]+[0-9]{{2}}(?:[^0-9]|$)"
# Those who write points write the day first.
POINTS = "^[0-9]{1,2}[.]"
# A place behind a time, as in Europe/Berlin; and letters that may mean several zones, as in BST.
PLACE = "[A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+"
_LETTERS = r"(:[0-9]{2}[0-9:.]*)[ \t]*[A-Za-z]{2,5}[ \t]*$"
# So far clocks are set forward or back.
_CHANGES = (30, 60, 120)


def looks_local(cell: str) -> bool:
    """Whether a cell may be such a date, whatever letters stand behind its time."""
    return bool(LOCAL.fullmatch(re.sub(_LETTERS, r"\1", cell.strip(BLANKS))))


def date_sql(cell: str, order: str) -> str:
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
        f"CASE WHEN NOT regexp_full_match({text}, '{_PATTERN}') THEN NULL WHEN regexp_matches({text}, '{TWO_DIGITS}') "
        f"THEN try_strptime({whole}, [{short}]) ELSE try_strptime({whole}, [{long}]) END"
    )
    return f"(epoch_us({stamp}) / 1e6)"


def names_month_sql(cell: str) -> str:
    """The SQL that says whether a date has the name of its month."""
    return f"regexp_full_match(trim({cell}, '{BLANKS}'), '{_NAMED}')"


def has_letters_sql(cell: str, date: str) -> str:
    """The SQL that says whether a cell is a date but for letters behind its time; `date` is the SQL of one, of {c}."""
    bare = rf"regexp_replace({cell}, '{_LETTERS}', '\1')"
    local = f"regexp_full_match(trim({bare}, '{BLANKS}'), '{_PATTERN}')"
    letters = f"regexp_matches({cell}, '{_LETTERS}') AND NOT regexp_matches({cell}, '(?i:[ap]m)[ \\t]*$')"
    return f"({letters} AND ({local} OR ({date.format(c=bare)}) IS NOT NULL))"


def changed_clock_sql(cell: str) -> str:
    """The SQL that says whether the time of a cell, at a place, was left out or repeated when clocks were changed."""
    place = f"regexp_extract({cell}, '({PLACE})\\s*$', 1)"
    moment = f"TRY_CAST({cell} AS TIMESTAMPTZ)"
    local = f"TRY_CAST(regexp_replace({cell}, '{PLACE}\\s*$', '') AS TIMESTAMP)"
    again = " OR ".join(
        f"timezone({place}, {moment} {sign} INTERVAL {minutes} MINUTE) = {local}"
        for minutes in _CHANGES
        for sign in "+-"
    )
    changed = f"(timezone({place}, {moment}) <> {local} OR {again})"
    return f"(CASE WHEN {place} <> '' AND {moment} IS NOT NULL THEN {changed} ELSE false END)"
