"""The rows of a CSV file by Python's slow reader: where each begins, and those that have too few or too many cells."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from aspca.engines.csv_dialect import LONGEST_CELL, Dialect, long_cells, reader_of
from aspca.engines.errors import SourceError
from aspca.engines.number_signs import are_few
from aspca.preparation.bad_cells import BadCell

# The length of a row whose quotes are not closed.
_OPEN_QUOTE = -1


class RaggedRowsError(SourceError):
    """Rows of a file have different numbers of cells, or quotes that are not closed."""


class _BadRow(Exception):
    """A row or a header, beginning in this line, that Python's reader cannot take: a cell is too long or ill quoted."""

    def __init__(self, line: int, header: bool, too_long: bool) -> None:
        super().__init__(line, header, too_long)
        self.line, self.header, self.too_long = line, header, too_long


def records(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header, each with the line in which it begins, from 1.

    Raises
    ------
    _BadRow
    """
    with long_cells(), path.open(encoding="utf-8-sig", newline="") as file:
        delimiter, line, place = dialect.delimiter, 1, 0
        reader = reader_of(file, delimiter, strict=True)
        try:
            for place, cells in enumerate(reader, start=1):
                # An empty line is a row only where rows have one cell.
                if place > dialect.before and (cells or len(dialect.names) == 1):
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as reason:
            raise _BadRow(line, place < dialect.before, "larger" in str(reason)) from None


def describe_misfit(path: Path, label: str, dialect: Dialect) -> SourceError | None:
    """The sentence for the first row that is not as long as the others or ill quoted, if there is one."""
    width, row = len(dialect.names), 0
    try:
        for line, cells in records(path, dialect):
            if len(cells) != width and (cells or width > 1):
                return RaggedRowsError(
                    f"{label}: row {row} (line {line}) has {_cells(len(cells))}, but there are {width} columns; "
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

    def add_to(self, cells: tuple[BadCell, ...]) -> tuple[BadCell, ...]:
        """Bad cells with these, by row."""
        return tuple(sorted((*cells, *self.bad), key=lambda one: one.row))


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
    width = len(dialect.names)
    rows: Callable[[], Iterator[tuple[int, list[str]]]] = partial(records, path, dialect)
    stray = set[int]()
    try:
        found = _find_misfits(rows(), width)
        tolerant = False
    except _BadRow as bad:
        if bad.header or bad.too_long:
            raise _refused(path, label, dialect) from None
        rows, tolerant = partial(_tolerant_records, path, dialect, stray), True
        found = _find_misfits(rows(), width)
    if not found.lengths and found.first_empty_end is None and not tolerant:
        return None
    n_rows = found.n_rows - found.n_below
    inside = {row: length for row, length in found.lengths.items() if row < n_rows}
    few = are_few(len(inside), n_rows)
    if not few and any(length > width or length == _OPEN_QUOTE for length in inside.values()):
        raise _refused(path, label, dialect)
    target = folder / "repaired"
    bad_rows, lines = [], []
    with target.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=dialect.delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for row, (line, cells) in enumerate(islice(rows(), n_rows)):
            lines.append(line)
            if row in inside and few:
                length = inside[row]
                expected = f"{width} cells, not {length}" if length != _OPEN_QUOTE else "quotes that are closed"
                bad_rows.append(BadCell(row, None, dialect.delimiter.join(cells), expected, line))
                cells = []
            writer.writerow([*cells[:width], *[""] * (width - len(cells))])
    notes = []
    if found.n_below:
        notes.append(f"{label}: {found.n_below} line{'s' * (found.n_below > 1)} below the table left out.")
    if unquoted := [row for row, line in enumerate(lines) if line in stray]:
        many, first = f"{len(unquoted):,} row{'s' * (len(unquoted) > 1)}", unquoted[0]
        notes.append(
            f"{label}: quotes that are not closed, or have text behind them, are read as they stand in {many}, the "
            f"first of them row {first} (line {lines[first]})."
        )
    if found.first_empty_end is not None:
        where = f"row {found.first_empty_end} (line {lines[found.first_empty_end]})"
        notes.append(f"{label}: empty cells beyond the last column left out, at first in {where}.")
    if inside and not few:
        notes.append(
            f"{label}: {len(inside):,} of {n_rows:,} rows have fewer cells than there are columns, the first of them "
            f"row {next(iter(inside))}; their last cells count as missing."
        )
    return RepairedRows(target, tuple(bad_rows), tuple(notes), lines if tolerant else None)


def _refused(path: Path, label: str, dialect: Dialect) -> SourceError:
    found = describe_misfit(path, label, dialect)
    return SourceError(f"{label}: the file cannot be read as CSV; export it anew." if found is None else str(found))


@dataclass
class _Misfits:
    """Rows of another length: `lengths` by row, `n_below` at the end that are lines below the table, and the first that
    has nothing but empty cells beyond the last column."""

    n_rows: int = 0
    lengths: dict[int, int] = field(default_factory=dict)
    n_below: int = 0
    first_empty_end: int | None = None


def _find_misfits(rows: Iterator[tuple[int, list[str]]], width: int) -> _Misfits:
    found = _Misfits()
    for row, (_, cells) in enumerate(rows):
        found.n_rows += 1
        length = _OPEN_QUOTE if cells == [] else len(_without_empty_end(cells, width))
        if found.first_empty_end is None and len(cells) > length == width:
            found.first_empty_end = row
        filled = sum(bool(cell.strip()) for cell in cells)
        is_note = 0 < length < width and 2 * filled < width
        found.n_below = found.n_below + 1 if is_note else 0
        if length != width:
            found.lengths[row] = length
    return found


def _tolerant_records(path: Path, dialect: Dialect, stray: set[int]) -> Iterator[tuple[int, list[str]]]:
    """As `records`, but a line whose quotes are not closed, or have text behind them, is a row by itself.

    Its cells are as they stand there, quotes and all, if there is one for each column, and its number goes to `stray`;
    otherwise it has none.
    """
    with long_cells(), path.open(encoding="utf-8-sig", newline="") as file:
        line, place, reader, n_read = 1, 0, None, 0
        while True:
            start, is_bad = file.tell(), False
            if reader is None:
                reader, n_read = reader_of(iter(file.readline, ""), dialect.delimiter, strict=True), 0
            try:
                cells = next(reader, None)
                n_lines, n_read = reader.line_num - n_read, reader.line_num
            except csv.Error:
                # A quote that is not closed swallows the lines below it: reading goes on behind the first.
                file.seek(start)
                cells = file.readline().rstrip("\r\n").split(dialect.delimiter)
                cells = cells if len(cells) == len(dialect.names) else []
                stray.update([line] if cells else [])
                n_lines, reader, is_bad = 1, None, True
            if cells is None:
                return
            place += 1
            if place > dialect.before and (cells or is_bad or len(dialect.names) == 1):
                yield line, cells
            line += n_lines


def _without_empty_end(cells: list[str], width: int) -> list[str]:
    end = len(cells)
    while end > width and not cells[end - 1].strip():
        end -= 1
    return cells[:end]


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
