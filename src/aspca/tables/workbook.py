"""A sheet of a workbook (.xlsx, .ods) as a table: the cells keep what they are, and the sheet is held in memory.

The first row with anything in it is the header or the first row, as in CSV; rows without any cell are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from aspca.escaping import quoted
from aspca.tables.cells_as_text import cell_as_text, table_of_cells
from aspca.tables.errors import SourceError
from aspca.tables.request import ReadOptions, which_table
from aspca.tables.text_table import TextTable
from aspca.tables.workbook_size import Merged, column_number, damaged, protected, refuse_large

if TYPE_CHECKING:
    import duckdb

# A part of a sheet, as spreadsheets write it: Sheet1!B4 (from there on) or Sheet1!B4:F90.
_PART = re.compile(
    r"(.*)!\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})(?::\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6}))?", re.DOTALL
)
# So many rows show how many cells a row has.
_HEAD_ROWS = 200


@dataclass(frozen=True)
class Part:
    """Rows and columns of a sheet, from 0, `last` included."""

    first: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (2**31, 2**31)

    def meets(self, merged: Merged) -> bool:
        (top, left), (bottom, right) = merged
        return top <= self.last[0] and left <= self.last[1] and bottom >= self.first[0] and right >= self.first[1]


def workbook_table(
    path: Path, label: str, kind: str, options: ReadOptions, connection: duckdb.DuckDBPyConnection, folder: Path
) -> TextTable:
    """The sheet named by `options.table`, or a part of it (``Sheet1!B4``), or the only sheet with anything in it.

    Raises
    ------
    SourceError
        python-calamine is not installed, the workbook is damaged, too large or a bomb, no such sheet, a title above
        the table, or merged cells in it.
    """
    calamine = _calamine(label)
    ods_sheets = refuse_large(path, label, kind)
    try:
        book = calamine.load_workbook(str(path))
        names = [str(name) for name in book.sheet_names]
        wanted, part = _part(options.table, names)
        if wanted is None and len(names) > 1:
            names = [name for name in names if book.get_sheet_by_name(name).start is not None]
        name = which_table(names, wanted, label, "sheet")
        sheet = book.get_sheet_by_name(name)
        if sheet.start is None:
            raise SourceError(f"{label}: the sheet {quoted(name)} is empty; it must hold at least one row.")
        merged = sheet.merged_cell_ranges or []
        if kind == "ods":
            merged = ods_sheets[book.sheet_names.index(name)].merged
        block = _Block(sheet, part)
    except BaseException as error:
        # A panic of the library is neither an Exception nor of a class that can be named.
        if isinstance(error, SourceError) or not (
            isinstance(error, Exception) or type(error).__name__ == "PanicException"
        ):
            raise
        is_protected = type(error).__name__ == "PasswordError"
        raise (protected(label) if is_protected else damaged(label, f"an .{kind} file")) from None
    if not block.lines:
        raise SourceError(f"{label}: there is nothing in the part of the sheet that --table names; name another.")
    if options.table is None or wanted == options.table:
        _refuse_title(block, label, name)
    covered = next((one for one in merged if block.part.meets(one)), None)
    if covered is not None:
        raise SourceError(
            f"{label}: the sheet {quoted(name)} has merged cells in its table, {_address(covered[0])}:"
            f"{_address(covered[1])}, of which only the first has a value; split them, and fill in the others."
        )
    return table_of_cells(block.rows, label, options, connection, folder, line_of=lambda row: block.lines[row])


class _Block:
    """The rows of a sheet with anything in them, from its first column with anything in it to its last.

    `lines` are the numbers of these rows in the sheet, from 1.
    """

    def __init__(self, sheet: Any, part: Part) -> None:
        self._sheet = sheet
        # The library leaves out empty columns on the left, but no empty rows above.
        self._left = int(sheet.start[1])
        self._columns = slice(max(part.first[1] - self._left, 0), max(part.last[1] - self._left + 1, 0))
        self._rows = part.first[0], part.last[0]
        self.lines: list[int] = []
        self.filled: list[int] = []
        for line, row in self._numbered():
            self.lines.append(line)
            if len(self.filled) < _HEAD_ROWS:
                self.filled.append(sum(map(_given, row)))
        corner = (self.lines[0] - 1 if self.lines else 0, self._left + self._columns.start)
        end = (self.lines[-1] - 1 if self.lines else 0, min(part.last[1], int(sheet.end[1])))
        self.part = Part(corner, end)

    def _numbered(self) -> Iterator[tuple[int, Sequence[object]]]:
        for index, row in enumerate(self._sheet.iter_rows()):
            if self._rows[0] <= index <= self._rows[1] and any(map(_given, cells := row[self._columns])):
                yield index + 1, cells

    def rows(self) -> Iterator[Sequence[object]]:
        return (cells for _, cells in self._numbered())


def _given(cell: object) -> bool:
    return cell is not None and cell != ""


def _refuse_title(block: _Block, label: str, name: str) -> None:
    """Rows above the table that have less than half of the cells that its rows have, where it has several columns."""
    usual = median(block.filled)
    start = next(index for index, filled in enumerate(block.filled) if 2 * filled > usual or usual < 2)
    if start:
        part = f"{name}!{_address((block.lines[start] - 1, block.part.first[1]))}"
        first = cell_as_text(next(filter(_given, next(block.rows()))))
        raise SourceError(
            f"{label}: row {block.lines[0]} of the sheet {quoted(name)} holds {quoted(first)} and no table, which "
            f"seems to begin in row {block.lines[start]}; name its first cell by --table {quoted(part)}.",
            remedy=("--table", part),
        )


def _part(table: str | None, names: Sequence[str]) -> tuple[str | None, Part]:
    """The sheet that is asked for, and which part of it; a sheet of exactly this name wins."""
    found = None if table is None or table in names else _PART.fullmatch(table)
    if found is None:
        return table, Part()
    name, column, row, last_column, last_row = found.groups()
    first = int(row) - 1, column_number(column) - 1
    last = Part.last if last_column is None else (int(last_row) - 1, column_number(last_column) - 1)
    return name, Part(first, last)


def _address(cell: tuple[int, int]) -> str:
    row, column, letters = cell[0], cell[1] + 1, ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row + 1}"


def _calamine(label: str) -> Any:
    try:
        return import_module("python_calamine")
    except ImportError:
        raise SourceError(
            f"{label}: reading workbooks needs python-calamine, which is not installed; run: pip install "
            "python-calamine."
        ) from None
