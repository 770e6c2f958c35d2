"""What the cells of a text file look like, counted by DuckDB over all rows: shapes of numbers, words for missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from aspca.engines.file_table import COLUMNS_AT_ONCE, FileTable
from aspca.engines.local_dates import ORDERS, PLACE, POINTS, date_sql, has_letters_sql, names_month_sql
from aspca.engines.missing_words import AMONG_VALUES, BLANKS, EVERYWHERE
from aspca.engines.number_shapes import shape_sql

if TYPE_CHECKING:
    import duckdb

BOOLEAN = "CASE lower(trim({c})) WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE END"
# As TIMESTAMPTZ in a session in UTC: an offset is heeded, and without one the time is taken for UTC. By microseconds,
# because their quotient is rounded once. DuckDB would take 24-12-31 for the year 24, and BST for Bangladesh.
_DATE = (
    "CASE WHEN regexp_full_match({{c}}, '\\s*[0-9]{{{{4}}}}[-/][-0-9/:.tT+\\s]*{zone}\\s*') "
    "THEN epoch_us(TRY_CAST({{c}} AS TIMESTAMPTZ)) / 1e6 END"
)
DATE = _DATE.format(zone=f"(?:(?i:z|utc|gmt)|{PLACE})?")
# Without places, of whose clocks something may have to be said.
PLAIN_DATE = _DATE.format(zone="(?i:z|utc|gmt)?")
QUESTIONS = {"boolean": BOOLEAN, "date": DATE}
FLAGS = {
    "boolean": "b",
    "date": "t",
    "dmy": "d",
    "mdy": "m",
    "ymd": "y",
    "same": "s",
    "points": "p",
    "named": "n",
    "place": "e",
    "letters": "z",
}


@dataclass(frozen=True)
class Counted:
    """A column's cells.

    Parameters
    ----------
    given : how many have a value
    words : how many are words for missing, by word
    shapes : how many have each shape, by key, if asked
    kinds : how many are of each kind asked for
    """

    given: int
    words: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)


def merge_counts(several: Sequence[Counted]) -> Counted:
    """The cells of a column over several files."""
    return Counted(
        sum(one.given for one in several),
        *(_add_up([getattr(one, name) for one in several]) for name in ("words", "shapes", "kinds")),
    )


def _add_up(several: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in several:
        for key, count in one.items():
            total[key] = total.get(key, 0) + count
    return total


def _listed(words: frozenset[str] | tuple[str, ...]) -> str:
    return ", ".join("'" + word.replace("'", "''") + "'" for word in sorted(words))


_ORDINARY = "regexp_full_match({c}, '-?[0-9]+[.,]?[0-9]*')"
_MISSING_TEXT = f"{{c}} IN ({_listed(EVERYWHERE)})"
_MISSING_VALUE = (
    f"(CASE WHEN {_ORDINARY} THEN false ELSE lower(trim({{c}}, '{BLANKS}')) IN ({_listed(AMONG_VALUES)}, '') END)"
)


def missing_sql(cell: str, is_text: bool, named: str) -> str:
    """The SQL that says whether a cell is missing; `named` is the parameter that lists words of the user's, if any."""
    usual = (_MISSING_TEXT if is_text else _MISSING_VALUE).replace("{c}", cell)
    return f"({usual} OR list_contains({named}, trim({cell}, '{BLANKS}')))" if named else usual


def counted(
    table: FileTable, asked: Mapping[int, set[str]], connection: duckdb.DuckDBPyConnection, named: str = ""
) -> tuple[int, dict[int, Counted]]:
    """How many rows there are, and what was asked of columns: "text" alone, or "shape" and kinds.

    `named` is as in `missing_sql`.
    """
    indices = list(asked)
    n_rows, found = 0, dict[int, Counted]()
    # Pass after pass over a wide file, because each column in flight takes memory.
    for start in range(0, len(indices), COLUMNS_AT_ONCE):
        part = {index: asked[index] for index in indices[start : start + COLUMNS_AT_ONCE]}
        n_rows, some = _counted(table, part, connection, named)
        found.update(some)
    return n_rows, found


def _counted(
    table: FileTable, asked: Mapping[int, set[str]], connection: duckdb.DuckDBPyConnection, named: str
) -> tuple[int, dict[int, Counted]]:
    """One row for each cell, grouped by column and by all that was asked: an aggregate for each column would keep more.

    A key is `w` and a word, or `v`, the flags that hold, a bar, and the shape.
    """
    keys = ", ".join(_key(f"c{index}", questions, named) for index, questions in asked.items())
    cells = f"(SELECT unnest(range({len(asked)})) AS i, unnest([{keys}]) AS k FROM {table.relation}) AS cells"  # noqa: S608  # our own
    found: dict[int, dict[str, int]] = {index: {} for index in asked}
    n_rows, indices = 0, list(asked)
    # In order, so that the same is said of the same file.
    for rows in replace(table, relation=cells).rows(
        connection, ["i", "k", "count(*)"], 4096, "GROUP BY i, k ORDER BY i, k"
    ):
        for place, key, count in rows:
            n_rows += count if place == 0 else 0
            if key is not None:
                found[indices[place]][key] = count
    return n_rows, {index: _as_counted(keys_found) for index, keys_found in found.items()}


def _key(cell: str, questions: set[str], named: str) -> str:
    flags = [flag for question in sorted(questions) for flag in _flags(question, cell)]
    held = " || ".join([f"CASE WHEN {test} THEN '{flag}' ELSE '' END" for flag, test in flags] or ["''"])
    shape = shape_sql(cell) if "shape" in questions else "''"
    missing = missing_sql(cell, questions == {"text"}, named)
    return (
        f"CASE WHEN {cell} IS NULL THEN NULL WHEN {missing} THEN 'w' || trim({cell}, '{BLANKS}') "
        f"ELSE 'v' || {held} || '|' || {shape} END"
    )


def _flags(question: str, cell: str) -> list[tuple[str, str]]:
    """The flags that answer a question, each with the condition for it."""
    if question == "local date":
        orders = [(FLAGS[order], f"{date_sql(cell, order)} IS NOT NULL") for order in ORDERS]
        same = f"{date_sql(cell, 'dmy')} = {date_sql(cell, 'mdy')}"
        points = f"regexp_matches({cell}, '{POINTS}')"
        return [*orders, (FLAGS["same"], same), (FLAGS["points"], points), (FLAGS["named"], names_month_sql(cell))]
    if question in QUESTIONS:
        flags = [(FLAGS[question], f"({QUESTIONS[question].format(c=cell)}) IS NOT NULL")]
        if question == "date":
            flags.append((FLAGS["place"], f"regexp_matches({cell}, '[0-9 ]{PLACE}\\s*$')"))
            flags.append((FLAGS["letters"], has_letters_sql(cell, DATE)))
        return flags
    return []


def _as_counted(keys: Mapping[str, int]) -> Counted:
    words, shapes, kinds, given = dict[str, int](), dict[str, int](), dict[str, int](), 0
    for key, count in keys.items():
        if key.startswith("w"):
            words[key[1:]] = count
            continue
        given += count
        flags, _, shape = key[1:].partition("|")
        for kind, flag in FLAGS.items():
            if flag in flags:
                kinds[kind] = kinds.get(kind, 0) + count
        if set(flags) & {FLAGS[order] for order in ORDERS}:
            kinds["local"] = kinds.get("local", 0) + count
        if shape:
            shapes[shape] = shapes.get(shape, 0) + count
    return Counted(given, words, shapes, kinds)
