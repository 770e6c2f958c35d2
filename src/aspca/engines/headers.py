"""Which lines of a text file hold names: titles may stand above them, and a second line of names or units below."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from aspca.engines.missing_words import stands_for_nothing
from aspca.harmless import quoted

_YEARS = range(1800, 2201)
_WHOLE = re.compile(r"\s*[0-9]{1,9}\s*")
_DECIMALS = re.compile(r"\s*[+-]?[0-9]*[.,][0-9]+([eE][+-]?[0-9]+)?\s*")
# Fewer rows say little about how a column is written, and about whether the first of them is one of text.
_ENOUGH_ROWS, _ROWS_BELOW = 3, 10
# A row that counts so many columns from 1 on holds no values.
_COUNTED = 4
_SHOWN = 3
Rows = Sequence[Sequence[str]]
IsValue = Callable[[str], bool]


def usual_width(rows: Rows) -> int:
    """How many cells most rows have; the larger number of two that are as frequent."""
    counts = Counter(map(len, rows))
    return max(counts, key=lambda width: (counts[width], width))


def find_header(rows: Rows, is_value: IsValue) -> int:
    """Which row holds the names, where titles stand above it: they have fewer cells, or most of them empty.

    0 where there are none, or where the first whole row holds values.
    """
    width = usual_width(rows)
    start = next((place for place, row in enumerate(rows) if len(row) == width and 2 * _filled(row) > width), 0)
    if start and _lacks_one_name(rows[start - 1], rows[start:], is_value):
        start -= 1
    # A year may be a name.
    is_header = start > 0 and width > 1 and 2 * _values(rows[start], is_value) < width
    below = rows[start + 1 :]
    return start if is_header and any(_values(row, is_value) > _values(rows[start], is_value) for row in below) else 0


def _values(row: Sequence[str], is_value: IsValue) -> int:
    return sum(map(is_value, row))


def _filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _lacks_one_name(header: Sequence[str], below: Rows, is_value: IsValue) -> bool:
    """Whether a row holds names of all columns but one, as of a table that R wrote."""
    named = _filled(header) == len(header) == len(below[0]) - 1
    return named and not any(map(is_value, header)) and any(map(is_value, below[0]))


def names_of(rows: Rows, width: int) -> list[str]:
    """The names in the first of some rows, of which those below have `width` cells; empty where a column has none.

    Where one is lacking, the first column has none, as R writes the names of rows; or the last, if it is empty.
    """
    names = [cell.strip() for cell in rows[0]]
    ends_empty = all(len(row) < width or not row[-1].strip() for row in rows[1:])
    if len(names) == width - 1 and not ends_empty:
        return ["", *names]
    return names + [""] * (width - len(names))


def is_second_header(rows: Rows, is_value: IsValue, kind_of: Callable[[Sequence[str]], str]) -> bool:
    """Whether the second of some rows is one of units or codes: text above columns of values, and no value; or counts
    the columns."""
    second, below = rows[1] if len(rows) > 1 else (), rows[2:]
    if (
        len(second) >= _COUNTED
        and len(below) >= _ENOUGH_ROWS
        and [cell.strip() for cell in second] == [str(k + 1) for k in range(len(second))]
    ):
        return True
    if len(below) < _ROWS_BELOW or any(map(is_value, second)):
        return False
    columns = [[row[place] for row in below if place < len(row)] for place in range(len(second))]
    cells = [
        cell.strip() for cell, column in zip(second, columns, strict=True) if kind_of(column) not in ("text", "unknown")
    ]
    given = [cell for cell in cells if not stands_for_nothing(cell)]
    return len(cells) > 1 and 2 * len(given) > len(cells)


def title_remark(label: str, titles: Rows) -> tuple[str, ...]:
    """What is said of lines above the header."""
    if not titles:
        return ()
    shown = quoted(next((cell.strip() for cell in titles[0] if cell.strip()), ""))
    lines = f"{len(titles)} line{'s' * (len(titles) > 1)} above the names of columns"
    return (f"{label}: {lines} ({shown}) left out; --skip 0 reads them.",)


def second_header_remark(label: str, second: Sequence[str]) -> tuple[str, ...]:
    """What is said of a second line of names or units."""
    return (f"{label}: the line below the names of columns ({_listed(second)}) holds no values and is left out.",)


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
    shown = _listed(first)
    if header:
        return f"{label}: the first line ({shown}) is taken for names of columns; if it is a row, give --no-header."
    return f"{label}: the first line ({shown}) is taken for a row, not for names of columns; if it is, give --header."


def _listed(cells: Sequence[str]) -> str:
    return ", ".join(quoted(cell.strip()) for cell in cells[:_SHOWN]) + (", ..." if len(cells) > _SHOWN else "")


def may_be_names(first: Sequence[str], is_value: IsValue) -> bool:
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
