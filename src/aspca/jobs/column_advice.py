"""Columns that fit nowhere: what they seem to hold, from their first rows, and which option each needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from aspca.engines.source import Column
from aspca.jobs.errors import RequestError
from aspca.jobs.labels import LABELLIKE, NORMAL
from aspca.jobs.tables import TableSource

_MOST_NAMES = 8
PLURALS = {"date": "dates", "text": "text", "number": "numbers", "boolean": "truth values"}
_LOOKED_AT = 2000
_SHOWN = 24
_CATEGORIES = 30
# Other names of labels may as well be those of categories.
_SURELY_LABELS = {"label", "labels", "anomaly", "is_anomaly", "outlier"}
_SURELY_VALUES = {"normal", "normal.", "anomaly", "outlier", "benign"}


def refuse_absent(table: TableSource, name: str, option: str) -> None:
    """Raise RequestError if there is no such column, which `option` named."""
    names = [column.name for column in table.columns]
    if name in names:
        return
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its columns are {_listed(names)}."
    raise RequestError(f"{option}: {table.description} has no column {name!r}; {hint}")


def refuse_odd(table: TableSource, odd: Sequence[Column]) -> None:
    """Raise RequestError for columns of text and dates, which make no rules as they are: say what to do with each."""
    if not odd:
        return
    dates = [column for column in odd if column.kind == "date"]
    texts = [column for column in odd if column.kind != "date"]
    found = examined(table, [column.name for column in texts])
    advice = [f"--date {word_of(column.name)} (or --ignore it)" for column in dates]
    advice += [_advice(text, column.remedy) for text, column in zip(found, texts, strict=True)]
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


def _why(columns: Sequence[Column], texts: Sequence[TextColumn]) -> str:
    """In brackets, a cell that is no number, and how many are."""
    if not texts:
        return ""
    parts = [part for part in (texts[0].example.strip(" ()"), columns[0].remark) if part]
    return f" ({'; '.join(parts)})" if parts else ""


def _advice(text: TextColumn, remedy: Sequence[str]) -> str:
    name = word_of(text.name)
    if remedy and remedy[0] != "--ignore":
        return f"{' '.join(word_of(word) for word in remedy)} (for {text.name!r})"
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


def word_of(name: str) -> str:
    """A name as one word of a command line."""
    return name if re.fullmatch(r"[\w.%+,-]+", name) else repr(name)


# ---- what a column of text seems to be


@dataclass(frozen=True)
class TextColumn:
    """A column of text.

    Attributes
    ----------
    name : str
    example : str
        In brackets, a cell that is no number and its row; empty if there is none.
    distinct : bool
        Whether every cell differs, as names of rows do.
    mostly_numbers : bool
        Whether more than half of its cells are numbers.
    like_labels : bool
        Whether its name or its few values are those of labels.
    n_values : int
        How many different cells it has.
    few : bool
        Whether these are so few that they are categories.
    """

    name: str
    example: str
    distinct: bool
    mostly_numbers: bool
    like_labels: bool
    n_values: int
    few: bool


def examined(table: TableSource, names: Sequence[str]) -> list[TextColumn]:
    """What columns of text seem to be."""
    if not names:
        return []
    first = next(iter(table.cells(names, _LOOKED_AT)), [])
    return [_examined(name, [row[k] for row in first]) for k, name in enumerate(names)]


def _examined(name: str, cells: list[object]) -> TextColumn:
    filled = [(row, str(cell)) for row, cell in enumerate(cells) if cell is not None]
    odd = [(row, cell) for row, cell in filled if not _is_number(cell)]
    example = ""
    if odd:
        row, cell = odd[0]
        example = f" ({(cell if len(cell) <= _SHOWN else cell[:_SHOWN] + '...')!r} in row {row})"
    values = {cell for _, cell in filled}
    mostly_numbers = 2 * len(odd) < len(filled)
    all_differ = len(filled) > 2 and len(values) == len(filled) == len(cells)
    return TextColumn(
        name=name,
        example=example,
        distinct=all_differ and not mostly_numbers,
        mostly_numbers=mostly_numbers,
        like_labels=_like_labels(name, values),
        n_values=len(values),
        few=1 < len(values) <= min(_CATEGORIES, len(filled) // 2),
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    # Python reads 2020_01 as a number, which no table means.
    return "_" not in cell


def _like_labels(name: str, values: set[str]) -> bool:
    """By its name, if need be with a value that says all is well; or by its values alone."""
    name = name.strip().lower()
    well = any(value.strip().lower() in NORMAL for value in values)
    return name in _SURELY_LABELS or (name in LABELLIKE and well) or not values.isdisjoint(_SURELY_VALUES)
