"""Cells that have types, one by one, as the text of a CSV file: kinds are then decided over whole columns, as there.

Every number is written so that it reads back to the same float64. Workbooks, SQLite and JSON lines come this way: a
reader of one more format needs to give rows and, for messages, their lines.
"""

from __future__ import annotations

import csv
import datetime
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.escaping import quoted
from aspca.tables.cell_tests import BLANKS, is_missing
from aspca.tables.csv_dialect import find_dialect
from aspca.tables.csv_table import read_csv_table
from aspca.tables.errors import SourceError, join_names
from aspca.tables.file_bytes import decode_text
from aspca.tables.number_text import ODD, OTHER_FIRST, find_signs, is_evidence, make_shape_key, select_numbers
from aspca.tables.request import ReadOptions
from aspca.tables.text_table import TextTable

if TYPE_CHECKING:
    import duckdb

# Whole numbers of up to 19 digits are written as such, as a person would.
_WRITTEN_OUT = 1e19
# The shape of a whole number, which proves nothing about signs.
_STORED = f"{OTHER_FIRST}1"


def read_typed_rows(
    rows: Callable[[], Iterable[Sequence[object]]],
    label: str,
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    names: Sequence[str] | None = None,
    line_of: Callable[[int], int | None] = lambda row: None,
) -> TextTable:
    """The table of these rows, all of one length; without `names`, the first may be a header, as in CSV.

    Texts that look like numbers are numbers, with signs as the texts among the cells tell: a number that is stored as
    such is no evidence of how others are written. `rows` gives them as often as it is called; `line_of` gives the line
    of one of them, from 0; without it there are none.
    """
    reading = replace(options, delimiter=",", encoding="utf-8", format=None, table=None, query=None, skip=None)
    if names is not None:
        reading = replace(reading, header=False)
    target = folder / "cells"
    # The shapes of cells by column: of the first row, which may be a header, and of the others. Where the decimal sign
    # is known, nobody needs them.
    counts: list[list[Counter[str]]] = []
    is_known = options.decimal is not None or options.thousands in (".", ",")
    rounded, n_rows = set[int](), 0
    for some in _write_rows(rows(), target, find_signs({}, options.decimal, options.thousands).decimal):
        n_rows += len(some)
        # Columns at once, since there are many cells.
        columns = list(zip(*some, strict=True))
        floats = [place for place, column in enumerate(columns) if float in map(type, column)]
        rounded.update(place for place in floats if any(map(_may_be_rounded, columns[place])))
        shapes = [] if is_known else [_count_shapes(column, options.missing) for column in columns]
        if len(counts) < 2:
            counts.append(shapes)
        else:
            counts[1] = [total + more for total, more in zip(counts[1], shapes, strict=True)]
    if not n_rows:
        raise SourceError(f"{label}: the table has columns but no rows; it must hold at least one row.")
    header = names is None and find_dialect(target, label, reading, made_here=True).header
    text = decode_text(target, label, "utf-8", folder)
    table = read_csv_table(text, label, reading, connection, folder, None if names is None else tuple(names), line_of)
    totals = [sum(several, Counter[str]()) for several in zip(*counts[header:], strict=True)]
    evidence = {
        name: {shape: keys[key] for key, shape in select_numbers(keys).items()}
        for name, keys in zip(table.names, totals, strict=False)
        if is_evidence(keys)
    }

    def write_decimals(decimal: str) -> None:
        deque(_write_rows(rows(), target, decimal), maxlen=0)

    table = replace(table, evidence=evidence, write_decimals=write_decimals)
    if not rounded:
        return table
    columns_named = join_names([quoted(table.names[place]) for place in sorted(rounded)])
    note = (
        f"{label}: integers beyond 2^53 in {columns_named} may have lost their last digits, since they are stored as "
        "numbers; ids should be stored as text."
    )
    return table.then(lambda known: replace(known, remarks=(*known.remarks, note)))


def _write_rows(rows: Iterable[Sequence[object]], target: Path, decimal: str) -> Iterator[list[Sequence[object]]]:
    """Write the rows as CSV, stored numbers with this decimal sign; the first of them is given, then many at a time."""
    rows, n_rows = iter(rows), 1
    with target.open("w", encoding="utf-8", errors="replace", newline="") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
        while some := list(islice(rows, n_rows)):
            writer.writerows([write_cell(cell, decimal) for cell in row] for row in some)
            n_rows = 10_000
            yield some


def _count_shapes(column: Sequence[object], named: Sequence[str]) -> Counter[str]:
    """How many cells of a column have each shape; all that are stored as numbers that of a whole number. `named` are
    words for missing."""
    kinds = Counter(map(type, column))
    shapes = Counter[str]({_STORED: kinds[int] + kinds[float]})
    shapes[ODD] = len(column) - shapes[_STORED] - kinds[str] - kinds[type(None)]
    for text, count in Counter(cell for cell in column if isinstance(cell, str)).items():
        key = make_shape_key(text)
        if key != ODD or not (is_missing(text) or text.strip(BLANKS) in named):
            shapes[key] += count
    return +shapes


def write_cell(cell: object, decimal: str = ".") -> str:
    """What stands in the CSV file for a cell; empty where there is no value."""
    match cell:
        case None:
            return ""
        case str():
            return cell.replace("\0", "\N{REPLACEMENT CHARACTER}").replace("\r\n", "\n").replace("\r", "\n")
        case bool():
            return "true" if cell else "false"
        case float() if cell.is_integer() and abs(cell) < _WRITTEN_OUT:
            return str(int(cell)) if cell or math.copysign(1.0, cell) > 0.0 else f"-0{decimal}0"
        case float():
            return repr(cell).replace(".", decimal)
        case datetime.datetime():
            return cell.isoformat(sep=" ")
        case bytes():
            # Nothing that a number could be taken for.
            return f"(binary, {len(cell)} bytes)"
    return str(cell)


def _may_be_rounded(cell: object) -> bool:
    # Up to 2^53 every whole number is a float64.
    return isinstance(cell, float) and 2.0**53 < abs(cell) < _WRITTEN_OUT and cell.is_integer()
