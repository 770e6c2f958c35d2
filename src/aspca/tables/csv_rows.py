"""The rows of a CSV file by Python's slow reader: where each begins, and those that have too few or too many cells."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from aspca.preparation.cell_format import BadCell
from aspca.tables.csv_dialect import LONGEST_CELL, Dialect, count_filled, long_cells, make_reader
from aspca.tables.errors import SourceError
from aspca.tables.number_text import are_few


class RaggedRowsError(SourceError):
    """Rows of a file have different numbers of cells, or quotes that are not closed."""


class _Row(NamedTuple):
    """A row and the line in which it begins, from 1.

    `fault` is why Python's reader cannot take it: "long" (a cell is) or "quote" (not closed, or text behind it). Then
    it is this one line, and its cells are as they stand there, quotes and all, if there is one for each column; else it
    has none. A "header" at fault is given as a row.
    """

    line: int
    cells: list[str]
    fault: str = ""


def read_rows(path: Path, dialect: Dialect) -> Iterator[_Row]:
    """The rows below the header."""
    # Lines of the row that is being read, and those that are to be read again.
    taken, again = list[str](), deque[str]()

    def lines() -> Iterator[str]:
        while line := again.popleft() if again else next(file, ""):
            taken.append(line)
            yield line

    width, line, place = len(dialect.names), 1, 0
    with long_cells(), path.open(encoding="utf-8-sig", newline="") as file:
        reader = make_reader(lines(), dialect.delimiter, strict=True)
        while True:
            fault = ""
            try:
                cells = next(reader, None)
            except csv.Error as reason:
                fault = "header" if place < dialect.before else "long" if "larger" in str(reason) else "quote"
                # A quote that is not closed swallows the lines below it: reading goes on behind the first.
                again.extendleft(reversed(taken[1:]))
                del taken[1:]
                cells = taken[0].rstrip("\r\n").split(dialect.delimiter)
                cells = cells if len(cells) == width else []
                reader = make_reader(lines(), dialect.delimiter, strict=True)
            if cells is None:
                return
            place += 1
            # An empty line is a row only where rows have one cell.
            if fault == "header" or (place > dialect.before and (cells or fault or width == 1)):
                yield _Row(line, cells, fault)
            line += len(taken)
            taken.clear()


def describe_misfit(path: Path, label: str, dialect: Dialect) -> SourceError | None:
    """The sentence for the first row that is not as long as the others or ill quoted, if there is one."""
    width = len(dialect.names)
    for row, (line, cells, fault) in enumerate(read_rows(path, dialect)):
        where = f"{label}: row {row} (line {line}) has"
        if fault == "header":
            return SourceError(f"{label}: the header has a quote that is not closed; close it.")
        if fault == "long":
            return SourceError(
                f"{where} a cell of more than {LONGEST_CELL:,} characters, or a quote that is not closed; shorten the "
                "cell or close the quote."
            )
        if fault:
            return RaggedRowsError(
                f"{where} a quote that is not closed, or text after a closing quote; close it, and write a quote "
                "inside a cell twice."
            )
        if len(cells) != width and (cells or width > 1):
            return RaggedRowsError(
                f"{where} {len(cells)} cell{'s' * (len(cells) != 1)}, but there are {width} columns; every row needs "
                "one cell per column, so check its delimiters and quotes."
            )
    return None


class RepairedRows(NamedTuple):
    """A text of which all rows have as many cells."""

    path: Path
    bad: list[BadCell]  # rows that had not, and have no values now
    notes: list[str]
    lines: list[int]  # in which the rows begin, from 1


def repair_rows(path: Path, label: str, dialect: Dialect, folder: Path) -> RepairedRows | None:
    """The rows below the header, each with one cell per column; None where they are so already.

    Empty cells beyond the last column do no harm. Lines below the table, with a cell or two, are left out. A few other
    rows with too few or too many cells, or with a quote that is not closed, are findings, and have no values; if there
    are more that are too short, their last cells are missing. SourceError if many rows have too many cells, or quotes
    that are not closed.
    """

    def refuse() -> SourceError:
        found = describe_misfit(path, label, dialect)
        return SourceError(f"{label}: the file cannot be read as CSV; export it anew." if found is None else str(found))

    width = len(dialect.names)
    lines, lengths, unquoted = list[int](), list[int](), list[int]()
    n_below, first_empty_end, first_fault = 0, None, ""
    for row, (line, cells, fault) in enumerate(read_rows(path, dialect)):
        first_fault = first_fault or fault
        if first_fault in ("header", "long"):
            raise refuse()
        unquoted += [row] if fault and cells else []
        length = len(cells) or -1  # quotes that are not closed
        while length > width and not cells[length - 1].strip():
            length -= 1
        if first_empty_end is None and len(cells) > length == width:
            first_empty_end = row
        n_below = n_below + 1 if 0 < length < width and 2 * count_filled(cells) < width else 0
        lines.append(line)
        lengths.append(length)
    n_rows = len(lengths) - n_below
    inside = {row: length for row, length in enumerate(lengths[:n_rows]) if length != width}
    if not inside and not n_below and first_empty_end is None and not first_fault:
        return None
    few = are_few(len(inside), n_rows)
    if not few and any(length > width or length < 0 for length in inside.values()):
        raise refuse()
    target = folder / "repaired"
    bad_rows = []
    with target.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=dialect.delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for row, (line, cells, _) in enumerate(islice(read_rows(path, dialect), n_rows)):
            if few and (length := inside.get(row, width)) != width:
                expected = f"{width} cells, not {length}" if length > 0 else "quotes that are closed"
                bad_rows.append(BadCell(row, None, dialect.delimiter.join(cells), expected, line))
                cells = []
            writer.writerow([*cells[:width], *[""] * (width - len(cells))])
    notes = []
    if n_below:
        notes.append(f"{label}: {n_below} line{'s' * (n_below > 1)} below the table left out.")
    if unquoted := [row for row in unquoted if row < n_rows]:
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
    return RepairedRows(target, bad_rows, notes, lines)


def pick_lines(path: Path, before: int, rows: Sequence[int], n_rows: int, target: Path) -> bool:
    """Write the first `before` lines and the lines of some rows (from 0) of a text without quotes. Whether lines are
    rows: False where there are more or fewer of them, such as empty ones. Then nothing is known."""
    wanted = {*range(before), *(before + row for row in rows)}
    n_lines = 0
    with path.open("rb") as file, target.open("wb") as out:
        for line in file:
            if n_lines in wanted:
                out.write(line)
            n_lines += 1
    return n_lines == before + n_rows
