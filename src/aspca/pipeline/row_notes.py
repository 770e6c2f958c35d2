"""What is noticed about rows while they are judged: times that are wrong, values that stand still, copies of rows.

Times may be there twice, out of order or missing. Values stand still where a sensor hangs, or a feed repeats its last
row. A file may be appended twice, or an entry repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import cached_parts
from aspca.moments.row_hash import Keys, mix

# A clock is even if so many of its steps are the usual one, give or take so much of it; weekends and nights are no
# part of an even clock.
_EVEN, _SLACK = 0.9, 0.25
# Fewer steps show no clock.
_CLOCK_STEPS = 10
# Rows out of order beyond this share are in no order at all.
_DISORDER = 0.1


def describe_times(column: str, when: npt.NDArray[np.generic], rows: Ints) -> list[str]:
    """Sentences about the times of rows (n,), in the order of the table; `rows` (n,) are their numbers.

    A table whose newest row comes first is in order, too.
    """
    if len(when) < 2:
        return []
    times = when.astype("datetime64[us]").astype(np.float64) if when.dtype.kind == "M" else when.astype(np.float64)
    steps = np.diff(times)
    backwards = steps if (steps < 0).sum() <= (steps > 0).sum() else -steps
    return [
        *_describe_doubled(column, times, when, rows),
        *_describe_disordered(column, backwards, when, rows),
        *_missing(column, times, when, rows),
    ]


def _describe_doubled(column: str, times: Floats, when: npt.NDArray[np.generic], rows: Ints) -> list[str]:
    _, first = np.unique(times, return_index=True)
    again = np.setdiff1d(np.arange(times.size), first)
    if not again.size:
        return []
    at = again[0]
    many = "1 row has" if again.size == 1 else f"{again.size:,} rows have"
    return [f"Column {column!r}: {many} the time of an earlier row{_first(again.size, rows[at], when[at])}."]


def _describe_disordered(column: str, steps: Floats, when: npt.NDArray[np.generic], rows: Ints) -> list[str]:
    back = np.flatnonzero(steps < 0) + 1
    if not back.size:
        return []
    if back.size > _DISORDER * len(when):
        return [f"Column {column!r}: the rows are in no order of time ({back.size:,} times the next one is earlier)."]
    many = f"{back.size:,} row{'s' * (back.size != 1)} {'come' if back.size > 1 else 'comes'}"
    at = back[0]
    return [f"Column {column!r}: {many} out of the order of time{_first(back.size, rows[at], when[at])}."]


def _missing(column: str, times: Floats, when: npt.NDArray[np.generic], rows: Ints) -> list[str]:
    """Steps of twice the usual one and more, where nearly all are the usual one."""
    order = np.argsort(times, kind="stable")
    steps = np.diff(times[order])
    before = order[:-1][steps > 0]
    steps = steps[steps > 0]
    if steps.size < _CLOCK_STEPS:
        return []
    usual = float(np.median(steps))
    long = np.flatnonzero(steps >= (2.0 - _SLACK) * usual)
    if not long.size or (np.abs(steps - usual) <= _SLACK * usual).mean() < _EVEN:
        return []
    lacking = int(np.round(steps[long] / usual - 1.0).sum())
    at = before[long[0]]
    gaps = f"{lacking:,} time{'s' * (lacking != 1)} {'are' if lacking != 1 else 'is'} missing in an even clock"
    where = "," if long.size == 1 else f", in {long.size:,} gaps, the first"
    return [f"Column {column!r}: {gaps}{where} after row {rows[at]} ({_time(when[at])})."]


def _first(count: int, row: Any, when: Any) -> str:
    """Where, of so many rows."""
    return f"{', the first is' if count > 1 else ':'} row {row} ({_time(when)})"


def _time(when: Any) -> str:
    return str(when) if isinstance(when, np.datetime64) else f"{float(when):.15g}"


# ---- values that stand still


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


def _keep_longest(runs: Sequence[Run]) -> list[Run]:
    """The longest of some runs, the first of equals first."""
    long = [run for run in runs if run.length >= _SHORTEST]
    return sorted(long, key=lambda run: (-run.length, run.start))[:_KEPT]


def describe_runs(runs: Runs, rows: Ints, *, timed: bool) -> list[str]:
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


# ---- copies of rows


# Of larger tables nothing is said.
_MOST_ROWS = 1_000_000
_SAMPLE = 2_000
# Some column has more different values than this, and there are so many times as many copies as by chance.
_FEW_VALUES, _BEYOND_CHANCE = 10, 10.0
# Above this share, copies are in the nature of a table, unless all rows have equally many.
_COMMON = 0.1
_PAIRS_TOLD = 5


class Copies:
    """Rows that are copies of an earlier row, where chance does not explain them.

    Rows are compared by 64-bit hashes of what they hold, at most a million. Whether chance explains copies is estimated
    from a sample of different rows, as if columns were independent.
    """

    def __init__(self) -> None:
        self._n = 0
        self._keys: list[Keys] = []
        self._numbers: list[Ints] = []
        self._sample: tuple[Keys, Floats] | None = None

    def add(self, rows: Floats, numbers: Ints, known: Bools) -> None:
        """The next rows (m, p), their numbers (m,), and which could be read (m,).

        Rows that lack half of their values or more are not compared.
        """
        chosen = np.flatnonzero(known & (2 * np.isnan(rows).sum(axis=1) < rows.shape[1]))
        self._n += chosen.size
        if self._n > _MOST_ROWS:
            self._keys, self._numbers, self._sample = [], [], None
            return
        rows = rows[chosen]
        keys = hash_rows(rows)
        self._keys.append(keys)
        self._numbers.append(numbers[chosen])
        before = self._sample
        self._sample = _take_least(keys, rows)
        if before is not None:
            both = zip(before, self._sample, strict=True)
            self._sample = _take_least(*(np.concatenate(pair) for pair in both))

    def describe(self) -> list[str]:
        """A sentence where copies are more than chance or the nature of the table explains."""
        if self._sample is None or not self._n:
            return []
        keys, numbers = np.concatenate(self._keys), np.concatenate(self._numbers)
        _, first, kinds, times = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        copies = np.flatnonzero(first[kinds] != np.arange(keys.size))
        if copies.size <= _BEYOND_CHANCE * self._chance():
            return []
        pairs = [f"{numbers[copy]} and {numbers[first[kinds[copy]]]}" for copy in copies[:_PAIRS_TOLD].tolist()]
        more = f" and {copies.size - _PAIRS_TOLD:,} more" if copies.size > _PAIRS_TOLD else ""
        told = f"(rows {', '.join(pairs)}{more})."
        if copies.size > _COMMON * keys.size:
            return [f"Every row occurs {times[0]} times {told}"] if (times == times[0]).all() else []
        who = "1 row is a copy" if copies.size == 1 else f"{copies.size:,} rows are copies"
        return [f"{who} of an earlier row in every feature {told}"]

    def _chance(self) -> float:
        """How many pairs of rows would be the same if columns were independent; infinite if all have few values."""
        sample = np.empty((0, 0)) if self._sample is None else self._sample[1]
        counts = [np.unique(column, return_counts=True)[1] for column in sample.T]
        if max((count.size for count in counts), default=0) <= _FEW_VALUES:
            return float("inf")
        m = len(sample)
        alike = [float((count * (count - 1)).sum()) / (m * (m - 1)) for count in counts]
        return 0.5 * self._n * (self._n - 1) * float(np.prod(alike))


def _take_least(keys: Keys, rows: Floats) -> tuple[Keys, Floats]:
    """Different rows, those of the least keys: the same ones in whatever order."""
    keys, first = np.unique(keys, return_index=True)
    return keys[:_SAMPLE], rows[first[:_SAMPLE]]


def hash_rows(rows: Floats) -> Keys:
    """A number for each of rows (m, p) by what they hold (m,): 0 is -0, and all that is missing is alike."""
    columns = mix(np.arange(rows.shape[1], dtype=np.uint64))
    keys = np.zeros(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), 4096):
        part = rows[start : start + 4096]
        cells = np.where(np.isnan(part), np.nan, part + 0.0).view(np.uint64)
        keys[start : start + 4096] = mix(cells ^ columns).sum(axis=1, dtype=np.uint64)
    return keys
