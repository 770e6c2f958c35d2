"""What a job says when it cannot be done: one sentence, for the person who asked, and what to type instead."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from aspca.escaping import without_secrets
from aspca.tables.errors import SourceError
from aspca.writers.inputs import OutputError


class JobError(ValueError):
    """One sentence: what is wrong, in which file, column or row, what is allowed, what to do.

    Attributes
    ----------
    remedy : tuple of str
        Words of a command line that settle the matter; empty where there are none.
    """

    def __init__(self, sentence: str, remedy: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.remedy = remedy


class RequestError(JobError):
    """The same, where what was asked for is at fault (an option, a name), not the data."""


class UndefinedError(JobError):
    """A value that the kind that a column was to become is not defined for, such as the logarithm of zero."""

    def __init__(self, sentence: str, column: str = "", kind: str = "") -> None:
        super().__init__(sentence)
        self.column, self.kind = column, kind


@dataclass(frozen=True)
class Instead:
    """What is to be typed instead of an option's value (empty for a flag): another value, or, where None, nothing."""

    option: str
    given: str
    value: str | None = None


@dataclass(frozen=True)
class Obstacle:
    """One thing that stands in the way of a table: `sentence` says which, and what to do."""

    sentence: str
    remedy: tuple[str, ...] = ()  # words to add to a command line
    instead: Instead | None = None  # what was typed and cannot be
    settled: bool = True  # these words are enough; not so where the table itself has to be another


class TableError(RequestError):
    """All that stands in the way of a table, at once."""

    def __init__(self, sentence: str, obstacles: Sequence[Obstacle] = ()) -> None:
        settled = all(one.settled for one in obstacles)
        super().__init__(sentence, tuple(word for one in obstacles for word in one.remedy) if settled else ())
        self.sentences = tuple(one.sentence for one in obstacles) or (sentence,)
        self.instead = tuple(one.instead for one in obstacles if one.instead is not None) if settled else ()

    @classmethod
    def of(cls, obstacles: Sequence[Obstacle]) -> TableError:
        return cls(" ".join(one.sentence for one in obstacles), obstacles)


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
