"""The law of the score of a normal row, from moments alone: what its limits rest on where no rows are at hand.

For Gaussian rows the Mahalanobis distance in q directions of a covariance from n rows is q (n + 1) / (n - q) times
F(q, n - q) for a new row. The rules are the tightest directions of all those fitted, and look tighter than they are: so
the degrees of freedom left are n less *all* fitted directions, not only those of the rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType

import numpy as np

from aspca.judging.metric import Metric, tempered
from aspca.judging.quantiles import f_quantile, find_root
from aspca.linalg.arrays import Floats

# Fewer rows than directions leave no degrees of freedom; with two the limit is so high that next to nothing is flagged.
_LEAST_FREEDOM = 2.0
# Quadrature over what lies outside the rules: ends of stretches of its distribution, and points in each.
_STRETCHES = (0.0, 0.9, 0.99, 0.999, 1.0)
_POINTS = 48

ASSUMES = (
    "Rows are Gaussian with the fitted covariance, and the score of a new one follows the F laws of its parts inside "
    "and outside the rules."
)


@dataclass(frozen=True)
class ScoreLaw:
    """The law of a complete or whitened score.

    Attributes
    ----------
    inside : int
        Directions of the rules that vary, q.
    outside : int
        Directions outside of them that count, r.
    n_rows : float
    limit, share : float
        As in `Metric`, for the part outside.
    fitted : int
        Directions that the covariance was fitted in.
    """

    inside: int
    outside: int
    n_rows: float
    limit: float
    share: float
    fitted: int

    @classmethod
    def of(cls, metric: Metric, n_exact: int, n_rows: float, n_varying: int) -> ScoreLaw:
        """The law for a metric whose rules hold exactly but for these."""
        inside, outside = metric.weights.shape[0] - n_exact, metric.outside.shape[1]
        fitted = max(inside + outside, n_varying)
        return cls(inside, outside, n_rows, metric.outside_limit, metric.outside_share, fitted)

    @property
    def freedom(self) -> float:
        """Degrees of freedom left."""
        return freedom_of(self.n_rows, self.fitted)

    def quantile(self, level: float) -> float:
        """The score that the share `level` of normal rows stays below."""
        if self.inside == 0 and self.outside == 0:
            return 0.0
        if self.outside == 0:
            return self._scale(self.inside) * f_quantile(level, self.inside, self.freedom)
        if self.inside == 0:
            far = self._scale(self.outside) * f_quantile(level, self.outside, self.freedom)
            return float(tempered(np.array([far]), self.limit, self.share)[0])
        special, freedom = _special(), self.freedom
        points, weights = _quadrature()
        squares = self._scale(self.outside) * special.fdtri(self.outside, self.freedom, points)
        rest = tempered(squares, self.limit, self.share)

        inside, beyond, scale = self.inside, 1.0 - level, self._scale(self.inside)

        def excess(score: float) -> float:
            # In logarithms a tail is nearly a line, which takes few steps.
            tail = float(weights @ special.fdtrc(inside, freedom, np.maximum(score - rest, 0.0) / scale))
            return math.log(beyond / max(tail, 1e-300))

        highest = float(rest.max()) + self._scale(self.inside) * f_quantile(level, self.inside, self.freedom)
        return find_root(excess, highest)

    def _scale(self, directions: int) -> float:
        return directions * (self.n_rows + 1.0) / self.freedom


def freedom_of(n_rows: float, fitted: int) -> float:
    """Degrees of freedom that `n_rows` rows leave after a covariance in so many directions, at least two."""
    return max(n_rows - fitted, _LEAST_FREEDOM)


def few_rows_quantile(level: float, n_rows: float, fitted: int) -> float:
    """The `level` quantile of a new row's squared deviation from one rule, in units of its fitted variance."""
    freedom = freedom_of(n_rows, fitted)
    return (n_rows + 1.0) / freedom * f_quantile(level, 1, freedom)


def _quadrature() -> tuple[Floats, Floats]:
    """Points in (0, 1) and their weights: midpoints, closer together towards 1, where limits are decided."""
    middles = (np.arange(_POINTS) + 0.5) / _POINTS
    stretches = list(pairwise(_STRETCHES))
    points = np.concatenate([low + (high - low) * middles for low, high in stretches])
    weights = np.repeat([(high - low) / _POINTS for low, high in stretches], _POINTS)
    return points, weights


def _special() -> ModuleType:
    # A quarter of a second to import, which scoring by a stored model, whose limits are known, need not wait for.
    from scipy import special

    return special
