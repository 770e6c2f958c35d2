"""Values that stand still where a column otherwise moves: a sensor that hangs, a feed that repeats its last row.

A column is compared with itself. Counts, flags and rounded columns repeat values by nature, and so does one that rests
at the same value time and again; what is said is a run that such a column would not show once in a million tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import cached_parts

# Shorter runs are not "for long".
_SHORTEST = 10
# Without times the rows may be sorted, and equal values stand together, at the ends of a column above all.
_SHORTEST_UNTIMED, _SHARE_UNTIMED = 50, 0.02
# A column moves if at most this share of its steps, outside of its longest runs, is none.
_MOVES = 0.2
_CHANCE = 1e-6
_ENOUGH_STEPS = 20
# The longest runs of a column that are kept, and columns that are named.
_KEPT, _NAMED = 8, 6


@dataclass(frozen=True)
class Run:
    """Rows `start`, ..., `start + length - 1` with the same value."""

    length: int
    start: int
    value: float


class Runs:
    """The longest runs of equal values of each column, batch after batch; memory does not grow with the rows."""

    def __init__(self, names: Sequence[str]) -> None:
        p = len(names)
        self._names, self._n = tuple(names), 0
        self._ties, self._steps = np.zeros(p, dtype=np.intp), np.zeros(p, dtype=np.intp)
        self._last, self._since = np.full(p, np.nan), np.zeros(p, dtype=np.intp)
        self._runs: list[list[Run]] = [[] for _ in names]
        self._least, self._most = np.full(p, np.nan), np.full(p, np.nan)

    def add(self, rows: Floats) -> None:
        """The next rows (m, p) of the table, NaN where a value is missing."""
        if not len(rows):
            return
        moved = np.empty(rows.shape[::-1], dtype=np.bool_)
        last = self._last
        for part in cached_parts(*rows.shape):
            mine = rows[part]
            before = np.vstack([last, mine[:-1]])
            moved[:, part] = (mine != before).T
            self._steps += (~(np.isnan(mine) | np.isnan(before))).sum(axis=0)
            self._least = np.fmin(self._least, np.fmin.reduce(mine, axis=0))
            self._most = np.fmax(self._most, np.fmax.reduce(mine, axis=0))
            last = mine[-1]
        ties = len(rows) - np.count_nonzero(moved, axis=1)
        self._ties += ties
        for column, starting in enumerate(moved):
            if ties[column] < len(rows):
                self._close(column, starting, rows[:, column], few=ties[column] < _SHORTEST - 1)
        self._n += len(rows)
        self._last = last.copy()

    def _close(self, column: int, starting: Bools, values: Floats, *, few: bool) -> None:
        """Runs that end where others start (m,); `few`: there are too few ties for one that begins among these rows."""
        if few and self._n + int(starting.argmax()) - self._since[column] < _SHORTEST:
            # The run that was open before is too short as well.
            self._since[column] = self._n + len(starting) - 1 - int(starting[::-1].argmax())
            return
        starts = np.flatnonzero(starting)
        edges = np.concatenate([[self._since[column]], self._n + starts])
        lengths = np.diff(edges)
        long = np.flatnonzero(lengths >= _SHORTEST)
        # The longest, the first of equals first: of more than that none is kept.
        for which in long[np.argsort(-lengths[long], kind="stable")[:_KEPT]]:
            value = self._last[column] if which == 0 else values[starts[which - 1]]
            run = Run(int(lengths[which]), int(edges[which]), float(value))
            self._runs[column] = _longest([*self._runs[column], run])
        self._since[column] = edges[-1]

    def stuck(self, *, timed: bool) -> dict[str, list[Run]]:
        """The columns that stand still, and for how long; `timed`: whether the rows have times."""
        runs = {name: self._stuck(column, timed) for column, name in enumerate(self._names)}
        return {name: several for name, several in runs.items() if several}

    def _stuck(self, column: int, timed: bool) -> list[Run]:
        since = int(self._since[column])
        runs = _longest([*self._runs[column], Run(self._n - since, since, float(self._last[column]))])
        inside = sum(run.length - 1 for run in runs)
        known = int(self._steps[column])
        steps, ties = known - inside, int(self._ties[column]) - inside
        # What stands still more often than not does so by nature.
        if steps < max(_ENOUGH_STEPS, known / 2) or ties > _MOVES * steps:
            return []
        # At least one tie is assumed: that none was seen does not say that none can be.
        share = max(ties, 1) / (steps + 1)
        values = [run.value for run in runs]
        return [
            run
            for run in runs
            if values.count(run.value) == 1
            and self._n * share ** (run.length - 1) < _CHANCE
            and (timed or self._surely(run, column))
        ]

    def _surely(self, run: Run, column: int) -> bool:
        """Whether a run is stuck also where nobody knows what the order of rows means."""
        long = run.length >= max(_SHORTEST_UNTIMED, _SHARE_UNTIMED * self._n)
        return long and bool(self._least[column] < run.value < self._most[column])


def _longest(runs: Sequence[Run]) -> list[Run]:
    """The longest of some runs, the first of equals first."""
    long = [run for run in runs if run.length >= _SHORTEST]
    return sorted(long, key=lambda run: (-run.length, run.start))[:_KEPT]


def stuck_remarks(runs: Runs, rows: Ints, *, timed: bool) -> list[str]:
    """A sentence for the rows in which columns stand still; `rows` (n,) are the numbers of the rows added."""
    found = runs.stuck(timed=timed)
    if not found:
        return []
    told = []
    for name, several in list(found.items())[:_NAMED]:
        longest = several[0]
        more = f" (and {len(several) - 1:,} more times)" if len(several) > 1 else ""
        first, last = rows[longest.start], rows[longest.start + longest.length - 1]
        told.append(f"{name!r} at {longest.value:.15g} for {longest.length:,} rows, {first} to {last}{more}")
    more = f" and {len(found) - _NAMED} more columns" if len(found) > _NAMED else ""
    return [f"Values stand still where they usually move: {'; '.join(told)}{more}."]
