"""Rows that are passed over as often as need be, wherever they are: here, or in parts on the machines of an engine.

What a pass is to find is a *gathering*: it takes rows in, block by block, and merges with that of the rows that follow.
So every pass is written once, and whoever holds the rows only has to run it over each part and to merge what comes
back, in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.row_blocks import cached_parts

# Rows (m, p), and their numbers (m,) in the whole table, ascending.
Blocks = Iterable[tuple[Floats, Ints]]
Found = TypeVar("Found")
# Makes other rows of rows, each with the number of the row it comes from; some may be left out.
Step = Callable[[Floats, Ints], tuple[Floats, Ints]]


class Gathering(Protocol):
    """What is found in a pass over rows."""

    def add(self, rows: Floats, numbers: Ints) -> None:
        """Take in the next rows (m, p), m >= 1, and their numbers (m,)."""

    def merge(self, later: Self) -> None:
        """Take in what was found in the rows that follow."""


Some = TypeVar("Some", bound=Gathering)


class Travelling:
    """A gathering that comes back without what it only reads: whoever asked for the pass has that.

    `aspca.tables.serialization`, in which it comes, leaves that out; on its way to the workers it is whole.
    """

    # Names of such attributes; `merge` does not need them.
    stays: ClassVar[tuple[str, ...]] = ()


class Over(Protocol):
    """Runs a task over the blocks of each part of a table, where they are, and merges what comes back in order."""

    def __call__(self, task: Callable[[Blocks], Found], merge: Callable[[Found, Found], Found]) -> Found | None: ...


class Rows:
    """Rows that can be passed over, always the same and in the same order.

    Parameters
    ----------
    over : Over
        Who has them.
    steps : tuple of Step
        What is made of them first.
    elsewhere : bool
        Whether what is found comes back from another process, without what it began with (`Travelling`).
    """

    def __init__(self, over: Over, steps: tuple[Step, ...] = (), *, elsewhere: bool = False) -> None:
        self._over, self._steps, self._elsewhere = over, steps, elsewhere

    @classmethod
    def here(cls, batches: Callable[[], Iterable[Floats]]) -> Rows:
        """Rows of this process, in batches (m, p) that are given anew for each pass."""

        def over(task: Callable[[Blocks], Any], merge: Callable[[Any, Any], Any]) -> Any:
            return task(numbered(batches()))

        return cls(over)

    def gather(self, begin: Callable[[], Some]) -> Some:
        """What a pass finds; `begin` makes what it begins with, once for each part."""
        found: Some | None = self._over(_Pass(begin, self._steps), _merged)
        if found is not None and not self._elsewhere:
            return found
        whole = begin()
        if found is not None:
            whole.merge(found)
        return whole

    def through(self, step: Step) -> Rows:
        """What a step makes of these rows."""
        return Rows(self._over, (*self._steps, step), elsewhere=self._elsewhere)


def numbered(batches: Iterable[Floats], start: int = 0) -> Iterator[tuple[Floats, Ints]]:
    """Batches with the numbers of their rows, the first of which is `start`."""
    for rows in batches:
        yield rows, np.arange(start, start + len(rows))
        start += len(rows)


class _Pass:
    """One pass over the blocks of a part; an object and no closure, so that any engine can send it to its workers."""

    def __init__(self, begin: Callable[[], Any], steps: tuple[Step, ...]) -> None:
        self._begin, self._steps = begin, steps

    def __call__(self, blocks: Blocks) -> Any:
        found = self._begin()
        for rows, numbers in blocks:
            if self._steps:
                rows, numbers = self._stepped(rows, numbers)
            if len(rows):
                found.add(rows, numbers)
        return found

    def _stepped(self, rows: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        """What the steps make of a block, in parts: what one step makes is in the cache when the next one needs it."""
        made = []
        for part in cached_parts(*rows.shape):
            some = rows[part], numbers[part]
            for step in self._steps:
                some = step(*some)
            made.append(some)
        if len(made) == 1:
            return made[0]
        return np.concatenate([some for some, _ in made]), np.concatenate([those for _, those in made])


def _merged(before: Any, later: Any) -> Any:
    before.merge(later)
    return before


class Together:
    """Several gatherings of one pass."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def add(self, rows: Floats, numbers: Ints) -> None:
        for part in self.parts:
            part.add(rows, numbers)

    def merge(self, later: Together) -> None:
        for part, following in zip(self.parts, later.parts, strict=True):
            part.merge(following)
