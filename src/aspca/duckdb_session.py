"""DuckDB, kept on a short leash: little memory, few threads, no network, no file but those that are named, nothing of
Python's in its reach."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from aspca.escaping import for_sql_text, for_terminal

if TYPE_CHECKING:
    import duckdb

# Enough for 5,000 columns of text in flight; a narrow table takes a tenth of it.
MEMORY_LIMIT = "1GB"
# As many as help to read text; each holds rows of its own.
MOST_THREADS = 4
# What DuckDB keeps beside a database: its log, and what a log is called while it becomes part of the file.
_BESIDE = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
# Session settings of our own queries, which no file can reach.
_CHANGEABLE = ("TimeZone", "enable_optimizer")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def connect(scratch: Path | None, memory: str = MEMORY_LIMIT, threads: int = MOST_THREADS) -> duckdb.DuckDBPyConnection:
    """A database in memory, in `memory` at most, that spills into the folder `scratch`, or nowhere; see `confine`."""
    import duckdb

    return duckdb.connect(
        ":memory:",
        config={
            "threads": min(threads, os.cpu_count() or 1),
            "memory_limit": memory,
            "temp_directory": "" if scratch is None else str(scratch),
            "preserve_insertion_order": True,
            # Files are read from end to end: to keep parts of them would only take memory.
            "enable_external_file_cache": False,
            # No download of code because a file asks for it, and no Python variable read as a table.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            # Statistics of Parquet files pass over NaN: what is concluded from them is wrong where there is one. A long
            # list after IN would become a join, and a join gives rows in any order, whatever is said above.
            "disabled_optimizers": "statistics_propagation,in_clause",
        },
    )


def confine(connection: duckdb.DuckDBPyConnection, scratch: Path | None, files: Iterable[str | Path] = ()) -> None:
    """Let a connection read and write these files, the folder `scratch` and the databases that are attached already.

    A view in somebody's database is a SELECT of that person: it must not read other files of whoever opens it. DuckDB
    never gives the access back.
    """
    places = {place for file in files for place in (duckdb_path(file), duckdb_path(os.path.realpath(file)))}
    paths = {f"{spelled}{end}" for place in places for spelled in (place, escape(place)) for end in _BESIDE}
    folders = set() if scratch is None else {duckdb_path(scratch), duckdb_path(os.path.realpath(scratch))}
    connection.execute(f"SET allowed_directories = {_listed(folders)}")
    connection.execute(f"SET allowed_paths = {_listed(paths)}")
    connection.execute("SET enable_external_access = false")
    # Versions of DuckDB that lock all settings or none keep them open: ours have to be set for each query.
    with contextlib.suppress(get_error_type()):
        connection.execute(f"SET allowed_configs = {_listed(_CHANGEABLE)}")
        connection.execute("SET lock_configuration = true")


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(for_sql_text, sorted(texts)))}]"


def escape_path(path: str | Path) -> str:
    """A path that DuckDB takes for exactly this local file: no glob, no address of another machine."""
    return escape(duckdb_path(path))


def duckdb_path(path: str | Path) -> str:
    """An absolute path as DuckDB takes it, in UTF-8 whatever the locale; UnicodeDecodeError for one that is none."""
    return os.fsencode(os.path.abspath(path)).decode("utf-8")


def describe_briefly(error: Exception) -> str:
    """What DuckDB says, without its advice: the first line, which alone can stand in a sentence."""
    line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return for_terminal(line[:160]).rstrip(".")


def get_error_type() -> type[Exception]:
    """DuckDB's own base of errors, which is none of Python's."""
    import duckdb

    return duckdb.Error


def run_interruptibly(
    cursor: duckdb.DuckDBPyConnection,
    call: Callable[Arguments, Result],
    *arguments: Arguments.args,
    **options: Arguments.kwargs,
) -> Result:
    """`call(*arguments)`, which works with `cursor`: Ctrl-C ends it, and what the signal raised arrives as it was.

    In a thread of its own: in the main thread DuckDB would run the signal's handler itself, drop what it raises, and
    with several threads go on until the query is done.
    """
    return await_call(lambda: call(*arguments, **options), cursor.interrupt)


def await_call(call: Callable[[], Result], cancel: Callable[[], None] | None) -> Result:
    """What `call` gives, in a thread of its own, so that a signal's handler runs at once, whatever the call waits for.

    Where the handler raises, `cancel` is asked to end the call, together with all other calls that are under way: it
    may wait for one of them, such as DuckDB for the rows of a server. Without `cancel` it is left alone.
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    begun, given_up, done = threading.Event(), threading.Event(), threading.Event()
    gate = threading.Lock()

    def work() -> None:
        with gate:
            if given_up.is_set():
                return
            begun.set()
        try:
            with cancelling(cancel):
                results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    try:
        try:
            threading.Thread(target=work, name="aspca-waiting", daemon=True).start()
        except RuntimeError as error:
            # Python has no memory for another thread, or the system no number for it.
            raise MemoryError(str(error)) from error
        # Looks up now and then, where the system does not wake it for a signal.
        while not done.wait(0.2):
            pass
        if errors:
            raise errors[0]
        return results[0]
    except BaseException:
        # The signal may have come before the thread did anything, or was there.
        with gate:
            given_up.set()
        # Again and again: a query that is only about to begin would not notice.
        while cancel is not None and begun.is_set() and not done.wait(0.02):
            for one in list(_cancels.values()):
                with contextlib.suppress(Exception):
                    one()
        raise
    finally:
        # Otherwise the error holds its frames, these hold the error, and with it whatever is open in them.
        errors.clear()


# What ends the calls that are under way.
_cancels: dict[object, Callable[[], None]] = {}


@contextlib.contextmanager
def cancelling(cancel: Callable[[], None] | None) -> Iterator[None]:
    """Whatever is done meanwhile is ended by `cancel`, where a signal ends a call that waits for it."""
    key = object()
    if cancel is not None:
        _cancels[key] = cancel
    try:
        yield
    finally:
        _cancels.pop(key, None)
