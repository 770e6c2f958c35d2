"""The rows of a CSV file by Python's slow reader: where each begins, and those that have too few or too many cells."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from aspca.preparation.cell_format import BadCell
from aspca.tables.csv_dialect import LONGEST_CELL, Dialect, long_cells, reader_of
from aspca.tables.errors import SourceError
from aspca.tables.number_columns import are_few

# The length of a row whose quotes are not closed.
_OPEN_QUOTE = -1


class RaggedRowsError(SourceError):
    """Rows of a file have different numbers of cells, or quotes that are not closed."""


class _BadRow(Exception):
    """A row or a header, beginning in this line, that Python's reader cannot take: a cell is too long or ill quoted."""

    def __init__(self, line: int, header: bool, too_long: bool) -> None:
        super().__init__(line, header, too_long)
        self.line, self.header, self.too_long = line, header, too_long


def read_rows(path: Path, dialect: Dialect, stray: set[int] | None = None) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header, each with the line in which it begins, from 1.

    With a set `stray`, a line whose quotes are not closed, or have text behind them, is a row by itself. Its cells are
    as they stand there, quotes and all, if there is one for each column, and its number goes to `stray`; otherwise it
    has none.

    Raises
    ------
    _BadRow
        Such a line, without that set.
    """
    # Lines of the row that is being read, and those that are to be read again.
    taken, again = list[str](), deque[str]()

    def lines() -> Iterator[str]:
        while line := again.popleft() if again else next(file, ""):
            taken.append(line)
            yield line

    width, line, place = len(dialect.names), 1, 0
    with long_cells(), path.open(encoding="utf-8-sig", newline="") as file:
        reader = reader_of(lines(), dialect.delimiter, strict=True)
        while True:
            is_bad = False
            try:
                cells = next(reader, None)
            except csv.Error as reason:
                if stray is None:
                    raise _BadRow(line, place < dialect.before, "larger" in str(reason)) from None
                # A quote that is not closed swallows the lines below it: reading goes on behind the first.
                again.extendleft(reversed(taken[1:]))
                del taken[1:]
                cells, is_bad = taken[0].rstrip("\r\n").split(dialect.delimiter), True
                cells = cells if len(cells) == width else []
                stray.update([line] if cells else [])
                reader = reader_of(lines(), dialect.delimiter, strict=True)
            if cells is None:
                return
            place += 1
            # An empty line is a row only where rows have one cell.
            if place > dialect.before and (cells or is_bad or width == 1):
                yield line, cells
            line += len(taken)
            taken.clear()


def describe_misfit(path: Path, label: str, dialect: Dialect) -> SourceError | None:
    """The sentence for the first row that is not as long as the others or ill quoted, if there is one."""
    width, row = len(dialect.names), 0
    try:
        for line, cells in read_rows(path, dialect):
            if len(cells) != width and (cells or width > 1):
                n_cells = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
                return RaggedRowsError(
                    f"{label}: row {row} (line {line}) has {n_cells}, but there are {width} columns; "
                    "every row needs one cell per column, so check its delimiters and quotes."
                )
            row += 1
    except _BadRow as bad:
        if bad.header:
            return SourceError(f"{label}: the header has a quote that is not closed; close it.")
        if bad.too_long:
            return SourceError(
                f"{label}: row {row} (line {bad.line}) has a cell of more than {LONGEST_CELL:,} characters, "
                "or a quote that is not closed; shorten the cell or close the quote."
            )
        return RaggedRowsError(
            f"{label}: row {row} (line {bad.line}) has a quote that is not closed, or text after a closing "
            "quote; close it, and write a quote inside a cell twice."
        )
    return None


@dataclass(frozen=True)
class RepairedRows:
    """A text of which all rows have as many cells: `bad` are those that had not, and have no values now.

    `lines` are those of its rows, from 1, where the reader of whole rows cannot tell.
    """

    path: Path
    bad: tuple[BadCell, ...]
    notes: tuple[str, ...]
    lines: list[int] | None = None


def repair_rows(path: Path, label: str, dialect: Dialect, folder: Path) -> RepairedRows | None:
    """The rows below the header, each with one cell per column; None where they are so already.

    Empty cells beyond the last column do no harm. Lines below the table, with a cell or two, are left out. A few other
    rows with too few or too many cells, or with a quote that is not closed, are findings, and have no values; if there
    are more that are too short, their last cells are missing.

    Raises
    ------
    SourceError
        Many rows have too many cells, or quotes that are not closed.
    """

    def refuse() -> SourceError:
        found = describe_misfit(path, label, dialect)
        return SourceError(f"{label}: the file cannot be read as CSV; export it anew." if found is None else str(found))

    width = len(dialect.names)
    stray: set[int] | None = None
    try:
        lengths, n_below, first_empty_end = _measure_rows(read_rows(path, dialect), width)
    except _BadRow as bad:
        if bad.header or bad.too_long:
            raise refuse() from None
        stray = set()
        lengths, n_below, first_empty_end = _measure_rows(read_rows(path, dialect, stray), width)
    n_rows = len(lengths) - n_below
    inside = {row: length for row, length in enumerate(lengths[:n_rows]) if length != width}
    if not inside and not n_below and first_empty_end is None and stray is None:
        return None
    few = are_few(len(inside), n_rows)
    if not few and any(length > width or length == _OPEN_QUOTE for length in inside.values()):
        raise refuse()
    target = folder / "repaired"
    bad_rows, lines = [], []
    with target.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=dialect.delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for row, (line, cells) in enumerate(islice(read_rows(path, dialect, stray), n_rows)):
            lines.append(line)
            if row in inside and few:
                length = inside[row]
                expected = f"{width} cells, not {length}" if length != _OPEN_QUOTE else "quotes that are closed"
                bad_rows.append(BadCell(row, None, dialect.delimiter.join(cells), expected, line))
                cells = []
            writer.writerow([*cells[:width], *[""] * (width - len(cells))])
    notes = []
    if n_below:
        notes.append(f"{label}: {n_below} line{'s' * (n_below > 1)} below the table left out.")
    if unquoted := [row for row, line in enumerate(lines) if line in (stray or ())]:
        many, first = f"{len(unquoted):,} row{'s' * (len(unquoted) > 1)}", unquoted[0]
        notes.append(
            f"{label}: quotes that are not closed, or have text behind them, are read as they stand in {many}, the "
            f"first of them row {first} (line {lines[first]})."
        )
    if first_empty_end is not None:
        where = f"row {first_empty_end} (line {lines[first_empty_end]})"
        notes.append(f"{label}: empty cells beyond the last column left out, at first in {where}.")
    if inside and not few:
        notes.append(
            f"{label}: {len(inside):,} of {n_rows:,} rows have fewer cells than there are columns, the first of them "
            f"row {next(iter(inside))}; their last cells count as missing."
        )
    return RepairedRows(target, tuple(bad_rows), tuple(notes), None if stray is None else lines)


def _measure_rows(rows: Iterator[tuple[int, list[str]]], width: int) -> tuple[list[int], int, int | None]:
    """How many cells each row has but for empty ones beyond the last column, how many rows at the end are lines below
    the table, and the first row that has nothing but empty cells beyond the last column."""
    lengths: list[int] = []
    n_below, first_empty_end = 0, None
    for row, (_, cells) in enumerate(rows):
        length = len(cells) or _OPEN_QUOTE
        while length > width and not cells[length - 1].strip():
            length -= 1
        if first_empty_end is None and len(cells) > length == width:
            first_empty_end = row
        is_note = 0 < length < width and 2 * sum(bool(cell.strip()) for cell in cells) < width
        n_below = n_below + 1 if is_note else 0
        lengths.append(length)
    return lengths, n_below, first_empty_end


def pick_lines(path: Path, before: int, rows: Sequence[int], n_rows: int, target: Path) -> bool:
    """Write the first `before` lines and the lines of some rows (from 0) of a text without quotes.

    Whether lines are rows: False where there are more or fewer of them, such as empty ones. Then nothing is known.
    """
    wanted = {*range(before), *(before + row for row in rows)}
    n_lines = 0
    with path.open("rb") as file, target.open("wb") as out:
        for line in file:
            if n_lines in wanted:
                out.write(line)
            n_lines += 1
    return n_lines == before + n_rows
