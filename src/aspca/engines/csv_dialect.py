"""How a CSV file is written, from its first rows: delimiter, header, names, and what its columns seem to hold."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.engines.errors import SourceError
from aspca.engines.file_table import make_names_unique
from aspca.engines.headers import (
    find_header,
    header_remark,
    is_second_header,
    may_be_names,
    names_of,
    numbers_as_names,
    second_header_remark,
    title_remark,
    usual_width,
)
from aspca.engines.local_dates import looks_local
from aspca.engines.missing_words import EVERYWHERE, stands_for_nothing
from aspca.engines.number_shapes import SIGNS, shape_key, shape_of
from aspca.engines.request import ReadOptions

if TYPE_CHECKING:
    from _csv import Reader as _Reader

DELIMITERS = ",;\t|"
HEAD_BYTES = 4_000_000
HEAD_ROWS = 200
LONGEST_CELL = 4_000_000

POINT = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(inf|infinity)\s*", re.IGNORECASE)
DATE = re.compile(r"\s*\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T].*)?")
TRUTH = re.compile(r"\s*(true|false)\s*", re.IGNORECASE)
# In the order in which a cell is taken for something; "styled" are numbers in any other way of writing.
LOOKS: dict[str, Callable[[str], object]] = {
    "number": POINT.fullmatch,
    "boolean": TRUTH.fullmatch,
    "date": DATE.fullmatch,
    "local date": looks_local,
    "styled": lambda cell: _styled(cell),
}


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Parameters
    ----------
    delimiter : what separates cells
    header : whether its names come from the file
    before : how many records (empty lines are some) stand above the first row
    names : of the columns
    guesses : kinds of the columns, to be confirmed by a whole pass
    remarks : sentences on what was guessed about the lines above the first row
    """

    delimiter: str
    header: bool
    before: int
    names: tuple[str, ...]
    guesses: tuple[str, ...]
    remarks: tuple[str, ...] = ()


@contextmanager
def long_cells() -> Iterator[None]:
    """Python's reader refuses cells beyond 128 kB; the line limit of this package is the tighter rule."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def dialect_of(path: Path, label: str, options: ReadOptions) -> Dialect:
    """Read the first rows of a UTF-8 file.

    Raises
    ------
    SourceError
        No rows, or a header alone.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        whole = not file.read(1)
    text = head.decode("utf-8-sig", errors="ignore")
    lines = text.splitlines(keepends=True) if "\n" not in text else text.split("\n")
    skip = options.skip or next((number for number, line in enumerate(lines) if line.strip("\r\n")), 0)
    delimiter = options.delimiter
    named = re.fullmatch(r'"?sep=(.)"?\s*', lines[skip]) if skip < len(lines) else None
    if named:  # Excel's own remark on the delimiter
        skip, delimiter = skip + 1, delimiter or named.group(1)
    body = lines[skip:] if whole else lines[skip:-1]
    ending = "\n" if "\n" in text else ""
    tried = {each: _records(body, each, ending) for each in ([delimiter] if delimiter else DELIMITERS)}
    delimiter = _best_fit({each: [cells for _, cells in records] for each, records in tried.items()})
    places, rows = [place for place, _ in tried[delimiter]], [cells for _, cells in tried[delimiter]]
    if not rows:
        raise SourceError(f"{label}: the file is empty; it must hold at least one row.")
    start = 0 if options.skip is not None or options.header is False else find_header(rows, _is_value)
    remarks = title_remark(label, rows[:start])
    places, rows = places[start:], rows[start:]
    header = options.header
    if header is None:
        header, in_doubt = (True, False) if start else _is_header(rows, _quotes(body))
        remarks += (header_remark(label, rows[0], header),) if in_doubt else ()
    # The header counts: where rows differ, its names tell how many cells there should be.
    width = usual_width(rows)
    names, notes = make_names_unique(names_of(rows, width) if header else [""] * width, label)
    remarks += notes
    n_header = 0
    if header:
        n_header = 2 if is_second_header(rows, _is_value, guess_kind) else 1
        remarks += second_header_remark(label, rows[1]) if n_header == 2 else ()
        if len(rows) <= n_header:
            if "".join(body).count('"') % 2:
                raise SourceError(f"{label}: the header has a quote that is not closed; close it.")
            raise SourceError(
                f"{label}: the file has a header but no rows; add rows, or say that it has no header "
                "if its one line is a row."
            )
    before = skip + (places[n_header] if n_header < len(places) else places[-1] + 1)
    rows = rows[n_header:]
    columns = ([row[index] for row in rows if index < len(row)] for index in range(len(names)))
    guesses = [guess_kind([cell for cell in cells if cell.strip() not in options.missing]) for cells in columns]
    return Dialect(delimiter, header, before, names, tuple(guesses), remarks)


def guess_kind(cells: Sequence[str]) -> str:
    """The kind of most cells: one of `LOOKS`, text, or unknown where all are missing."""
    given = [cell for cell in cells if not stands_for_nothing(cell)]
    if not given:
        return "unknown"
    looks = Counter(next((kind for kind, fits in LOOKS.items() if fits(cell)), "text") for cell in given)
    numbers = looks["number"] + looks["styled"]
    if 2 * numbers >= len(given):
        return "styled" if looks["styled"] else "number"
    best = max(LOOKS, key=lambda kind: looks[kind])
    return best if 2 * looks[best] >= len(given) else "text"


def _styled(cell: str) -> bool:
    shape = shape_of(shape_key(cell))
    return shape is not None and any(shape.separator(sign) is not None for sign in SIGNS)


def _is_header(rows: list[list[str]], quotes: tuple[bool, bool]) -> tuple[bool, bool]:
    """Whether the first row holds names, and whether that is said: it holds numbers that may be names or not.

    It does if it has no value, or text above values, or numbers as names have them.
    """
    first = rows[0]
    if not any(_is_value(cell) for cell in first):
        return True, False
    if any(
        cell not in EVERYWHERE and not _is_value(cell) and guess_kind(below) in LOOKS
        for cell, below in zip(first, zip_longest(*rows[1:], fillvalue=""), strict=False)
    ):
        return True, False
    header = numbers_as_names(rows, quotes)
    return header, header or may_be_names(first, _is_value)


def _quotes(lines: list[str]) -> tuple[bool, bool]:
    """Whether the first line is all in quotes, and whether the one below has none."""
    lines = [line.strip() for line in lines[:3] if line.strip()]
    if len(lines) < 2:
        return False, False
    return lines[0].startswith('"') and lines[0].endswith('"'), '"' not in lines[1]


def reader_of(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> _Reader:
    """Python's reader of rows."""
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != " ", strict=strict)


def _records(lines: list[str], delimiter: str, ending: str) -> list[tuple[int, list[str]]]:
    """The first rows, and above how many records, among them empty lines, each of them stands."""
    found: list[tuple[int, list[str]]] = []
    with long_cells():
        reader = reader_of((line + ending for line in lines), delimiter)
        try:
            for place, row in enumerate(reader):
                if row:
                    found.append((place, row))
                if len(found) > HEAD_ROWS:
                    break
        except csv.Error:
            pass  # the pass over the whole file says what is wrong, and in which row
    return found


def _best_fit(tried: dict[str, list[list[str]]]) -> str:
    """The delimiter that fits best: several cells a row, as many in each, then cells that are values.

    What cells are takes longest to tell, so only those are looked at that are as good in all else.
    """
    even = {each: _evenness(rows) for each, rows in tried.items()}
    best = [each for each in tried if even[each] == max(even.values())]
    return best[0] if len(best) == 1 else max(best, key=lambda each: _share_of_values(tried[each]))


def _evenness(rows: list[list[str]]) -> tuple[bool, float]:
    """Whether there are several cells a row, from the first on but for titles, and how many rows have as many."""
    if not rows:
        return False, 0.0
    rows = rows[find_header(rows, _is_value) :]
    width = usual_width(rows)
    return min(width, len(rows[0])) > 1, sum(len(row) == width for row in rows) / len(rows)


def _share_of_values(rows: list[list[str]]) -> float:
    cells = [cell for row in rows for cell in row]
    return sum(map(_is_value, cells)) / len(cells) if cells else 0.0


def _is_value(cell: str) -> bool:
    return any(fits(cell) for fits in LOOKS.values())
