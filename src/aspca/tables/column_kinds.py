"""Which kind of values the columns of text files hold, and how they are written: decided by all cells of all files.

A few cells that do not fit are no reason to refuse a column: they are missing, and each of them is a finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aspca.escaping import quoted
from aspca.preparation.cell_format import BadCell, CellFormat, ColumnFormat
from aspca.tables.cell_tests import BOOLEAN, DATE, ORDERS, local_date_sql, missing_sql, parse_numbers
from aspca.tables.column_notes import (
    Advice,
    Examples,
    describe_guesses,
    describe_missing_words,
    describe_rounded,
    describe_zone_letters,
    explain_refusal,
)
from aspca.tables.csv_rows import RaggedRowsError
from aspca.tables.file_table import COLUMNS_AT_ONCE, FileTable
from aspca.tables.number_text import (
    SIGNS,
    Keys,
    Refusal,
    Signs,
    Style,
    are_few,
    find_signs,
    judge_numbers,
    number_sql,
    rounded_sql,
    select_numbers,
    shape_sql,
)
from aspca.tables.request import ReadOptions
from aspca.tables.text_table import CellCounts, Counted, TextTable, make_column

if TYPE_CHECKING:
    import duckdb

_EXPECTED = {"number": "a number", "boolean": "true or false", "date": "a date"}
_NAMED_MONTHS = "named"


@dataclass(frozen=True)
class _Found:
    """What a column holds."""

    kind: str
    style: Style | None = None  # how its numbers are written
    order: str = ""  # of its dates
    odd: Keys = ()  # the shapes of cells that do not fit
    n_odd: int = 0  # how many cells these are
    refusal: Refusal | None = None  # why it is text after all
    may_overflow: bool = False

    @property
    def is_text(self) -> bool:
        """Whether nothing else was meant."""
        return self.kind == "text" and self.reason in ("", "text", "odd", "letters")

    @property
    def reason(self) -> str:
        """Why it is text, in a word."""
        return "" if self.refusal is None else self.refusal.reason

    @property
    def date_order(self) -> str:
        """The order that matters: with the name of the month, any is right."""
        return "" if self.order == _NAMED_MONTHS else self.order

    def cell(self, index: int) -> str:
        """The cell of a column of this number, NULL where it does not fit."""
        return f"v{index}" if self.odd else f"c{index}"

    def number(self, cell: str, decimal: str) -> str:
        """The SQL that gives the DOUBLE of a cell."""
        if self.kind == "boolean":
            return BOOLEAN.format(c=cell)
        if self.kind == "date":
            return local_date_sql(cell, self.date_order or "dmy") if self.order else DATE.format(c=cell)
        if self.style is None:
            return ""
        number = number_sql(cell, decimal, styled=self.style.styled)
        # 1e400 is beyond what float64 holds.
        return f"(CASE WHEN isfinite({number}) THEN {number} END)" if self.may_overflow else number


def read_text_tables(texts: Sequence[TextTable], connection: duckdb.DuckDBPyConnection) -> list[FileTable]:
    """The tables with their columns, the cells of all of them read in the same way. Formats that state how numbers are
    written, as JSON does, are no evidence for others."""
    alike: dict[tuple[str | None, str | None], list[TextTable]] = {}
    for text in texts:
        alike.setdefault((text.options.decimal, text.options.thousands), []).append(text)
    read = {way: iter(_read(some, connection)) for way, some in alike.items()}
    return [next(read[text.options.decimal, text.options.thousands]) for text in texts]


def _read(texts: Sequence[TextTable], connection: duckdb.DuckDBPyConnection) -> list[FileTable]:
    # Until one cannot be read so.
    tables = list[FileTable]()
    while len(tables) < len(texts) and (table := texts[len(tables)].read_plain()) is not None:
        tables.append(table)
    if len(tables) < len(texts) or not _are_alike(tables, texts[0].options):
        try:
            tables = _decide(texts, connection)
        except RaggedRowsError:
            texts = [text.repair() for text in texts]
            tables = _decide(texts, connection)
    return [text.finish(table) for text, table in zip(texts, tables, strict=True)]


def _are_alike(tables: Sequence[FileTable], options: ReadOptions) -> bool:
    """Whether every column with values is of one kind in all tables, and none should have units."""
    kinds: dict[str, str] = {}
    units = {column.name for column in options.learned.columns if column.unit}
    return all(
        kinds.setdefault(column.name, column.kind) == column.kind and column.name not in units
        for table in tables
        for column in table.columns
        if column.n_missing < table.n_rows
    )


def _decide(texts: Sequence[TextTable], connection: duckdb.DuckDBPyConnection) -> list[FileTable]:
    """The tables with their columns, their number of rows and what was guessed. One pass for good guesses, a second for
    columns that failed."""
    options = texts[0].options
    counts = CellCounts(texts, connection)
    shapes = counts.evidence()
    signs = find_signs(shapes, options.decimal, options.thousands)
    stored = [text.write_decimals for text in texts if text.write_decimals is not None]
    if stored and signs.decimal != (options.decimal or "."):
        for write in stored:
            write(signs.decimal)
        counts.ask(counts.asked)
    merged = {name: counts.merge(name) for name in counts.asked}
    known = {column.name: column for column in options.learned.columns}
    found = {name: _find_kind(count, name, signs, options, known.get(name)) for name, count in merged.items()}
    # Words that are missing values among numbers may be categories among texts.
    counts.ask({name: {"text"} for name, one in found.items() if one.is_text and counts.asked[name] != {"text"}})
    texts = [_with_values(text, found, each, signs.decimal) for text, each in zip(texts, counts.found, strict=True)]
    found |= _find_rounded(texts, found, merged, signs.decimal, connection)
    tables = [
        _with_columns(text, found, each, n_rows, signs.decimal, connection)
        for text, each, n_rows in zip(texts, counts.found, counts.n_rows, strict=True)
    ]
    examples = Examples(tables, connection)
    proof = _find_proof(signs, merged, examples)
    advice: dict[str, Advice] = {}
    for name, one in found.items():
        if one.refusal is not None and one.reason != "text":
            # A cell is looked up of so many columns that are not read; each takes a pass.
            shown = examples if len(advice) < 20 else None
            advice[name] = explain_refusal(one.refusal, name, signs, texts[0], proof, shown)
    label = tables[0].label if len(tables) == 1 else f"{len(tables)} files"
    styles = {name: one.style for name, one in found.items() if one.style is not None and one.kind == "number"}
    orders = {name: one.order for name, one in found.items() if one.order}
    places = [name for name, one in found.items() if one.kind == "date" and merged[name].kinds["place"]]
    words = {name: count.words for name in found if (count := counts.merge(name)).words}
    notes = [
        *describe_guesses(label, signs, styles, orders, options, examples, places),
        *describe_missing_words(label, words, options.missing),
        *describe_zone_letters(label, [name for name, one in found.items() if one.reason == "letters"], examples),
        *describe_rounded(label, [name for name, one in found.items() if one.reason == "beyond"]),
    ]
    # Only where a decimal sign occurs is there something to go by.
    occurs = any(sign in shape.body for several in shapes.values() for shape in several for sign in SIGNS)
    formats = [
        ColumnFormat(name, one.kind, "" if one.style is None else one.style.unit, one.date_order)
        for name, one in found.items()
        if one.kind != "text"
    ]
    cell_format = CellFormat(
        decimal=signs.decimal if signs.given or occurs else None, thousands=options.thousands, columns=tuple(formats)
    )
    finished = []
    for table in tables:
        columns = []
        for column in table.columns:
            remark, remedy = advice.get(column.name, ("", ()))
            columns.append(replace(column, remark=column.remark or remark, remedy=remedy))
        # What is said of all of them is said once.
        said = (*table.remarks, *(notes if table is tables[0] else ()))
        finished.append(replace(table, columns=tuple(columns), remarks=said, cell_format=cell_format))
    return finished


def _find_kind(count: Counted, name: str, signs: Signs, options: ReadOptions, known: ColumnFormat | None) -> _Found:
    """What a column holds: what fits all of its cells, else what fits all but a few."""
    if not count.given:
        return _Found("text")
    dates = _find_order(count, options.date_order or (known.order if known else None) or None)
    number = judge_numbers(count.shapes, name, signs, known.unit if known and known.kind == "number" else None)
    possible = [_Found(kind, n_odd=count.given - count.kinds[kind]) for kind in ("boolean", "date")]
    possible += [dates] if dates is not None else []
    if isinstance(number, Style):
        exponents = any("1e" in key.lower() for key in count.shapes)
        possible.append(_Found("number", number, odd=number.odd, n_odd=number.n_odd, may_overflow=exponents))
    fitting = [one for one in possible if one.kind != "text" and are_few(one.n_odd, count.given)]
    if fitting:
        return min(fitting, key=lambda one: one.n_odd)
    letters = count.kinds["letters"]
    if letters and letters + count.kinds["date"] + count.kinds["local"] == count.given:
        return _Found("text", refusal=Refusal("letters"))
    if dates is not None:
        return dates
    for kind in ("boolean", "date"):
        if 2 * count.kinds[kind] >= count.given:
            return _Found("text", refusal=Refusal("odd", (), count.kinds[kind], count.given, _EXPECTED[kind]))
    return _Found("text", refusal=number if isinstance(number, Refusal) else None)


def _find_order(count: Counted, given: str | None) -> _Found | None:
    """Dates with the day, the month or the year first: the order that no cell contradicts, or that few do."""
    n_local = count.kinds["local"]
    if 2 * n_local <= count.given:
        return None
    n_against = {order: n_local - count.kinds[order] for order in ORDERS if given in (None, order)}
    possible = [order for order, n in n_against.items() if not n]
    possible = possible or [order for order, n in n_against.items() if are_few(n, count.given)]
    alike = {"dmy", "mdy"} == set(possible) and count.kinds["same"] == n_local
    if len(possible) > 1 and count.kinds["named"] == n_local:
        return _Found("date", order=_NAMED_MONTHS, n_odd=count.given - n_local)
    if len(possible) > 1 and (alike or ("dmy" in possible and count.kinds["points"] == n_local)):
        possible = ["dmy"]
    if len(possible) != 1:
        return _Found("text", refusal=Refusal("order", orders=tuple(possible)))
    return _Found("date", order=possible[0], n_odd=count.given - n_local + n_against[possible[0]])


def _with_values(
    text: TextTable, found: Mapping[str, _Found], counts: Mapping[str, Counted], decimal: str
) -> TextTable:
    """The same with NULL for cells that stand for no value; v0 beside c0 is NULL as well where a cell does not fit."""
    named, parameters = text.missing_parameter, list(text.table.parameters)
    numbers = ", ".join(f"{number!r}::DOUBLE" for number in parse_numbers(text.options.missing))
    cells = []
    for index, name in enumerate(text.names):
        one, cell = found[name], f"c{index}"
        value = cell
        if counts[name].words or named:
            missing = missing_sql(cell, one.is_text, named)
            if numbers and one.kind == "number":
                missing = f"({missing} OR coalesce({one.number(cell, decimal)} IN ({numbers}), false))"
            value = f"CASE WHEN {missing} THEN NULL ELSE {cell} END"
        cells.append(f"{value} AS {cell}")
        if one.odd:
            parameters.append(list(one.odd))
            cells.append(
                f"CASE WHEN NOT list_contains(${len(parameters)}, {shape_sql(cell)}) THEN {value} END AS v{index}"
            )
    if cells == [f"c{index} AS c{index}" for index in range(len(text.names))]:
        return text
    relation = f"(SELECT {', '.join(cells)} FROM {text.table.relation}) AS known"  # noqa: S608  # our own names only
    return replace(text, table=replace(text.table, relation=relation, parameters=tuple(parameters)))


def _find_rounded(
    texts: Sequence[TextTable],
    found: Mapping[str, _Found],
    counts: Mapping[str, Counted],
    decimal: str,
    connection: duckdb.DuckDBPyConnection,
) -> dict[str, _Found]:
    """Columns of integers that float64 cannot hold, which are none of numbers."""
    lost: dict[str, _Found] = {}
    for text in texts:
        long = [
            index
            for index, name in enumerate(text.names)
            if found[name].kind == "number"
            # From so many digits on an integer may be beyond 2^53, where float64 does not hold all of them.
            and any(shape.body.count("1") >= 16 for shape in select_numbers(counts[name].shapes).values())
        ]
        if long:
            tests = [rounded_sql(found[text.names[index]].cell(index), decimal) for index in long]
            rounded = next(text.table.rows(connection, tests, 1))[0]
            names = [text.names[index] for index, count in zip(long, rounded, strict=True) if count]
            lost |= {name: _Found("text", refusal=Refusal("beyond")) for name in names}
    return lost


def _with_columns(
    text: TextTable,
    found: Mapping[str, _Found],
    counts: Mapping[str, Counted],
    n_rows: int,
    decimal: str,
    connection: duckdb.DuckDBPyConnection,
) -> FileTable:
    """The table with its columns, its number of rows and the cells that do not fit."""
    table = replace(text.table, n_rows=n_rows)
    kinds = [found[name] for name in text.names]
    numbers = [one.number(one.cell(index), decimal) for index, one in enumerate(kinds)]
    # Cells that do not fit, and numbers that were named as missing, are known once they are read.
    may_fail = [index for index, one in enumerate(kinds) if one.n_odd or one.may_overflow]
    asked = range(len(kinds)) if parse_numbers(text.options.missing) else may_fail
    n_empty = [n_rows - counts[name].given for name in text.names]
    n_missing = n_empty.copy()
    for start in range(0, len(asked), COLUMNS_AT_ONCE):
        part = asked[start : start + COLUMNS_AT_ONCE]
        given = next(table.rows(connection, [f"count({numbers[index] or f'c{index}'})" for index in part], 1))[0]
        for index, count in zip(part, given, strict=True):
            n_missing[index] = n_rows - int(count)
    bad: list[BadCell] = []
    for index in may_fail:
        if n_missing[index] > n_empty[index]:
            odd = table.find_rows(connection, f"c{index}", f"c{index} IS NOT NULL AND ({numbers[index]}) IS NULL")
            bad += [BadCell(row, text.names[index], str(cell), _EXPECTED[kinds[index].kind]) for row, cell in odd]
    columns = (
        make_column(index, name, kinds[index].kind, numbers[index], n_missing[index], n_rows)
        for index, name in enumerate(text.names)
    )
    return replace(table, columns=tuple(columns), bad_cells=tuple(sorted(bad, key=lambda one: one.row)))


def _find_proof(signs: Signs, counts: Mapping[str, Counted], examples: Examples) -> str:
    """The first cell that proves the decimal sign, where that is not enough."""
    for name, count in counts.items() if "slip" in signs.unclear.values() else ():
        keys = tuple(key for key, shape in select_numbers(count.shapes).items() if shape.proved_sign == signs.decimal)
        shown = examples.show(name, keys=keys) if keys else ""
        if shown:
            return f"{shown} of column {quoted(name)}"
    return ""
