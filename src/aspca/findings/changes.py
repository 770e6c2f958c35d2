"""Rules that are off by like amounts for long: since when, until when, by how much.

A *change* of a rule is a stretch of rows, in time order or as they are listed, of which many break the rule at the same
side, each by about as much as the one before. Where it starts and ends is found by a walk over the rows (a cumulative
sum of evidence): three steps up for each row that breaks the rule there, one step down for each that does not. It leads
upwards where more than a quarter of the rows do. A stretch begins where the walk leaves its lowest point and ends at
its highest; it is a change if that is as high as thirty rows in succession would lead, and it is over where the walk
falls by as much. Nothing but the rows that break a rule has to be kept for that, whatever the order.

Columns are treated alike where rows are unusual for long but keep their rules: then it is a column that is far from its
mean at the same side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats, Ints
from aspca.model.judgement import Judgement
from aspca.moments.autocorrelation import effective_rows

if TYPE_CHECKING:
    from aspca.model.model import Model

# A burst of fewer rows is no change: so many, and the root of all, so that the more there is to search, the more it
# takes. Rows that follow each other as an AR(1) process of 0.9 stay below it.
_SHORTEST = 30
# Rows at the end that break nothing are still of a change if it has so many in a row with at least this chance.
_BY_CHANCE = 1e-3
# A rule that this share of the rows breaks outside of its changes did not hold before.
_STRAY = 0.1
# The walk's step for a row that breaks the rule: it is one step down for any other.
_UP = 3
# A column is far off its mean from so many deviations on.
_FAR = 3.0
# Rows count for no fewer than these.
_FEWEST = 2.0
# Amounts are alike if they differ by no more than so many times the rule's own spread, or this share of their median.
_ALIKE_SPREADS, _ALIKE_SHARE = 2.0, 0.5
# Of a Gaussian, the median difference of two draws in deviations.
_BETWEEN_TWO = 0.9538725524


@dataclass(frozen=True)
class Stretch:
    """Rows that are off a rule, or a column's mean, at the same side.

    Attributes
    ----------
    number : int
        The rule; columns are numbered from the last rule on.
    start, stop : int
        Half-open, in time order.
    n_off : int
        How many of its rows are beyond the limit, more than a quarter.
    median : float
        Of all its rows, signed, in spreads.
    at_first, at_last : float
        Medians of the first and of the last quarter of those beyond the limit.
    """

    number: int
    start: int
    stop: int
    n_off: int
    median: float
    at_first: float
    at_last: float

    @property
    def steady(self) -> bool:
        """Whether it is off by the same amount all along; if not, by more and more, or less and less."""
        return abs(self.at_last - self.at_first) <= _tolerance(abs(self.median))


@dataclass(frozen=True, eq=False)
class Course:
    """The order in which rows (n of them) follow each other.

    Attributes
    ----------
    n : int
    when : ndarray of shape (n,), or None
        Their times, numbers or dates; None: as they are listed.
    called : callable
        The number of the row at a position.
    """

    n: int
    when: npt.NDArray[np.generic] | None = None
    called: Callable[[int], int] = int

    @cached_property
    def order(self) -> Ints | None:
        """Positions in time order (n,); None where rows are listed in it."""
        if self.when is None or bool(np.all(np.less_equal(self.when[:-1], self.when[1:]))):
            return None
        return np.argsort(self.when, kind="stable")

    @cached_property
    def _ranks(self) -> Ints | None:
        if self.order is None:
            return None
        ranks = np.empty(self.n, dtype=np.intp)
        ranks[self.order] = np.arange(self.n)
        return ranks

    def ranks(self, positions: Ints) -> Ints:
        """Where the rows at these positions stand in time order."""
        return positions if self._ranks is None else self._ranks[positions]

    def at(self, rank: int) -> tuple[int, object]:
        """The number and the time of a row; its number twice where there are no times."""
        position = rank if self.order is None else int(self.order[rank])
        row = self.called(position)
        return row, row if self.when is None else self.when[position]


class Crossings:
    """Rows beyond the limit of a rule, and by how much: gathered part by part, nothing else is kept of the rows.

    Rules are numbered from 0, and columns of rows that are unusual but keep their rules from there on.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._parts: list[tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.float32]]] = []
        self.n = 0

    def add(self, judgement: Judgement, values: Floats) -> None:
        """The next rows (n, p), in the order of the table."""
        broken, anomalies = judgement.broken, judgement.anomalies
        if anomalies is not None:
            rows, rules = np.nonzero(broken)
            # What violates an identity is an error of its own.
            relations = rules >= self._model.n_identities
            rows, rules = rows[relations], rules[relations]
            self._keep(rows, rules, judgement.deviations[rows, rules] / units_of(self._model)[rules])
            self._columns(values, np.flatnonzero(anomalies & ~broken.any(axis=1)))
        self.n += len(judgement)

    def _columns(self, values: Floats, lawful: Ints) -> None:
        space = self._model.space
        spread = np.sqrt(space.variances)
        scaled = space.centred(values[lawful])
        off = np.divide(scaled, spread, out=np.zeros_like(scaled), where=spread > 0.0)
        rows, columns = np.nonzero(np.abs(off) > self._far)
        self._keep(lawful[rows], len(self._model.rules) + columns, off[rows, columns])

    def _keep(self, rows: Ints, numbers: Ints, off: Floats) -> None:
        if rows.size:
            largest = float(np.finfo(np.float32).max)
            self._parts.append(
                (rows + self.n, numbers.astype(np.int32), np.clip(off, -largest, largest).astype(np.float32))
            )

    @cached_property
    def _far(self) -> Floats:
        """From how many deviations on columns (p,) are far off: more where few rows tell of mean and deviation, as do
        those that follow each other closely."""
        space = self._model.space
        many = np.maximum(effective_rows(space.fitted_to, space.lag1), _FEWEST)
        return np.asarray(_FAR * np.sqrt((many + 1.0) / (many - 1.0)))

    def limit(self, number: int) -> float:
        """Beyond how many spreads, or deviations, a row is off a rule or a column's mean."""
        if number >= len(self._model.rules):
            return float(self._far[number - len(self._model.rules)])
        return sqrt(float(self._model.rule_limits[number])) / float(units_of(self._model)[number])

    def by_number(self, course: Course) -> list[tuple[int, Ints, Floats]]:
        """For each rule or column that is ever off, the rows in time order, and how far off each is, in spreads."""
        if not self._parts:
            return []
        positions, numbers, off = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
        ranks = course.ranks(positions)
        order = np.lexsort((ranks, numbers))
        ranks, numbers, off = ranks[order], numbers[order], off[order]
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        return [
            (int(numbers[a]), ranks[a:b], off[a:b].astype(np.float64))
            for a, b in zip(starts, [*starts[1:].tolist(), numbers.size], strict=True)
        ]


def units_of(model: Model) -> Floats:
    """What deviations from the rules are counted in (m,): their spreads; a rule without any, such as a constant, in
    steps of the scaled space.
    """
    return np.where(model.rule_spreads > 0.0, model.rule_spreads, 1.0)


def changed_stretches(crossings: Crossings, course: Course) -> list[Stretch]:
    """The changes among rows, in the order in which they begin."""
    found = []
    for number, ranks, off in crossings.by_number(course):
        mine = [one for side in (1.0, -1.0) for one in _of_one_side(number, ranks, off, side, crossings, course)]
        # What is off for much of the rest is no rule of these rows.
        if off.size - sum(stretch.n_off for stretch in mine) <= _STRAY * course.n:
            found += mine
    return sorted(found, key=lambda one: (one.start, -one.stop, one.number))


def _of_one_side(
    number: int, ranks: Ints, off: Floats, side: float, crossings: Crossings, course: Course
) -> Iterator[Stretch]:
    mine = off * side > 0.0
    at, sizes = ranks[mine], off[mine] * side
    for start, stop in stretches(at, _UP * shortest_change(course.n)):
        here = sizes[np.searchsorted(at, start) : np.searchsorted(at, stop)]
        median = _median(here, stop - start, crossings.limit(number))
        if median is None:
            continue
        # The last rows of all may keep the rule by chance.
        by_chance = (1.0 - here.size / (stop - start)) ** (course.n - stop)
        quarter = ceil(here.size / 4)
        ends = [side * float(np.median(part)) for part in (here[:quarter], here[-quarter:])]
        yield Stretch(number, start, course.n if by_chance > _BY_CHANCE else stop, here.size, side * median, *ends)


def shortest_change(n: int) -> int:
    """How long a change among n rows lasts at least."""
    return max(_SHORTEST, ceil(sqrt(n)))


def stretches(at: Ints, high: int) -> list[tuple[int, int]]:
    """Where many rows are among those `at` (ascending), half-open: the walk rises by `high`, before it falls by it."""
    if not at.size:
        return []
    # Neighbours are one step of the walk: a change of a million rows has few of them.
    gaps = np.flatnonzero(np.diff(at) > 1)
    firsts, lasts = at[np.r_[0, gaps + 1]].tolist(), at[np.r_[gaps, at.size - 1]].tolist()
    found = []
    start = stop = walked = firsts[0]
    height = highest = 0
    for first, last in zip(firsts, lasts, strict=True):
        height -= first - walked
        if height <= 0 or highest - height >= high:
            found.append((start, stop, highest))
            start, height, highest = first, 0, 0
        walked = last + 1
        height += _UP * (walked - first)
        if height > highest:
            stop, highest = walked, height
    return [(a, b) for a, b, reached in [*found, (start, stop, highest)] if reached >= high]


def _median(sizes: Floats, n: int, limit: float) -> float | None:
    """Of n rows, of which those beyond the limit are of these sizes; None: they are not alike.

    Where these are less than half, it is read off the Gaussian law through the limit and their own median: a bulk of
    rows that straddles the limit, and not a few that are far beyond it.
    """
    ascending = np.sort(sizes)
    scatter = float(np.median(np.abs(np.diff(sizes)))) / _BETWEEN_TWO
    if 2 * sizes.size > n:
        median = float(ascending[-(n // 2) - 1])
    else:
        least, middle = (NormalDist().inv_cdf(1.0 - share * sizes.size / n) for share in (1.0, 0.5))
        slope = (float(np.median(ascending)) - limit) / (middle - least)
        median, scatter = limit - slope * least, max(scatter, slope)
    return median if scatter <= _tolerance(median) else None


def _tolerance(median: float) -> float:
    return max(_ALIKE_SPREADS, _ALIKE_SHARE * median)
