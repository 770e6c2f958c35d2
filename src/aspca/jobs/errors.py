"""What a job says when it cannot be done: one sentence, for the person who asked, and what to type instead."""

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


class RequestError(JobError):
    """The same, where what was asked for is at fault (an option, a name), not the data."""


class UndefinedError(JobError):
    """A value that a column's kind is not defined for, such as the logarithm of zero.

    Attributes
    ----------
    column, kind : str
        What was to become of which column.
    """

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
    """One thing that stands in the way of a table: `sentence` says which, and what to do.

    Attributes
    ----------
    remedy : tuple of str
        Words to add to a command line.
    instead : Instead or None
        What was typed and cannot be.
    settled : bool
        Whether these words are enough: False where the table itself has to be another.
    """

    sentence: str
    remedy: tuple[str, ...] = ()
    instead: Instead | None = None
    settled: bool = True


class TableError(RequestError):
    """All that stands in the way of a table, at once."""

    def __init__(self, sentence: str, obstacles: Sequence[Obstacle] = ()) -> None:
        everyone = tuple(obstacles)
        settled = all(one.settled for one in everyone)
        super().__init__(sentence, tuple(word for one in everyone for word in one.remedy) if settled else ())
        self.sentences = tuple(one.sentence for one in everyone) or (sentence,)
        self.instead = tuple(one.instead for one in everyone if one.instead is not None) if settled else ()

    @classmethod
    def of(cls, obstacles: Sequence[Obstacle]) -> TableError:
        return cls(" ".join(one.sentence for one in obstacles), obstacles)
