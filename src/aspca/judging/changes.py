"""Rules that are off by the same amount for long: since when, until when, by how much.

A *change* of a rule is a stretch of rows, in time order or as they are listed, of which more than half break the rule
at the same side, and by like amounts. Where it starts and ends is found by a walk over the rows: a step up for each row
that breaks the rule there, a step down for each that does not. A stretch begins where the walk leaves its lowest point
and ends at its highest, before it falls by as much as the shortest change is long: so the median of a stretch is beyond
the limit, and its ends are rows. Nothing but the rows that break a rule has to be kept for that, whatever the order.

Columns are treated alike where rows are unusual for long but keep their rules: then it is a column that is far from its
mean at the same side, by three deviations or more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aspca.harmless import name_text
from aspca.judging.judgement import Judgement
from aspca.linalg.arrays import Floats, Ints
from aspca.rules.rule import Rule
from aspca.rules.sentence import has_spread, short_number, shown_terms

if TYPE_CHECKING:
    from aspca.judging.model import Model

# What is shorter is a burst: so many rows, and the root of all, so that the more there is to search, the more it takes.
_SHORTEST = 30
# A column is far off its mean from so many deviations on.
_FAR = 3.0
# Amounts are alike if they spread by no more than so many times the rule's own spread, or this share of the change.
_ALIKE_SPREADS, _ALIKE_SHARE = 2.0, 0.5
# Of a Gaussian, from its median to its upper quartile.
_TO_QUARTILE = 0.6744897501960817
# A sentence says what each column would have to have moved by, if there are no more than these.
_COLUMNS_TOLD = 3


@dataclass(frozen=True, eq=False)
class Change:
    """A rule, or a column that rules leave free, that is off by the same amount for long.

    Attributes
    ----------
    rule : int or None
        The rule's number, from 0; None for a change of a column.
    column : str or None
        The column; None for a change of a rule.
    what : str
        The rule's text, or the column's name.
    start, stop : int
        Half-open, in time order or as rows are listed.
    first, last : int
        The first and the last row of it.
    since, until : object
        Their times, or the same numbers where no times were given.
    to_end : bool
        Whether it lasts to the last row.
    n_off : int
        How many of its rows are beyond the rule's limit.
    size : float
        The median of what it is off by, in the numbers of the rule's text, signed like its `coefficients`; in the
        column's own units.
    spreads : float or None
        The same in spreads of the rule, or deviations of the column; None for a rule that held exactly.
    scatter : float
        How much the rows of it spread around `size`, in its units: half of them lie within 0.67 of it.
    text : str
        All of it as a sentence.
    """

    rule: int | None
    column: str | None
    what: str
    start: int
    stop: int
    first: int
    last: int
    since: object
    until: object
    to_end: bool
    n_off: int
    size: float
    spreads: float | None
    scatter: float
    text: str

    @property
    def n_rows(self) -> int:
        """How many rows it lasts."""
        return self.stop - self.start


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
        if broken is not None and anomalies is not None:
            rows, rules = np.nonzero(broken)
            spreads = np.sqrt(self._model.table.variances)
            # A rule of a constant may have no spread at all; what it is off by is then counted as it is.
            units = np.where(spreads > 0.0, spreads, 1.0)
            self._keep(rows, rules, judgement.deviations[rows, rules] / units[rules])
            self._columns(values, np.flatnonzero(anomalies & ~broken.any(axis=1)))
        self.n += len(judgement)

    def _columns(self, values: Floats, lawful: Ints) -> None:
        space = self._model.space
        spread = np.sqrt(space.variances)
        scaled = space.centred(values[lawful])
        off = np.divide(scaled, spread, out=np.zeros_like(scaled), where=spread > 0.0)
        rows, columns = np.nonzero(np.abs(off) > _FAR)
        self._keep(lawful[rows], len(self._model.table) + columns, off[rows, columns])

    def _keep(self, rows: Ints, numbers: Ints, off: Floats) -> None:
        if rows.size:
            largest = float(np.finfo(np.float32).max)
            self._parts.append(
                (rows + self.n, numbers.astype(np.int32), np.clip(off, -largest, largest).astype(np.float32))
            )

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


def changes_of(model: Model, crossings: Crossings, course: Course) -> tuple[Change, ...]:
    """The changes among rows, in the order in which they begin."""
    shortest = shortest_change(course.n)
    found: list[Change] = []
    for number, ranks, off in crossings.by_number(course):
        for side in (1.0, -1.0):
            mine = off * side > 0.0
            at, sizes = ranks[mine], off[mine] * side
            for start, stop in stretches(at, shortest):
                here = sizes[np.searchsorted(at, start) : np.searchsorted(at, stop)]
                if stop - start >= shortest and (level := _level(here, stop - start)) is not None:
                    found.append(_change(model, course, number, (start, stop), here.size, side * level[0], level[1]))
    found.sort(key=lambda change: (change.start, -change.stop, change.rule is None, change.rule or 0))
    return tuple(found)


def shortest_change(n: int) -> int:
    """How long a change among n rows lasts at least."""
    return max(_SHORTEST, ceil(sqrt(n)))


def stretches(at: Ints, drop: int) -> list[tuple[int, int]]:
    """Where most rows are among those `at` (ascending): half-open, each ends before the walk falls by `drop`."""
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
        if height <= 0 or highest - height >= drop:
            if highest:
                found.append((start, stop))
            start, height, highest = first, 0, 0
        walked = last + 1
        height += walked - first
        if height > highest:
            stop, highest = walked, height
    return [*found, (start, stop)]


def _level(sizes: Floats, n: int) -> tuple[float, float] | None:
    """Median and scatter of n rows, in spreads, of which those beyond the limit are of these sizes; None: not alike.

    More than half are beyond it, so the upper half of the rows is known.
    """
    ascending = np.sort(sizes)
    median, quartile = float(ascending[-(n // 2) - 1]), float(ascending[-(n // 4) - 1])
    scatter = (quartile - median) / _TO_QUARTILE
    return (median, scatter) if scatter <= max(_ALIKE_SPREADS, _ALIKE_SHARE * median) else None


# ---- in words


def _change(
    model: Model, course: Course, number: int, span: tuple[int, int], n_off: int, spreads: float, scatter: float
) -> Change:
    start, stop = span
    (first, since), (last, until) = course.at(start), course.at(stop - 1)
    to_end = stop == course.n
    m = len(model.table)
    if number < m:
        rule = model.rules[number]
        deviation = spreads * (rule.spread if model.table.variances[number] > 0.0 else _plain_unit(model, number))
        unit = deviation / spreads * abs(rule.equation.unit)
        counted: float | None = spreads if has_spread(rule) else None
        what = str(rule)
        clause = f"{_off(rule, deviation)}{_in_spreads(counted, 'spread')}{_moved(rule, spreads * unit)}"
        column = None
    else:
        feature = model.space.features[number - m]
        unit, counted = float(model.space.deviations[number - m]), spreads
        what = column = feature.column
        off = short_number(abs(spreads) * unit, unit)
        side = "higher" if spreads > 0.0 else "lower"
        clause = f"is {off} {side} than usual{_in_spreads(counted, 'deviation')}, and no rule is broken"
    return Change(
        rule=number if number < m else None,
        column=column,
        what=what,
        start=start,
        stop=stop,
        first=first,
        last=last,
        since=since,
        until=until,
        to_end=to_end,
        n_off=n_off,
        size=spreads * unit,
        spreads=counted,
        scatter=scatter * unit,
        text=f"{_span(course, first, since, last, until, to_end)}: {what if column is None else name_text(column)} "
        f"{clause}.",
    )


def _plain_unit(model: Model, number: int) -> float:
    """What one step of the scaled space is in the numbers of a rule that has no spread."""
    return float(1.0 / np.linalg.norm(model.table.loadings[:, number] / model.space.scale))


def _span(course: Course, first: int, since: object, last: int, until: object, to_end: bool) -> str:
    times = ("", "") if course.when is None else (f" ({_moment(since)})", f" ({_moment(until)})")
    if to_end:
        return f"Since row {first}{times[0]}"
    return f"From row {first}{times[0]} to {last}{times[1]}"


def _moment(time: object) -> str:
    return str(time).replace("T", " ") if isinstance(time, np.datetime64) else f"{time:.10g}"


def _in_spreads(spreads: float | None, what: str) -> str:
    if spreads is None or abs(spreads) >= 1e6:
        return ""
    return f", {abs(spreads):.2g} {what}s"


def _off(rule: Rule, deviation: float) -> str:
    off = rule.off_by(deviation)
    if all(feature.kind == "level" for feature in (rule.origins[k] for k in shown_terms(rule))):
        return f"has {off}"
    return f"is {off}" if shown_terms(rule).size == 1 else f"is off by {off}"


def _moved(rule: Rule, size: float) -> str:
    """What one column would have to have moved by: as in ``, as if load were 3 higher or users 1.5 lower``."""
    shown = shown_terms(rule)
    if not 2 <= shown.size <= _COLUMNS_TOLD or any(rule.origins[k].kind != "number" for k in shown):
        return ""
    steps = [(rule.origins[int(k)], size / float(rule.equation.coefficients[k])) for k in shown]
    told = [f"{feature.text} had been {abs(step):.3g} {'higher' if step > 0.0 else 'lower'}" for feature, step in steps]
    return f", as if {' or '.join(told)}"


def groups_of_changes(changes: Sequence[Change]) -> list[list[Change]]:
    """Changes that are one event, longest first: those that share more than half of the rows of either."""
    groups: list[list[Change]] = []
    for change in sorted(changes, key=lambda one: (-one.n_rows, one.start)):
        for group in groups:
            lead = group[0]
            shared = min(lead.stop, change.stop) - max(lead.start, change.start)
            if 2 * shared > max(lead.stop, change.stop) - min(lead.start, change.start):
                group.append(change)
                break
        else:
            groups.append([change])
    return sorted(groups, key=lambda group: group[0].start)
