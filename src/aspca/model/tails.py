"""Tail models: the p-value of one statistic by its own distribution, left and right of its middle.

Counted in the bulk. Beyond, a generalised Pareto law whose far end is censored, so that gross values enter as a count
only, and whose parameters are integrated out: few rows leave heavy tails possible, so 50 rows cannot claim 1e-9.

Notation: y = v - u exceedances of a quantile u, S(y) = (1 + xi y / b)^(-1/xi); those beyond c enter the likelihood as
S(c - u)^k. P(V >= v) = k/n sum_g w_g S_g(v - u) / S_g(c - u), w_g the posterior on a grid of (xi, log b).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats, frozen
from aspca.model.constants import (
    CENSORED,
    FEWEST_BEFORE_GAP,
    FEWEST_CENSORED,
    FEWEST_IN_TAIL,
    GAP,
    SHAPE_PRIOR,
    SHAPES,
    TAIL,
)

# The law beyond what is counted is written down at these distances.
_BEYOND = np.concatenate([[0.0], np.geomspace(0.05, 1e9, 36)])
# Exceedances are thinned to so many quantiles, and scales of the law tried in so many steps around their mean.
_THINNED, _SCALES = 100, np.exp(np.linspace(-2.0, 1.5, 29))


@dataclass(frozen=True, eq=False)
class Tail:
    """log p of a statistic, piecewise linear in sign(v - middle) log(1 + |v - middle| / unit)."""

    middle: float
    unit: float
    knots: Floats  # (k,): ascending places, and log p-values there, 0 in the middle and falling to both sides
    log_p: Floats  # (k,), as knots
    slopes: tuple[float, float]  # how log p goes on beyond the first and the last knot, falling outwards; 0: no further

    @classmethod
    def two_sided(cls, values: Floats, *, tight: bool = False) -> Tail:
        """Of a statistic whose both ends are unusual, from values (n,), each side by its own law.

        `tight`: they are residuals of a tight relation, and what lies apart from the rest is not learned from.
        """
        middle = float(np.median(values))
        off, unit = _in_units(values - middle)
        right, left = (_one_side(side * off, 0.5, tight=tight) for side in (1.0, -1.0))
        at = np.concatenate([-left.at[::-1], right.at])
        log_p = np.minimum(np.concatenate([left.log_p[::-1], right.log_p]) + np.log(2.0), 0.0)
        return cls._of(middle, unit, at, log_p, (left.slope, right.slope))

    @classmethod
    def of_sizes(cls, values: Floats) -> Tail:
        """Of deviations (n,) from a tight relation, which are unusual where they are far from zero on either side."""
        sizes, unit = _in_units(np.abs(values))
        side = _one_side(sizes, 1.0, tight=True)
        at = np.concatenate([-side.at[::-1], side.at])
        log_p = np.concatenate([side.log_p[::-1], side.log_p])
        return cls._of(0.0, unit, at, log_p, (side.slope, side.slope))

    @classmethod
    def exact(cls, n: int, tolerance: float) -> Tail:
        """Of the deviation from what n rows satisfy exactly: p is one over their number, and over the deviation in
        multiples of the tolerance."""
        log_p = -float(np.log1p(n))
        one = float(np.log(2.0))
        knots = np.array([-one, -1e-9, 1e-9, one])
        return cls(0.0, max(tolerance, 1e-300), frozen(knots), frozen(np.array([log_p, 0.0, 0.0, log_p])), (1.0, 1.0))

    @classmethod
    def counted(cls, values: Floats) -> Tail:
        """Of a statistic that is unusual where it is large, from values (n,): counted, and not extrapolated.

        Beyond the largest, p falls to a half at most, so that what is farther out still comes first.
        """
        ordered = np.sort(values)
        middle = float(ordered[0])
        off, unit = _in_units(ordered - middle)
        at, log_p = _counted(off, ordered.size)
        # Where what is counted ends, in multiples of the largest value.
        farthest = 1e12 * max(float(at[-1]), 1.0)
        return cls._of(middle, unit, np.append(at, farthest), np.append(log_p, log_p[-1] - np.log(2.0)), (0.0, 0.0))

    @classmethod
    def _of(cls, middle: float, unit: float, at: Floats, log_p: Floats, slopes: tuple[float, float]) -> Tail:
        places = _place(at)
        places, first = np.unique(places, return_index=True)
        return cls(middle, unit, frozen(places), frozen(np.minimum(log_p[first], 0.0)), slopes)

    def log_p_values(self, values: Floats) -> Floats:
        """log p (n,) of values; 0 where they are missing."""
        with np.errstate(invalid="ignore", over="ignore"):
            places = _place((values - self.middle) / self.unit)
        found = np.interp(places, self.knots, self.log_p)
        low, high = self.knots[0] - places, places - self.knots[-1]
        found = found - self.slopes[0] * np.maximum(low, 0.0) - self.slopes[1] * np.maximum(high, 0.0)
        return np.where(np.isnan(places), 0.0, found)

    def quantiles(self, log_p: float) -> tuple[float, float]:
        """The values at which log p falls to this, left and right; infinite where it never does."""
        found = []
        for side in (-1, 1):
            places, values = (self.knots[::side], self.log_p[::side])
            start = int(np.argmax(values))
            places, values = places[start:], values[start:]
            slope = self.slopes[0 if side < 0 else 1]
            if log_p >= values[-1]:
                place = float(np.interp(-log_p, -values, side * places))
            elif slope > 0.0:
                place = side * float(places[-1]) + (float(values[-1]) - log_p) / slope
            else:
                place = np.inf
            # Squares of quantiles stay finite.
            found.append(self.middle + side * min(self.unit * float(np.expm1(min(place, 600.0))), 1e150))
        return found[0], found[1]


def _in_units(off: Floats) -> tuple[Floats, float]:
    """Distances in units of the median of those that are not zero, and this unit."""
    sizes = np.abs(off)
    sizes = sizes[sizes > 0.0]
    unit = float(np.median(sizes)) if sizes.size else 1.0
    return off / unit, unit


def _place(off: Floats) -> Floats:
    """Of distances in units."""
    return np.asarray(np.sign(off) * np.log1p(np.minimum(np.abs(off), 1e250)))


@dataclass(frozen=True, eq=False)
class _Side:
    """One side of a tail: distances from the middle, log p there, and the slope beyond by log distance."""

    at: Floats
    log_p: Floats
    slope: float


def _counted(ordered: Floats, n: int) -> tuple[Floats, Floats]:
    """Distances >= 0 and their counted log p, of ascending values of which those below zero only count."""
    values, first = np.unique(ordered[ordered >= 0.0], return_index=True)
    if not values.size:
        return np.zeros(1), np.zeros(1)
    beyond = n - (first + int((ordered < 0.0).sum()))
    log_p = np.minimum(np.log((beyond + 0.5) / (n + 0.5)), 0.0)
    # At 40 places, evenly in log p: every step of a tail is there, and the bulk by a few.
    wanted = np.linspace(log_p[0], log_p[-1], 40)
    chosen = np.unique(np.searchsorted(-log_p, -wanted))
    chosen = np.unique(np.concatenate([chosen[chosen < values.size], [0, values.size - 1]]))
    # Beyond the last there were none.
    beyond_all = values[-1] + 1e-9 * max(values[-1], 1.0)
    return np.append(values[chosen], beyond_all), np.append(log_p[chosen], np.log(0.5 / (n + 0.5)))


def _find_apart(y: Floats) -> int:
    """How many of ascending exceedances (m,) come before a gap that is many times as wide as all before lie from zero
    on average; m: all of them."""
    before = np.cumsum(y)[:-1] / np.arange(1, y.size)
    found = np.flatnonzero((np.diff(y) > GAP * before) & (before > 0.0))
    found = found[found >= FEWEST_BEFORE_GAP - 1]
    return int(found[0]) + 1 if found.size else y.size


def _one_side(values: Floats, share: float, *, tight: bool) -> _Side:
    """The law of values (n,) above zero; `share` of all rows are meant to lie on this side."""
    v = np.sort(values)
    n = v.size
    u = n - 1 - max(int(np.ceil(share * TAIL * n)), FEWEST_IN_TAIL)
    if tight and u >= 0 and v[u] >= 0.0:
        # So many rows break the relation, and the law is that of the others.
        v = v[: u + 1 + _find_apart(v[u + 1 :] - v[u])]
        n = v.size
        u = n - 1 - max(int(np.ceil(share * TAIL * n)), FEWEST_IN_TAIL)
    at, log_p = _counted(v, n)
    c = n - 1 - max(int(np.ceil(share * CENSORED * n)), FEWEST_CENSORED)
    if n >= 2 * FEWEST_IN_TAIL and v[c] <= v[u]:
        # Ties: the tail is what lies beyond them.
        u = int(np.searchsorted(v, v[u], "right")) - 1
        c = u + max((n - 1 - u) // 2, 1)
    if n < 2 * FEWEST_IN_TAIL or c >= n - 1 or v[c] <= v[u] or v[u] < 0.0:
        # Too few to say more than how many there are.
        return _Side(at, log_p, 0.0)
    # What lies apart from the rest is counted as well: so many may be gross.
    c = min(u + _find_apart(v[u + 1 : c + 2] - v[u]), c)
    k, reach = n - 1 - c, v[c] - v[u]
    law = _Posterior.of(v[u + 1 : c + 1] - v[u], k, reach)
    far = v[c] + reach * _BEYOND
    beyond = np.log((k + 0.5) / (n + 0.5)) + law.log_survival(far - v[u], reach)
    inside = at < v[c]
    at, log_p = np.concatenate([at[inside], far]), np.concatenate([log_p[inside], beyond])
    log_p = np.minimum.accumulate(log_p)
    slope = float((log_p[-2] - log_p[-1]) / max(np.log(far[-1]) - np.log(far[-2]), 1e-300))
    return _Side(at, log_p, slope)


@dataclass(frozen=True, eq=False)
class _Posterior:
    """Weights of shapes and scales (g,)."""

    shapes: Floats
    scales: Floats
    weights: Floats

    @classmethod
    def of(cls, y: Floats, k: int, reach: float) -> _Posterior:
        """From exceedances (m,), and k more beyond `reach`."""
        counts_for = max(1.0, y.size / _THINNED)
        if counts_for > 1.0:
            y = np.quantile(y, (np.arange(_THINNED) + 0.5) / _THINNED)
        m = y.size * counts_for
        scales = (y.sum() * counts_for + k * reach) / m * _SCALES
        shapes, scales = (grid.ravel() for grid in np.meshgrid(np.array(SHAPES), scales, indexing="ij"))
        hazards = _hazards(y, shapes, scales)
        log_likelihood = -m * np.log(scales) - counts_for * ((1.0 + shapes) * hazards).sum(axis=0)
        log_likelihood += -k * _hazards(np.array([reach]), shapes, scales)[0] - shapes / SHAPE_PRIOR
        weights = np.exp(log_likelihood - log_likelihood.max())
        keep = weights > 1e-6 * weights.sum()
        return cls(shapes[keep], scales[keep], weights[keep] / weights[keep].sum())

    def log_survival(self, y: Floats, reach: float) -> Floats:
        """log P(Y >= y | Y >= reach) (m,)."""
        ratios = _hazards(np.array([reach]), self.shapes, self.scales) - _hazards(y, self.shapes, self.scales)
        largest = ratios.max(axis=1, keepdims=True)
        return np.asarray(largest[:, 0] + np.log(np.exp(ratios - largest) @ self.weights))


def _hazards(y: Floats, shapes: Floats, scales: Floats) -> Floats:
    """-log S(y) (m, g)."""
    relative = y[:, None] / scales
    positive = np.where(shapes > 0.0, shapes, 1.0)
    return np.where(shapes > 0.0, np.log1p(positive * relative) / positive, relative)
