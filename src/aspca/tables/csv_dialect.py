"""How a CSV file is written, from its first rows: delimiter, header, names, and what its columns seem to hold.

Titles may stand above the header, and a second line of names or units below it.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.escaping import quoted
from aspca.tables.cell_tests import EVERYWHERE, is_local_date, is_missing
from aspca.tables.errors import SourceError
from aspca.tables.file_table import make_names_unique
from aspca.tables.number_text import make_shape_key, parse_shape
from aspca.tables.request import ReadOptions

if TYPE_CHECKING:
    from _csv import Reader as _Reader

# Also how many bytes are looked at first: at most twice the longest line.
LONGEST_CELL = 4_000_000
_POINT = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(inf|infinity)\s*", re.IGNORECASE)
_DATE = re.compile(r"\s*\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T].*)?")
_TRUTH = re.compile(r"\s*(true|false)\s*", re.IGNORECASE)
# In the order in which a cell is taken for something; "styled" are numbers in any other way of writing.
_LOOKS: dict[str, Callable[[str], object]] = {
    "number": _POINT.fullmatch,
    "boolean": _TRUTH.fullmatch,
    "date": _DATE.fullmatch,
    "local date": is_local_date,
    "styled": lambda cell: parse_shape(make_shape_key(cell)) is not None,
}
_YEARS = range(1800, 2201)
_WHOLE = re.compile(r"\s*[0-9]{1,9}\s*")
_DECIMALS = re.compile(r"\s*[+-]?[0-9]*[.,][0-9]+([eE][+-]?[0-9]+)?\s*")
_ENOUGH_ROWS = 3  # fewer say little about how a column is written
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str
    header: bool  # whether its names come from the file
    before: int  # how many records (empty lines are some) stand above the first row
    names: tuple[str, ...]
    guesses: tuple[str, ...]  # kinds of the columns, to be confirmed by a whole pass
    notes: tuple[str, ...] = ()  # sentences on what was guessed about the lines above the first row


@contextmanager
def long_cells() -> Iterator[None]:
    """Python's reader refuses cells beyond 128 kB; the line limit of this package is the tighter rule."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def make_reader(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> _Reader:
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != " ", strict=strict)


def find_dialect(path: Path, label: str, options: ReadOptions, *, made_here: bool = False) -> Dialect:
    """How a UTF-8 file is written, by its first rows; SourceError if it has none, or a header alone.

    One that was `made_here` has no note of Excel above its rows, whatever a cell looks like.
    """
    with path.open("rb") as file:
        head = file.read(LONGEST_CELL)
        whole = not file.read(1)
    text = head.decode("utf-8-sig", errors="ignore")
    lines = list(StringIO(text, newline=""))
    skip = options.skip or next((number for number, line in enumerate(lines) if line.strip("\r\n")), 0)
    delimiter = options.delimiter
    named = re.fullmatch(r'"?sep=(.)"?\s*', lines[skip]) if skip < len(lines) else None
    if named and not made_here:  # Excel's own note on the delimiter
        skip, delimiter = skip + 1, delimiter or named.group(1)
    body = lines[skip:] if whole or text.endswith("\n") else lines[skip:-1]
    tried = {each: _read_first_records(body, each) for each in ([delimiter] if delimiter else ",;\t|")}
    delimiter = _find_delimiter({each: [cells for _, cells in records] for each, records in tried.items()})
    places, rows = [place for place, _ in tried[delimiter]], [cells for _, cells in tried[delimiter]]
    if not rows:
        raise SourceError(f"{label}: the file is empty; it must hold at least one row.")
    notes: list[str] = []
    start = 0 if options.skip is not None or options.header is False else _find_header(rows)
    if start:
        shown = quoted(next((cell.strip() for cell in rows[0] if cell.strip()), ""))
        above = f"{start} line{'s' * (start > 1)} above the names of columns"
        notes.append(f"{label}: {above} ({shown}) left out; --skip 0 reads them.")
    places, rows = places[start:], rows[start:]
    header = options.header
    if header is None:
        header, is_unclear = (True, False) if start else _is_header(rows, body)
        what = (
            "names of columns; if it is a row, give --no-header"
            if header
            else ("a row, not for names of columns; if it is, give --header")
        )
        notes += [f"{label}: the first line ({_show_cells(rows[0])}) is taken for {what}."] if is_unclear else []
    # The header counts: where rows differ, its names tell how many cells there should be.
    width = _find_width(rows)
    names, notes_on_names = make_names_unique(_read_names(rows, width) if header else [""] * width, label)
    notes += notes_on_names
    n_header = int(header)
    if header and _is_second_header(rows):
        n_header, shown = 2, _show_cells(rows[1])
        notes.append(f"{label}: the line below the names of columns ({shown}) holds no values and is left out.")
    if len(rows) <= n_header:
        if "".join(body).count('"') % 2:
            raise SourceError(f"{label}: the header has a quote that is not closed; close it.")
        raise SourceError(
            f"{label}: the file has a header but no rows; add rows, or say that it has no header if its one line is a "
            "row."
        )
    before = skip + (places[n_header] if n_header < len(places) else places[-1] + 1)
    columns = _transpose(rows[n_header:], len(names))
    guesses = [guess_kind([cell for cell in cells if cell.strip() not in options.missing]) for cells in columns]
    return Dialect(delimiter, header, before, names, tuple(guesses), tuple(notes))


def guess_kind(cells: Sequence[str]) -> str:
    """The kind of most cells: one of `_LOOKS`, text, or unknown where all are missing."""
    given = [cell for cell in cells if not is_missing(cell)]
    if not given:
        return "unknown"
    looks = Counter(next((kind for kind, fits in _LOOKS.items() if fits(cell)), "text") for cell in given)
    if 2 * (looks["number"] + looks["styled"]) >= len(given):
        return "styled" if looks["styled"] else "number"
    best = max(_LOOKS, key=lambda kind: looks[kind])
    return best if 2 * looks[best] >= len(given) else "text"


def _is_value(cell: str) -> bool:
    return any(fits(cell) for fits in _LOOKS.values())


def _count_values(row: Sequence[str]) -> int:
    return sum(map(_is_value, row))


def count_filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _transpose(rows: Rows, width: int) -> list[list[str]]:
    return [[row[place] for row in rows if place < len(row)] for place in range(width)]


def _show_cells(cells: Sequence[str]) -> str:
    return ", ".join(quoted(cell.strip()) for cell in cells[:3]) + (", ..." if len(cells) > 3 else "")


def _read_first_records(lines: list[str], delimiter: str) -> list[tuple[int, list[str]]]:
    """The first rows, and above how many records, among them empty lines, each of them stands."""
    found: list[tuple[int, list[str]]] = []
    # What is wrong with a record, and in which row, is said by the pass over the whole file.
    with long_cells(), suppress(csv.Error):
        for place, row in enumerate(make_reader(lines, delimiter)):
            found += [(place, row)] if row else []
            if len(found) > 200:
                break
    return found


def _find_delimiter(tried: dict[str, list[list[str]]]) -> str:
    """The delimiter that fits best: several cells a row, as many in each, then cells that are values. What cells are
    takes longest to tell, so only those are looked at that are as good in all else."""

    def measure_evenness(rows: list[list[str]]) -> tuple[bool, float]:
        rows = rows[_find_header(rows) :]
        width = _find_width(rows)
        return min(width, len(rows[0])) > 1, sum(len(row) == width for row in rows) / len(rows)

    def measure_values(each: str) -> float:
        return sum(map(_count_values, tried[each])) / max(1, sum(map(len, tried[each])))

    even = {each: measure_evenness(rows) if rows else (False, 0.0) for each, rows in tried.items()}
    best = [each for each in tried if even[each] == max(even.values())]
    return best[0] if len(best) == 1 else max(best, key=measure_values)


def _find_width(rows: Rows) -> int:
    """How many cells most rows have; the larger number of two that are as frequent."""
    counts = Counter(map(len, rows))
    return max(counts, key=lambda width: (counts[width], width))


def _find_header(rows: Rows) -> int:
    """Which row holds the names, where titles stand above it: they have fewer cells, or most of them empty. 0 where
    there are none, or where the first whole row holds values."""
    width = _find_width(rows)
    start = next((place for place, row in enumerate(rows) if len(row) == width and 2 * count_filled(row) > width), 0)
    if start:
        # A row above may hold names of all columns but one, as of a table that R wrote.
        above, first = rows[start - 1], rows[start]
        named = count_filled(above) == len(above) == len(first) - 1
        start -= named and not _count_values(above) and _count_values(first) > 0
    if not start or width == 1:
        return 0
    n_values = _count_values(rows[start])
    # A year may be a name.
    is_header = 2 * n_values < width and any(_count_values(row) > n_values for row in rows[start + 1 :])
    return start if is_header else 0


def _read_names(rows: Rows, width: int) -> list[str]:
    """The names in the first of some rows, of which those below have `width` cells; empty where a column has none.
    Where one is lacking, the first column has none, as R writes the names of rows; or the last, if it is empty."""
    names = [cell.strip() for cell in rows[0]]
    ends_empty = all(len(row) < width or not row[-1].strip() for row in rows[1:])
    if len(names) == width - 1 and not ends_empty:
        return ["", *names]
    return names + [""] * (width - len(names))


def _is_header(rows: Rows, lines: list[str]) -> tuple[bool, bool]:
    """Whether the first row holds names, and whether that is said: it holds numbers that may be names or not. It does
    if it has no value, or text above values, or numbers as names have them."""
    first = rows[0]
    above = zip(first, zip_longest(*rows[1:], fillvalue=""), strict=False)
    if not any(map(_is_value, first)) or any(
        cell not in EVERYWHERE and not _is_value(cell) and guess_kind(below) in _LOOKS for cell, below in above
    ):
        return True, False
    header = _are_numbers_names(rows, lines)
    # Whole numbers that all differ could be names.
    given = [cell.strip() for cell in first if cell.strip()]
    whole = all(_WHOLE.fullmatch(cell) for cell in given if _is_value(cell))
    return header, header or (len(given) > 1 and whole and len(set(given)) == len(given))


def _are_numbers_names(rows: Rows, lines: list[str]) -> bool:
    """Whether whole numbers in the first of some rows are names, as of years or of columns that pandas counted."""
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
    if any(map(_has_even_steps, names, columns)):
        return False
    quotes = [line.strip() for line in lines[:3] if line.strip()][:2]
    if len(quotes) == 2 and quotes[0].startswith('"') and quotes[0].endswith('"') and '"' not in quotes[1]:
        return True
    if len(below) >= _ENOUGH_ROWS and all(cells and all(map(_DECIMALS.fullmatch, cells)) for cells in columns):
        return True
    steps = {later - earlier for earlier, later in pairwise(names)}
    if len(steps) != 1 or next(iter(steps)) < 1:
        return False
    cells = [cell for column in columns for cell in column]
    like_years = sum(bool(_WHOLE.fullmatch(cell)) and int(cell) in _YEARS for cell in cells)
    return all(name in _YEARS for name in names) and 2 * like_years < len(cells)


def _has_even_steps(name: int, cells: Sequence[str]) -> bool:
    """Whether a column moves in even steps from its first cell on, which is then one of its values."""
    if len(cells) < 2 or not all(map(_WHOLE.fullmatch, cells)):
        return False
    steps = {later - earlier for earlier, later in pairwise([name, *map(int, cells)])}
    return len(steps) == 1 and steps != {0}


def _is_second_header(rows: Rows) -> bool:
    """Whether the second of some rows is one of units or codes: text above columns of values, and no value; or counts
    the columns, four of them or more."""
    second, below = rows[1] if len(rows) > 1 else (), rows[2:]
    counts = [str(place + 1) for place in range(len(second))]
    if len(second) >= 4 and len(below) >= _ENOUGH_ROWS and [cell.strip() for cell in second] == counts:
        return True
    # Fewer than ten rows say little about whether the first of them is one of text.
    if len(below) < 10 or any(map(_is_value, second)):
        return False
    columns = zip(second, _transpose(below, len(second)), strict=True)
    cells = [cell.strip() for cell, column in columns if guess_kind(column) not in ("text", "unknown")]
    return len(cells) > 1 and 2 * sum(not is_missing(cell) for cell in cells) > len(cells)
