"""A CSV file as a table: every cell is read as text, and kinds are decided over all rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.database import first_line, plain_path
from aspca.engines.dialect import LONGEST_CELL, MISSING, Dialect, dialect_of, long_cells
from aspca.engines.errors import SourceError
from aspca.engines.kinds import decide
from aspca.engines.one_pass import in_one_pass, with_numbers
from aspca.engines.options import ReadOptions
from aspca.engines.plain_text import CHUNK, LONGEST_LINE
from aspca.engines.table import Table

if TYPE_CHECKING:
    import duckdb

QUOTE, UNDERSCORE = b'"_'
SIGNS = {QUOTE, UNDERSCORE, *"".join(MISSING).encode()}


def csv_table(
    path: Path,
    label: str,
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    names: tuple[str, ...] | None = None,
) -> Table:
    """The table in a UTF-8 file of at least one line; see `dialect_of` and `decide`. `names` replace the file's.

    Its numbers are kept in a file in `folder`.

    Raises
    ------
    SourceError
        Rows of different lengths, a quote that is not closed, no rows, names that occur twice.
    """
    dialect = dialect_of(path, label, options)
    signs = _signs(path, dialect.header)
    # DuckDB does not mind a quote that is open at the end of a file that it reads in one go.
    if QUOTE in signs and _count(path, b'"') % 2 and (wrong := _wrong_row(path, label, dialect)):
        raise wrong
    columns = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(len(dialect.names)))
    # Every cell is compared with each of these, so only those are named that can occur. DuckDB wants no delimiter in
    # them; a cell that had one would be two cells.
    missing = [text for text in MISSING if dialect.delimiter not in text and signs.issuperset(text.encode())]
    nulls = ", ".join(f"'{text}'" for text in missing)
    relation = (
        f"read_csv(?, auto_detect = false, columns = {{{columns}}}, delim = ?, quote = '\"', escape = '\"', "
        f"header = {str(dialect.header).lower()}, skip = {dialect.skip}, nullstr = [{nulls}], strict_mode = true, "
        # In parts only where no line feed may stand within quotes: from the middle nobody can tell if one does.
        f"parallel = {str(QUOTE not in signs).lower()}, "
        f"null_padding = false, hive_partitioning = false, max_line_size = {2 * LONGEST_LINE}, "
        f"buffer_size = {4 * LONGEST_LINE})"
    )

    def explain(error: Exception) -> SourceError:
        if not path.exists():
            return SourceError(f"{label}: the file is not there any more; leave it in place while it is read.")
        # DuckDB's messages differ between its versions.
        unknown = SourceError(f"{label}: the file cannot be read as CSV ({first_line(error)}); export it anew.")
        return _wrong_row(path, label, dialect) or unknown

    def line_of(row: int) -> int | None:
        return next((line for line, _ in islice(_records(path, dialect), row, None)), None)

    names = names or dialect.names
    parameters = (plain_path(path), dialect.delimiter)
    table = Table(label, relation, parameters, (), 0, explain, decimal=options.decimal, line_of=line_of)
    numbers = folder / "numbers"
    known = in_one_pass(table, names, dialect.guesses, UNDERSCORE in signs, connection, numbers)
    if known is None:
        known = with_numbers(decide(table, names, dialect.guesses, connection), connection, numbers)
    if known.n_rows == 0:
        raise SourceError(f"{label}: there are no rows below the header; close its quotes, or add rows.")
    return known


def _signs(path: Path, header: bool) -> set[int]:
    """Which of the bytes that matter occur in the cells: below the first line, if that holds names, or anywhere."""
    found: set[int] = set()
    with path.open("rb") as file:
        if header and not file.readline(CHUNK).endswith(b"\n"):
            # It has no end here, or one that Python does not see.
            file.seek(0)
        while chunk := file.read(CHUNK):
            found.update(sign for sign in SIGNS - found if sign in chunk)
    return found


def _count(path: Path, sign: bytes) -> int:
    with path.open("rb") as file:
        return sum(chunk.count(sign) for chunk in iter(lambda: file.read(CHUNK), b""))


class _BadRow(Exception):
    """A row or a header, beginning in this line, that Python's reader cannot take: a cell is too long or ill quoted."""

    def __init__(self, line: int, header: bool, too_long: bool) -> None:
        super().__init__(line, header, too_long)
        self.line, self.header, self.too_long = line, header, too_long


def _records(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header by Python's slow reader, each with the line in which it begins, from 1.

    Raises
    ------
    _BadRow
    """
    with long_cells(), path.open(encoding="utf-8-sig", newline="") as file:
        for _ in range(dialect.skip):
            file.readline()
        delimiter, line = dialect.delimiter, dialect.skip + 1
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True)
        header = dialect.header
        try:
            for cells in reader:
                # An empty line is a row only where rows have one cell.
                if not header and (cells or len(dialect.names) == 1):
                    yield line, cells
                header, line = False, dialect.skip + reader.line_num + 1
        except csv.Error as reason:
            raise _BadRow(line, header, "larger" in str(reason)) from None


def _wrong_row(path: Path, label: str, dialect: Dialect) -> SourceError | None:
    """The sentence for the first row that is not as long as the others or ill quoted, if there is one."""
    width, row = len(dialect.names), 0
    try:
        for line, cells in _records(path, dialect):
            if len(cells) != width and (cells or width > 1):
                return SourceError(
                    f"{label}: row {row} (line {line}) has {_cells(len(cells))}, but the first has {width}; "
                    "every row needs one cell per column, so check its delimiters and quotes."
                )
            row += 1
    except _BadRow as bad:
        if bad.header:
            return SourceError(f"{label}: the header has a quote that is not closed; close it.")
        if bad.too_long:
            return SourceError(
                f"{label}: row {row} (line {bad.line}) has a cell of more than {LONGEST_CELL:,} characters, "
                "or a quote that is not closed; shorten the cell or close the quote."
            )
        return SourceError(
            f"{label}: row {row} (line {bad.line}) has a quote that is not closed, or text after a closing "
            "quote; close it, and write a quote inside a cell twice."
        )
    return None


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
