"""How a CSV file is written, from its first rows: delimiter, header, names, and what its columns seem to hold."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from aspca.engines.errors import SourceError
from aspca.engines.file_table import refuse_repeated
from aspca.engines.request import ReadOptions

# Cells that stand for no value, in columns of every kind (those of pandas, and the ? of the UCI collection).
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "-nan", "-NaN", "null", "NULL", "None", "?")
DELIMITERS = ",;\t|"
HEAD_BYTES = 4_000_000
HEAD_ROWS = 200
LONGEST_CELL = 4_000_000

POINT = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(inf|infinity)\s*", re.IGNORECASE)
COMMA = re.compile(r"\s*[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?\s*")
DATE = re.compile(r"\s*\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T].*)?")
TRUTH = re.compile(r"\s*(true|false)\s*", re.IGNORECASE)
PATTERNS = {"number": POINT, "comma": COMMA, "boolean": TRUTH, "date": DATE}


@dataclass(frozen=True)
class Dialect:
    """`skip` lines come before the header or the first row; `guesses` are kinds to be confirmed by a whole pass."""

    delimiter: str
    header: bool
    skip: int
    names: tuple[str, ...]
    guesses: tuple[str, ...]


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
        No rows, a header alone, or a name that occurs twice.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        whole = not file.read(1)
    text = head.decode("utf-8-sig", errors="ignore")
    lines = text.splitlines(keepends=True) if "\n" not in text else text.split("\n")
    skip = next((number for number, line in enumerate(lines) if line.strip("\r\n")), 0)
    delimiter = options.delimiter
    named = re.fullmatch(r'"?sep=(.)"?\s*', lines[skip])
    if named:  # Excel's own remark on the delimiter
        skip, delimiter = skip + 1, delimiter or named.group(1)
    body = lines[skip:] if whole else lines[skip:-1]
    ending = "\n" if "\n" in text else ""
    tried = {each: _rows(body, each, ending) for each in ([delimiter] if delimiter else DELIMITERS)}
    delimiter = max(tried, key=lambda each: _fit(tried[each]))
    rows = tried[delimiter]
    if not rows:
        raise SourceError(f"{label}: the file is empty; it must hold at least one row.")
    header = options.header if options.header is not None else _is_header(rows)
    names = _names(rows[0], header, label)
    if header:
        rows = rows[1:]
        if not rows:
            if "".join(body).count('"') % 2:
                raise SourceError(f"{label}: the header has a quote that is not closed; close it.")
            raise SourceError(
                f"{label}: the file has a header but no rows; add rows, or say that it has no header "
                "if its one line is a row."
            )
    guesses = [guess_kind([row[index] for row in rows if index < len(row)]) for index in range(len(names))]
    return Dialect(delimiter, header, skip, names, tuple(guesses))


def guess_kind(cells: Sequence[str]) -> str:
    """The kind of most cells: number, comma, boolean, date, text, or unknown where all are missing."""
    given = [cell for cell in cells if cell not in MISSING]
    if not given:
        return "unknown"
    fits = {kind: sum(1 for cell in given if pattern.fullmatch(cell)) for kind, pattern in PATTERNS.items()}
    best = max(fits, key=lambda kind: fits[kind])
    return best if 2 * fits[best] >= len(given) else "text"


def _is_header(rows: list[list[str]]) -> bool:
    """Whether the first row holds names: no value in it, or text above values, or the numbers pandas gives columns."""
    first = rows[0]
    if not any(_is_value(cell) for cell in first):
        return True
    counted = [str(index) for index in range(len(first))]
    if first == ["", *counted[:-1]] or (first == counted and len(first) > 2):
        return True
    return any(
        cell not in MISSING and not _is_value(cell) and guess_kind(below) in PATTERNS
        for cell, below in zip(first, zip_longest(*rows[1:], fillvalue=""), strict=False)
    )


def _rows(lines: list[str], delimiter: str, ending: str) -> list[list[str]]:
    rows: list[list[str]] = []
    with long_cells():
        reader = csv.reader((line + ending for line in lines), delimiter=delimiter, skipinitialspace=delimiter != " ")
        try:
            for row in reader:
                if row:
                    rows.append(row)
                if len(rows) > HEAD_ROWS:
                    break
        except csv.Error:
            pass  # the pass over the whole file says what is wrong, and in which row
    return rows


def _fit(rows: list[list[str]]) -> tuple[bool, float, float]:
    """How well a delimiter fits: several cells a row, as many in each as in the first, and cells that are values."""
    if not rows:
        return False, 0.0, 0.0
    counts = Counter(len(row) for row in rows)
    cells = [cell for row in rows for cell in row]
    return len(rows[0]) > 1, counts[len(rows[0])] / len(rows), sum(map(_is_value, cells)) / len(cells)


def _is_value(cell: str) -> bool:
    return any(pattern.fullmatch(cell) for pattern in PATTERNS.values())


def _names(cells: list[str], header: bool, label: str) -> tuple[str, ...]:
    names = [cell.strip() if header else "" for cell in cells]
    names = [name or f"column_{index}" for index, name in enumerate(names, start=1)]
    refuse_repeated(names, label)
    return tuple(names)
