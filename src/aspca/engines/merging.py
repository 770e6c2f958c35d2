"""Several files as one table: the same columns, and one kind for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aspca.engines.errors import SourceError
from aspca.engines.kinds import why_not_numbers
from aspca.engines.table import NUMERIC_KINDS, Table
from aspca.harmless import quoted

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Column:
    """A column of a source.

    Parameters
    ----------
    name : as in the file, without blanks around it; columns without a name are column_1, column_2, ...
    kind : "number", "boolean", "date" or "text"
    n_missing : number of cells without a value
    remark : why a column is text though most of its cells are not, or that it has no values; otherwise empty.
    """

    name: str
    kind: str
    n_missing: int | None
    remark: str = ""


def merged_columns(tables: list[Table]) -> tuple[Column, ...]:
    """The columns of all files, in the order of the first.

    Raises
    ------
    SourceError
        A file lacks a column or has one more.
    """
    first = tables[0]
    for table in tables[1:]:
        for one, other, what in ((first, table, "lacks"), (table, first, "has")):
            odd = [column.name for column in one.columns if column.name not in other.positions]
            if odd:
                than = "which the first file has" if what == "lacks" else "which the first file lacks"
                raise SourceError(
                    f"{table.label}: this file {what} the column {quoted(odd[0])}, {than} ({first.label}); "
                    "all files need the same columns."
                )
    return tuple(_merged(column.name, tables) for column in first.columns)


def _merged(name: str, tables: list[Table]) -> Column:
    parts = [(table.columns[table.positions[name]], table) for table in tables]
    n_missing = sum(part.n_missing for part, _ in parts)
    # A file in which every cell is missing goes along with the others.
    kinds = {part.kind: table for part, table in parts if part.n_missing < table.n_rows}
    if not kinds:
        return Column(name, "text", n_missing, "it has no values")
    if len(kinds) == 1 or set(kinds) == {"number", "boolean"}:
        remark = next((part.remark for part, _ in parts if part.remark), "")
        return Column(name, "number" if len(kinds) == 2 else next(iter(kinds)), n_missing, remark)
    return Column(name, "text", n_missing, ", ".join(f"{kind} in {table.label}" for kind, table in kinds.items()))


def not_numeric(tables: list[Table], column: Column, connection: duckdb.DuckDBPyConnection) -> SourceError:
    """The sentence for a column of which numbers are wanted but which is text."""
    for table in tables:
        part = table.columns[table.positions[column.name]]
        if part.kind not in NUMERIC_KINDS and part.n_missing < table.n_rows:
            return why_not_numbers(table, table.positions[column.name], connection)
    if all(table.columns[table.positions[column.name]].n_missing == table.n_rows for table in tables):
        return SourceError(f"{tables[0].label}: column {quoted(column.name)} has no values at all; leave it out.")
    return SourceError(
        f"{tables[0].label}: column {quoted(column.name)} is not of one kind in all files ({column.remark}); "
        "write it the same way in all."
    )
