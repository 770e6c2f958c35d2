"""Arrays to CSV and Parquet, by DuckDB: it writes numbers several times as fast as Python, digit for digit the same."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy.typing as npt

from aspca.database import connect, cursor_errors, first_line, interruptible
from aspca.outputs.scratch import Scratch

if TYPE_CHECKING:
    import duckdb

MEMORY_LIMIT = "256MB"
Column = npt.NDArray[Any]


class Desk:
    """A database for writing, with a scratch folder: close it, or use it in a `with` statement."""

    def __init__(self) -> None:
        self._scratch = Scratch()
        self._connection: duckdb.DuckDBPyConnection = connect(self._scratch.path, MEMORY_LIMIT)
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
        listed = ", ".join(f"{_quoted(name)} {kind}" for name, kind in zip(names, types, strict=True))
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
        path = str(self._file)
        return "'" + path.replace("'", "''") + "'"

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


def _quoted(name: str) -> str:
    """A name of the user's as an identifier, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
