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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from aspca.escaping import name_text
from aspca.identities.identity import write_number
from aspca.linalg.arrays import Floats, Ints
from aspca.model.judgement import Judgement
from aspca.moments.autocorrelation import count_effective_rows
from aspca.rules.rule import Rule
from aspca.rules.wording import shorten_number

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
# Amounts are alike if they differ by no more than so many times the rule's own spread, or this share of their median.
_ALIKE_SPREADS, _ALIKE_SHARE = 2.0, 0.5
# Of a Gaussian, the median difference of two draws in deviations.
_BETWEEN_TWO = 0.9538725524


@dataclass(frozen=True, eq=False)
class Change:
    """A rule, or a column that rules leave free, that is off by like amounts for long."""

    rule: int | None  # its number, from 0; None for a change of a column
    column: str | None  # None for a change of a rule
    what: str  # the rule's text, or the column's name
    start: int  # half-open, in time order or as rows are listed
    stop: int
    first: int  # the numbers of the first and of the last row of it
    last: int
    since: object  # their times, or the same numbers where no times were given
    until: object
    to_end: bool  # whether it lasts to the last row
    n_off: int  # how many of its rows are beyond the rule's limit
    # The median of what it is off by: in the numbers of the rule's text, signed like its `coefficients`; for a column
    # in its own units.
    size: float
    at_first: float  # the same in the first and in the last quarter of it
    at_last: float
    spreads: float | None  # `size` in spreads of the rule, or deviations of the column; None for one that held exactly
    how: str  # what changed, and by how much, as a clause
    text: str  # all of it as a sentence

    @property
    def n_rows(self) -> int:
        """How many rows it lasts."""
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class Course:
    """The order in which rows (n of them) follow each other."""

    n: int
    when: npt.NDArray[np.generic] | None = None  # (n,), their times, numbers or dates; None: as they are listed
    numbers: Ints | None = None  # (n,), what rows are called; None: by their positions

    @cached_property
    def order(self) -> Ints | None:
        """Positions in time order (n,); None where rows are listed in it."""
        if self.when is None or bool(np.all(np.less_equal(self.when[:-1], self.when[1:]))):
            return None
        return np.argsort(self.when, kind="stable")

    @cached_property
    def _ranks(self) -> Ints | None:
        return None if self.order is None else np.argsort(self.order)

    def ranks(self, positions: Ints) -> Ints:
        """Where the rows at these positions stand in time order."""
        return positions if self._ranks is None else self._ranks[positions]

    def called(self, position: int) -> int:
        """The number of the row at a position."""
        return position if self.numbers is None else int(self.numbers[position])

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
        # Deviations are counted in spreads; from a rule without any, such as a constant, in steps of the scaled space.
        self.units = np.where(model.rule_spreads > 0.0, model.rule_spreads, 1.0)
        self._parts: list[tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.float32]]] = []
        self.n = 0

    def add(self, judgement: Judgement, values: Floats) -> None:
        """The next rows (n, p), in the order of the table."""
        broken, anomalies, space = judgement.broken, judgement.anomalies, self._model.space
        if anomalies is not None:
            rows, rules = np.nonzero(broken)
            # What violates an identity is an error of its own.
            relations = rules >= self._model.n_identities
            rows, rules = rows[relations], rules[relations]
            self._keep(rows, rules, judgement.deviations[rows, rules] / self.units[rules])
            lawful = np.flatnonzero(anomalies & ~broken.any(axis=1))
            scaled, spread = space.centred(values[lawful]), np.sqrt(space.variances)
            off = np.divide(scaled, spread, out=np.zeros_like(scaled), where=spread > 0.0)
            rows, columns = np.nonzero(np.abs(off) > self._far)
            self._keep(lawful[rows], len(self._model.rules) + columns, off[rows, columns])
        self.n += len(judgement)

    def _keep(self, rows: Ints, numbers: Ints, off: Floats) -> None:
        if rows.size:
            largest = float(np.finfo(np.float32).max)
            sizes = np.clip(off, -largest, largest).astype(np.float32)
            self._parts.append((rows + self.n, numbers.astype(np.int32), sizes))

    @cached_property
    def _far(self) -> Floats:
        """From how many deviations on columns (p,) are far off: more where few rows tell of mean and deviation, as do
        those that follow each other closely."""
        space = self._model.space
        # Rows count for no fewer than two.
        many = np.maximum(count_effective_rows(space.fitted_to, space.lag1), 2.0)
        return np.asarray(_FAR * np.sqrt((many + 1.0) / (many - 1.0)))

    def limit(self, number: int) -> float:
        """Beyond how many spreads, or deviations, a row is off a rule or a column's mean."""
        if number >= len(self._model.rules):
            return float(self._far[number - len(self._model.rules)])
        return sqrt(float(self._model.rule_limits[number])) / float(self.units[number])

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


# ---- stretches of rows


class _Stretch(NamedTuple):
    """Rows that are off a rule, or a column's mean, at the same side."""

    number: int  # the rule; columns are numbered from the last rule on
    start: int  # half-open, in time order
    stop: int
    n_off: int  # how many of its rows are beyond the limit, more than a quarter
    median: float  # of all its rows, signed, in spreads
    at_first: float  # medians of the first and of the last quarter of those beyond the limit
    at_last: float

    @property
    def steady(self) -> bool:
        """Whether it is off by the same amount all along; if not, by more and more, or less and less."""
        return abs(self.at_last - self.at_first) <= _tolerance(abs(self.median))


def find_changes(model: Model, crossings: Crossings, course: Course) -> tuple[Change, ...]:
    """The changes among rows, in the order in which they begin."""
    found = []
    for number, ranks, off in crossings.by_number(course):
        mine = [one for side in (1.0, -1.0) for one in _of_one_side(number, ranks, off, side, crossings, course)]
        # What is off for much of the rest is no rule of these rows.
        if off.size - sum(stretch.n_off for stretch in mine) <= _STRAY * course.n:
            found += mine
    found.sort(key=lambda one: (one.start, -one.stop, one.number))
    return tuple(_describe(model, crossings, course, stretch) for stretch in found)


def _of_one_side(
    number: int, ranks: Ints, off: Floats, side: float, crossings: Crossings, course: Course
) -> Iterator[_Stretch]:
    mine = off * side > 0.0
    at, sizes = ranks[mine], off[mine] * side
    for start, stop in find_stretches(at, _UP * shortest_change(course.n)):
        here = sizes[np.searchsorted(at, start) : np.searchsorted(at, stop)]
        median = _median(here, stop - start, crossings.limit(number))
        if median is None:
            continue
        # The last rows of all may keep the rule by chance.
        by_chance = (1.0 - here.size / (stop - start)) ** (course.n - stop)
        quarter = ceil(here.size / 4)
        ends = [side * float(np.median(part)) for part in (here[:quarter], here[-quarter:])]
        yield _Stretch(number, start, course.n if by_chance > _BY_CHANCE else stop, here.size, side * median, *ends)


def shortest_change(n: int) -> int:
    """How long a change among n rows lasts at least."""
    return max(_SHORTEST, ceil(sqrt(n)))


def find_stretches(at: Ints, high: int) -> list[tuple[int, int]]:
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


def events_of(changes: Sequence[Change]) -> tuple[tuple[Change, ...], ...]:
    """What changed at once: changes that share more than half of the rows of either, the longest first in each."""
    events: list[list[Change]] = []
    for change in sorted(changes, key=lambda one: (-one.n_rows, one.start)):
        for event in events:
            lead = event[0]
            shared = min(lead.stop, change.stop) - max(lead.start, change.start)
            if 2 * shared > max(lead.stop, change.stop) - min(lead.start, change.start):
                event.append(change)
                break
        else:
            events.append([change])
    return tuple(tuple(event) for event in sorted(events, key=lambda event: event[0].start))


def event_text(event: Sequence[Change]) -> str:
    """What changed at once, a sentence each, of many the three longest."""
    told = " ".join(change.text for change in event[:3])
    return f"{told} And {len(event) - 3} more at once." if len(event) > 3 else told


# ---- in words


def _describe(model: Model, crossings: Crossings, course: Course, stretch: _Stretch) -> Change:
    (first, since), (last, until) = course.at(stretch.start), course.at(stretch.stop - 1)
    to_end = stretch.stop == course.n
    number, m = stretch.number, len(model.rules)
    if number < m:
        place = number - model.n_identities
        rule, what, column = model.relations[place], str(model.rules[number]), None
        # From spreads to `Explanation.deviations`, and to the numbers of the text.
        step = float(crossings.units[number] / np.linalg.norm(model.table.loadings[:, place] / model.space.scale))
        unit, counted = step * abs(rule.equation.unit), rule.has_spread
        how = f"{what} {_off(rule, stretch, step)}"
        how += _in_spreads(stretch, "spread") if counted else ""
        how += _moved(rule, stretch.median * step) if stretch.steady else ""
    else:
        what = column = model.space.features[number - m].column
        unit, counted = float(model.space.deviations[number - m]), True
        side = f"{'higher' if stretch.median > 0.0 else 'lower'} than usual"
        typical, *ends = (
            shorten_number(abs(size) * unit, unit) for size in (stretch.median, stretch.at_first, stretch.at_last)
        )
        higher = f"{typical} {side}" if stretch.steady else f"{ends[0]} {side} at first, {ends[1]} at last"
        how = f"{name_text(column)} is {higher}{_in_spreads(stretch, 'deviation')}, and no rule is broken"
    begins, ends_at = (
        f"{row}" if course.when is None else f"{row} ({moment_text(time)})"
        for row, time in ((first, since), (last, until))
    )
    return Change(
        rule=number if number < m else None,
        column=column,
        what=what,
        start=stretch.start,
        stop=stretch.stop,
        first=first,
        last=last,
        since=since,
        until=until,
        to_end=to_end,
        n_off=stretch.n_off,
        size=stretch.median * unit,
        at_first=stretch.at_first * unit,
        at_last=stretch.at_last * unit,
        spreads=stretch.median if counted else None,
        how=how,
        text=f"{f'Since row {begins}' if to_end else f'From row {begins} to {ends_at}'}: {how}.",
    )


def moment_text(time: object) -> str:
    """A time inside a sentence."""
    return str(time).replace("T", " ") if isinstance(time, np.datetime64) else write_number(float(time))  # type: ignore[arg-type]  # a number otherwise


def _off(rule: Rule, stretch: _Stretch, step: float) -> str:
    """As in ``is off by 0.5``, or, where it is not the same all along, ``is off by 0.5 at first, 2 at last``."""
    typical, first, last = (rule.off_by(size * step) for size in (stretch.median, stretch.at_first, stretch.at_last))
    if all(rule.origins[k].kind == "level" for k in rule.shown_terms):
        return f"has {typical}"
    off = typical if stretch.steady else f"{first} at first, {last} at last"
    return f"is {off}" if rule.shown_terms.size == 1 else f"is off by {off}"


def _in_spreads(stretch: _Stretch, what: str) -> str:
    # A million spreads are no measure of anything.
    spreads = abs(stretch.median)
    return f", {spreads:.2g} {what}s" if stretch.steady and spreads < 1e6 else ""


def _moved(rule: Rule, deviation: float) -> str:
    """What one of two or three columns would have to have moved by, as in ``, as if load were 3 higher or users 1.5
    lower``."""
    shown = rule.shown_terms
    if shown.size not in (2, 3) or any(rule.origins[k].kind != "number" for k in shown):
        return ""
    names_of: dict[str, list[str]] = {}
    for k in shown.tolist():
        # By the numbers that the reader sees.
        move = deviation * rule.equation.unit / float(rule.equation.coefficients[k])
        words = f"{shorten_number(abs(move), abs(move))} {'higher' if move > 0.0 else 'lower'}"
        names_of.setdefault(words, []).append(rule.origins[k].text)
    told = [f"{' or '.join(names)} were {words}" for words, names in names_of.items()]
    return f", as if {' or '.join(told)}"
