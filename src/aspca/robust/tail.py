"""How far rows are, counted by powers of two: where tails end and errors begin, and which far rows are a state.

A tail of finite variance adds less and less to it from one power of two to the next. Errors add more: beyond a valley
the variance rises again, whatever their size and however many. In files with an order, far rows in short runs that come
back again and again are lawful excursions (jobs of a server, starts of a machine), not errors, which stand alone. What
is far for long, and only once or a few times, is a state of its own, an incident: it teaches nothing about the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from aspca.linalg.arrays import Floats, Ints

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
    runs: list[tuple[int, int]] = field(init=False, default_factory=list)
    _last: int = field(init=False, default=0)
    _seen: int = field(init=False, default=0)
    _far: int = field(init=False, default=0)
    _since: int = field(init=False, default=-1)

    def __post_init__(self) -> None:
        self.counts, self.pairs = np.zeros(_OCTAVES, dtype=np.int64), np.zeros(_OCTAVES, dtype=np.int64)
        self.squares = np.zeros(_OCTAVES)

    def add(self, sizes: Floats) -> None:
        """Count the sizes (m,) of the next rows."""
        if not len(sizes):
            return
        with np.errstate(divide="ignore"):
            octaves = np.floor(np.log2(sizes))
        places = np.clip(octaves + _BELOW, 0, _OCTAVES - 1).astype(np.int64)
        self.counts += np.bincount(places, minlength=_OCTAVES)
        self.squares += np.bincount(places, sizes, minlength=_OCTAVES)
        both = np.minimum(np.concatenate([[self._last], places[:-1]]), places)
        self.pairs += np.bincount(both, minlength=_OCTAVES)
        self._follow(sizes > _CLEARLY)
        self._last = int(places[-1])

    def _follow(self, far: np.typing.NDArray[np.bool_]) -> None:
        """Take down the long runs of far rows; one may go on from batch to batch."""
        before = np.concatenate([[self._since >= 0], far])
        turns = np.flatnonzero(before[1:] != before[:-1]) + self._seen
        for turn in turns.tolist():
            if self._since >= 0:
                self._close(turn)
            else:
                self._since = turn
        self._seen += len(far)
        self._far += int(far.sum())

    def _close(self, end: int) -> None:
        if end - self._since > _LONG * self.n_rows:
            self.runs.append((self._since, end))
        self._since = -1

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
        if self._since >= 0:
            self._close(self._seen)
        share = self._far / max(self.n_rows, 1)
        # A run of heads so long comes once in a hundred files.
        chance = np.log(100.0 * self.n_rows) / -np.log(min(max(share, 1e-300), 1.0 - 1e-12))
        states = tuple((start, end) for start, end in self.runs if end - start > chance)
        return states if len(states) < _COMES_BACK else ()
