"""What DuckDB writes: a table of a DuckDB file, in one transaction, and lines of CSV, several times as fast as Python.

The other tables of a file are never touched. A new file is made in a hidden folder beside its place, where DuckDB keeps
its log too, and moved once it is whole.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from aspca.duckdb_session import confine, connect, describe_briefly, duckdb_path, get_error_type, run_interruptibly
from aspca.escaping import for_sql_name, for_sql_text, quoted
from aspca.writers.fields import TABLE_MARK, Field, Part, WritePart, typed_arrays
from aspca.writers.replaced_file import OutputError
from aspca.writers.scratch import Scratch
from aspca.writers.staging import force_to_disk, name_errors, stage

if TYPE_CHECKING:
    import duckdb

MEMORY_LIMIT = "256MB"
_NEW = "database.duckdb"
_TYPES = {"integer": "BIGINT", "number": "DOUBLE", "truth": "BOOLEAN"}
# What DuckDB says of a full disk, and of a file that may not grow.
_FULL = {"No space left": errno.ENOSPC, "File too large": errno.EFBIG, "Disk quota": errno.EDQUOT}


@contextlib.contextmanager
def duckdb_rows(path: str, table: str, fields: Sequence[Field], *, replace: bool) -> Iterator[WritePart]:
    """A function that writes parts to a table, which is there as a whole once all is written, or not at all.

    The file is made if it is not there. A table that aspca wrote is replaced, any other only if `replace` says so.
    """
    target = os.path.realpath(path)
    with Scratch() as scratch, contextlib.ExitStack() as stack:
        connection = stack.enter_context(contextlib.closing(_connected(scratch)))
        if os.path.exists(target):
            with open(target, "rb") as file:
                if file.read(12)[8:] != b"DUCK":
                    raise OutputError(
                        f"{path!r} is there and is no DuckDB file, so no table can be written to it; name another."
                    )
            with _in_words(path), _attached(connection, target, scratch, log_stays=True):
                _refuse_table(connection, path, table, replace=replace)
                yield from _written(connection, table, fields)
            return
        with name_errors(path), stage(target, _make, _remove) as folder:
            try:
                new = os.path.join(folder, _NEW)
                with _in_words(path), _attached(connection, new, scratch, log_stays=False):
                    yield from _written(connection, table, fields)
                force_to_disk(new)
                # Whoever made a file of that name meanwhile keeps it.
                if os.path.exists(target):
                    raise OutputError(f"{path!r} was made by another program meanwhile; write the table again.")
                os.replace(new, target)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            force_to_disk(os.path.dirname(target))


def _written(connection: duckdb.DuckDBPyConnection, table: str, fields: Sequence[Field]) -> Iterator[WritePart]:
    name = f"target.main.{for_sql_name(table)}"
    listed = ", ".join(f"{for_sql_name(field.name)} {_TYPES.get(field.kind, 'VARCHAR')}" for field in fields)
    connection.execute("BEGIN TRANSACTION")
    connection.execute(f"CREATE OR REPLACE TABLE {name} ({listed})")
    connection.execute(f"COMMENT ON TABLE {name} IS {for_sql_text(TABLE_MARK)}")

    def write(part: Part) -> None:
        columns = typed_arrays(fields, part)
        connection.register("part", {f"c{index}": column for index, column in enumerate(columns)})
        run_interruptibly(connection, connection.execute, f"INSERT INTO {name} SELECT * FROM part")  # noqa: S608  # quoted

    yield write
    run_interruptibly(connection, connection.execute, "COMMIT")


@contextlib.contextmanager
def _attached(connection: duckdb.DuckDBPyConnection, path: str, scratch: Path, *, log_stays: bool) -> Iterator[None]:
    """The file as `target`; once all is committed it is whole, together with its log where that stays beside it."""
    connection.execute(f"ATTACH {for_sql_text(duckdb_path(path))} AS target (TYPE duckdb)")
    confine(connection, scratch)
    try:
        yield
    except BaseException:
        # Where the file cannot be written, neither of them can say anything new.
        for undo in ("ROLLBACK", "DETACH target"):
            with contextlib.suppress(Exception):
                connection.execute(undo)
        raise
    # Moves what is in the log into the file, for which there may be no room.
    with contextlib.suppress(get_error_type()) if log_stays else contextlib.nullcontext():
        connection.execute("DETACH target")


@contextlib.contextmanager
def _in_words(path: str) -> Iterator[None]:
    """DuckDB's errors as those of the file that was named."""
    try:
        yield
    except get_error_type() as error:
        said = str(error)
        if "set lock" in said:
            raise OutputError(f"{path!r}: another program has this database open; close it, or name another.") from None
        for words, number in _FULL.items():
            if words in said:
                raise OSError(number, os.strerror(number), path) from error
        raise OSError(f"{path}: DuckDB cannot write it ({describe_briefly(error)}).") from error


def _refuse_table(connection: duckdb.DuckDBPyConnection, path: str, table: str, *, replace: bool) -> None:
    inside = "WHERE database_name = 'target' AND schema_name = 'main' AND lower(name) = lower(?)"
    views = f"SELECT name FROM (SELECT *, view_name AS name FROM duckdb_views()) {inside}"  # noqa: S608  # our own
    if connection.execute(views, [table]).fetchall():
        raise OutputError(f"{path!r} has a view {quoted(table)}, whose place no table should take; name another.")
    tables = f"SELECT comment FROM (SELECT *, table_name AS name FROM duckdb_tables()) {inside}"  # noqa: S608
    found = connection.execute(tables, [table]).fetchall()
    if found and found[0][0] != TABLE_MARK and not replace:
        raise OutputError(
            f"{path!r} has a table {quoted(table)} that aspca did not write; name another with --output-table, or "
            "replace it with --replace."
        )


def _make(place: str) -> int | None:
    os.mkdir(place, 0o700)
    return None if os.name == "nt" else os.open(place, os.O_RDONLY)


def _remove(path: str) -> None:
    """One that a dead process left: a folder with nothing in it but what is made here."""
    if all(name.startswith(_NEW) for name in os.listdir(path)):
        shutil.rmtree(path, ignore_errors=True)


def _connected(scratch: Path) -> duckdb.DuckDBPyConnection:
    try:
        return connect(scratch, MEMORY_LIMIT)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Writing a DuckDB table needs DuckDB, which is not installed: pip install 'aspca[cli]'."
        ) from None


class DuckDBCsv:
    """A database that writes arrays as CSV by way of a scratch folder, digit for digit as Python does; close it."""

    def __init__(self) -> None:
        self._scratch = Scratch()
        self._connection = connect(self._scratch.path, MEMORY_LIMIT)
        confine(self._connection, self._scratch.path)

    def close(self) -> None:
        """Remove the scratch folder; nothing can be written any more."""
        try:
            self._connection.close()
        finally:
            self._scratch.close()

    def lines(self, columns: Sequence[npt.NDArray[Any]]) -> str:
        """The lines of some columns: arrays of float64 without NaN, of integers, or of texts as they are to stand."""
        file = self._scratch.path / "written"
        query = f"COPY part TO {for_sql_text(str(file))} (FORMAT csv, HEADER false, QUOTE '', NULLSTR '')"
        cursor = self._connection.cursor()
        try:
            cursor.register("part", {f"c{index}": column for index, column in enumerate(columns)})
            run_interruptibly(cursor, cursor.execute, query)
        except get_error_type() as error:
            why = "there may be no room in it" if type(error).__name__ == "IOException" else describe_briefly(error)
            raise OSError(
                f"Writing by way of the temporary folder {str(self._scratch.path.parent)!r} failed, {why}; TMPDIR can "
                "name another."
            ) from error
        finally:
            cursor.close()
        return file.read_bytes().decode()
