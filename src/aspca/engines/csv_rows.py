"""The rows of a CSV file by Python's slow reader: where each begins, and those that have too few or too many cells."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aspca.engines.csv_dialect import LONGEST_CELL, Dialect, long_cells
from aspca.engines.errors import SourceError
from aspca.engines.number_signs import are_few
from aspca.preparation.bad_cells import BadCell


class RaggedRowsError(SourceError):
    """Rows of a file have different numbers of cells."""


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
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True)
        try:
            for place, cells in enumerate(reader, start=1):
                # An empty line is a row only where rows have one cell.
                if place > dialect.before and (cells or len(dialect.names) == 1):
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as reason:
            raise _BadRow(line, place < dialect.before, "larger" in str(reason)) from None


def describe_misfit(path: Path, label: str, dialect: Dialect, *, ragged: bool = True) -> SourceError | None:
    """The sentence for the first row that is ill quoted or, if `ragged`, not as long as the others, if any is."""
    width, row = len(dialect.names), 0
    try:
        for line, cells in records(path, dialect):
            if ragged and len(cells) != width and (cells or width > 1):
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
        return SourceError(
            f"{label}: row {row} (line {bad.line}) has a quote that is not closed, or text after a closing "
            "quote; close it, and write a quote inside a cell twice."
        )
    return None


@dataclass(frozen=True)
class RepairedRows:
    """A text of which all rows have as many cells: `bad` are those that had not, and have no values now."""

    path: Path
    bad: tuple[BadCell, ...]
    notes: tuple[str, ...]

    def add_to(self, cells: tuple[BadCell, ...]) -> tuple[BadCell, ...]:
        """Bad cells with these, by row."""
        return tuple(sorted((*cells, *self.bad), key=lambda one: one.row))


def repair_rows(path: Path, label: str, dialect: Dialect, folder: Path) -> RepairedRows | None:
    """The rows below the header, each with one cell per column; None where they are so already.

    Empty cells beyond the last column do no harm. Lines below the table, with a cell or two, are left out. A few other
    rows with too few or too many cells are findings, and have no values; if there are more that are too short, their
    last cells are missing.

    Raises
    ------
    SourceError
        Many rows have too many cells, or a quote is not closed.
    """
    width = len(dialect.names)
    misfits: dict[int, int] = {}
    notes_below: list[int] = []
    n_rows = 0
    try:
        for row, (_, cells) in enumerate(records(path, dialect)):
            n_rows += 1
            length = len(_without_empty_end(cells, width))
            if length == width:
                notes_below = []
                continue
            misfits[row] = length
            filled = sum(bool(cell.strip()) for cell in cells)
            notes_below = [*notes_below, row] if length < width and 2 * filled < width else []
    except _BadRow:
        wrong = describe_misfit(path, label, dialect, ragged=False)
        raise wrong if wrong is not None else SourceError(f"{label}: the file cannot be read as CSV.") from None
    if not misfits and not _has_empty_ends(path, dialect):
        return None
    # Lines below the table are those after its last whole row.
    notes_below = notes_below if notes_below and notes_below[-1] == n_rows - 1 else []
    n_rows -= len(notes_below)
    inside = {row: length for row, length in misfits.items() if row < n_rows}
    few, long = are_few(len(inside), n_rows), [row for row, length in inside.items() if length > width]
    if long and not few:
        wrong = describe_misfit(path, label, dialect)
        raise wrong if wrong is not None else SourceError(f"{label}: the file cannot be read as CSV.")
    target = folder / "repaired"
    bad = []
    with target.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=dialect.delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for row, (_, cells) in enumerate(records(path, dialect)):
            if row >= n_rows:
                break
            if row in inside and few:
                expected = f"{width} cells, not {inside[row]}"
                bad.append(BadCell(row, None, dialect.delimiter.join(cells), expected))
                cells = []
            writer.writerow([*cells[:width], *[""] * (width - len(cells))])
    notes = []
    if notes_below:
        notes.append(f"{label}: {len(notes_below)} line{'s' * (len(notes_below) > 1)} below the table left out.")
    if inside and not few:
        first = next(iter(inside))
        notes.append(
            f"{label}: {len(inside):,} of {n_rows:,} rows have fewer cells than there are columns, the first of them "
            f"row {first}; their last cells count as missing."
        )
    return RepairedRows(target, tuple(bad), tuple(notes))


def _without_empty_end(cells: list[str], width: int) -> list[str]:
    end = len(cells)
    while end > width and not cells[end - 1].strip():
        end -= 1
    return cells[:end]


def _has_empty_ends(path: Path, dialect: Dialect) -> bool:
    return any(len(cells) != len(dialect.names) for _, cells in records(path, dialect))


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
