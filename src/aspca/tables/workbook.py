"""A sheet of a workbook (.xlsx, .ods) as a table: the cells keep what they are, and the sheet is held in memory.

The first row with anything in it is the header or the first row, as in CSV; rows without any cell are passed over. A
small file can claim millions of cells, and the library that reads workbooks makes a full rectangle of a sheet, and ends
the process where memory does not suffice: so it is looked first how large a workbook is.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import IO, TYPE_CHECKING, Any

from aspca.escaping import quoted
from aspca.tables.errors import SourceError
from aspca.tables.file_bytes import CHUNK, HARMLESS_BYTES, LARGEST_RATIO
from aspca.tables.request import ReadOptions, choose_table
from aspca.tables.text_table import TextTable
from aspca.tables.typed_rows import read_typed_rows, write_cell

if TYPE_CHECKING:
    import duckdb

# Of a sheet as a rectangle: 24 bytes each, 600 MB.
_MOST_CELLS = 25_000_000
# Of the unpacked text of all sheets.
_MOST_BYTES = 2 << 30
# A part of a sheet, as spreadsheets write it: Sheet1!B4 (from there on) or Sheet1!B4:F90.
_PART = re.compile(
    r"(.*)!\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})(?::\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6}))?", re.DOTALL
)
_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
_ROW = re.compile(rb"<(?:\w+:)?row[\s/>]")
_ADDRESS = re.compile(rb"\sr\s*=\s*[\"']([A-Za-z]*)(\d+)[\"']")
_ODS_TAG = re.compile(
    rb"<(/?)table:(table|table-row|table-cell|covered-table-cell)((?:\s+[^\s=>/]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*(/?)>"
)
_ODS_COUNT = re.compile(rb"table:number-(columns|rows)-(repeated|spanned)\s*=\s*[\"']\s*(\d{1,18})")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError, OSError)
Cell = tuple[int, int]  # row and column, from 0


def read_workbook(
    path: Path, label: str, kind: str, options: ReadOptions, connection: duckdb.DuckDBPyConnection, folder: Path
) -> TextTable:
    """The sheet named by `options.table`, or a part of it (``Sheet1!B4``), or the only sheet with anything in it.

    SourceError if python-calamine is not installed, the workbook is damaged, too large or a bomb, there is no such
    sheet, a title above the table, or merged cells in it.
    """
    try:
        calamine = import_module("python_calamine")
    except ImportError:
        raise SourceError(
            f"{label}: reading workbooks needs python-calamine, which is not installed; run: pip install "
            "python-calamine."
        ) from None
    ods_sheets = _refuse_large(path, label, kind)
    try:
        book = calamine.load_workbook(str(path))
        names = [str(name) for name in book.sheet_names]
        wanted, first, last = _find_part(options.table, names)
        if wanted is None and len(names) > 1:
            names = [name for name in names if book.get_sheet_by_name(name).start is not None]
        name = choose_table(names, wanted, label, "sheet")
        sheet = book.get_sheet_by_name(name)
        if sheet.start is None:
            raise SourceError(f"{label}: the sheet {quoted(name)} is empty; it must hold at least one row.")
        merged = sheet.merged_cell_ranges or []
        if kind == "ods":
            merged = ods_sheets[book.sheet_names.index(name)].merged
        block = _Block(sheet, first, last)
    except BaseException as error:
        # A panic of the library is neither an Exception nor of a class that can be named.
        if isinstance(error, SourceError) or not (
            isinstance(error, Exception) or type(error).__name__ == "PanicException"
        ):
            raise
        raise _unreadable(label, f"an .{kind} file", type(error).__name__ == "PasswordError") from None
    if not block.lines:
        raise SourceError(f"{label}: there is nothing in the part of the sheet that --table names; name another.")
    if options.table is None or wanted == options.table:
        _refuse_title(block, label, name)
    covered = next((one for one in merged if block.meets(*one)), None)
    if covered is not None:
        raise SourceError(
            f"{label}: the sheet {quoted(name)} has merged cells in its table, {_write_address(covered[0])}:"
            f"{_write_address(covered[1])}, of which only the first has a value; split them, and fill in the others."
        )
    return read_typed_rows(block.rows, label, options, connection, folder, line_of=lambda row: block.lines[row])


class _Block:
    """The rows of a sheet with anything in them, from its first column with anything in it to its last. `lines` are the
    numbers of these rows in the sheet, from 1; `first` and `last` the corners."""

    def __init__(self, sheet: Any, first: Cell, last: Cell) -> None:
        self._sheet, self._rows = sheet, (first[0], last[0])
        # The library leaves out empty columns on the left, but no empty rows above.
        left = int(sheet.start[1])
        self._columns = slice(max(first[1] - left, 0), max(last[1] - left + 1, 0))
        self.lines: list[int] = []
        self.filled: list[int] = []
        for line, row in self._numbered():
            self.lines.append(line)
            # So many rows show how many cells a row has.
            self.filled += [sum(map(_is_given, row))] if len(self.filled) < 200 else []
        self.first = (self.lines[0] - 1 if self.lines else 0, left + self._columns.start)
        self.last = (self.lines[-1] - 1 if self.lines else 0, min(last[1], int(sheet.end[1])))

    def _numbered(self) -> Iterator[tuple[int, Sequence[object]]]:
        for index, row in enumerate(self._sheet.iter_rows()):
            if self._rows[0] <= index <= self._rows[1] and any(map(_is_given, cells := row[self._columns])):
                yield index + 1, cells

    def meets(self, first: Cell, last: Cell) -> bool:
        places = zip(first, last, self.first, self.last, strict=True)
        return all(low <= self_last and high >= self_first for low, high, self_first, self_last in places)

    def rows(self) -> Iterator[Sequence[object]]:
        return (cells for _, cells in self._numbered())


def _is_given(cell: object) -> bool:
    return cell is not None and cell != ""


def _refuse_title(block: _Block, label: str, name: str) -> None:
    """Rows above the table that have less than half of the cells that its rows have, where it has several columns."""
    usual = median(block.filled)
    start = next(index for index, filled in enumerate(block.filled) if 2 * filled > usual or usual < 2)
    if start:
        part = f"{name}!{_write_address((block.lines[start] - 1, block.first[1]))}"
        first = write_cell(next(filter(_is_given, next(block.rows()))))
        raise SourceError(
            f"{label}: row {block.lines[0]} of the sheet {quoted(name)} holds {quoted(first)} and no table, which "
            f"seems to begin in row {block.lines[start]}; name its first cell by --table {quoted(part)}.",
            remedy=("--table", part),
        )


def _find_part(table: str | None, names: Sequence[str]) -> tuple[str | None, Cell, Cell]:
    """The sheet that is asked for, and the corners of the part of it; a sheet of exactly this name wins."""
    found = None if table is None or table in names else _PART.fullmatch(table)
    if found is None:
        return table, (0, 0), (2**31, 2**31)
    name, column, row, last_column, last_row = found.groups()
    last = (2**31, 2**31) if last_column is None else (int(last_row) - 1, _column_number(last_column) - 1)
    return name, (int(row) - 1, _column_number(column) - 1), last


def _column_number(letters: str) -> int:
    """The number of the column A, B, ..., AA, ..., from 1."""
    number = 0
    for letter in letters.upper()[:7]:
        number = 26 * number + ord(letter) - 64
    return number


def _write_address(cell: Cell) -> str:
    row, column, letters = cell[0], cell[1] + 1, ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row + 1}"


# ---- what a workbook is, and how large


@dataclass
class _OdsSheet:
    """Rows and columns up to the last cell with anything in it; `merged` as first and last cell."""

    height: int = 0
    width: int = 0
    merged: list[tuple[Cell, Cell]] = field(default_factory=list)


def find_workbook_kind(path: Path, label: str) -> str:
    """Which workbook a zip archive is, "xlsx" or "ods"; SourceError if it is none of them, or damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            ods = b"application/vnd.oasis.opendocument.spreadsheet"
            if "mimetype" in names and archive.open("mimetype").read(len(ods)) == ods:
                return "ods"
    except _DAMAGE:
        raise _unreadable(label, "a workbook or another zip archive") from None
    if "xl/workbook.bin" in names:
        raise SourceError(f"{label}: this is a binary Excel workbook; save it as .xlsx, or export the sheet as CSV.")
    if "[Content_Types].xml" in names and any(name.startswith("xl/") for name in names):
        return "xlsx"
    raise SourceError(f"{label}: this is a zip archive and no workbook; unpack it.")


def _refuse_large(path: Path, label: str, kind: str) -> list[_OdsSheet]:
    """The sheets of an .ods file; SourceError if a workbook is damaged, packed as only a bomb is, or too large. Every
    part of it is unpacked once, in small pieces; checksums are compared."""
    sheets: list[_OdsSheet] = []

    def refuse_size(why: str) -> SourceError:
        return SourceError(
            f"{label}: {why}, and a sheet is held in memory as a whole, at most {_MOST_CELLS:,} cells; delete what "
            "stands far from the table, or export the sheet as CSV or Parquet."
        )

    try:
        with zipfile.ZipFile(path) as archive:
            claimed = sum(part.file_size for part in archive.infolist())
            if claimed > max(HARMLESS_BYTES, LARGEST_RATIO * path.stat().st_size):
                raise SourceError(
                    f"{label}: this workbook unpacks to more than {LARGEST_RATIO} times its size and may be a bomb; if "
                    "you trust it, export the sheet as CSV."
                )
            if claimed > _MOST_BYTES:
                raise refuse_size(f"it unpacks to {claimed / 2**30:.1f} GB")
            for part in archive.infolist():
                # The reader stops at the size that was claimed, and then finds the checksum wrong.
                with archive.open(part) as stream:
                    if kind == "ods" and part.filename == "content.xml":
                        sheets = _measure_ods_sheets(stream.read())
                        sizes = [(sheet.height, sheet.width) for sheet in sheets]
                    else:
                        sizes = [_measure_sheet(stream)]
                for height, width in sizes:
                    if height * width > _MOST_CELLS:
                        raise refuse_size(f"a sheet reaches over {height:,} rows and {width:,} columns")
    except _DAMAGE as error:
        if isinstance(error, SourceError):
            raise
        raise _unreadable(label, f"an .{kind} file", "encrypted" in str(error)) from None
    return sheets


def _measure_sheet(stream: IO[bytes]) -> tuple[int, int]:
    """Height and width of the rectangle of the cells in the XML of a sheet; never too small."""
    kept = b""
    rows, columns = list[int](), list[int]()
    unnumbered = run = longest = 0
    more = True
    while more:
        more = bool(chunk := stream.read(CHUNK))
        text = kept + chunk
        # A tag that may be cut goes on with the next piece.
        end = text.rfind(b"<") if more else len(text)
        text, kept = text[:end], text[end:][:CHUNK]
        found = _ADDRESS.findall(text)
        rows += {int(number) for _, number in found}
        columns += {_column_number(name.decode()) for name in {name for name, _ in found if name}}
        rows, columns = ([min(ends), max(ends)] if ends else [] for ends in (rows, columns))
        named = sum(1 for name, _ in found if name)
        # Rows and cells without an address follow those before them.
        unnumbered += max(len(_ROW.findall(text)) - (len(found) - named), 0)
        if len(_CELL.findall(text)) > named:
            for before, row in enumerate(_ROW.split(text)):
                run = len(_CELL.findall(row)) + (0 if before else run)
                longest = max(longest, run)

    def span(ends: list[int], others: int) -> int:
        """From the first to the last, `others` being those that may begin at 1 or follow the last."""
        if not ends:
            return others
        return ends[1] + others if others else ends[1] - ends[0] + 1

    return span(rows, unnumbered), span(columns, longest)


def _measure_ods_sheets(content: bytes) -> list[_OdsSheet]:
    """The size of each sheet, repeated rows and cells counted as often as they are meant."""
    sheets: list[_OdsSheet] = []
    row = column = width = 0
    repeated = 1
    for tag in _ODS_TAG.finditer(content):
        closes, kind, attributes, alone = tag.groups()
        counts = {pair[:2]: int(pair[2]) for pair in _ODS_COUNT.findall(attributes)}
        if kind == b"table" and not closes:
            sheets.append(_OdsSheet())
            row = 0
        elif not sheets:
            continue
        elif kind == b"table-row":
            if not closes:
                column = width = 0
                repeated = counts.get((b"rows", b"repeated"), 1)
            if closes or alone:
                row += repeated
                if width:
                    sheets[-1].height, sheets[-1].width = row, max(sheets[-1].width, width)
        elif not closes and kind != b"table":
            spans = counts.get((b"rows", b"spanned"), 1), counts.get((b"columns", b"spanned"), 1)
            if max(spans) > 1:
                sheets[-1].merged.append(((row, column), (row + spans[0] - 1, column + spans[1] - 1)))
            column += counts.get((b"columns", b"repeated"), 1)
            # One that is closed at once may hold a value without a text; nothing is in it otherwise.
            if not alone or b"office:" in attributes or b"formula" in attributes:
                width = column
    return sheets


def _unreadable(label: str, what: str, is_protected: bool = False) -> SourceError:
    if is_protected:
        return SourceError(f"{label}: this workbook is protected by a password; save it without one.")
    return SourceError(f"{label}: this is {what} that is damaged or cut short; copy or write it anew.")
