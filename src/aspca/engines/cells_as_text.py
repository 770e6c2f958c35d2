"""Cells that have types, one by one, as the text of a CSV file: kinds are then decided over whole columns, as there.

Every number is written so that it reads back to the same float64.
"""

from __future__ import annotations

import csv
import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.engines.csv_dialect import dialect_of
from aspca.engines.csv_table import csv_table
from aspca.engines.errors import SourceError, enumerated
from aspca.engines.file_table import FileTable
from aspca.engines.missing_words import stands_for_nothing
from aspca.engines.number_columns import is_evidence, numbers_among
from aspca.engines.number_shapes import ODD, OTHER_FIRST, Shape, shape_key
from aspca.engines.number_signs import signs_of
from aspca.engines.plain_files import plain_text
from aspca.engines.request import ReadOptions
from aspca.harmless import quoted

if TYPE_CHECKING:
    import duckdb

# Whole numbers of up to 19 digits are written as such, as a person would.
WRITTEN_OUT = 1e19
# Up to here every whole number is a float64.
_EXACT = 2.0**53
# The shape of a whole number, which proves nothing about signs.
STORED = f"{OTHER_FIRST}1"


def table_of_cells(
    rows: Callable[[], Iterable[Sequence[object]]],
    label: str,
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    names: Sequence[str] | None = None,
) -> FileTable:
    """The table of these rows, all of one length; without `names`, the first may be a header, as in CSV.

    Texts that look like numbers are numbers, with signs as the texts among the cells tell: a number that is stored as
    such is no evidence of how others are written.
    """
    reading = replace(options, delimiter=",", encoding="utf-8", format=None, table=None, query=None)
    if names is not None:
        reading = replace(reading, header=False)
    target = folder / "cells"
    seen = _written(rows(), target, ".", options)
    if not seen.n_rows:
        raise SourceError(f"{label}: the table has columns but no rows; it must hold at least one row.")
    header = dialect_of(target, label, reading).header
    signs = signs_of(seen.evidence(header), options.decimal, options.thousands)
    if signs.decimal != ".":
        _written(rows(), target, signs.decimal, options)
    text = plain_text(target, label, "utf-8", folder)
    table = csv_table(
        text, label, reading, connection, folder, None if names is None else tuple(names), known_signs=signs
    )
    if not seen.rounded:
        return table
    told = enumerated([quoted(table.columns[place].name) for place in sorted(seen.rounded)])
    lost = f"{label}: integers beyond 2^53 in {told} may have lost their last digits, since they are stored as numbers"
    return replace(table, remarks=(*table.remarks, f"{lost}; ids should be stored as text."))


@dataclass
class _Seen:
    """What was written: how many rows, which columns have numbers that may be rounded, and by column how many cells
    there are of each shape, those of the first row apart since it may be a header."""

    n_rows: int = 0
    rounded: set[int] = field(default_factory=set)
    first: dict[int, str] = field(default_factory=dict)
    shapes: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def evidence(self, header: bool) -> dict[int, dict[Shape, int]]:
        """The numbers of each column that is one of numbers, nearly."""
        if not header:
            for place, key in self.first.items():
                self.shapes[place][key] += 1
        return {
            place: {shape: keys[key] for key, shape in numbers_among(keys).items()}
            for place, keys in self.shapes.items()
            if is_evidence(keys)
        }


def _written(rows: Iterable[Sequence[object]], target: Path, decimal: str, options: ReadOptions) -> _Seen:
    """Write the rows as CSV, stored numbers with this decimal sign."""
    seen = _Seen()
    with target.open("w", encoding="utf-8", errors="replace", newline="") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for row in rows:
            writer.writerow([cell_as_text(cell, decimal) for cell in row])
            seen.n_rows += 1
            for place, cell in enumerate(row):
                if _may_be_rounded(cell):
                    seen.rounded.add(place)
                key = _shape_key(cell)
                if key is None or (key == ODD and (stands_for_nothing(str(cell)) or str(cell) in options.missing)):
                    continue
                if seen.n_rows == 1:
                    seen.first[place] = key
                else:
                    seen.shapes[place][key] += 1
    return seen


def _shape_key(cell: object) -> str | None:
    """The key of a cell's shape; that of a whole number for all that are stored as numbers; None without a value."""
    if isinstance(cell, str):
        return shape_key(cell)
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return STORED
    return None if cell is None else ODD


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
