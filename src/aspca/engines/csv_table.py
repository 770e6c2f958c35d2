"""A CSV file as a table: every cell is read as text, and kinds are decided over all rows."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.engines.connection import first_line, plain_path
from aspca.engines.dialect import LONGEST_CELL, MISSING, Dialect, dialect_of, long_cells
from aspca.engines.errors import SourceError
from aspca.engines.kinds import decide
from aspca.engines.options import ReadOptions
from aspca.engines.plain_text import LONGEST_LINE
from aspca.engines.table import Table

if TYPE_CHECKING:
    import duckdb


def csv_table(
    path: Path,
    label: str,
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
    names: tuple[str, ...] | None = None,
) -> Table:
    """The table in a UTF-8 file of at least one line; see `dialect_of` and `decide`. `names` replace the file's.

    Raises
    ------
    SourceError
        Rows of different lengths, a quote that is not closed, no rows, names that occur twice.
    """
    dialect = dialect_of(path, label, options)
    columns = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(len(dialect.names)))
    # DuckDB wants no delimiter in these; a cell that had one would be two cells.
    nulls = ", ".join(f"'{text}'" for text in MISSING if dialect.delimiter not in text)
    relation = (
        f"read_csv(?, auto_detect = false, columns = {{{columns}}}, delim = ?, quote = '\"', escape = '\"', "
        f"header = {str(dialect.header).lower()}, skip = {dialect.skip}, nullstr = [{nulls}], strict_mode = true, "
        f"null_padding = false, hive_partitioning = false, max_line_size = {2 * LONGEST_LINE}, "
        f"buffer_size = {4 * LONGEST_LINE})"
    )

    def explain(error: Exception) -> SourceError:
        return _diagnosis(path, label, dialect, error)

    table = Table(label, relation, (plain_path(path), dialect.delimiter), (), 0, explain, decimal=options.decimal)
    table = decide(table, names or dialect.names, dialect.guesses, connection)
    if table.n_rows == 0:
        raise SourceError(f"{label}: there are no rows below the header; close its quotes, or add rows.")
    return table


def _diagnosis(path: Path, label: str, dialect: Dialect, error: Exception) -> SourceError:
    """Where the file goes wrong, by Python's slow reader: DuckDB's messages differ between its versions."""
    if not path.exists():
        return SourceError(f"{label}: the file is not there any more; leave it in place while it is read.")
    width, row, delimiter = len(dialect.names), 0, dialect.delimiter
    with long_cells(), path.open(encoding="utf-8-sig", newline="") as file:
        for _ in range(dialect.skip):
            file.readline()
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True)
        line = dialect.skip
        try:
            if dialect.header:
                next(reader)
            for cells in reader:
                if not cells and width > 1:
                    line = dialect.skip + reader.line_num
                    continue
                row += 1
                if len(cells) != width and (cells or width > 1):
                    return SourceError(
                        f"{label}: row {row} (line {line + 1}) has {_cells(len(cells))}, but the first has {width}; "
                        "every row needs one cell per column, so check its delimiters and quotes."
                    )
                line = dialect.skip + reader.line_num
        except csv.Error as reason:
            if "larger" in str(reason):
                return SourceError(
                    f"{label}: row {row + 1} (line {line + 1}) has a cell of more than {LONGEST_CELL:,} characters, "
                    "or a quote that is not closed; shorten the cell or close the quote."
                )
            return SourceError(
                f"{label}: row {row + 1} (line {line + 1}) has a quote that is not closed, or text after a closing "
                "quote; close it, and write a quote inside a cell twice."
            )
    return SourceError(f"{label}: the file cannot be read as CSV ({first_line(error)}); export it anew.")


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
