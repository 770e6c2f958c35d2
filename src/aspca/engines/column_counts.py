"""What the cells of a text file look like, counted by DuckDB over all rows: shapes of numbers, words for missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from aspca.engines.file_table import COLUMNS_AT_ONCE, FileTable
from aspca.engines.local_dates import ORDERS, POINTS, date_sql
from aspca.engines.missing_words import AMONG_VALUES, BLANKS, EVERYWHERE
from aspca.engines.number_shapes import shape_sql

if TYPE_CHECKING:
    import duckdb

BOOLEAN = "CASE lower(trim({c})) WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE END"
# As TIMESTAMPTZ in a session in UTC: an offset is heeded, and without one the time is taken for UTC. By microseconds,
# because their quotient is rounded once. DuckDB would take 24-12-31 for the year 24.
DATE = "CASE WHEN regexp_matches({c}, '^\\s*[0-9]{{4}}[-/]') THEN epoch_us(TRY_CAST({c} AS TIMESTAMPTZ)) / 1e6 END"
QUESTIONS = {"boolean": BOOLEAN, "date": DATE}


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
    inner, outer, keys = [], ["count(*)"], list[tuple[int, str]]()
    for index, questions in asked.items():
        missing = missing_sql(f"c{index}", questions == {"text"}, named)
        inner.append(f"CASE WHEN {missing} THEN NULL ELSE c{index} END AS v{index}")
        inner.append(f"CASE WHEN {missing} THEN trim(c{index}, '{BLANKS}') END AS w{index}")
        outer += [f"count(v{index})", f"histogram(w{index})"]
        keys += [(index, "given"), (index, "words")]
        for question in sorted(questions - {"text"}):
            for name, expression in _expressions(question, f"v{index}"):
                outer.append(expression)
                keys.append((index, name))
    seen = replace(table, relation=f"(SELECT {', '.join(inner)} FROM {table.relation}) AS seen")  # noqa: S608  # our own
    n_rows, *values = next(seen.rows(connection, outer, 1))[0]
    answers: dict[int, dict[str, Any]] = {index: {} for index in asked}
    for (index, name), value in zip(keys, values, strict=True):
        answers[index][name] = value
    return int(n_rows), {index: _as_counted(answer) for index, answer in answers.items()}


def _expressions(question: str, cell: str) -> list[tuple[str, str]]:
    if question == "shape":
        return [("shape", f"histogram({shape_sql(cell)})")]
    if question == "local date":
        orders = [(order, f"count({date_sql(cell, order)})") for order in ORDERS]
        any_order = f"coalesce({', '.join(date_sql(cell, order) for order in ORDERS)})"
        orders.append(("local", f"count({any_order})"))
        same = f"count(CASE WHEN {date_sql(cell, 'dmy')} = {date_sql(cell, 'mdy')} THEN 1 END)"
        return [*orders, ("same", same), ("points", f"count(CASE WHEN regexp_matches({cell}, '{POINTS}') THEN 1 END)")]
    return [(question, f"count({QUESTIONS[question].format(c=cell)})")]


def _as_counted(answer: Mapping[str, Any]) -> Counted:
    kinds = {name: int(value) for name, value in answer.items() if isinstance(value, int) and name != "given"}
    words, shapes = answer.get("words") or {}, answer.get("shape") or {}
    return Counted(int(answer["given"]), words, shapes, kinds)
