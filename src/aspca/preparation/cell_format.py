"""How the cells of text files are written, decided for the rows that a model is learned from and kept with it; and
cells that are not what their columns hold, each of them a finding, whatever the rest of its row says."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from aspca.escaping import name_text, quoted

DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'", "none")
DATE_ORDERS = ("dmy", "mdy", "ymd")
COLUMN_KINDS = ("number", "boolean", "date")


def is_encoding(name: str) -> bool:
    """Whether Python knows a text encoding of this name."""
    try:
        "".encode(name)
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError, TypeError):
        return False
    return True


@dataclass(frozen=True)
class ColumnFormat:
    """How the cells of a column are written."""

    name: str
    kind: str  # one of COLUMN_KINDS
    unit: str = ""  # what stands beside numbers
    order: str = ""  # one of DATE_ORDERS, where dates are not written with the year first and dashes between


@dataclass(frozen=True)
class CellFormat:
    """How the cells of a text are written; rows that are judged by a model must not contradict it."""

    decimal: str | None = None  # None where no number shows one
    thousands: str | None = None  # where that was given
    missing: tuple[str, ...] = ()  # cells that were named as standing for no value
    encoding: str | None = None  # of texts that are not UTF-8
    columns: tuple[ColumnFormat, ...] = ()  # those that are not text


NO_FORMAT = CellFormat()


@dataclass(frozen=True)
class BadCell:
    """A cell that is not what its column holds; it counts as missing."""

    row: int  # from 0
    column: str | None  # None for a row that has too few or too many cells
    text: str
    expected: str  # such as "a number"
    line: int | None = None  # of the file, where it is known

    def __str__(self) -> str:
        """One sentence, without its full stop."""
        if self.column is None:
            line = "" if self.line is None else f" (line {self.line})"
            return f"row {self.row}{line}: expected {self.expected}"
        return f"cell {quoted(self.text)} in column {name_text(self.column)}, row {self.row}: expected {self.expected}"

    @property
    def without_text(self) -> str:
        """The same where no value of a row may be shown."""
        where = "" if self.column is None else f"a cell in column {name_text(self.column)}, "
        return f"{where}row {self.row}: expected {self.expected}"
