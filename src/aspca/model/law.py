"""The law of scores: from the score of a row to its p-value and verdict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats, frozen
from aspca.model.constants import CENSORED, FEWEST_CENSORED

# The law is written down at so many points.
_KNOTS = 200
# Of log(1 + score).
_LARGEST_PLACE = 690.0
# A threshold lies between the scores of two rows: rounding on another machine moves no verdict.
_BETWEEN = 0.5


@dataclass(frozen=True, eq=False)
class RowLaw:
    """p-values and verdicts of scores.

    Attributes
    ----------
    knots, log_p : ndarray of shape (k,)
        Ascending log(1 + score), and log p there; beyond the last, p is inversely proportional to 1 + score.
    unusual, error : float
        Scores above which rows are unusual, and errors.
    n_rows : int
        How many rows are learned from: so many times p is how often chance would do as much.
    """

    knots: Floats
    log_p: Floats
    unusual: float
    error: float
    n_rows: int

    def p_values(self, scores: Floats) -> Floats:
        """p-values (n,) of scores."""
        places = np.log1p(scores)
        beyond = np.maximum(places - self.knots[-1], 0.0)
        return np.asarray(np.exp(np.interp(places, self.knots, self.log_p) - beyond))


def learn_law(scores: Floats, level: float, rate: float, n_rows: int) -> RowLaw:
    """The law of the scores of rows that were not fitted (n,), of n_rows in all.

    Counted in the bulk. Beyond the anchor, where as many rows may be errors as stand out, p falls as 1 + score rises:
    its parts already know how sure they are.
    """
    places = np.sort(np.log1p(scores))
    n = places.size
    outlying = float((np.exp(-places) <= max(largest_rejected(np.exp(-places), rate), rate / n_rows)).mean())
    beyond = min(max(int(np.ceil((CENSORED + outlying) * n)), FEWEST_CENSORED), n - 1)
    anchor = places[n - 1 - beyond]
    log_beyond = np.log((beyond + 0.5 + np.sqrt(beyond)) / (n + 0.5))
    first = np.searchsorted(places, places * (1.0 - 1e-9), "left")
    falling = np.where(places > anchor, log_beyond - (places - anchor), 0.0)
    # Errors among all rows; unusual rows among those that do not stand out, or there were none where many do.
    others = n - round(outlying * n)
    of_all, log_p = (
        np.minimum(np.minimum(np.log((np.maximum(m - first, 0.0) + 0.5) / (m + 0.5)), falling), 0.0)
        for m in (n, others)
    )
    threshold = np.log(max(largest_rejected(np.exp(of_all), rate), rate / n_rows))
    knots, log_p_at = _thin(places, log_p)
    # Beyond the last score.
    last = places[-1] + 1e-9 * (1.0 + abs(places[-1]))
    knots = np.append(knots, last)
    at_last = float(log_beyond - (last - anchor)) if last > anchor else 0.0
    log_p_at = np.append(log_p_at, min(float(log_p_at[-1]), at_last))
    limits = ((log_p, float(np.log1p(-level))), (of_all, float(threshold)))
    edges = (_edge(places, values, limit, knots, log_p_at) for values, limit in limits)
    unusual, error = (float(np.expm1(min(edge, _LARGEST_PLACE))) for edge in edges)
    return RowLaw(frozen(knots), frozen(log_p_at), unusual, max(error, unusual), n_rows)


def _thin(places: Floats, log_p: Floats) -> tuple[Floats, Floats]:
    """Some points of the law, evenly in log p, each place once."""
    values, first = np.unique(places, return_index=True)
    at = log_p[first]
    wanted = np.linspace(at[0], at[-1], _KNOTS)
    chosen = np.searchsorted(-at, -wanted)
    chosen = np.unique(np.concatenate([chosen[chosen < values.size], [0, values.size - 1]]))
    return values[chosen], at[chosen]


def _edge(places: Floats, log_p: Floats, threshold: float, knots: Floats, log_p_at: Floats) -> float:
    """The place above which log p is at most this, between those of two rows."""
    reached = np.flatnonzero(log_p <= threshold)
    if not reached.size:
        return float(knots[-1] + max(log_p_at[-1] - threshold, 0.0))
    first = int(np.searchsorted(places, places[reached[0]] * (1.0 - 1e-9), "left"))
    if first == 0:
        return float(places[0] * (1.0 - 1e-9))
    return float(places[first - 1] + _BETWEEN * (places[first] - places[first - 1]))


def largest_rejected(p: Floats, rate: float) -> float:
    """The largest p-value that Benjamini and Hochberg reject at this rate; 0 where none is."""
    ordered = np.sort(p)
    below = np.flatnonzero(ordered <= rate * np.arange(1, ordered.size + 1) / ordered.size)
    return float(ordered[below[-1]]) if below.size else 0.0
