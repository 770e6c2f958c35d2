"""Errors of a job as Python's users see them: one sentence, without secrets."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from aspca.escaping import without_secrets
from aspca.tables.errors import JobError, SourceError
from aspca.writers.inputs import OutputError

Function = TypeVar("Function", bound=Callable[..., Any])


def in_one_sentence(spelled: Callable[[str], str]) -> Callable[[Function], Function]:
    """A function for Python's users, whose errors of tables, requests and outputs are all JobError.

    They are raised here, anew: whoever logs a traceback with the values of variables would log what is given to the
    function, and passwords of addresses with it. `spelled` puts a sentence about options of the command into the names
    that Python has for them.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*given: Any, **options: Any) -> Any:
            try:
                return function(*given, **options)
            except (JobError, SourceError, OutputError) as error:
                kind = type(error) if isinstance(error, JobError) else JobError
                problem = kind(without_secrets(spelled(str(error)), _texts((given, options))))
            del given, options
            # Outside of the handler, so that the error does not hang on to the one before it, nor this frame to it.
            try:
                raise problem
            finally:
                del problem

        return cast(Function, wrapper)

    return decorate


def _texts(value: Any) -> Iterator[str]:
    """All texts among what is given to a function, paths too."""
    if isinstance(value, str | os.PathLike):
        yield str(value)
    elif isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
