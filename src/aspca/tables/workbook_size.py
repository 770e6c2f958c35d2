"""How large a workbook (.xlsx, .ods) is, before anything is built of it: a small file can claim millions of cells.

The library that reads workbooks makes a full rectangle of a sheet, and ends the process where memory does not suffice.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from aspca.tables.errors import SourceError
from aspca.tables.file_bytes import CHUNK, HARMLESS_BYTES, LARGEST_RATIO

ZIP = b"PK\x03\x04"
ODS_TYPE = b"application/vnd.oasis.opendocument.spreadsheet"
# Of a sheet as a rectangle: 24 bytes each, 600 MB.
MOST_CELLS = 25_000_000
# Of the unpacked text of all sheets.
MOST_BYTES = 2 << 30

_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
_ROW = re.compile(rb"<(?:\w+:)?row[\s/>]")
_ADDRESS = re.compile(rb"\sr\s*=\s*[\"']([A-Za-z]*)(\d+)[\"']")
_ODS_TAG = re.compile(
    rb"<(/?)table:(table|table-row|table-cell|covered-table-cell)((?:\s+[^\s=>/]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*(/?)>"
)
_ODS_COUNT = re.compile(rb"table:number-(columns|rows)-(repeated|spanned)\s*=\s*[\"']\s*(\d{1,18})")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError, OSError)
Merged = tuple[tuple[int, int], tuple[int, int]]


@dataclass
class OdsSheet:
    """Rows and columns up to the last cell with anything in it; `merged` as first and last cell, from 0."""

    height: int = 0
    width: int = 0
    merged: list[Merged] = field(default_factory=list)


def workbook_kind(path: Path, label: str) -> str:
    """Which workbook a zip archive is: "xlsx" or "ods".

    Raises
    ------
    SourceError
        It is none of them, or damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if "mimetype" in names and archive.open("mimetype").read(len(ODS_TYPE)) == ODS_TYPE:
                return "ods"
    except _DAMAGE:
        raise damaged(label, "a workbook or another zip archive") from None
    if "xl/workbook.bin" in names:
        raise SourceError(f"{label}: this is a binary Excel workbook; save it as .xlsx, or export the sheet as CSV.")
    if "[Content_Types].xml" in names and any(name.startswith("xl/") for name in names):
        return "xlsx"
    raise SourceError(f"{label}: this is a zip archive and no workbook; unpack it.")


def refuse_large(path: Path, label: str, kind: str) -> list[OdsSheet]:
    """Raise SourceError if a workbook is damaged, packed as only a bomb is, or larger than can be held in memory.

    Every part of it is unpacked once, in small pieces; checksums are compared.

    Returns
    -------
    The sheets of an .ods file.
    """
    sheets: list[OdsSheet] = []
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            claimed = sum(part.file_size for part in parts)
            if claimed > max(HARMLESS_BYTES, LARGEST_RATIO * path.stat().st_size):
                raise SourceError(
                    f"{label}: this workbook unpacks to more than {LARGEST_RATIO} times its size and may be a bomb; if "
                    "you trust it, export the sheet as CSV."
                )
            if claimed > MOST_BYTES:
                raise _too_large(label, f"it unpacks to {claimed / 2**30:.1f} GB")
            for part in parts:
                extent = _Extent()
                # The reader stops at the size that was claimed, and then finds the checksum wrong.
                with archive.open(part) as stream:
                    if kind == "ods" and part.filename == "content.xml":
                        sheets = _ods_sheets(stream.read())
                        continue
                    while chunk := stream.read(CHUNK):
                        extent.add(chunk)
                    extent.add(b"")
                _refuse_extent(label, extent.height, extent.width)
    except _DAMAGE as error:
        if isinstance(error, SourceError):
            raise
        raise (protected(label) if "encrypted" in str(error) else damaged(label, f"an .{kind} file")) from None
    for sheet in sheets:
        _refuse_extent(label, sheet.height, sheet.width)
    return sheets


class _Extent:
    """The rectangle of the cells in the XML of a sheet, from its pieces; never too small."""

    def __init__(self) -> None:
        self._kept = b""
        self._rows: list[int] = []
        self._columns: list[int] = []
        self._unnumbered = self._run = self._longest = 0

    def add(self, chunk: bytes) -> None:
        """The next piece; an empty one is the end."""
        text = self._kept + chunk
        # A tag that may be cut goes on with the next piece.
        end = text.rfind(b"<") if chunk else len(text)
        text, self._kept = text[:end], text[end:][:CHUNK]
        found = _ADDRESS.findall(text)
        columns = {name for name, _ in found if name}
        self._rows = _ends([*self._rows, *{int(number) for _, number in found}])
        self._columns = _ends([*self._columns, *(column_number(name.decode()) for name in columns)])
        named = sum(1 for name, _ in found if name)
        # Rows and cells without an address follow those before them.
        self._unnumbered += max(len(_ROW.findall(text)) - (len(found) - named), 0)
        if len(_CELL.findall(text)) > named:
            first, *others = _ROW.split(text)
            for before, row in enumerate((first, *others)):
                self._run = len(_CELL.findall(row)) + (0 if before else self._run)
                self._longest = max(self._longest, self._run)

    @property
    def height(self) -> int:
        return _span(self._rows, self._unnumbered)

    @property
    def width(self) -> int:
        return _span(self._columns, self._longest)


def _ends(numbers: list[int]) -> list[int]:
    return [min(numbers), max(numbers)] if numbers else []


def _span(ends: list[int], others: int) -> int:
    """From the first to the last, `others` being those that may begin at 1 or follow the last."""
    if not ends:
        return others
    return ends[1] + others if others else ends[1] - ends[0] + 1


def column_number(letters: str) -> int:
    """The number of the column A, B, ..., AA, ..., from 1."""
    number = 0
    for letter in letters.upper()[:7]:
        number = 26 * number + ord(letter) - 64
    return number


def _ods_sheets(content: bytes) -> list[OdsSheet]:
    """The size of each sheet, repeated rows and cells counted as often as they are meant."""
    sheets: list[OdsSheet] = []
    row = column = width = 0
    repeated = 1
    for tag in _ODS_TAG.finditer(content):
        closes, kind, attributes, alone = tag.groups()
        counts = {pair[:2]: int(pair[2]) for pair in _ODS_COUNT.findall(attributes)}
        if kind == b"table" and not closes:
            sheets.append(OdsSheet())
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


def _refuse_extent(label: str, height: int, width: int) -> None:
    if height * width > MOST_CELLS:
        raise _too_large(label, f"a sheet reaches over {height:,} rows and {width:,} columns")


def damaged(label: str, what: str) -> SourceError:
    """The sentence for a file that cannot be read as what it is."""
    return SourceError(f"{label}: this is {what} that is damaged or cut short; copy or write it anew.")


def protected(label: str) -> SourceError:
    """The sentence for a workbook that cannot be read without its password."""
    return SourceError(f"{label}: this workbook is protected by a password; save it without one.")


def _too_large(label: str, why: str) -> SourceError:
    return SourceError(
        f"{label}: {why}, and a sheet is held in memory as a whole, at most {MOST_CELLS:,} cells; delete what stands "
        "far from the table, or export the sheet as CSV or Parquet."
    )
