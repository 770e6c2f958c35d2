"""Dates with the day or the month first, and with names of months: which is which is decided by days beyond 12."""

from __future__ import annotations

import re

from aspca.engines.missing_words import BLANKS

_TIME = r"(?:[T ]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?: ?[AaPp][Mm])?)?"
_NAME = r"(?:[Jj]an|[Ff]eb|[Mm]ar|[Aa]pr|[Mm]ay|[Jj]un|[Jj]ul|[Aa]ug|[Ss]ep|[Oo]ct|[Nn]ov|[Dd]ec)[A-Za-z]*"
_YEAR = "(?:[0-9]{4}|[0-9]{2})"
# With points and a year of two digits only in full: 1.2.10 is a version.
_NUMBERED = (
    f"(?:[0-9]{{1,2}}/[0-9]{{1,2}}/{_YEAR}|[0-9]{{1,2}}-[0-9]{{1,2}}-{_YEAR}"
    f"|[0-9]{{1,2}}[.][0-9]{{1,2}}[.][0-9]{{4}}|[0-9]{{2}}[.][0-9]{{2}}[.][0-9]{{2}}){_TIME}"
)
_YEAR_FIRST = rf"[0-9]{{4}}[.][0-9]{{1,2}}[.][0-9]{{1,2}}{_TIME}"
_NAMED = rf"(?:[0-9]{{1,2}}[ -]{_NAME}[ ,-]+[0-9]{{4}}|{_NAME} [0-9]{{1,2}},? [0-9]{{4}}){_TIME}"
_PATTERN = f"{_NUMBERED}|{_YEAR_FIRST}|{_NAMED}"
LOCAL = re.compile(_PATTERN)
ORDERS = {"dmy": "%d/%m/{y}", "mdy": "%m/%d/{y}", "ymd": "{y}/%m/%d"}
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_NAMED_ORDERS = ("%d/%b/%Y", "%d/%B/%Y", "%b/%d/%Y", "%B/%d/%Y")
TWO_DIGITS = "^[0-9]{1,2}[/.-][0-9]{1,2}[/.-][0-9]{2}(?:[^0-9]|$)"
# Those who write points write the day first.
POINTS = "^[0-9]{1,2}[.]"


def date_sql(cell: str, order: str) -> str:
    """The SQL that gives the seconds since 1970 of a date written in this order or with the name of its month."""
    text = f"trim({cell}, '{BLANKS}')"
    # One sign between all parts, one blank before the time.
    parts = rf"regexp_replace({text}, '[T ]+([0-9]{{1,2}}:)', '#\1')"
    day = rf"regexp_replace(split_part({parts}, '#', 1), '[-/., ]+', '/', 'g')"
    clock = rf"regexp_replace(split_part({parts}, '#', 2), ' ?([AaPp][Mm])$', ' \1')"
    # %Y takes 24 for the year 24.
    long, short = (
        ", ".join(f"'{one}{clock}'" for one in (ORDERS[order].format(y=year), *names) for clock in _CLOCKS)
        for year, names in (("%Y", _NAMED_ORDERS), ("%y", ()))
    )
    whole = f"trim({day} || ' ' || {clock})"
    stamp = (
        f"CASE WHEN NOT regexp_full_match({text}, '{_PATTERN}') THEN NULL WHEN regexp_matches({text}, '{TWO_DIGITS}') "
        f"THEN try_strptime({whole}, [{short}]) ELSE try_strptime({whole}, [{long}]) END"
    )
    return f"(epoch_us({stamp}) / 1e6)"
