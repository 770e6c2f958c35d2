"""Changes, and runs of flagged rows beyond them, in time or row order, as incidents with one explanation each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aspca.findings.change_text import Change, event_text, events_of, moment_text
from aspca.findings.changes import Course
from aspca.findings.groups import shares_of
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.ranking import round_for_ranking

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation


@dataclass(frozen=True, eq=False)
class Incident:
    """Flagged rows that follow each other.

    Attributes
    ----------
    rows : ndarray of shape (k,)
        Positions of the flagged rows, in time order.
    first, last : object
        Their times, or positions where no time was given.
    peak : int
        The row of the highest score.
    shares : ndarray of shape (d,)
        The rules' parts of the incident's score; what they leave to one lies outside of them.
    text : str
    kind : {"anomalies", "change"}
        Rows that are off by themselves, or rows of a change that are nothing but that: every flagged row is in one
        incident.
    changes : tuple of Change
        What changed, the longest change first.
    """

    rows: Ints
    first: object
    last: object
    peak: int
    shares: Floats
    text: str
    kind: str = "anomalies"
    changes: tuple[Change, ...] = ()


def course_of(explanation: Explanation, time: npt.ArrayLike | None) -> Course:
    """The order of explained rows by `time` (n,), or as they are."""
    n = len(explanation.values)
    if time is None:
        return Course(n)
    when = np.asarray(time)
    if when.shape != (n,):
        raise ValueError(f"time must hold one entry for each of the {n} explained rows, got shape {when.shape}.")
    if when.dtype.kind not in "biufmM":
        raise ValueError(
            f"time must hold numbers or dates, got type {when.dtype}; leave it out to use the order of rows."
        )
    return Course(n, when)


def incidents_of(
    explanation: Explanation,
    course: Course,
    patience: float,
    changes: Sequence[Change] = (),
    beyond: Bools | None = None,
    ranks: Ints | None = None,
) -> tuple[Incident, ...]:
    """Incidents in time order: changes, and runs of rows that are anomalies beyond them.

    Two flagged rows belong to one run if they are at most `patience` apart: in units of time, or in rows where no time
    is given (1: only neighbours).

    Parameters
    ----------
    course : Course
        Of the explained rows.
    beyond : ndarray of shape (n,), or None
        Which rows are anomalies by more than a change; None: all anomalies.
    ranks : ndarray of shape (n,), or None
        Where the explained rows stand among those that `changes` speak of; None: these are the same.
    """
    everyone = np.arange(course.n)
    order = everyone if course.order is None else course.order
    when: npt.NDArray[np.generic] = everyone if course.when is None else course.when
    standing = course.ranks(everyone) if ranks is None else ranks
    flagged = order[explanation.anomalies[order]]
    apart, rest = flagged, flagged[:0]
    if beyond is not None:
        apart, rest = flagged[beyond[flagged]], flagged[~beyond[flagged]]
    found = []
    for event in events_of(changes):
        covered = _covered(standing[rest], event)
        if covered.any():
            found.append((event[0].start, _change_incident(explanation, rest[covered], when, event)))
        rest = rest[~covered]
    if apart.size:
        step = np.diff(when[apart])
        gap = step.astype("timedelta64[ns]").astype(np.float64) * 1e-9 if step.dtype.kind == "m" else step
        runs = np.split(apart, np.flatnonzero(gap > patience) + 1)
        found += [(int(standing[run[0]]), _incident(explanation, run, when)) for run in runs]
    found.sort(key=lambda pair: pair[0])
    return tuple(incident for _, incident in found)


def _covered(ranks: Ints, event: Sequence[Change]) -> Bools:
    """Which rows lie within any of the changes."""
    return np.asarray(np.any([(ranks >= change.start) & (ranks < change.stop) for change in event], axis=0))


def _change_incident(
    explanation: Explanation, rows: Ints, when: npt.NDArray[np.generic], event: Sequence[Change]
) -> Incident:
    text = f"{_flagged_rows(rows)} of a change. {event_text(event)}"
    return Incident(*_extent(explanation, rows, when), text, "change", tuple(event))


def _incident(explanation: Explanation, rows: Ints, when: npt.NDArray[np.generic]) -> Incident:
    rows, first, last, peak, shares = _extent(explanation, rows, when)
    span = f"{moment_text(first)} to {moment_text(last)}" if rows.size > 1 else moment_text(first)
    most = f"mostly outside the rules, {100 * (1.0 - shares.sum()):.0f} % of the score"
    if shares.sum() >= 0.5:
        top = int(np.argmax(round_for_ranking(shares)))
        most = f"mostly the rule {explanation.rules[top]}, {100 * shares[top]:.0f} % of the score"
    text = f"{_flagged_rows(rows)}, {span}: {most}. At its peak: {explanation[peak].text}"
    return Incident(rows, first, last, peak, shares, text)


def _flagged_rows(rows: Ints) -> str:
    return f"{rows.size:,} flagged row{'s' if rows.size > 1 else ''}"


def _extent(
    explanation: Explanation, rows: Ints, when: npt.NDArray[np.generic]
) -> tuple[Ints, object, object, int, Floats]:
    """Rows, when they begin and end, the worst of them, and the rules' shares."""
    peak = int(rows[int(np.argmax(round_for_ranking(explanation.scores[rows])))])
    first, last = (when[rows[0]], when[rows[-1]])
    if when.dtype.kind in "iu":
        first, last = int(first), int(last)
    return rows, first, last, peak, shares_of(explanation, rows)
