"""Cells that have types, one by one, as the text of a CSV file: kinds are then decided over whole columns, as there.

Every number is written so that it reads back to the same float64.
"""

from __future__ import annotations

import csv
import datetime
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.engines.csv_table import csv_table
from aspca.engines.errors import SourceError, enumerated
from aspca.engines.plain_files import plain_text
from aspca.engines.request import ReadOptions
from aspca.engines.text_table import TextTable
from aspca.harmless import quoted

if TYPE_CHECKING:
    import duckdb

# Whole numbers of up to 19 digits are written as such, as a person would.
WRITTEN_OUT = 1e19
# Up to here every whole number is a float64.
_EXACT = 2.0**53


def table_of_cells(
    rows: Iterable[Sequence[object]],
    label: str,
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    names: Sequence[str] | None = None,
    line_of: Callable[[int], int | None] | None = None,
) -> TextTable:
    """The table of these rows, all of one length; without `names`, the first may be a header, as in CSV.

    Texts that look like numbers are numbers. `options.decimal` is the decimal sign of such texts, a point if it is not
    given. `line_of` gives the line of one of these rows, from 0.
    """
    decimal = options.decimal or "."
    target = folder / "cells"
    written, rounded = 0, set[int]()
    with target.open("w", encoding="utf-8", errors="replace", newline="") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for row in rows:
            writer.writerow([cell_as_text(cell, decimal) for cell in row])
            written += 1
            rounded.update(place for place, cell in enumerate(row) if _may_be_rounded(cell))
    if not written:
        raise SourceError(f"{label}: the table has columns but no rows; it must hold at least one row.")
    header = options.header if names is None else False
    text = plain_text(target, label, "utf-8", folder)
    reading = replace(
        options,
        delimiter=",",
        encoding="utf-8",
        decimal=decimal,
        header=header,
        skip=None,
        format=None,
        table=None,
        query=None,
    )
    table = csv_table(text, label, reading, connection, folder, None if names is None else tuple(names), line_of)
    if not rounded:
        return table
    told = enumerated([quoted(table.names[place]) for place in sorted(rounded) if place < len(table.names)])
    lost = f"{label}: integers beyond 2^53 in {told} may have lost their last digits, since they are stored as numbers"
    note = f"{lost}; ids should be stored as text."
    return table.then(lambda known: replace(known, remarks=(*known.remarks, note)))


def cell_as_text(cell: object, decimal: str = ".") -> str:
    """What stands in the CSV file for a cell; empty where there is no value."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return _number(cell).replace(".", decimal)
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    if isinstance(cell, bytes):
        # Nothing that a number could be taken for.
        return f"(binary, {len(cell)} bytes)"
    text = str(cell)
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").replace("\r\n", "\n").replace("\r", "\n")


def _may_be_rounded(cell: object) -> bool:
    return isinstance(cell, float) and _EXACT < abs(cell) < WRITTEN_OUT and cell.is_integer()


def _number(value: float) -> str:
    if value.is_integer() and abs(value) < WRITTEN_OUT:
        return str(int(value)) if value or math.copysign(1.0, value) > 0.0 else "-0.0"
    return repr(value)
