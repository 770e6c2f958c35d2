"""How the cells of text files are written: decided for the rows that a model is learned from, and kept with it."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

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
    """How the cells of a column are written.

    Parameters
    ----------
    name : of the column
    kind : "number", "boolean" or "date"
    unit : what stands beside numbers
    order : "dmy", "mdy" or "ymd", where dates are not written with the year first and dashes between
    """

    name: str
    kind: str
    unit: str = ""
    order: str = ""


@dataclass(frozen=True)
class CellFormat:
    """How the cells of a text are written; rows that are judged by a model must not contradict it.

    Parameters
    ----------
    decimal : the decimal sign, or None where no number shows one
    thousands : what separates thousands, where that was given
    missing : cells that were named as standing for no value
    encoding : that of texts that are not UTF-8, or None
    columns : of the columns that are not text
    """

    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] = ()
    encoding: str | None = None
    columns: tuple[ColumnFormat, ...] = ()


NO_FORMAT = CellFormat()
