"""Cells that stand for no value: the usual words, and those that only mean so in a column of numbers or dates."""

from __future__ import annotations

import math
from collections.abc import Sequence

# Taken for missing in columns of every kind (those of pandas, and the ? of the UCI collection).
EVERYWHERE = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "-nan", "-NaN", "null", "NULL", "None", "?")
# In capitals or not, where all other cells are numbers, dates or truth values; among texts they may be categories.
_AMONG_VALUES = """
    - -- --- . .. ... ‐ – — * na n/a n.a. n.a n/d n.d. nd #na <na> #n/a nan -nan +nan nat null (null) <null> #null! nil
    none void missing unknown undefined blank empty \\n ? ?? #div/0! #ref! #value! #num! #name?
"""  # noqa: RUF001  # dashes as people type them
AMONG_VALUES = frozenset(_AMONG_VALUES.split()) | {"not available", "no data"}
# Blanks that may stand around a cell, or between thousands.
BLANKS = " \t\u00a0\u2007\u2009\u202f"  # spaces as programs write them


def stands_for_nothing(cell: str) -> bool:
    """Whether a cell among values is missing."""
    return cell in EVERYWHERE or cell.strip(BLANKS).lower() in AMONG_VALUES or not cell.strip(BLANKS)


def numbers_named(words: Sequence[str]) -> list[float]:
    """The finite numbers among words that stand for no value: in columns of numbers they do so however written."""
    numbers = []
    for word in words:
        try:
            numbers.append(float(word.replace(",", ".")))
        except ValueError:
            continue
    return [number for number in numbers if math.isfinite(number)]
