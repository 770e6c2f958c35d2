"""Cells that have types, one by one, as the text of a CSV file: kinds are then decided over whole columns, as there.

Every number is written so that it reads back to the same float64.
"""

from __future__ import annotations

import csv
import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.engines.csv_dialect import dialect_of
from aspca.engines.csv_table import csv_table
from aspca.engines.errors import SourceError, enumerated
from aspca.engines.missing_words import BLANKS, stands_for_nothing
from aspca.engines.number_columns import is_evidence, numbers_among
from aspca.engines.number_shapes import ODD, OTHER_FIRST, Shape, shape_key
from aspca.engines.number_signs import signs_of
from aspca.engines.plain_files import plain_text
from aspca.engines.request import ReadOptions
from aspca.engines.text_table import TextTable
from aspca.harmless import quoted

if TYPE_CHECKING:
    import duckdb

ROWS_AT_ONCE = 10_000
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
    line_of: Callable[[int], int | None] | None = None,
) -> TextTable:
    """The table of these rows, all of one length; without `names`, the first may be a header, as in CSV.

    Texts that look like numbers are numbers, with signs as the texts among the cells tell: a number that is stored as
    such is no evidence of how others are written. `rows` gives them as often as it is called; `line_of` gives the line
    of one of them, from 0.
    """
    reading = replace(options, delimiter=",", encoding="utf-8", format=None, table=None, query=None, skip=None)
    if names is not None:
        reading = replace(reading, header=False)
    target = folder / "cells"
    seen = _written(rows(), target, signs_of({}, options.decimal, options.thousands).decimal, options)
    if not seen.n_rows:
        raise SourceError(f"{label}: the table has columns but no rows; it must hold at least one row.")
    header = dialect_of(target, label, reading).header
    text = plain_text(target, label, "utf-8", folder)
    table = csv_table(text, label, reading, connection, folder, None if names is None else tuple(names), line_of)
    table = replace(
        table,
        evidence={table.names[place]: shapes for place, shapes in seen.evidence(header).items()},
        write_decimals=lambda decimal: _written(rows(), target, decimal, options),
    )
    if not seen.rounded:
        return table
    told = enumerated([quoted(table.names[place]) for place in sorted(seen.rounded)])
    lost = f"{label}: integers beyond 2^53 in {told} may have lost their last digits, since they are stored as numbers"
    note = f"{lost}; ids should be stored as text."
    return table.then(lambda known: replace(known, remarks=(*known.remarks, note)))


@dataclass
class _Seen:
    """What was written: how many rows, which columns have numbers that may be rounded, and by column how many cells
    there are of each shape, those of the first row apart since it may be a header."""

    n_rows: int = 0
    rounded: set[int] = field(default_factory=set)
    first: list[Counter[str]] = field(default_factory=list)
    shapes: list[Counter[str]] = field(default_factory=list)

    def add(self, rows: Sequence[Sequence[object]], named: Sequence[str]) -> None:
        """More rows, `named` being words for missing; columns at once, since there are many cells."""
        self.n_rows += len(rows)
        columns = list(zip(*rows, strict=True))
        found = [_shapes(column, named) for column in columns]
        self.rounded.update(place for place, column in enumerate(columns) if any(map(_may_be_rounded, column)))
        if not self.first:
            self.first, self.shapes = found, [Counter() for _ in columns]
            return
        for shapes, more in zip(self.shapes, found, strict=True):
            shapes.update(more)

    def evidence(self, header: bool) -> dict[int, dict[Shape, int]]:
        """The numbers of each column that is one of numbers, nearly."""
        counts = [rest if header else rest + first for first, rest in zip(self.first, self.shapes, strict=True)]
        return {
            place: {shape: keys[key] for key, shape in numbers_among(keys).items()}
            for place, keys in enumerate(counts)
            if is_evidence(keys)
        }


def _shapes(column: Sequence[object], named: Sequence[str]) -> Counter[str]:
    """How many cells of a column have each shape; all that are stored as numbers that of a whole number."""
    kinds = Counter(map(type, column))
    texts = Counter(cell for cell in column if isinstance(cell, str)) if kinds[str] else Counter[str]()
    shapes = Counter[str]({STORED: kinds[int] + kinds[float]})
    shapes[ODD] = len(column) - shapes[STORED] - kinds[str] - kinds[type(None)]
    for text, count in texts.items():
        key = shape_key(text)
        if key != ODD or not (stands_for_nothing(text) or text.strip(BLANKS) in named):
            shapes[key] += count
    return +shapes


def _written(rows: Iterable[Sequence[object]], target: Path, decimal: str, options: ReadOptions) -> _Seen:
    """Write the rows as CSV, stored numbers with this decimal sign."""
    seen = _Seen()
    rows = iter(rows)
    with target.open("w", encoding="utf-8", errors="replace", newline="") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
        while some := list(islice(rows, ROWS_AT_ONCE if seen.n_rows else 1)):
            writer.writerows([cell_as_text(cell, decimal) for cell in row] for row in some)
            seen.add(some, options.missing)
    return seen


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
