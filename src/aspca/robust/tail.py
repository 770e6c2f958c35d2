"""How far rows are, counted by powers of two: where tails end and errors begin, and which far rows are a state.

A tail of finite variance adds less and less to it from one power of two to the next. Errors add more: beyond a valley
the variance rises again, whatever their size and however many. In files with an order, far rows in short runs that come
back again and again are lawful excursions (jobs of a server, starts of a machine), not errors, which stand alone. What
is far for long, and only once or a few times, is a state of its own, an incident: it teaches nothing about the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints

_OCTAVES = 1024
# Powers of two below the limit: the reference for what is beyond, and all nearer ones.
_BELOW = 2
# What errors add to the variance, over the most that any power of two below them does. The tail of a law that barely
# has a variance stays below: at most seven powers of two, each like the one before, hold what n rows show of it.
_OUT_OF_PROPORTION = 10.0
# The same once there are errors for certain; tails of common laws (t with 3 degrees of freedom, log-normal) add 2.5.
_AFTER_OTHERS = 4.0
# Less than this, in variances of one direction, harms no relation.
_HARM = 0.25
# Far rows that follow one another are no chance from so many deviations of their number on.
_NO_CHANCE = 4.0
# What comes back so often is lawful.
_COMES_BACK = 10
# Rows of another state are clearly out, not just beyond what is near; so many times.
_CLEARLY = 4.0
# A state is at least this share of the rows; shorter ones weigh too little to hide themselves.
_LONG = 0.01


@dataclass(eq=False)
class Tail:
    """Sizes of rows (squared distances over what is near) in the order they come, by powers of two.

    Parameters
    ----------
    n_rows : int
        How many rows there are in all.
    unit : float
        What a size of 1 is in variances of one direction.
    """

    n_rows: int
    unit: float
    counts: Ints = field(init=False)
    squares: Floats = field(init=False)
    pairs: Ints = field(init=False)
    # Places of the first and the last row, by powers of two; none before there are rows.
    _first: int | None = field(init=False, default=None)
    _last: int | None = field(init=False, default=None)
    _far: int = field(init=False, default=0)
    _runs: Runs = field(init=False)

    def __post_init__(self) -> None:
        self.counts, self.pairs = np.zeros(_OCTAVES, dtype=np.int64), np.zeros(_OCTAVES, dtype=np.int64)
        self.squares = np.zeros(_OCTAVES)
        self._runs = Runs(_LONG * self.n_rows)

    def add(self, sizes: Floats, numbers: Ints) -> None:
        """Count the sizes (m,) of the next rows."""
        with np.errstate(divide="ignore"):
            octaves = np.floor(np.log2(sizes))
        places = np.clip(octaves + _BELOW, 0, _OCTAVES - 1).astype(np.int64)
        self.counts = self.counts + np.bincount(places, minlength=_OCTAVES)
        self.squares = self.squares + np.bincount(places, sizes, minlength=_OCTAVES)
        if self._last is not None:
            places = np.concatenate([[self._last], places])
        self.pairs = self.pairs + np.bincount(np.minimum(places[:-1], places[1:]), minlength=_OCTAVES)
        far = sizes > _CLEARLY
        self._far += int(far.sum())
        self._runs.add(far, numbers)
        self._first, self._last = int(places[0]) if self._first is None else self._first, int(places[-1])

    def merge(self, later: Tail) -> None:
        self.counts, self.squares = self.counts + later.counts, self.squares + later.squares
        self.pairs = self.pairs + later.pairs
        if later._first is not None and self._last is not None:
            self.pairs[min(self._last, later._first)] += 1
        self._first = later._first if self._first is None else self._first
        self._last = self._last if later._last is None else later._last
        self._far += later._far
        self._runs.merge(later._runs)

    def limits(self) -> Floats:
        """Sizes, ascending, beyond which rows are errors: at the first all of them, at the others only larger ones.

        From the largest on: what is out of proportion goes, down into the valley before it, and what is left is looked
        at again; one enormous error does not make errors of a tail.
        """
        far, pairs = (np.cumsum(counts[::-1])[::-1] for counts in (self.counts, self.pairs))
        chance = np.square(far.astype(np.float64)) / self.n_rows
        lawful = (pairs > chance + _NO_CHANCE * np.sqrt(chance + 1.0)) & (far - pairs >= _COMES_BACK)
        below = np.concatenate([[0.0, 0.0], np.maximum.accumulate(self.squares[1:-1])])
        harm = _HARM * self.n_rows / self.unit
        found, top = list[int](), _OCTAVES
        while True:
            beyond = np.cumsum(self.squares[:top][::-1])[::-1]
            least = np.maximum((_AFTER_OTHERS if found else _OUT_OF_PROPORTION) * below[:top], harm)
            begin = np.flatnonzero((beyond > least) & ~lawful[:top])
            if not begin.size or begin[-1] < _BELOW:
                return np.asarray(np.exp2(np.array(found[::-1]) - float(_BELOW)))
            top = int(begin[-1])
            while top > _BELOW and 0.0 < self.squares[top - 1] <= self.squares[top] and not lawful[top - 1]:
                top -= 1
            found.append(top)

    def states(self) -> tuple[tuple[int, int], ...]:
        """Numbers of the first row, and of the row after the last, of each long run of far rows."""
        share = self._far / max(self.n_rows, 1)
        # A run of heads so long comes once in a hundred files.
        chance = np.log(100.0 * self.n_rows) / -np.log(min(max(share, 1e-300), 1.0 - 1e-12))
        states = tuple((run.first, run.end) for run in self._runs.long if run.length > chance)
        return states if len(states) < _COMES_BACK else ()


class Run(NamedTuple):
    """Rows that follow one another: the number of the first, of the row after the last, and how many they are."""

    first: int
    end: int
    length: int


class Runs:
    """Runs among rows: those longer than `least`, and those at both ends, which may go on where other rows are."""

    def __init__(self, least: float) -> None:
        self.least = least
        self.n = 0
        self.begins: Run | None = None
        self.ends: Run | None = None
        self.middle: list[Run] = []

    @property
    def long(self) -> list[Run]:
        """All that are longer than `least`, in order."""
        found = dict.fromkeys([self.begins, *self.middle, self.ends])
        return [run for run in found if run is not None and run.length > self.least]

    def add(self, inside: Bools, numbers: Ints) -> None:
        """Which of the next rows belong to runs (m,), and their numbers (m,)."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8)))
        starts, ends = edges[::2], edges[1::2]
        at_ends = (starts == 0) | (ends == len(inside))
        found = Runs(self.least)
        found.n = len(inside)
        for start, end in zip(
            starts[at_ends | (ends - starts > self.least)].tolist(),
            ends[at_ends | (ends - starts > self.least)].tolist(),
            strict=True,
        ):
            run = Run(int(numbers[start]), int(numbers[end - 1]) + 1, end - start)
            if start == 0:
                found.begins = run
            if end == len(inside):
                found.ends = run
            if start and end < len(inside):
                found.middle.append(run)
        self.merge(found)

    def merge(self, later: Runs) -> None:
        if not self.n or not later.n:
            kept = self if later.n == 0 else later
            self.n, self.begins, self.ends, self.middle = kept.n, kept.begins, kept.ends, kept.middle
            return
        begins, ends, between = self.begins, later.ends, [self.ends, later.begins]
        if self.ends is not None and later.begins is not None:
            joined = Run(self.ends.first, later.begins.end, self.ends.length + later.begins.length)
            begins = joined if self.ends.length == self.n else begins
            ends = joined if later.begins.length == later.n else ends
            between = [joined]
        inner = [run for run in between if run is not None and run.length > self.least and run not in (begins, ends)]
        self.n, self.begins, self.ends = self.n + later.n, begins, ends
        self.middle = [*self.middle, *inner, *later.middle]
