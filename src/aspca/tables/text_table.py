"""A table whose cells are text, and what the cells of its columns look like, counted by DuckDB over all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from aspca.tables.cell_tests import BLANKS, BOOLEAN, ORDERS, date_tests, local_date_tests, missing_sql
from aspca.tables.file_table import COLUMNS_AT_ONCE, NO_VALUE, FileColumn, FileTable
from aspca.tables.number_text import Shape, Shapes, are_few, is_evidence, select_numbers, shape_sql
from aspca.tables.request import ReadOptions

if TYPE_CHECKING:
    import duckdb

# What may be asked of a column: the shapes of its cells, or for how many of them some tests hold.
_TESTS: dict[str, Callable[[str], dict[str, str]]] = {
    "boolean": lambda cell: {"boolean": f"({BOOLEAN.format(c=cell)}) IS NOT NULL"},
    "date": date_tests,
    "local date": local_date_tests,
}
_EVERYTHING = {"shape", *_TESTS}
# What the first cells suggest, and what is asked then.
_ASKED = {"text": {"text"}, "number": {"shape"}, "styled": {"shape"}} | {kind: {kind} for kind in _TESTS}


@dataclass(frozen=True)
class TextTable:
    """A table whose cells are text, before it is decided what its columns hold."""

    table: FileTable  # without columns; c0, c1, ... are text, NULL where empty; words named as missing come last ($3)
    names: tuple[str, ...]
    guesses: tuple[str, ...]  # kinds of its columns, from its first rows
    options: ReadOptions
    semicolons: bool  # whether they separate its cells
    read_plain: Callable[[], FileTable | None]  # reads it in one pass if all its numbers are plain
    finish: Callable[[FileTable], FileTable]  # completes the table once its columns are decided
    repair: Callable[[], TextTable]  # makes the same table of rows that all have as many cells
    # How numbers are written, by column, where not all cells show it: those stored as numbers do not; and what writes
    # these with another decimal sign.
    evidence: Mapping[str, Shapes] | None = None
    write_decimals: Callable[[str], object] | None = None

    def then(self, step: Callable[[FileTable], FileTable]) -> TextTable:
        """The same, with one more step to complete the table."""
        return replace(self, finish=lambda table: step(self.finish(table)), repair=lambda: self.repair().then(step))

    @property
    def missing_parameter(self) -> str:
        """Which parameter are the words that were named as missing; empty where there are none."""
        return f"${len(self.table.parameters)}" if self.options.missing else ""


@dataclass
class Counted:
    """A column's cells."""

    given: int = 0  # how many have a value
    words: Counter[str] = field(default_factory=Counter)  # how many are words for missing
    shapes: Counter[str] = field(default_factory=Counter)  # how many have each shape, by key, if asked
    kinds: Counter[str] = field(default_factory=Counter)  # for how many tests hold; "local": of some order of dates

    def add(self, other: Counted) -> None:
        self.given += other.given
        self.words.update(other.words)
        self.shapes.update(other.shapes)
        self.kinds.update(other.kinds)


def count_cells(
    table: FileTable, asked: Mapping[int, set[str]], connection: duckdb.DuckDBPyConnection, named: str = ""
) -> tuple[int, dict[int, Counted]]:
    """How many rows there are, and what was asked of columns: "text" alone, or "shape" and kinds.

    `named` is as in `missing_sql`. One row for each cell, grouped by column and by all that was asked: an aggregate for
    each column would keep more.
    """
    n_rows, found = 0, {index: Counted() for index in asked}
    # Pass after pass over a wide file, because each column in flight takes memory.
    for start in range(0, len(asked), COLUMNS_AT_ONCE):
        part = list(asked)[start : start + COLUMNS_AT_ONCE]
        keys = ", ".join(_key_sql(f"c{index}", asked[index], named) for index in part)
        cells = f"(SELECT unnest(range({len(part)})) AS i, unnest([{keys}]) AS k FROM {table.relation}) AS cells"  # noqa: S608  # our own
        # In order, so that the same is said of the same file.
        counts = replace(table, relation=cells).rows(
            connection, ["i", "k", "count(*)"], 4096, "GROUP BY i, k ORDER BY i, k"
        )
        n_rows = 0
        for place, key, count in (row for rows in counts for row in rows):
            n_rows += count if place == 0 else 0
            column = found[part[place]]
            match key[:1] if key is not None else None:
                case "w":
                    column.words[key[1:]] += count
                case "v":
                    held, _, shape = key[1:].partition("|")
                    kinds = held.split(",")[:-1]
                    column.given += count
                    column.kinds.update(dict.fromkeys([*kinds, *(["local"] if {*kinds} & {*ORDERS} else [])], count))
                    column.shapes.update({shape: count} if shape else {})
    return n_rows, found


def _key_sql(cell: str, asked: set[str], named: str) -> str:
    """The SQL of `w` and a word for missing, or of `v`, the tests that hold (a comma behind each), a bar, the shape."""
    tests = [pair for kind in sorted(asked & set(_TESTS)) for pair in _TESTS[kind](cell).items()]
    held = " || ".join([f"CASE WHEN {test} THEN '{name},' ELSE '' END" for name, test in tests] or ["''"])
    shape = shape_sql(cell) if "shape" in asked else "''"
    missing = missing_sql(cell, asked == {"text"}, named)
    return (
        f"CASE WHEN {cell} IS NULL THEN NULL WHEN {missing} THEN 'w' || trim({cell}, '{BLANKS}') "
        f"ELSE 'v' || {held} || '|' || {shape} END"
    )


class CellCounts:
    """What the cells of each column look like: `found` by file, and merged."""

    def __init__(self, texts: Sequence[TextTable], connection: duckdb.DuckDBPyConnection) -> None:
        """Count what the first cells of columns suggest, or everything where files differ in that; and everything of
        those that are of another kind."""
        self._texts, self._connection = texts, connection
        self.asked: dict[str, set[str]] = {}
        self.n_rows = [0] * len(texts)
        self.found: list[dict[str, Counted]] = [{} for _ in texts]
        guesses: dict[str, set[str]] = {}
        for text in texts:
            for name, guess in zip(text.names, text.guesses, strict=True):
                guesses.setdefault(name, set()).add(guess)
        alike = {name: several.pop() if len(several) == 1 else "" for name, several in guesses.items()}
        self.ask({name: _ASKED.get(guess, _EVERYTHING) for name, guess in alike.items()})
        self.ask({name: _EVERYTHING for name in self.asked if not self._fits(name)})

    def ask(self, asked: Mapping[str, set[str]]) -> None:
        """Count what is asked of these columns, in one pass over each file."""
        self.asked |= asked
        for place, text in enumerate(self._texts):
            here = {index: asked[name] for index, name in enumerate(text.names) if name in asked}
            if here:
                self.n_rows[place], counts = count_cells(text.table, here, self._connection, text.missing_parameter)
                self.found[place].update({text.names[index]: count for index, count in counts.items()})

    def _fits(self, name: str) -> bool:
        """Whether a column is of a kind that was asked for, as far as that is known before signs are."""
        count = self.merge(name)
        if self.asked[name] == {"text"} or not count.given:
            return True
        numbers = sum(count.shapes[key] for key in select_numbers(count.shapes))
        fitting = (numbers, *(count.kinds[kind] for kind in ("boolean", "date", "local")))
        return any(are_few(count.given - n_fitting, count.given) for n_fitting in fitting)

    def evidence(self) -> dict[str, dict[Shape, int]]:
        """How numbers are written, by column, over all files; of columns that are of numbers, nearly."""
        found: dict[str, Counter[Shape]] = {}
        for text, counts in zip(self._texts, self.found, strict=True):
            for name, count in counts.items():
                numbers = {shape: count.shapes[key] for key, shape in select_numbers(count.shapes).items()}
                known = numbers if text.evidence is None else text.evidence.get(name, {})
                found.setdefault(name, Counter()).update(known)
        return {name: dict(shapes) for name, shapes in found.items() if is_evidence(self.merge(name).shapes)}

    def merge(self, name: str) -> Counted:
        """What a column looks like over all files."""
        total = Counted()
        for found in self.found:
            total.add(found.get(name, Counted()))
        return total


def make_column(index: int, name: str, kind: str, number: str, n_missing: int, n_rows: int) -> FileColumn:
    """The column of these cells, `number` being the SQL of its numbers."""
    if n_missing == n_rows:
        # Beside other files, one in which a column has no values may still be read.
        return FileColumn(name, "text", n_missing, NO_VALUE, f"c{index}", "it has no values")
    cell = f"({number}) = 1.0" if kind == "boolean" else f"c{index}"
    return FileColumn(name, kind, n_missing, "" if kind == "text" else number, cell)
