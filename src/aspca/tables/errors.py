"""Errors: tables that cannot be read or used, and what was asked for and cannot be, with what to type instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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


class SourceError(JobError):
    """The same, where a table cannot be read."""


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


def join_names(items: list[str], most: int = 5) -> str:
    """`a, b and c`, or `a, b and 7 more`."""
    if len(items) > most:
        items = [*items[: most - 1], f"{len(items) - most + 1} more"]
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
