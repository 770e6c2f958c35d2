"""A CSV file as a table: every cell is read as text, and kinds are decided over all rows.

Most files are what their first rows suggest: then one pass writes their numbers straight into a file of float64. It
ends at the first cell that is not, and kinds are decided by counting first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aspca.duckdb_session import describe_briefly, escape_path
from aspca.escaping import quoted
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import cached_parts
from aspca.preparation.cell_format import CellFormat, ColumnFormat
from aspca.tables.cell_tests import BOOLEAN, DATE, EVERYWHERE, PLAIN_DATE
from aspca.tables.column_notes import describe_missing_words
from aspca.tables.csv_dialect import Dialect, find_dialect
from aspca.tables.csv_rows import describe_misfit, pick_lines, read_rows, repair_rows
from aspca.tables.errors import SourceError
from aspca.tables.file_bytes import LONGEST_LINE, PlainText, decode_text
from aspca.tables.file_table import FileTable, NumberFile, has_no_infinity
from aspca.tables.number_text import number_sql, rounded_sql
from aspca.tables.request import ReadOptions
from aspca.tables.text_table import TextTable, count_cells, make_column

if TYPE_CHECKING:
    import duckdb

_QUOTE = ord('"')
# From here on not every integer is a float64.
_UNSAFE_INTEGER = 2**53
# The SQL that makes a DOUBLE of a cell of a kind and fails for any other. Of text only the missing cells are counted.
_STRICT = {"text": "CASE WHEN {c} IS NOT NULL THEN 0.0::DOUBLE END"} | {
    kind: f"CASE WHEN {{c}} IS NOT NULL THEN coalesce({test}, error('of another kind')) END"
    for kind, test in (("boolean", BOOLEAN), ("date", PLAIN_DATE))
}
# DuckDB would take 2020_01 for 202001 and +-5 for -5, which no user means; calls are far cheaper than a CASE over 5,000
# columns.
_ODD_SIGNS = frozenset(b"_+")
_PLAIN_NUMBER = "CAST({c} AS DOUBLE)"
_SIGNED_NUMBER = "CAST(replace(replace({c}, '_', 'x'), '+-', 'x') AS DOUBLE)"
_COMMA_NUMBER = "CAST(replace(translate({c}, ',._', '.xx'), '+-', 'x') AS DOUBLE)"


def read_csv_table(
    text: PlainText,
    label: str,
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    names: tuple[str, ...] | None = None,
    line_of: Callable[[int], int | None] | None = None,
) -> TextTable:
    """The table in a text of at least one line; its columns are decided by `read_text_tables`.

    `names` replace the file's, and `line_of` the lines of its records (from 0), where it was made of another. Its
    numbers are kept in a file in `folder`. SourceError for a quote that is not closed, or no rows.
    """
    path, numbers = text.path, folder / "numbers"
    dialect = find_dialect(path, label, options, made_here=line_of is not None)
    dialect = replace(dialect, names=names or dialect.names)
    signs = text.signs if dialect.header else text.signs | text.signs_of_first_line

    def explain(error: Exception) -> SourceError:
        if not path.exists():
            return SourceError(f"{label}: the file is not there any more; leave it in place while it is read.")
        # DuckDB's messages differ between its versions.
        unknown = SourceError(f"{label}: the file cannot be read as CSV ({describe_briefly(error)}); export it anew.")
        return describe_misfit(path, label, dialect) or unknown

    def own_line_of(row: int) -> int | None:
        if line_of is not None:
            return line_of(row + dialect.before)
        rows = (one.line for one in read_rows(path, dialect) if one.fault != "header")
        return next(islice(rows, row, None), None)

    parameters = (escape_path(path), dialect.delimiter, *([list(options.missing)] if options.missing else []))
    notes = (*text.notes, *dialect.notes)
    table = FileTable(label, _relation(dialect, signs), parameters, (), 0, explain, line_of=own_line_of, remarks=notes)

    def read_plain() -> FileTable | None:
        if options.missing:
            return None
        # Every cell is compared with each of these, so only those are named that can occur. DuckDB wants no delimiter
        # in them; a cell that had one would be two cells.
        possible = [word for word in EVERYWHERE if word and signs.issuperset(word.encode())]
        words = [word for word in possible if dialect.delimiter not in word]
        fast = replace(table, relation=_relation(dialect, signs, words))
        decimal = options.decimal or {".": ",", ",": "."}.get(options.thousands or "")
        known = read_in_one_pass(fast, dialect, decimal, bool(signs & _ODD_SIGNS), connection, numbers)
        if known is None or not words:
            return known
        gaps = {index: {"text"} for index, column in enumerate(known.columns) if column.n_missing}
        counts = count_cells(table, gaps, connection)[1]
        taken = {dialect.names[index]: count.words for index, count in counts.items()}
        return replace(known, remarks=(*known.remarks, *describe_missing_words(label, taken, ())))

    def finish(known: FileTable) -> FileTable:
        known = known if known.kept is not None else keep_numbers(known, connection, numbers)
        if known.n_rows == 0:
            raise SourceError(f"{label}: there are no rows below the header; close its quotes, or add rows.")

        def write_rows(rows: Sequence[int]) -> str | None:
            # Where there are quotes, a line feed may be part of a cell.
            few = folder / "some_rows"
            whole = not text.quotes and pick_lines(path, dialect.before, rows, known.n_rows, few)
            return escape_path(few) if whole else None

        cell_format = replace(known.cell_format, encoding=text.other_encoding)
        return replace(known, alone=write_rows, cell_format=cell_format)

    def repair() -> TextTable:
        repaired = repair_rows(path, label, dialect, folder)
        if repaired is None:
            return found

        def add_bad_rows(known: FileTable) -> FileTable:
            bad_cells = sorted((*known.bad_cells, *repaired.bad), key=lambda one: one.row)
            return replace(known, bad_cells=tuple(bad_cells), remarks=(*notes, *repaired.notes, *known.remarks))

        plain = decode_text(repaired.path, label, "utf-8", folder)
        asked = replace(options, delimiter=dialect.delimiter, encoding="utf-8", header=False, skip=0)
        lines = repaired.lines.__getitem__
        return read_csv_table(plain, label, asked, connection, folder, dialect.names, lines).then(add_bad_rows)

    semicolons = dialect.delimiter == ";"
    found = TextTable(table, dialect.names, dialect.guesses, options, semicolons, read_plain, finish, repair)
    # DuckDB does not mind a quote that is open at the end of a file that it reads in one go.
    return repair() if _QUOTE in signs and text.quotes % 2 and describe_misfit(path, label, dialect) else found


def _relation(dialect: Dialect, signs: set[int], words: Sequence[str] = ()) -> str:
    """What stands after FROM: the file ($1) with cells between delimiters ($2) as text; none where empty or a word."""
    columns = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(len(dialect.names)))
    nulls = ", ".join(f"'{word}'" for word in ["", *words])
    return (
        f"read_csv($1, auto_detect = false, columns = {{{columns}}}, delim = $2, quote = '\"', escape = '\"', "
        f"header = false, skip = {dialect.before}, nullstr = [{nulls}], strict_mode = true, "
        # In parts only where no line feed may stand within quotes: from the middle nobody can tell if one does.
        f"parallel = {str(_QUOTE not in signs).lower()}, "
        f"null_padding = false, hive_partitioning = false, max_line_size = {2 * LONGEST_LINE}, "
        f"buffer_size = {4 * LONGEST_LINE})"
    )


# ---- numbers, in one pass where they can be


def read_in_one_pass(
    table: FileTable,
    dialect: Dialect,
    decimal: str | None,
    odd_signs: bool,
    connection: duckdb.DuckDBPyConnection,
    target: Path,
) -> FileTable | None:
    """`table` with its columns and number of rows as by `read_text_tables`, and its numbers kept in the file `target`.

    `odd_signs`: whether there are underscores or plus signs in its cells. None if a cell is not of the kind guessed for
    its column, if numbers are not plain or larger than integers that float64 holds, if the table cannot be read, or if
    the disk is full.
    """
    number = _COMMA_NUMBER if decimal == "," else _SIGNED_NUMBER if odd_signs else _PLAIN_NUMBER
    tests = _STRICT | {"number": number}
    kinds = [
        "number" if guess == "unknown" or (guess == "styled" and decimal == ",") else guess for guess in dialect.guesses
    ]
    if not set(kinds) <= set(tests):
        return None
    # What is wrong with the file is found out by those who come after; here it only matters that something is.
    blunt = replace(table, explain=lambda error: SourceError(str(error)))
    numeric = tuple(index for index, kind in enumerate(kinds) if kind != "text")
    is_large, is_fraction = np.zeros((2, len(kinds)), dtype=np.bool_)
    try:
        pieces = blunt.numbers(connection, [tests[kind].format(c=f"c{index}") for index, kind in enumerate(kinds)])
        written = _write_numbers(_watch(pieces, is_large, is_fraction), numeric, len(kinds), target)
        large = [index for index in np.flatnonzero(is_large) if kinds[index] == "number"]
        rounded = [rounded_sql(f"c{index}", decimal or ".") for index in large]
        if written is None or (rounded and any(next(blunt.rows(connection, rounded, 1))[0])):
            return None
    except SourceError:
        target.unlink(missing_ok=True)
        return None
    kept, nulls = written
    if not kept.finite:
        return None
    columns = []
    for index, (name, kind, n_missing) in enumerate(zip(dialect.names, kinds, nulls.tolist(), strict=True)):
        cell = f"c{index}"
        values = {"text": "", "boolean": BOOLEAN.format(c=cell), "date": DATE.format(c=cell)}
        number = values[kind] if kind in values else number_sql(cell, decimal or ".", styled=False)
        columns.append(make_column(index, name, kind, number, n_missing, kept.n_rows))
    cell_format = CellFormat(
        decimal=decimal or ("." if is_fraction.any() else None),
        columns=tuple(ColumnFormat(column.name, column.kind) for column in columns if column.kind != "text"),
    )
    return replace(table, columns=tuple(columns), n_rows=kept.n_rows, kept=kept, cell_format=cell_format)


def keep_numbers(table: FileTable, connection: duckdb.DuckDBPyConnection, target: Path) -> FileTable:
    """`table`, whose columns are known, with its numbers kept in the file `target`; as it is if the disk is full."""
    numeric = tuple(index for index, column in enumerate(table.columns) if column.number)
    if not numeric:
        return table
    pieces = table.numbers(connection, [table.columns[index].number for index in numeric])
    written = _write_numbers(pieces, numeric, len(numeric), target)
    if written is None:
        return table
    for index, missing in zip(numeric, written[1], strict=True):
        column = table.columns[index]
        if missing != column.n_missing:
            raise SourceError(
                f"{table.label}: column {quoted(column.name)} has {missing - column.n_missing} cells that look like "
                "numbers or dates but cannot be read; leave the column out.",
                ("--ignore", column.name),
            )
    return replace(table, kept=written[0])


def _watch(pieces: Iterator[tuple[Floats, Ints]], is_large: Bools, is_fraction: Bools) -> Iterator[tuple[Floats, Ints]]:
    """The pieces as they are; `is_large` becomes true for columns with numbers of which not every integer is a float64,
    `is_fraction` for the first that is seen to have decimals.

    SourceError for a NaN that is none of the missing values: a word for them that is yet to be counted.
    """
    for values, missing in pieces:
        n_missing = int(missing.sum())
        # Part by part: an array of sizes would be as large as the piece.
        for part in cached_parts(*values.shape):
            sizes = np.abs(values[part])
            n_missing -= int(np.count_nonzero(np.isnan(sizes)))
            if (sizes >= _UNSAFE_INTEGER).any():
                is_large |= (sizes >= _UNSAFE_INTEGER).any(axis=0)
            if not is_fraction.any():
                is_fraction |= (np.isfinite(sizes) & (sizes != np.rint(sizes))).any(axis=0)
        if n_missing:
            raise SourceError("NaN")
        yield values, missing


def _write_numbers(
    pieces: Iterator[tuple[Floats, Ints]], columns: tuple[int, ...], width: int, target: Path
) -> tuple[NumberFile, Ints] | None:
    """The numbers of all pieces in a file, and the NULLs in each of the `width` columns of the pieces.

    Of these the ones at `columns` are written, or all where there are no others. None if there is no room: the text can
    be read again instead, only more slowly.
    """
    nulls = np.zeros(width, dtype=np.intp)
    n_rows, finite = 0, True
    try:
        with target.open("wb") as file:
            for values, missing in pieces:
                file.write((values if len(columns) == width else np.ascontiguousarray(values[:, columns])).data)
                nulls += missing
                n_rows += len(values)
                finite = finite and has_no_infinity(values)
    except OSError:
        target.unlink(missing_ok=True)
        return None
    return NumberFile(target, columns, n_rows, finite), nulls
