"""Ctrl-C in the middle of DuckDB's work: the query ends, and what the signal raised arrives as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    import duckdb

# How often a waiting thread looks up, where the system does not wake it for a signal; and a query is asked to end.
LOOK_UP = 0.2
ASK_AGAIN = 0.02

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def interruptible(
    cursor: duckdb.DuckDBPyConnection,
    call: Callable[Arguments, Result],
    *arguments: Arguments.args,
    **options: Arguments.kwargs,
) -> Result:
    """`call(*arguments)`, which works with `cursor`.

    In a thread of its own: in the main thread DuckDB would run the signal's handler itself, drop what it raises, and
    with several threads go on until the query is done.
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
            results.append(call(*arguments, **options))
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=work, name="aspca-duckdb", daemon=True).start()
        while not done.wait(LOOK_UP):
            pass
    except BaseException:
        # The signal may have come before the thread did anything, or was there.
        with gate:
            given_up.set()
        # Again and again: a query that is only about to begin would not notice.
        while begun.is_set() and not done.wait(ASK_AGAIN):
            cursor.interrupt()
        raise
    if errors:
        raise errors[0]
    return results[0]
