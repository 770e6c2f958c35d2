"""Whether the first line of a text file holds names or values: by what stands below it, where both may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from aspca.harmless import quoted

_YEARS = range(1800, 2201)
_WHOLE = re.compile(r"\s*[0-9]{1,9}\s*")
_DECIMALS = re.compile(r"\s*[+-]?[0-9]*[.,][0-9]+([eE][+-]?[0-9]+)?\s*")
# Fewer rows say little about how a column is written.
_ENOUGH_ROWS = 3
_SHOWN = 3
Rows = Sequence[Sequence[str]]


def numbers_as_names(rows: Rows, quotes: tuple[bool, bool]) -> bool:
    """Whether whole numbers in the first of some rows are names, as of years or of columns that pandas counted.

    `quotes`: whether the first line is all in quotes, and whether the one below has none.
    """
    first, below = rows[0], rows[1:]
    places = [place for place, cell in enumerate(first) if _WHOLE.fullmatch(cell)]
    names = [int(first[place]) for place in places]
    if not names or len(set(names)) < len(names) or not below:
        return False
    columns = [[row[place].strip() for row in below if place < len(row) and row[place].strip()] for place in places]
    # Beside a cell that is empty or no number, they count columns.
    counted = names == list(range(names[0], names[0] + len(names))) and names[0] in (0, 1)
    if counted and len(names) < len(first) and (len(names) > 2 or not first[0].strip()):
        return True
    if any(map(_goes_on, names, columns)):
        return False
    if quotes == (True, True):
        return True
    if len(below) >= _ENOUGH_ROWS and all(cells and all(map(_DECIMALS.fullmatch, cells)) for cells in columns):
        return True
    steps = {later - earlier for earlier, later in pairwise(names)}
    if len(steps) != 1 or next(iter(steps)) < 1:
        return False
    cells = [cell for column in columns for cell in column]
    like_years = sum(bool(_WHOLE.fullmatch(cell)) and int(cell) in _YEARS for cell in cells)
    return all(name in _YEARS for name in names) and 2 * like_years < len(cells)


def header_remark(label: str, first: Sequence[str], header: bool) -> str:
    """What is said of a first line that holds numbers."""
    shown = ", ".join(quoted(cell.strip()) for cell in first[:_SHOWN]) + (", ..." if len(first) > _SHOWN else "")
    if header:
        return f"{label}: the first line ({shown}) is taken for names of columns; if it is a row, give --no-header."
    return f"{label}: the first line ({shown}) is taken for a row, not for names of columns; if it is, give --header."


def may_be_names(first: Sequence[str], is_value: Callable[[str], bool]) -> bool:
    """Whether a first line without any text could hold names: whole numbers that all differ."""
    given = [cell.strip() for cell in first if cell.strip()]
    whole = all(_WHOLE.fullmatch(cell) for cell in given if is_value(cell))
    return len(given) > 1 and whole and len(set(given)) == len(given)


def _goes_on(name: int, cells: Sequence[str]) -> bool:
    """Whether a column moves in even steps from its first cell on, which is then one of its values."""
    if len(cells) < 2 or not all(map(_WHOLE.fullmatch, cells)):
        return False
    numbers = [name, *map(int, cells)]
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    return len(steps) == 1 and steps != {0}
