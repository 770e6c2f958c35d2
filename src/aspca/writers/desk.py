"""Arrays to CSV and Parquet, by DuckDB: it writes numbers several times as fast as Python, digit for digit the same."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy.typing as npt

from aspca.duckdb_session import confine, connect, cursor_errors, first_line, interruptible
from aspca.escaping import for_sql_name, for_sql_text
from aspca.writers.columns import Field, WritePart, typed_arrays
from aspca.writers.scratch import Scratch

if TYPE_CHECKING:
    import duckdb

MEMORY_LIMIT = "256MB"
Column = npt.NDArray[Any]
_TYPES = {"integer": "BIGINT", "number": "DOUBLE", "truth": "BOOLEAN"}


class Desk:
    """A database for writing, with a scratch folder: close it, or use it in a `with` statement."""

    def __init__(self) -> None:
        self._scratch = Scratch()
        self._connection: duckdb.DuckDBPyConnection = connect(self._scratch.path, MEMORY_LIMIT)
        confine(self._connection, self._scratch.path)
        self._file = self._scratch.path / "written"

    def __enter__(self) -> Desk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the scratch folder; nothing can be written any more."""
        try:
            self._connection.close()
        finally:
            self._scratch.close()

    def csv(self, columns: Sequence[Column]) -> str:
        """The lines of some columns: arrays of float64 without NaN, of integers, or of texts as they are to stand.

        Raises
        ------
        OSError
            The temporary folder is full.
        """
        self._run(f"COPY part TO {self._target} (FORMAT csv, HEADER false, QUOTE '', NULLSTR '')", columns)
        return self._file.read_bytes().decode()

    def begin(self, names: Sequence[str], types: Sequence[str]) -> None:
        """A table of columns with these names and types of DuckDB's, to which `add` adds rows."""
        listed = ", ".join(f"{for_sql_name(name)} {kind}" for name, kind in zip(names, types, strict=True))
        self._run(f"CREATE TABLE rows ({listed})")

    def add(self, columns: Sequence[Column]) -> None:
        """More rows."""
        self._run("INSERT INTO rows SELECT * FROM part", columns)

    def parquet(self, stream: BinaryIO) -> None:
        """Write the table, as Parquet."""
        self._run(f"COPY rows TO {self._target} (FORMAT parquet)")
        with self._file.open("rb") as file:
            shutil.copyfileobj(file, stream)

    @property
    def _target(self) -> str:
        return for_sql_text(str(self._file))

    def _run(self, query: str, columns: Sequence[Column] = ()) -> None:
        cursor = self._connection.cursor()
        try:
            if columns:
                cursor.register("part", {f"c{index}": column for index, column in enumerate(columns)})
            interruptible(cursor, cursor.execute, query)
        except cursor_errors() as error:
            why = "there may be no room in it" if type(error).__name__ == "IOException" else first_line(error)
            raise OSError(
                f"Writing by way of the temporary folder {str(self._scratch.path.parent)!r} failed, {why}; TMPDIR can "
                "name another."
            ) from error
        finally:
            cursor.close()


@contextlib.contextmanager
def desk_parquet(stream: BinaryIO, fields: Sequence[Field]) -> Iterator[WritePart]:
    """A function that takes parts of a table, which are all written at the end; meanwhile what is beyond the limit of
    memory is in the temporary folder."""
    with Desk() as desk:
        desk.begin([field.name for field in fields], [_TYPES.get(field.kind, "VARCHAR") for field in fields])
        yield lambda part: desk.add(typed_arrays(fields, part))
        desk.parquet(stream)
