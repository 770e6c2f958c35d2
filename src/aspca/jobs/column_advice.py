"""The sentences for columns that fit nowhere: what they hold, and which option each needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from aspca.engines.source import Column
from aspca.jobs.errors import RequestError
from aspca.jobs.table import Table
from aspca.jobs.text_columns import Text, examined

_MOST_NAMES = 8
PLURALS = {"date": "dates", "text": "text", "number": "numbers", "boolean": "truth values"}


def refuse_absent(table: Table, name: str, option: str) -> None:
    """Raise RequestError if there is no such column, which `option` named."""
    names = [column.name for column in table.columns]
    if name in names:
        return
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its columns are {_listed(names)}."
    raise RequestError(f"{option}: {table.description} has no column {name!r}; {hint}")


def refuse_odd(table: Table, odd: Sequence[Column]) -> None:
    """Raise RequestError for columns of text and dates, which make no rules as they are: say what to do with each."""
    if not odd:
        return
    dates = [column for column in odd if column.kind == "date"]
    texts = [column for column in odd if column.kind != "date"]
    found = examined(table, [column.name for column in texts])
    advice = [f"--date {_word(column.name)} (or --ignore it)" for column in dates]
    advice += [_advice(text) for text in found]
    held = " and ".join(
        f"{columns_text([column.name for column in columns])} {'holds' if len(columns) == 1 else 'hold'} {kind}"
        for kind, columns in (("dates", dates), ("text" + _why(texts, found), texts))
        if columns
    )
    held = held[0].upper() + held[1:]
    shown = advice if len(advice) <= _MOST_NAMES else [*advice[:_MOST_NAMES], "and so on"]
    raise RequestError(
        f"{held} in {table.description}, but rules are made of numbers: give {', '.join(shown)}; "
        "--categorical takes the values as categories, --date as days since 1970, --ignore leaves a column out."
    )


def _why(columns: Sequence[Column], texts: Sequence[Text]) -> str:
    """In brackets, a cell that is no number, and how many are."""
    if not texts:
        return ""
    parts = [part for part in (texts[0].example.strip(" ()"), columns[0].remark) if part]
    return f" ({'; '.join(parts)})" if parts else ""


def _advice(text: Text) -> str:
    name = _word(text.name)
    if text.decimal_comma:
        return f"--decimal , ({text.name!r} looks like numbers)"
    if text.mostly_numbers:
        return f"--ignore {name} (or correct what is no number there)"
    if text.like_labels:
        return f"--label {name} (or --ignore it, or --categorical)"
    if text.few:
        return f"--ignore {name} (or --categorical {name}: {text.n_values} different values)"
    return f"--ignore {name}"


def columns_text(names: Sequence[str]) -> str:
    """As in ``columns 'a', 'b'``."""
    return f"column{'s' if len(names) > 1 else ''} {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMES])
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown


def _word(name: str) -> str:
    """A name as one word of a command line."""
    return name if re.fullmatch(r"[\w.%+,-]+", name) and not name.startswith("-") else repr(name)
