"""Which kind of values the columns of a text file hold: guessed from the first rows, decided by a pass over all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aspca.engines.announcements import announced, beyond_numbers, zone_letters
from aspca.engines.column_counts import BOOLEAN, DATE, PLAIN_DATE, Counted, counted, missing_sql
from aspca.engines.doubts import Examples, date_doubt, doubt_about, odd_cell
from aspca.engines.errors import SourceError
from aspca.engines.file_table import NO_VALUE, FileColumn, FileTable
from aspca.engines.local_dates import ORDERS, date_sql
from aspca.engines.missing_words import numbers_named
from aspca.engines.number_columns import Against, Style, is_evidence, judged, numbers_among
from aspca.engines.number_shapes import digits_sql, number_sql, shape_of
from aspca.engines.number_signs import Signs, proves, signs_of
from aspca.engines.request import ReadOptions
from aspca.harmless import quoted

if TYPE_CHECKING:
    import duckdb

PLAIN_NUMBER = "CAST({c} AS DOUBLE)"
# DuckDB would take 2020_01 for 202001 and +-5 for -5, which no user means; calls are far cheaper than a CASE over 5,000
# columns.
NUMBER = "CAST(replace(replace({c}, '_', 'x'), '+-', 'x') AS DOUBLE)"
COMMA = "CAST(replace(translate({c}, ',._', '.xx'), '+-', 'x') AS DOUBLE)"
UNLIKE = {"boolean": "no truth value", "date": "no date"}
# Of so many columns in doubt a cell is looked up; each takes a pass.
MOST_EXAMPLES = 20
_EVERYTHING = {"shape", "boolean", "date", "local date"}
_ASKED = {
    "text": {"text"},
    "number": {"shape"},
    "styled": {"shape"},
    "boolean": {"boolean"},
    "date": {"date"},
    "local date": {"local date"},
}
SAFE_INTEGER = 2**53


@dataclass(frozen=True)
class _Found:
    """A column before anything is said of it: `number` is its SQL, `style` how its numbers are written."""

    kind: str
    number: str = ""
    style: Style | None = None
    order: str = ""
    against: Against | None = None
    orders: tuple[str, ...] | None = None
    beyond: bool = False
    letters: bool = False
    unlike: str = ""

    @property
    def is_text(self) -> bool:
        """Whether nothing else was meant."""
        return (
            self.kind == "text"
            and not self.beyond
            and (self.against is None or self.against.reason == "text")
            and self.orders is None
        )


def decide(
    table: FileTable,
    names: tuple[str, ...],
    guesses: tuple[str, ...],
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
    *,
    semicolons: bool = False,
    known: Signs | None = None,
) -> FileTable:
    """`table`, whose cells are text, with its columns, its number of rows and what was guessed.

    One pass for good guesses, a second for columns that failed. A column is of a kind where all its cells are.
    `known` are the signs of its numbers, where they were decided by other evidence than its cells.
    """
    named = f"${len(table.parameters) + 1}" if options.missing else ""
    if named:
        table = replace(table, parameters=(*table.parameters, list(options.missing)))
    asked = {index: _ASKED.get(guess, _EVERYTHING) for index, guess in enumerate(guesses)}
    n_rows, counts = counted(table, asked, connection, named)
    failed = {index: _EVERYTHING for index in asked if asked[index] != {"text"} and not _fits(counts[index])}
    if failed:
        counts.update(counted(table, failed, connection, named)[1])
    shapes = {
        index: {shape: count.shapes[key] for key, shape in numbers_among(count.shapes).items()}
        for index, count in counts.items()
        if is_evidence(count.shapes)
    }
    signs = known or signs_of(shapes, options.decimal, options.thousands)
    found = {index: _kind(counts[index], index, signs, options) for index in asked}
    # Words that are missing values among numbers may be categories among texts.
    texts = {index: {"text"} for index, one in found.items() if one.is_text and asked[index] != {"text"}}
    counts.update(counted(table, texts, connection, named)[1])
    table = _without_missing(table, found, counts, options, named)
    found = _without_rounding(table, found, counts, signs, connection)
    examples = Examples(table, connection)
    proof = _proof(signs, counts, names, examples)
    n_missing = _missing_cells(table, found, counts, n_rows, options, connection)
    columns: list[FileColumn] = []
    for index, name in enumerate(names):
        remark, remedy = "", tuple[str, ...]()
        one = found[index]
        in_doubt = sum(bool(column.remark) for column in columns) < MOST_EXAMPLES
        if n_missing[index] == n_rows:
            remark = "it has no values"
        elif one.beyond:
            remark = "its integers are beyond 2^53, so they are no numbers but names"
        elif one.letters:
            remark = "its times have zones of letters, which may mean several"
        elif one.kind == "text" and in_doubt and one.orders is not None:
            remark, remedy = date_doubt(one.orders, options.date_order, index, name, examples)
        elif one.unlike and one.against is not None and (odd := examples.failing(index, one.number)):
            remark = odd_cell(f"{odd[0]} in {odd[1]}", one.unlike, one.against)
            remedy = ("--ignore", name)
        elif one.kind == "text" and one.against is not None and one.against.reason != "text":
            remark, remedy = (
                doubt_about(one.against, index, name, signs, semicolons, proof, examples)
                if in_doubt
                else ("it seems to hold numbers, but not all of its cells can be read", ("--ignore", name))
            )
        columns.append(_column(index, name, one, n_missing[index], n_rows, remark, remedy))
    table = replace(table, columns=tuple(columns), n_rows=n_rows)
    words = {index: counts[index].words for index in asked if counts[index].words}
    styles = {index: one.style for index, one in found.items() if one.style is not None and one.kind == "number"}
    orders = {index: one.order for index, one in found.items() if one.order}
    places = [index for index, one in found.items() if one.kind == "date" and counts[index].kinds.get("place")]
    told = announced(table, signs, styles, orders, words, options, examples, places)
    told += zone_letters(table, [index for index, one in found.items() if one.letters], examples)
    told += beyond_numbers(table.label, [table.columns[index].name for index, one in found.items() if one.beyond])
    return replace(table, remarks=(*table.remarks, *told))


def why_not_numbers(table: FileTable, index: int, connection: duckdb.DuckDBPyConnection) -> SourceError:
    """The sentence for a column of text of which numbers are wanted: the first cell at fault."""
    column = table.columns[index]
    if column.remark:
        return SourceError(f"{table.label}: column {quoted(column.name)} is not read: {column.remark}.", column.remedy)
    found = table.first(connection, column.cell, f"{column.cell} IS NOT NULL")
    shown = "" if found is None else f", in {table.where(found[0])} for example {quoted(found[1])}"
    return SourceError(
        f"{table.label}: column {quoted(column.name)} holds text{shown}; numbers, dates or truth values are needed, so "
        "leave the column out.",
        ("--ignore", column.name),
    )


def rounded_sql(cell: str, decimal: str) -> str:
    """The SQL that counts the integers among numbers that are not what float64 makes of them."""
    digits = digits_sql(cell, decimal)
    size = f"TRY_CAST({digits} AS DOUBLE)"
    exact = f"coalesce(TRY_CAST({size} AS HUGEINT) = TRY_CAST({digits} AS HUGEINT), false)"
    whole = f"regexp_full_match({digits}, '[0-9]+')"
    return f"count(CASE WHEN {whole} AND {size} >= {SAFE_INTEGER} AND NOT {exact} THEN 1 END)"


def strict_test(kind: str, decimal: str | None, odd_signs: bool) -> str:
    """The SQL that makes a DOUBLE of a cell {c} of a kind and fails for any other; `odd_signs`: it may hold _ or +."""
    if kind == "number":
        return COMMA if decimal == "," else NUMBER if odd_signs else PLAIN_NUMBER
    test = {"boolean": BOOLEAN, "date": PLAIN_DATE}[kind]
    return f"CASE WHEN {{c}} IS NOT NULL THEN coalesce({test}, error('of another kind')) END"


def assumed_column(index: int, name: str, kind: str, n_rows: int, n_missing: int, decimal: str | None) -> FileColumn:
    """The column of which every cell is missing or of this kind."""
    numbers = {"boolean": BOOLEAN.format(c=f"c{index}"), "date": DATE.format(c=f"c{index}"), "text": ""}
    number = numbers.get(kind, number_sql(f"c{index}", decimal or ".", styled=False))
    remark = "it has no values" if n_missing == n_rows else ""
    return _column(index, name, _Found(kind, number), n_missing, n_rows, remark, ())


def _fits(count: Counted) -> bool:
    """Whether a column is of a kind that was asked for, as far as that is known before signs are."""
    if not count.given:
        return True
    numbers = sum(count.shapes[key] for key in count.shapes if key == "infinite" or shape_of(key) is not None)
    return numbers == count.given or any(count.kinds.get(kind) == count.given for kind in ("boolean", "date", "local"))


def _kind(count: Counted, index: int, signs: Signs, options: ReadOptions) -> _Found:
    cell = f"c{index}"
    if not count.given:
        return _Found("text")
    for kind, test in (("boolean", BOOLEAN), ("date", DATE)):
        if count.kinds.get(kind) == count.given:
            return _Found(kind, test.format(c=cell))
    possible = tuple(order for order in ORDERS if count.kinds.get(order) == count.given)
    if options.date_order is not None:
        possible = tuple(order for order in possible if order == options.date_order)
    alike = set(possible) == {"dmy", "mdy"} and count.kinds.get("same") == count.given
    if len(possible) > 1 and count.kinds.get("named") == count.given:
        return _Found("date", date_sql(cell, possible[0]), order="named")
    if len(possible) > 1 and (alike or ("dmy" in possible and count.kinds.get("points") == count.given)):
        possible = ("dmy",)
    if len(possible) == 1:
        return _Found("date", date_sql(cell, possible[0]), order=possible[0])
    verdict = judged(count.shapes, index, signs) if count.shapes else Against("text")
    if isinstance(verdict, Style):
        return _Found("number", number_sql(cell, signs.decimal, styled=verdict.styled), verdict)
    letters = count.kinds.get("letters", 0)
    if letters and letters + count.kinds.get("date", 0) + count.kinds.get("local", 0) == count.given:
        return _Found("text", letters=True)
    if possible or 2 * count.kinds.get("local", 0) > count.given:
        return _Found("text", orders=possible)
    for kind, test in (("boolean", BOOLEAN), ("date", DATE)):
        if 2 * count.kinds.get(kind, 0) >= count.given:
            against = Against("odd", (), count.kinds[kind], count.given)
            return _Found("text", test.format(c=cell), against=against, unlike=UNLIKE[kind])
    return _Found("text", against=verdict)


def _without_missing(
    table: FileTable,
    found: dict[int, _Found],
    counts: Mapping[int, Counted],
    options: ReadOptions,
    named: str,
) -> FileTable:
    """`table` with NULL for every cell that is a word for missing, or a number that was named as one."""
    numbers = ", ".join(f"{number!r}::DOUBLE" for number in numbers_named(options.missing))
    cells, changed = [], bool(named)
    for index, one in found.items():
        missing = missing_sql(f"c{index}", one.is_text, named)
        if numbers and one.kind == "number":
            missing = f"({missing} OR coalesce({one.number} IN ({numbers}), false))"
        needed = bool(counts[index].words or named)
        cells.append(f"CASE WHEN {missing} THEN NULL ELSE c{index} END AS c{index}" if needed else f"c{index}")
        changed = changed or needed
    if changed:
        table = replace(table, relation=f"(SELECT {', '.join(cells)} FROM {table.relation}) AS known")  # noqa: S608  # our own
    return table


def _missing_cells(
    table: FileTable,
    found: Mapping[int, _Found],
    counts: Mapping[int, Counted],
    n_rows: int,
    options: ReadOptions,
    connection: duckdb.DuckDBPyConnection,
) -> dict[int, int]:
    if not numbers_named(options.missing):
        return {index: n_rows - counts[index].given for index in found}
    given = next(table.rows(connection, [f"count(c{index})" for index in found], 1))[0]
    return {index: n_rows - int(count) for index, count in zip(found, given, strict=True)}


def _without_rounding(
    table: FileTable,
    found: dict[int, _Found],
    counts: Mapping[int, Counted],
    signs: Signs,
    connection: duckdb.DuckDBPyConnection,
) -> dict[int, _Found]:
    """Columns of integers that float64 cannot hold are none of numbers."""
    long = [
        index
        for index, one in found.items()
        if one.kind == "number" and any(shape.long for shape in numbers_among(counts[index].shapes).values())
    ]
    if not long:
        return found
    tests = [rounded_sql(f"c{index}", signs.decimal) for index in long]
    rounded = next(table.rows(connection, tests, 1))[0]
    return found | {index: _Found("text", beyond=True) for index, count in zip(long, rounded, strict=True) if count}


def _proof(signs: Signs, counts: Mapping[int, Counted], names: tuple[str, ...], examples: Examples) -> str:
    """The first cell that proves the decimal sign, where that is not enough."""
    if "slip" not in signs.doubtful.values():
        return ""
    for index, count in counts.items():
        keys = tuple(key for key, shape in numbers_among(count.shapes).items() if proves(shape) == signs.decimal)
        found = examples.cell(index, keys) if keys else None
        if found:
            return f"{found[0]} in {found[1]} of column {quoted(names[index])}"
    return ""


def _column(
    index: int, name: str, one: _Found, n_missing: int, n_rows: int, remark: str, remedy: tuple[str, ...]
) -> FileColumn:
    cell = f"({one.number}) = 1.0" if one.kind == "boolean" else f"c{index}"
    kind = "text" if n_missing == n_rows else one.kind
    # Beside other files, one in which a column has no values may still be read.
    number = NO_VALUE if n_missing == n_rows else "" if kind == "text" else one.number
    return FileColumn(name, kind, n_missing, number, cell if kind != "text" else f"c{index}", remark, remedy)
