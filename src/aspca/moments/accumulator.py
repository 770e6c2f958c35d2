"""Rows that are passed over as often as need be, wherever they are: here, or in parts on the machines of an engine.

What a pass finds is an *accumulator*: it takes rows in, block by block, and merges with that of the rows that follow.
So every pass is written once, and whoever holds the rows only has to run it over each part and to merge what comes
back, in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.row_blocks import cached_parts

# Rows (m, p), and their numbers (m,) in the whole table, ascending.
Blocks = Iterable[tuple[Floats, Ints]]
# Makes other rows of rows, each with the number of the row it comes from; some may be left out.
Step = Callable[[Floats, Ints], tuple[Floats, Ints]]


class Accumulator(Protocol):
    """What is found in a pass over rows.

    Attributes named by a class variable `stays_here` are not sent back by workers (`aspca.tables.serialization`):
    whoever asked for the pass has them, and `merge` does not need them.
    """

    def add(self, rows: Floats, numbers: Ints) -> None:
        """Take in the next rows (m, p), m >= 1, and their numbers (m,)."""

    def merge(self, later: Self) -> None:
        """Take in what was found in the rows that follow."""


Some = TypeVar("Some", bound=Accumulator)


# Runs a task over the blocks of each part of a table, where they are, and merges what comes back in order.
Over = Callable[[Callable[[Blocks], Any], Callable[[Any, Any], Any]], Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that can be passed over, always the same and in the same order."""

    over: Over  # who has them
    steps: tuple[Step, ...] = ()  # what is made of them first
    elsewhere: bool = False  # whether what is found comes back from another process, without what `stays_here`

    @classmethod
    def here(cls, batches: Callable[[], Iterable[Floats]]) -> Rows:
        """Rows of this process, in batches (m, p) that are given anew for each pass."""

        def over(task: Callable[[Blocks], Any], merge: Callable[[Any, Any], Any]) -> Any:
            return task(numbered(batches()))

        return cls(over)

    def reduce(self, begin: Callable[[], Some]) -> Some:
        """What a pass finds; `begin` makes what it begins with, once for each part."""
        found: Some | None = self.over(_Pass(begin, self.steps), _merge)
        if found is not None and not self.elsewhere:
            return found
        whole = begin()
        if found is not None:
            whole.merge(found)
        return whole

    def through(self, step: Step) -> Rows:
        """What a step makes of these rows."""
        return replace(self, steps=(*self.steps, step))


def numbered(batches: Iterable[Floats], start: int = 0) -> Iterator[tuple[Floats, Ints]]:
    """Batches with the numbers of their rows, the first of which is `start`."""
    for rows in batches:
        yield rows, np.arange(start, start + len(rows))
        start += len(rows)


@dataclass(frozen=True)
class _Pass:
    """One pass over the blocks of a part; an object and no closure, so that any engine can send it to its workers."""

    begin: Callable[[], Any]
    steps: tuple[Step, ...]

    def __call__(self, blocks: Blocks) -> Any:
        found = self.begin()
        for rows, numbers in blocks:
            if self.steps:
                rows, numbers = self._apply_steps(rows, numbers)
            if len(rows):
                found.add(rows, numbers)
        return found

    def _apply_steps(self, rows: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        """What the steps make of a block, in parts: what one step makes is in the cache when the next one needs it."""
        made = []
        for part in cached_parts(*rows.shape):
            some = rows[part], numbers[part]
            for step in self.steps:
                some = step(*some)
            made.append(some)
        if len(made) == 1:
            return made[0]
        return np.concatenate([some for some, _ in made]), np.concatenate([those for _, those in made])


def _merge(before: Any, later: Any) -> Any:
    before.merge(later)
    return before


class CompositeAccumulator:
    """Several accumulators of one pass."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def add(self, rows: Floats, numbers: Ints) -> None:
        for part in self.parts:
            part.add(rows, numbers)

    def merge(self, later: CompositeAccumulator) -> None:
        for part, following in zip(self.parts, later.parts, strict=True):
            part.merge(following)


class _AnyMoments(Protocol):
    def update(self, _rows: Floats, _weights: Floats | None, /, *, names: Sequence[str] | None) -> Self: ...

    def merge(self, _other: Self, /) -> Self: ...


Kind = TypeVar("Kind", bound=_AnyMoments)


@dataclass(eq=False)
class MomentsAccumulator(Generic[Kind]):
    """The moments of rows, or those of rows with gaps; it begins with `Moments.empty(p)`, `IncompleteMoments.empty(p)`.

    `weights` (n,) are of all rows, by their numbers; `names` (p,) are for error messages.
    """

    stays_here: ClassVar[tuple[str, ...]] = ("weights", "names")

    moments: Kind
    weights: Floats | None = None
    names: Sequence[str] | None = None

    def add(self, rows: Floats, numbers: Ints) -> None:
        counts = None if self.weights is None else self.weights[numbers]
        self.moments = self.moments.update(rows, counts, names=self.names)

    def merge(self, later: MomentsAccumulator[Kind]) -> None:
        self.moments = self.moments.merge(later.moments)
