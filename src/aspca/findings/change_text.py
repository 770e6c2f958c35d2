"""Changes as a person reads them: which rule, since when, by how much, and what one column would have done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aspca.escaping import name_text
from aspca.findings.changes import Course, Crossings, Stretch, changed_stretches, units_of
from aspca.identities.wording import number_text
from aspca.rules.rule import Rule
from aspca.rules.wording import short_number

if TYPE_CHECKING:
    from aspca.model.model import Model

# Of rules that change at once, so many have their sentences.
_CHANGES_TOLD = 3
# A sentence says what each column would have to have moved by, if there are no more than these.
_COLUMNS_TOLD = 3
# So many spreads are no measure of anything.
_COUNTLESS = 1e6


@dataclass(frozen=True, eq=False)
class Change:
    """A rule, or a column that rules leave free, that is off by like amounts for long.

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
        The numbers of the first and of the last row of it.
    since, until : object
        Their times, or the same numbers where no times were given.
    to_end : bool
        Whether it lasts to the last row.
    n_off : int
        How many of its rows are beyond the rule's limit.
    size : float
        The median of what it is off by: in the numbers of the rule's text, signed like its `coefficients`; for a column
        in its own units.
    at_first, at_last : float
        The same in the first and in the last quarter of it.
    spreads : float or None
        `size` in spreads of the rule, or deviations of the column; None for a rule that held exactly.
    how : str
        What changed, and by how much, as a clause.
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
    at_first: float
    at_last: float
    spreads: float | None
    how: str
    text: str

    @property
    def n_rows(self) -> int:
        """How many rows it lasts."""
        return self.stop - self.start


def changes_of(model: Model, crossings: Crossings, course: Course) -> tuple[Change, ...]:
    """The changes among rows, in the order in which they begin."""
    return tuple(_change(model, course, stretch) for stretch in changed_stretches(crossings, course))


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
    """What changed at once, a sentence each, of many the longest."""
    told = " ".join(change.text for change in event[:_CHANGES_TOLD])
    more = len(event) - _CHANGES_TOLD
    return f"{told} And {more} more at once." if more > 0 else told


def _change(model: Model, course: Course, stretch: Stretch) -> Change:
    (first, since), (last, until) = course.at(stretch.start), course.at(stretch.stop - 1)
    to_end = stretch.stop == course.n
    number, m = stretch.number, len(model.rules)
    ruled = number < m
    if ruled:
        place = number - model.n_identities
        rule, what, column = model.relations[place], str(model.rules[number]), None
        # From spreads to `Explanation.deviations`, and to the numbers of the text.
        step = float(units_of(model)[number] / np.linalg.norm(model.table.loadings[:, place] / model.space.scale))
        unit, counted = step * abs(rule.equation.unit), rule.has_spread
        how = f"{what} {_off(rule, stretch, step)}"
        how += _in_spreads(stretch, "spread") if counted else ""
        how += _moved(rule, stretch.median * step) if stretch.steady else ""
    else:
        feature = model.space.features[number - m]
        what = column = feature.column
        unit, counted = float(model.space.deviations[number - m]), True
        how = f"{name_text(column)} {_higher(stretch, unit)}{_in_spreads(stretch, 'deviation')}"
        how += ", and no rule is broken"
    return Change(
        rule=number if ruled else None,
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
        text=f"{_span(course, (first, since), (last, until), to_end)}: {how}.",
    )


def moment_text(time: object) -> str:
    """A time inside a sentence."""
    return str(time).replace("T", " ") if isinstance(time, np.datetime64) else number_text(float(time))  # type: ignore[arg-type]  # a number otherwise


def _span(course: Course, first: tuple[int, object], last: tuple[int, object], to_end: bool) -> str:
    begins, ends = (f"{row}" if course.when is None else f"{row} ({moment_text(time)})" for row, time in (first, last))
    return f"Since row {begins}" if to_end else f"From row {begins} to {ends}"


def _off(rule: Rule, stretch: Stretch, step: float) -> str:
    """As in ``is off by 0.5``, or, where it is not the same all along, ``is off by 0.5 at first, 2 at last``."""
    verb = "is" if rule.shown_terms.size == 1 else "is off by"
    if all(rule.origins[k].kind == "level" for k in rule.shown_terms):
        return f"has {rule.off_by(stretch.median * step)}"
    if stretch.steady:
        return f"{verb} {rule.off_by(stretch.median * step)}"
    return f"{verb} {rule.off_by(stretch.at_first * step)} at first, {rule.off_by(stretch.at_last * step)} at last"


def _higher(stretch: Stretch, unit: float) -> str:
    side = "higher" if stretch.median > 0.0 else "lower"
    if stretch.steady:
        return f"is {short_number(abs(stretch.median) * unit, unit)} {side} than usual"
    ends = [short_number(abs(size) * unit, unit) for size in (stretch.at_first, stretch.at_last)]
    return f"is {ends[0]} {side} than usual at first, {ends[1]} at last"


def _in_spreads(stretch: Stretch, what: str) -> str:
    spreads = abs(stretch.median)
    return f", {spreads:.2g} {what}s" if stretch.steady and spreads < _COUNTLESS else ""


def _moved(rule: Rule, deviation: float) -> str:
    """What one column would have to have moved by, as in ``, as if load were 3 higher or users 1.5 lower``."""
    shown = rule.shown_terms
    if not 2 <= shown.size <= _COLUMNS_TOLD or any(rule.origins[k].kind != "number" for k in shown):
        return ""
    names_of: dict[str, list[str]] = {}
    for k in shown.tolist():
        # By the numbers that the reader sees.
        move = deviation * rule.equation.unit / float(rule.equation.coefficients[k])
        words = f"{short_number(abs(move), abs(move))} {'higher' if move > 0.0 else 'lower'}"
        names_of.setdefault(words, []).append(rule.origins[k].text)
    told = [f"{' or '.join(names)} were {words}" for words, names in names_of.items()]
    return f", as if {' or '.join(told)}"
