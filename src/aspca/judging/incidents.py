"""Runs of flagged rows, in time or row order, as incidents with one explanation each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aspca.judging.groups import shares_of
from aspca.linalg.arrays import Floats, Ints

if TYPE_CHECKING:
    from aspca.judging.explanation import Explanation


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
    """

    rows: Ints
    first: object
    last: object
    peak: int
    shares: Floats
    text: str


def incidents_of(
    explanation: Explanation, time: npt.ArrayLike | None = None, patience: float = 1.0
) -> tuple[Incident, ...]:
    """Incidents in time order.

    Two flagged rows belong to one incident if they are at most `patience` apart: in units of `time` (n,), or in rows
    where no time is given (1: only neighbours).
    """
    n = len(explanation.values)
    when = np.arange(n, dtype=np.float64) if time is None else np.asarray(time)
    if when.shape != (n,):
        raise ValueError(f"time must hold one entry for each of the {n} explained rows, got shape {when.shape}.")
    if when.dtype.kind not in "biufmM":
        raise ValueError(
            f"time must hold numbers or dates, got type {when.dtype}; leave it out to use the order of rows."
        )
    order = np.argsort(when, kind="stable")
    flagged = order[explanation.anomalies[order]]
    if flagged.size == 0:
        return ()
    step = np.diff(when[flagged])
    apart = step.astype("timedelta64[ns]").astype(np.float64) * 1e-9 if step.dtype.kind == "m" else step
    runs = np.split(flagged, np.flatnonzero(apart > patience) + 1)
    return tuple(_incident(explanation, run, when, time is not None) for run in runs)


def _incident(
    explanation: Explanation, rows: Ints, when: np.ndarray[tuple[int, ...], np.dtype[np.generic]], timed: bool
) -> Incident:
    shares = shares_of(explanation, rows)
    peak = int(rows[int(np.argmax(explanation.scores[rows]))])
    first, last = (when[rows[0]], when[rows[-1]]) if timed else (int(rows[0]), int(rows[-1]))
    span = f"{first} to {last}" if rows.size > 1 else f"{first}"
    most = f"mostly outside the rules, {100 * (1.0 - shares.sum()):.0f} % of the score"
    if shares.sum() >= 0.5:
        top = int(np.argmax(shares))
        most = f"mostly the rule {explanation.rules[top]}, {100 * shares[top]:.0f} % of the score"
    text = (
        f"{rows.size} flagged row{'s' if rows.size > 1 else ''}, {span}: {most}. At its peak: {explanation.text(peak)}"
    )
    return Incident(rows, first, last, peak, shares, text)
