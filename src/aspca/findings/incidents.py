"""Changes, and runs of flagged rows beyond them, in time or row order, as incidents with one explanation each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aspca.findings.changes import Change, Course, event_text, events_of, moment_text
from aspca.findings.explained import ExplainedRows
from aspca.findings.groups import main_rule, sum_rule_shares
from aspca.findings.words import describe_row
from aspca.linalg.arrays import Bools, Floats, Ints, round_for_ranking


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


def order_rows(why: ExplainedRows, time: npt.ArrayLike | None) -> Course:
    """The order of explained rows by `time` (n,), or as they are."""
    n = len(why)
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


def find_incidents(
    why: ExplainedRows,
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
    flagged = order[why.anomalies[order]]
    apart, rest = flagged, flagged[:0]
    if beyond is not None:
        apart, rest = flagged[beyond[flagged]], flagged[~beyond[flagged]]
    found = []
    for event in events_of(changes):
        places = standing[rest]
        covered = np.any([(places >= change.start) & (places < change.stop) for change in event], axis=0)
        if covered.any():
            found.append((event[0].start, _make_incident(why, rest[covered], when, event)))
        rest = rest[~covered]
    if apart.size:
        step = np.diff(when[apart])
        gap = step.astype("timedelta64[ns]").astype(np.float64) * 1e-9 if step.dtype.kind == "m" else step
        runs = np.split(apart, np.flatnonzero(gap > patience) + 1)
        found += [(int(standing[run[0]]), _make_incident(why, run, when)) for run in runs]
    found.sort(key=lambda pair: pair[0])
    return tuple(incident for _, incident in found)


def _make_incident(
    why: ExplainedRows, rows: Ints, when: npt.NDArray[np.generic], event: Sequence[Change] = ()
) -> Incident:
    """Rows of a change, or a run of others."""
    peak = int(rows[int(np.argmax(round_for_ranking(why.scores[rows])))])
    first, last = when[rows[0]], when[rows[-1]]
    if when.dtype.kind in "iu":
        first, last = int(first), int(last)
    shares = sum_rule_shares(why, rows)
    flagged = f"{rows.size:,} flagged row{'s' if rows.size > 1 else ''}"
    if event:
        text = f"{flagged} of a change. {event_text(event)}"
        return Incident(rows, first, last, peak, shares, text, "change", tuple(event))
    span = f"{moment_text(first)} to {moment_text(last)}" if rows.size > 1 else moment_text(first)
    rule, share = main_rule(shares)
    most = f"mostly {'outside the rules' if rule is None else f'the rule {why.rules[rule]}'}"
    peak_text = describe_row(why, peak)
    text = f"{flagged}, {span}: {most}, {100 * share:.0f} % of the score. At its peak: {peak_text}"
    return Incident(rows, first, last, peak, shares, text)
