"""One file as a relation of DuckDB. Its columns are called c0, c1, ... there: no name of a user enters SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aspca.engines.connection import MEMORY_LIMIT
from aspca.engines.errors import SourceError

if TYPE_CHECKING:
    import duckdb

Rows = list[tuple[Any, ...]]
# DuckDB's optimizer takes minutes over thousands of expressions, and has nothing to gain where all columns are read.
MANY_EXPRESSIONS = 600
# Each column in flight takes memory and time to plan: wide files are counted in several passes.
COLUMNS_AT_ONCE = 500
NO_VALUE = "NULL::DOUBLE"
NUMERIC_KINDS = ("number", "boolean", "date")


@dataclass(frozen=True)
class TableColumn:
    """A column of one file: `number` is the SQL that gives a DOUBLE (dates as seconds since 1970), `cell` any value."""

    name: str
    kind: str
    n_missing: int
    number: str
    cell: str
    remark: str = ""


@dataclass(frozen=True)
class Table:
    """One file: `relation` stands after FROM, with `parameters`; `explain` turns DuckDB's errors into sentences.

    No text of the user's stands in the SQL: columns are called c0, c1, ... there, and paths are parameters.
    """

    label: str
    relation: str
    parameters: tuple[Any, ...]
    columns: tuple[TableColumn, ...]
    n_rows: int
    explain: Callable[[Exception], SourceError]
    attach: Callable[[duckdb.DuckDBPyConnection], Any] = lambda connection: None
    decimal: str | None = None

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where the column of each name stands; every name occurs once."""
        return {column.name: index for index, column in enumerate(self.columns)}

    def rows(
        self, connection: duckdb.DuckDBPyConnection, expressions: list[str], size: int, after: str = ""
    ) -> Iterator[Rows]:
        """At most `size` rows at a time, in the order of the file; `after` follows the relation in the query.

        Raises
        ------
        SourceError
            The file cannot be read on.
        """
        # A cursor of its own for every reader: two of them may run side by side.
        cursor = connection.cursor()
        try:
            query = f"SELECT {', '.join(expressions)} FROM {self.relation} {after}"  # noqa: S608  # our own names only, see the class
            try:
                self.attach(cursor)
                cursor.execute("SET TimeZone = 'UTC'")
                if len(expressions) > MANY_EXPRESSIONS:
                    cursor.execute("PRAGMA disable_optimizer")
                cursor.execute(query, list(self.parameters))
                while rows := cursor.fetchmany(size):
                    yield rows
            except (RuntimeError, ValueError, OSError, cursor_errors()) as error:
                if isinstance(error, SourceError):
                    raise
                # The cause stays with the error for those who look for it; the sentence does without it.
                raise self._explained(error) from error
        finally:
            cursor.close()

    def _explained(self, error: Exception) -> SourceError:
        if type(error).__name__ == "OutOfMemoryException":
            return SourceError(
                f"{self.label}: reading needs more memory than the limit of {MEMORY_LIMIT}; "
                "write it with smaller row groups, or in several files."
            )
        return self.explain(error)

    def first(self, connection: duckdb.DuckDBPyConnection, expression: str, where: str) -> tuple[int, Any] | None:
        """Number of the first row (from 1, without the header) for which `where` holds, and its `expression`."""
        numbered = f"(SELECT row_number() OVER () AS n, * FROM {self.relation}) AS numbered"  # noqa: S608  # as above
        for rows in replace(self, relation=numbered).rows(connection, ["n", expression], 1, f"WHERE {where} LIMIT 1"):
            return int(rows[0][0]), rows[0][1]
        return None


def cursor_errors() -> type[Exception]:
    """DuckDB's own base of errors, which is none of Python's."""
    import duckdb

    return duckdb.Error


def unreadable(label: str, what: str) -> Callable[[Exception], SourceError]:
    """The explanation for files that are not written by hand: where they are damaged is no help."""

    def explain(error: Exception) -> SourceError:
        return SourceError(f"{label}: this is not {what}, or it is damaged or cut short; copy or write it anew.")

    return explain
