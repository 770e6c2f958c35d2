"""What is noticed about rows while they are judged: times that are wrong, values that stand still, copies of rows.

Times may be there twice, out of order or missing. Values stand still where a sensor hangs, or a feed repeats its last
row. A file may be appended twice, or an entry repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import cached_parts
from aspca.moments.row_hash import Keys, mix

# Fewer steps show no clock.
_CLOCK_STEPS = 10
# A clock is even if so many of its steps are the usual one, give or take so much of it; weekends and nights are no
# part of an even clock.
_EVEN, _SLACK = 0.9, 0.25
# Rows out of order beyond this share are in no order at all.
_DISORDER = 0.1


def describe_times(column: str, when: npt.NDArray[np.generic], rows: Ints) -> list[str]:
    """Sentences about the times of rows (n,), in the order of the table; `rows` (n,) are their numbers.

    A table whose newest row comes first is in order, too.
    """
    if len(when) < 2:
        return []
    times = when.astype("datetime64[us]").astype(np.float64) if when.dtype.kind == "M" else when.astype(np.float64)

    def at(place: int) -> str:
        time = str(when[place]) if isinstance(when[place], np.datetime64) else f"{float(times[place]):.15g}"
        return f"row {rows[place]} ({time})"

    def first(places: Ints) -> str:
        return f"{', the first is' if places.size > 1 else ':'} {at(places[0])}"

    told = []
    again = np.setdiff1d(np.arange(times.size), np.unique(times, return_index=True)[1])
    if again.size:
        many = "1 row has" if again.size == 1 else f"{again.size:,} rows have"
        told.append(f"{many} the time of an earlier row{first(again)}.")
    steps = np.diff(times)
    back = np.flatnonzero((steps if (steps < 0).sum() <= (steps > 0).sum() else -steps) < 0) + 1
    if back.size > _DISORDER * len(when):
        told.append(f"the rows are in no order of time ({back.size:,} times the next one is earlier).")
    elif back.size:
        many = f"{back.size:,} row{'s' * (back.size != 1)} {'come' if back.size > 1 else 'comes'}"
        told.append(f"{many} out of the order of time{first(back)}.")
    # Steps of twice the usual one and more, where nearly all are the usual one.
    order = np.argsort(times, kind="stable")
    steps = np.diff(times[order])
    before, steps = order[:-1][steps > 0], steps[steps > 0]
    usual = float(np.median(steps)) if steps.size else 0.0
    long = np.flatnonzero(steps >= (2.0 - _SLACK) * usual)
    if steps.size >= _CLOCK_STEPS and long.size and (np.abs(steps - usual) <= _SLACK * usual).mean() >= _EVEN:
        lacking = int(np.round(steps[long] / usual - 1.0).sum())
        gaps = f"{lacking:,} time{'s' * (lacking != 1)} {'are' if lacking != 1 else 'is'} missing in an even clock"
        where = "," if long.size == 1 else f", in {long.size:,} gaps, the first"
        told.append(f"{gaps}{where} after {at(before[long[0]])}.")
    return [f"Column {column!r}: {sentence}" for sentence in told]


# ---- values that stand still


# Shorter runs are not "for long".
_SHORTEST = 10
# Without times the rows may be sorted, and equal values stand together, at the ends of a column above all.
_SHORTEST_UNTIMED, _SHARE_UNTIMED = 50, 0.02
# A column moves if at most this share of its steps, outside of its longest runs, is none.
_MOVES = 0.2
_CHANCE = 1e-6
_ENOUGH_STEPS = 20
# The longest runs of a column that are kept.
_KEPT = 8


class Run(NamedTuple):
    """Rows `start`, ..., `start + length - 1` with the same value."""

    length: int
    start: int
    value: float


class Runs:
    """The longest runs of equal values of each column, batch after batch; memory does not grow with the rows.

    A column is compared with itself. Counts, flags and rounded columns repeat values by nature, and so does one that
    rests at the same value time and again; what is said is a run that such a column would not show once in a million
    tables.
    """

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
            self._runs[column] = _keep_longest([*self._runs[column], run])
        self._since[column] = edges[-1]

    def stuck(self, *, timed: bool) -> dict[str, list[Run]]:
        """The columns that stand still, and for how long; `timed`: whether the rows have times."""
        runs = {name: self._stuck(column, timed) for column, name in enumerate(self._names)}
        return {name: several for name, several in runs.items() if several}

    def _stuck(self, column: int, timed: bool) -> list[Run]:
        since = int(self._since[column])
        runs = _keep_longest([*self._runs[column], Run(self._n - since, since, float(self._last[column]))])
        inside = sum(run.length - 1 for run in runs)
        known = int(self._steps[column])
        steps, ties = known - inside, int(self._ties[column]) - inside
        # What stands still more often than not does so by nature.
        if steps < max(_ENOUGH_STEPS, known / 2) or ties > _MOVES * steps:
            return []
        # At least one tie is assumed: that none was seen does not say that none can be.
        share = max(ties, 1) / (steps + 1)
        values = [run.value for run in runs]
        runs = [run for run in runs if values.count(run.value) == 1 and self._n * share ** (run.length - 1) < _CHANCE]
        if timed:
            return runs
        # Where nobody knows what the order of rows means.
        least, most = self._least[column], self._most[column]
        shortest = max(_SHORTEST_UNTIMED, _SHARE_UNTIMED * self._n)
        return [run for run in runs if run.length >= shortest and least < run.value < most]


def _keep_longest(runs: Sequence[Run]) -> list[Run]:
    """The longest of some runs, the first of equals first."""
    long = [run for run in runs if run.length >= _SHORTEST]
    return sorted(long, key=lambda run: (-run.length, run.start))[:_KEPT]


def describe_runs(runs: Runs, rows: Ints, *, timed: bool) -> list[str]:
    """A sentence for the rows in which columns stand still; `rows` (n,) are the numbers of the rows added."""
    told = []
    for name, (longest, *others) in runs.stuck(timed=timed).items():
        first, last = rows[longest.start], rows[longest.start + longest.length - 1]
        more = f" (and {len(others):,} more times)" if others else ""
        told.append(f"{name!r} at {longest.value:.15g} for {longest.length:,} rows, {first} to {last}{more}")
    if not told:
        return []
    more = f" and {len(told) - 6} more columns" if len(told) > 6 else ""
    return [f"Values stand still where they usually move: {'; '.join(told[:6])}{more}."]


# ---- copies of rows


# Of larger tables nothing is said.
_MOST_ROWS = 1_000_000
_SAMPLE = 2_000
# Some column has more different values than this, and there are so many times as many copies as by chance.
_FEW_VALUES, _BEYOND_CHANCE = 10, 10.0
# Above this share, copies are in the nature of a table, unless all rows have equally many.
_COMMON = 0.1


class Copies:
    """Rows that are copies of an earlier row, where chance does not explain them.

    Rows are compared by 64-bit hashes of what they hold, at most a million. Whether chance explains copies is estimated
    from a sample of different rows, as if columns were independent.
    """

    def __init__(self) -> None:
        self._n = 0
        self._parts: list[tuple[Keys, Ints]] = []
        # Different rows, those of the least keys: the same ones in whatever order.
        self._sample: tuple[Keys, Floats] | None = None

    def add(self, rows: Floats, numbers: Ints, known: Bools) -> None:
        """The next rows (m, p), their numbers (m,), and which could be read (m,).

        Rows that lack half of their values or more are not compared.
        """
        chosen = np.flatnonzero(known & (2 * np.isnan(rows).sum(axis=1) < rows.shape[1]))
        self._n += chosen.size
        if self._n > _MOST_ROWS:
            self._parts, self._sample = [], None
            return
        rows = rows[chosen]
        keys = hash_rows(rows)
        self._parts.append((keys, numbers[chosen]))
        if self._sample is not None:
            keys, rows = np.concatenate([self._sample[0], keys]), np.concatenate([self._sample[1], rows])
        keys, first = np.unique(keys, return_index=True)
        self._sample = keys[:_SAMPLE], rows[first[:_SAMPLE]]

    def describe(self) -> list[str]:
        """A sentence where copies are more than chance or the nature of the table explains."""
        if self._sample is None or not self._n:
            return []
        keys, numbers = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
        _, first, kinds, times = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        copies = np.flatnonzero(first[kinds] != np.arange(keys.size))
        if copies.size <= _BEYOND_CHANCE * self._chance(self._sample[1]):
            return []
        pairs = [f"{numbers[copy]} and {numbers[first[kinds[copy]]]}" for copy in copies[:5].tolist()]
        more = f" and {copies.size - 5:,} more" if copies.size > 5 else ""
        told = f"(rows {', '.join(pairs)}{more})."
        if copies.size > _COMMON * keys.size:
            return [f"Every row occurs {times[0]} times {told}"] if (times == times[0]).all() else []
        who = "1 row is a copy" if copies.size == 1 else f"{copies.size:,} rows are copies"
        return [f"{who} of an earlier row in every feature {told}"]

    def _chance(self, sample: Floats) -> float:
        """How many pairs of rows would be the same if columns were independent; infinite if all have few values."""
        counts = [np.unique(column, return_counts=True)[1] for column in sample.T]
        if max((count.size for count in counts), default=0) <= _FEW_VALUES:
            return float("inf")
        m = len(sample)
        alike = [float((count * (count - 1)).sum()) / (m * (m - 1)) for count in counts]
        return 0.5 * self._n * (self._n - 1) * float(np.prod(alike))


def hash_rows(rows: Floats) -> Keys:
    """A number for each of rows (m, p) by what they hold (m,): 0 is -0, and all that is missing is alike."""
    columns = mix(np.arange(rows.shape[1], dtype=np.uint64))
    keys = np.zeros(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), 4096):
        part = rows[start : start + 4096]
        cells = np.where(np.isnan(part), np.nan, part + 0.0).view(np.uint64)
        keys[start : start + 4096] = mix(cells ^ columns).sum(axis=1, dtype=np.uint64)
    return keys
