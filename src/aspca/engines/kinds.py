"""Which kind of values the columns of text files hold, and how they are written: decided by all cells of all files.

A few cells that do not fit are no reason to refuse a column: they are missing, and each of them is a finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aspca.engines.announcements import announced, beyond_numbers, describe_zone_letters
from aspca.engines.column_counts import BOOLEAN, DATE, Counted, missing_sql
from aspca.engines.column_sql import column_of_kind, rounded_sql
from aspca.engines.csv_rows import RaggedRowsError
from aspca.engines.doubts import Examples, date_doubt, describe_misfits, doubt_about
from aspca.engines.errors import SourceError
from aspca.engines.file_table import COLUMNS_AT_ONCE, FileColumn, FileTable
from aspca.engines.local_dates import ORDERS, date_sql
from aspca.engines.missing_words import numbers_named
from aspca.engines.number_columns import Against, Keys, Style, judged, numbers_among
from aspca.engines.number_shapes import SIGNS, number_sql, shape_sql
from aspca.engines.number_signs import Shapes, Signs, are_few, proves, signs_of
from aspca.engines.request import ReadOptions
from aspca.engines.text_table import (
    EVERYTHING,
    CellCounts,
    TextTable,
    questions_of,
    with_missing_words,
    words_parameter,
)
from aspca.harmless import quoted
from aspca.preparation.bad_cells import BadCell
from aspca.preparation.cell_format import CellFormat, ColumnFormat

if TYPE_CHECKING:
    import duckdb

EXPECTED = {"number": "a number", "boolean": "true or false", "date": "a date"}
NAMED_MONTHS = "named"
# Of so many columns in doubt a cell is looked up; each takes a pass.
MOST_EXAMPLES = 20


@dataclass(frozen=True)
class _Found:
    """What a column holds: `style` is how its numbers are written, `order` that of its dates, `odd` the shapes of cells
    that do not fit, `n_odd` how many cells these are; `against` and `orders` are why it is text after all."""

    kind: str
    style: Style | None = None
    order: str = ""
    odd: Keys = ()
    n_odd: int = 0
    against: Against | None = None
    orders: tuple[str, ...] | None = None
    beyond: bool = False
    letters: bool = False
    may_overflow: bool = False

    @property
    def is_text(self) -> bool:
        """Whether nothing else was meant."""
        return (
            self.kind == "text"
            and not self.beyond
            and (self.against is None or self.against.reason in ("text", "odd"))
            and self.orders is None
        )

    def number(self, cell: str, decimal: str) -> str:
        """The SQL that gives the DOUBLE of a cell."""
        if self.kind == "boolean":
            return BOOLEAN.format(c=cell)
        if self.kind == "date":
            # With the name of the month, any order is right.
            order = "dmy" if self.order == NAMED_MONTHS else self.order
            return date_sql(cell, order) if order else DATE.format(c=cell)
        if self.style is None:
            return ""
        number = number_sql(cell, decimal, styled=self.style.styled)
        # 1e400 is beyond what float64 holds.
        return f"(CASE WHEN isfinite({number}) THEN {number} END)" if self.may_overflow else number


def read_text_tables(texts: Sequence[TextTable], connection: duckdb.DuckDBPyConnection) -> list[FileTable]:
    """The tables with their columns, the cells of all of them read in the same way.

    Formats that state how numbers are written, as JSON does, are no evidence for others.
    """
    ways = dict.fromkeys((text.options.decimal, text.options.thousands) for text in texts)
    read = {
        way: iter(_read([text for text in texts if (text.options.decimal, text.options.thousands) == way], connection))
        for way in ways
    }
    return [next(read[text.options.decimal, text.options.thousands]) for text in texts]


def _read(texts: Sequence[TextTable], connection: duckdb.DuckDBPyConnection) -> list[FileTable]:
    plain: list[FileTable] = []
    for text in texts:
        table = text.read_plain()
        if table is None:
            break
        plain.append(table)
    if len(plain) < len(texts) or not _are_alike(plain, texts[0].options):
        try:
            plain = decide(texts, connection)
        except RaggedRowsError:
            texts = [text.repair() for text in texts]
            plain = decide(texts, connection)
    return [text.finish(table) for text, table in zip(texts, plain, strict=True)]


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


def decide(texts: Sequence[TextTable], connection: duckdb.DuckDBPyConnection) -> list[FileTable]:
    """The tables with their columns, their number of rows and what was guessed.

    One pass for good guesses, a second for columns that failed.
    """
    options = texts[0].options
    texts = [with_missing_words(text) for text in texts]
    counts = CellCounts(texts, connection)
    counts.ask(questions_of(texts))
    counts.ask({name: EVERYTHING for name in counts.asked if not counts.fits(name)})
    shapes = counts.evidence()
    signs = signs_of(shapes, options.decimal, options.thousands)
    for place, text in enumerate(texts):
        if text.write_decimals is not None and signs.decimal != (options.decimal or "."):
            text.write_decimals(signs.decimal)
            counts.ask_again(place)
    merged = {name: counts.merged(name) for name in counts.asked}
    known = {column.name: column for column in options.learned.columns}
    found = {name: _kind(count, name, signs, options, known.get(name)) for name, count in merged.items()}
    # Words that are missing values among numbers may be categories among texts.
    counts.ask({name: {"text"} for name, one in found.items() if one.is_text and counts.asked[name] != {"text"}})
    texts = [_with_values(text, found, each, signs.decimal) for text, each in zip(texts, counts.found, strict=True)]
    found = _without_rounding(texts, found, merged, signs, connection)
    tables = [
        _with_columns(text, found, each, n_rows, signs.decimal, connection)
        for text, each, n_rows in zip(texts, counts.found, counts.n_rows, strict=True)
    ]
    label = tables[0].label if len(tables) == 1 else f"{len(tables)} files"
    examples = Examples(tables, connection)
    doubts = _doubts(found, signs, texts[0], _proof(signs, merged, examples), examples)
    words = {name: count.words for name in found if (count := counts.merged(name)).words}
    styles = {name: one.style for name, one in found.items() if one.style is not None and one.kind == "number"}
    orders = {name: one.order for name, one in found.items() if one.order}
    places = [name for name, one in found.items() if one.kind == "date" and merged[name].kinds.get("place")]
    notes = announced(label, signs, styles, orders, words, options, examples, places)
    notes += describe_zone_letters(label, [name for name, one in found.items() if one.letters], examples)
    notes += beyond_numbers(label, [name for name, one in found.items() if one.beyond])
    cell_format = CellFormat(
        decimal=signs.decimal if signs.why == "given" or _shows_decimals(shapes) else None,
        thousands=options.thousands,
        columns=tuple(
            ColumnFormat(
                name,
                one.kind,
                "" if one.style is None else one.style.unit,
                "" if one.order == NAMED_MONTHS else one.order,
            )
            for name, one in found.items()
            if one.kind != "text"
        ),
    )
    return [
        replace(
            table,
            columns=tuple(_with_doubt(column, *doubts.get(column.name, ("", ()))) for column in table.columns),
            # What is said of all of them is said once.
            remarks=(*table.remarks, *(notes if table is tables[0] else ())),
            cell_format=cell_format,
        )
        for table in tables
    ]


def _kind(count: Counted, name: str, signs: Signs, options: ReadOptions, known: ColumnFormat | None) -> _Found:
    """What a column holds: what fits all of its cells, else what fits all but a few."""
    if not count.given:
        return _Found("text")
    dates = _date(count, options.date_order or (known.order if known else None) or None)
    number = judged(count.shapes, name, signs, known.unit if known and known.kind == "number" else None)
    possible = [_Found(kind, n_odd=count.given - count.kinds.get(kind, 0)) for kind in ("boolean", "date")]
    possible += [dates] if dates is not None else []
    if isinstance(number, Style):
        exponents = any("1e" in key.lower() for key in count.shapes)
        possible.append(_Found("number", number, odd=number.odd, n_odd=number.n_odd, may_overflow=exponents))
    fitting = [one for one in possible if one.kind != "text" and are_few(one.n_odd, count.given)]
    if fitting:
        return min(fitting, key=lambda one: one.n_odd)
    letters = count.kinds.get("letters", 0)
    if letters and letters + count.kinds.get("date", 0) + count.kinds.get("local", 0) == count.given:
        return _Found("text", letters=True)
    if dates is not None:
        return dates
    for kind in ("boolean", "date"):
        if 2 * count.kinds.get(kind, 0) >= count.given:
            return _Found("text", against=Against("odd", (), count.kinds[kind], count.given, EXPECTED[kind]))
    return _Found("text", against=number if isinstance(number, Against) else None)


def _date(count: Counted, given: str | None) -> _Found | None:
    """Dates with the day, the month or the year first: the order that no cell contradicts, or that few do."""
    n_local = count.kinds.get("local", 0)
    if 2 * n_local <= count.given:
        return None
    orders = [order for order in ORDERS if given in (None, order)]
    n_against = {order: n_local - count.kinds.get(order, 0) for order in orders}
    possible = [order for order in orders if not n_against[order]]
    possible = possible or [order for order in orders if are_few(n_against[order], count.given)]
    alike = {"dmy", "mdy"} == set(possible) and count.kinds.get("same") == n_local
    if len(possible) > 1 and count.kinds.get("named") == n_local:
        return _Found("date", order=NAMED_MONTHS, n_odd=count.given - n_local)
    if len(possible) > 1 and (alike or ("dmy" in possible and count.kinds.get("points") == n_local)):
        possible = ["dmy"]
    if len(possible) != 1:
        return _Found("text", orders=tuple(possible))
    return _Found("date", order=possible[0], n_odd=count.given - n_local + n_against[possible[0]])


def _with_values(
    text: TextTable, found: Mapping[str, _Found], counts: Mapping[str, Counted], decimal: str
) -> TextTable:
    """The same with NULL for cells that stand for no value; v0 beside c0 is NULL as well where a cell does not fit."""
    named, parameters = words_parameter(text), list(text.table.parameters)
    numbers = ", ".join(f"{number!r}::DOUBLE" for number in numbers_named(text.options.missing))
    cells, changed = [], bool(named)
    for index, name in enumerate(text.names):
        one, cell = found[name], f"c{index}"
        missing = missing_sql(cell, one.is_text, named)
        if numbers and one.kind == "number":
            missing = f"({missing} OR coalesce({one.number(cell, decimal)} IN ({numbers}), false))"
        needed = bool(counts[name].words or named)
        value = f"CASE WHEN {missing} THEN NULL ELSE {cell} END" if needed else cell
        cells.append(f"{value} AS {cell}" if needed else cell)
        if one.odd:
            parameters.append(list(one.odd))
            cells.append(
                f"CASE WHEN NOT list_contains(${len(parameters)}, {shape_sql(cell)}) THEN {value} END AS v{index}"
            )
        changed = changed or needed or bool(one.odd)
    if not changed:
        return text
    relation = f"(SELECT {', '.join(cells)} FROM {text.table.relation}) AS known"  # noqa: S608  # our own names only
    return replace(text, table=replace(text.table, relation=relation, parameters=tuple(parameters)))


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
    ways = [found[name].number(f"v{i}" if found[name].odd else f"c{i}", decimal) for i, name in enumerate(text.names)]
    # Cells that do not fit, and numbers that were named as missing, are known once they are read.
    in_doubt = [i for i, name in enumerate(text.names) if found[name].n_odd or found[name].may_overflow]
    asked = range(len(text.names)) if numbers_named(text.options.missing) else in_doubt
    n_missing = {i: n_rows - counts[name].given for i, name in enumerate(text.names)}
    bad: list[BadCell] = []
    for start in range(0, len(asked), COLUMNS_AT_ONCE):
        part = asked[start : start + COLUMNS_AT_ONCE]
        given = next(table.rows(connection, [f"count({ways[i] or f'c{i}'})" for i in part], 1))[0]
        n_missing |= {i: n_rows - int(count) for i, count in zip(part, given, strict=True)}
    for i in in_doubt:
        if n_missing[i] > n_rows - counts[text.names[i]].given:
            odd = table.find_rows(connection, f"c{i}", f"c{i} IS NOT NULL AND ({ways[i]}) IS NULL")
            bad += [BadCell(row, text.names[i], str(cell), EXPECTED[found[text.names[i]].kind]) for row, cell in odd]
    columns = (
        column_of_kind(i, name, found[name].kind, ways[i], n_missing[i], n_rows) for i, name in enumerate(text.names)
    )
    return replace(table, columns=tuple(columns), bad_cells=tuple(sorted(bad, key=lambda one: one.row)))


def _doubts(
    found: Mapping[str, _Found], signs: Signs, text: TextTable, proof: str, examples: Examples
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Why columns are text though most of their cells are not, and what settles it."""
    doubts: dict[str, tuple[str, tuple[str, ...]]] = {}
    options = text.options
    for name, one in found.items():
        if one.beyond:
            doubts[name] = "its integers are beyond 2^53, so they are no numbers but names", ()
        elif one.letters:
            doubts[name] = "its times have zones of letters, which may mean several", ()
        elif one.kind != "text" or (one.is_text and (one.against is None or one.against.reason == "text")):
            continue
        elif one.against is not None and one.against.reason == "odd":
            doubts[name] = describe_misfits(one.against, name, examples if len(doubts) < MOST_EXAMPLES else None), ()
        elif len(doubts) >= MOST_EXAMPLES:
            doubts[name] = "it seems to hold numbers, but not all of its cells can be read", ("--ignore", name)
        elif one.orders is not None:
            doubts[name] = date_doubt(one.orders, options.date_order, name, examples)
        elif one.against is not None:
            learned = bool(options.learned.columns)
            doubts[name] = doubt_about(one.against, name, signs, text.semicolons, proof, examples, learned=learned)
    return doubts


def _with_doubt(column: FileColumn, remark: str, remedy: tuple[str, ...]) -> FileColumn:
    return replace(column, remark=column.remark or remark, remedy=remedy)


def _shows_decimals(shapes: Mapping[str, Shapes]) -> bool:
    """Whether a decimal sign occurs, so that there is something to go by."""
    return any(sign in shape.body for several in shapes.values() for shape in several for sign in SIGNS)


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


def _without_rounding(
    texts: Sequence[TextTable],
    found: dict[str, _Found],
    counts: Mapping[str, Counted],
    signs: Signs,
    connection: duckdb.DuckDBPyConnection,
) -> dict[str, _Found]:
    """Columns of integers that float64 cannot hold are none of numbers."""
    for text in texts:
        long = [
            index
            for index, name in enumerate(text.names)
            if found[name].kind == "number" and any(shape.long for shape in numbers_among(counts[name].shapes).values())
        ]
        if long:
            tests = [
                rounded_sql(f"v{index}" if found[text.names[index]].odd else f"c{index}", signs.decimal)
                for index in long
            ]
            rounded = next(text.table.rows(connection, tests, 1))[0]
            lost = [text.names[index] for index, count in zip(long, rounded, strict=True) if count]
            found = found | {name: _Found("text", beyond=True) for name in lost}
    return found


def _proof(signs: Signs, counts: Mapping[str, Counted], examples: Examples) -> str:
    """The first cell that proves the decimal sign, where that is not enough."""
    if "slip" not in signs.doubtful.values():
        return ""
    for name, count in counts.items():
        keys = tuple(key for key, shape in numbers_among(count.shapes).items() if proves(shape) == signs.decimal)
        found = examples.cell(name, keys) if keys else None
        if found:
            return f"{found[0]} in {found[1]} of column {quoted(name)}"
    return ""
