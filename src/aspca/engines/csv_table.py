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

from aspca.database import first_line, plain_path
from aspca.engines.announcements import describe_missing_words
from aspca.engines.column_counts import counted
from aspca.engines.column_sql import SAFE_INTEGER, assumed_column, rounded_sql, strict_test
from aspca.engines.csv_dialect import Dialect, dialect_of
from aspca.engines.csv_rows import describe_misfit, records, repair_rows
from aspca.engines.errors import SourceError
from aspca.engines.file_table import FileTable, NumberFile, all_finite_or_missing
from aspca.engines.missing_words import EVERYWHERE
from aspca.engines.picked_lines import picked_lines
from aspca.engines.plain_files import LONGEST_LINE, PlainText, plain_text
from aspca.engines.request import ReadOptions
from aspca.engines.text_table import TextTable
from aspca.harmless import quoted
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import cached_parts
from aspca.preparation.cell_format import CellFormat, ColumnFormat

if TYPE_CHECKING:
    import duckdb

QUOTE = ord('"')
# Signs that DuckDB passes over in numbers.
ODD_SIGNS = frozenset(b"_+")
# Of a column of text only the missing cells are counted.
PRESENT = "CASE WHEN {c} IS NOT NULL THEN 0.0::DOUBLE END"


def csv_table(
    text: PlainText,
    label: str,
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    names: tuple[str, ...] | None = None,
    line_of: Callable[[int], int | None] | None = None,
) -> TextTable:
    """The table in a text of at least one line; see `dialect_of` and `decide`.

    `names` replace the file's, and `line_of` the lines of its records (from 0), where it was made of another.

    Its numbers are kept in a file in `folder`.

    Raises
    ------
    SourceError
        A quote that is not closed, or no rows.
    """
    path = text.path
    dialect = dialect_of(path, label, options)
    dialect = replace(dialect, names=names or dialect.names)
    signs = text.signs if dialect.header else text.signs | text.signs_of_first_line
    # Every cell is compared with each of these, so only those are named that can occur. DuckDB wants no delimiter in
    # them; a cell that had one would be two cells.
    words = [word for word in EVERYWHERE if word and dialect.delimiter not in word and signs.issuperset(word.encode())]
    raw, short = _relation(dialect, signs, []), _relation(dialect, signs, words)

    def explain(error: Exception) -> SourceError:
        if not path.exists():
            return SourceError(f"{label}: the file is not there any more; leave it in place while it is read.")
        # DuckDB's messages differ between its versions.
        unknown = SourceError(f"{label}: the file cannot be read as CSV ({first_line(error)}); export it anew.")
        return describe_misfit(path, label, dialect) or unknown

    def own_line_of(row: int) -> int | None:
        if line_of is not None:
            return line_of(row + dialect.before)
        return next((line for line, _ in islice(records(path, dialect), row, None)), None)

    parameters = (plain_path(path), dialect.delimiter)
    notes = (*text.notes, *dialect.remarks)
    table = FileTable(label, raw, parameters, (), 0, explain, line_of=own_line_of, remarks=notes)
    numbers = folder / "numbers"

    def read_plain() -> FileTable | None:
        if options.missing:
            return None
        fast = replace(table, relation=short)
        decimal = options.decimal or {".": ",", ",": "."}.get(options.thousands or "")
        known = in_one_pass(fast, dialect.names, dialect.guesses, decimal, bool(signs & ODD_SIGNS), connection, numbers)
        return _with_words(known, table, connection) if known is not None and words else known

    def finish(known: FileTable) -> FileTable:
        known = known if known.kept is not None else with_numbers(known, connection, numbers)
        if known.n_rows == 0:
            raise SourceError(f"{label}: there are no rows below the header; close its quotes, or add rows.")

        def alone(rows: Sequence[int]) -> str | None:
            # Where there are quotes, a line feed may be part of a cell.
            few = folder / "some_rows"
            whole = QUOTE not in text.signs_of_first_line | text.signs
            found = whole and picked_lines(path, dialect.before, rows, known.n_rows, few)
            return plain_path(few) if found else None

        encoding = None if text.encoding == "utf-8" else text.encoding
        return replace(known, alone=alone, cell_format=replace(known.cell_format, encoding=encoding))

    def repair() -> TextTable:
        repaired = repair_rows(path, label, dialect, folder)
        if repaired is None:
            return found
        plain = plain_text(repaired.path, label, "utf-8", folder)
        asked = replace(options, delimiter=dialect.delimiter, encoding="utf-8", header=False, skip=0)
        lines = own_line_of if repaired.lines is None else repaired.lines.__getitem__
        again = csv_table(plain, label, asked, connection, folder, dialect.names, lines)
        notes = (*table.remarks, *repaired.notes)
        return again.then(
            lambda known: replace(known, bad_cells=repaired.add_to(known.bad_cells), remarks=(*notes, *known.remarks))
        )

    semicolons = dialect.delimiter == ";"
    found = TextTable(table, dialect.names, dialect.guesses, options, semicolons, read_plain, finish, repair)
    # DuckDB does not mind a quote that is open at the end of a file that it reads in one go.
    return repair() if QUOTE in signs and text.quotes % 2 and describe_misfit(path, label, dialect) else found


def _relation(dialect: Dialect, signs: frozenset[int], words: list[str]) -> str:
    """What stands after FROM: the file ($1) with cells between delimiters ($2) as text; none where empty or a word."""
    columns = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(len(dialect.names)))
    nulls = ", ".join(f"'{word}'" for word in ["", *words])
    return (
        f"read_csv($1, auto_detect = false, columns = {{{columns}}}, delim = $2, quote = '\"', escape = '\"', "
        f"header = false, skip = {dialect.before}, nullstr = [{nulls}], strict_mode = true, "
        # In parts only where no line feed may stand within quotes: from the middle nobody can tell if one does.
        f"parallel = {str(QUOTE not in signs).lower()}, "
        f"null_padding = false, hive_partitioning = false, max_line_size = {2 * LONGEST_LINE}, "
        f"buffer_size = {4 * LONGEST_LINE})"
    )


def _with_words(known: FileTable, raw: FileTable, connection: duckdb.DuckDBPyConnection) -> FileTable:
    """`known` with a remark on the words that were taken for missing, if any was."""
    gaps = {index: {"text"} for index, column in enumerate(known.columns) if column.n_missing}
    found = counted(raw, gaps, connection)[1]
    words = {known.columns[index].name: found[index].words for index in gaps}
    return replace(known, remarks=(*known.remarks, *describe_missing_words(known.label, words, ())))


def in_one_pass(
    table: FileTable,
    names: tuple[str, ...],
    guesses: tuple[str, ...],
    decimal: str | None,
    odd_signs: bool,
    connection: duckdb.DuckDBPyConnection,
    target: Path,
) -> FileTable | None:
    """`table` with its columns and number of rows as `decide` finds them, and its numbers kept in the file `target`.

    `odd_signs`: whether there are underscores or plus signs in its cells.

    None if a cell is not of the kind guessed for its column, if numbers are not plain or larger than integers that
    float64 holds, if the table cannot be read, or if the disk is full.
    """
    kinds = [_assumed(guess, decimal) for guess in guesses]
    if not set(kinds) <= {"number", "boolean", "date", "text"}:
        return None
    tests = [PRESENT if kind == "text" else strict_test(kind, decimal, odd_signs) for kind in kinds]
    # What is wrong with the file is found out by those who come after; here it only matters that something is.
    blunt = replace(table, explain=lambda error: SourceError(str(error)))
    numeric = tuple(index for index, kind in enumerate(kinds) if kind != "text")
    try:
        pieces = blunt.numbers(connection, [test.format(c=f"c{index}") for index, test in enumerate(tests)])
        vast, fractions = np.zeros((2, len(names)), dtype=np.bool_)
        written = _written(_watched(pieces, vast, fractions), numeric, len(names), target)
        vast &= [kind == "number" for kind in kinds]
        if written is not None and _rounded(blunt, np.flatnonzero(vast), decimal, connection):
            written = None
    except SourceError:
        target.unlink(missing_ok=True)
        return None
    if written is None:
        return None
    kept, nulls = written
    if not kept.finite:
        return None
    columns = tuple(
        assumed_column(index, name, kind, kept.n_rows, int(missing), decimal)
        for index, (name, kind, missing) in enumerate(zip(names, kinds, nulls, strict=True))
    )
    cell_format = CellFormat(
        decimal=decimal or ("." if fractions.any() else None),
        columns=tuple(ColumnFormat(column.name, column.kind) for column in columns if column.kind != "text"),
    )
    return replace(table, columns=columns, n_rows=kept.n_rows, kept=kept, cell_format=cell_format)


def with_numbers(table: FileTable, connection: duckdb.DuckDBPyConnection, target: Path) -> FileTable:
    """`table`, whose columns are known, with its numbers kept in the file `target`; as it is if the disk is full."""
    numeric = tuple(index for index, column in enumerate(table.columns) if column.number)
    if not numeric:
        return table
    pieces = table.numbers(connection, [table.columns[index].number for index in numeric])
    written = _written(pieces, numeric, len(numeric), target)
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


def _assumed(guess: str, decimal: str | None) -> str:
    return "number" if guess == "unknown" or (guess == "styled" and decimal == ",") else guess


def _watched(pieces: Iterator[tuple[Floats, Ints]], vast: Bools, fractions: Bools) -> Iterator[tuple[Floats, Ints]]:
    """The pieces as they are; `vast` becomes true for columns with numbers of which not every integer is a float64,
    `fractions` for the first that is seen to have decimals.

    SourceError for a NaN that is none of the missing values: a word for them that is yet to be counted.
    """
    for values, missing in pieces:
        n_missing = int(missing.sum())
        # Part by part: an array of sizes would be as large as the piece.
        for part in cached_parts(*values.shape):
            sizes = np.abs(values[part])
            n_missing -= int(np.count_nonzero(np.isnan(sizes)))
            if (sizes >= SAFE_INTEGER).any():
                vast |= (sizes >= SAFE_INTEGER).any(axis=0)
            if not fractions.any():
                fractions |= (np.isfinite(sizes) & (sizes != np.rint(sizes))).any(axis=0)
        if n_missing:
            raise SourceError("NaN")
        yield values, missing


def _rounded(table: FileTable, columns: Ints, decimal: str | None, connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether integers in these columns have lost digits."""
    tests = [rounded_sql(f"c{index}", decimal or ".") for index in columns]
    return bool(tests) and any(next(table.rows(connection, tests, 1))[0])


def _written(
    pieces: Iterator[tuple[Floats, Ints]], columns: tuple[int, ...], width: int, target: Path
) -> tuple[NumberFile, Ints] | None:
    """The numbers of all pieces in a file, and the NULLs in each of the `width` columns of the pieces.

    Of these the ones at `columns` are written, or all where there are no others.
    """
    nulls = np.zeros(width, dtype=np.intp)
    n_rows, finite = 0, True
    try:
        with target.open("wb") as file:
            for values, missing in pieces:
                file.write((values if len(columns) == width else np.ascontiguousarray(values[:, columns])).data)
                nulls += missing
                n_rows += len(values)
                finite = finite and all_finite_or_missing(values)
    except OSError:
        # No room for it. The text can be read again instead, only more slowly.
        target.unlink(missing_ok=True)
        return None
    return NumberFile(target, columns, n_rows, finite), nulls
