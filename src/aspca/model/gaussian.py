"""Tail models from moments alone: rows are taken to be Gaussian.

Each tail is learned, as from rows, from the order statistics that so many Gaussian rows would show: so the far end is
as uncertain as few rows leave it. A column whose extremes lie further out than a Gaussian's would has tails that reach
them, and so have the relations that it is part of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import Bools, Floats, frozen
from aspca.model.columns import Moments, Scales, View, choose_plain_shrinkage
from aspca.model.constants import BY_CHANCE, CENSORED, DISTINCT, SAMPLE_ROWS, TAIL
from aspca.model.evidence import Evidence, RowLaw, Steady
from aspca.model.tails import Tail

# A covariance of no more rows than columns leaves no degrees of freedom; with two next to nothing is unusual.
_LEAST_FREEDOM = 2.0
# The law of scores is written down at these.
_SCORES = np.concatenate([[0.0], np.geomspace(1e-3, 1e12, 200)])


@dataclass(frozen=True, eq=False)
class GaussianRows:
    """What is known of rows."""

    n_rows: float
    mean: Floats  # (p,)
    deviations: Floats  # (p,)
    correlation: Floats  # (p, p): zero for columns without a deviation
    extremes: tuple[Floats, Floats]  # (p,): the least and the largest value of each column
    steps: Floats  # (p,): in which columns are given; zero where there are none

    def learn_evidence(self, spreads: Floats, used: Bools, tolerances: Floats) -> Evidence:
        """Tail models of the columns, of whole rows, and of relations with these spreads (m,) and columns (p, m).

        Relations whose tolerance (m,) is above zero hold exactly but for it.
        """
        columns = np.flatnonzero(self.deviations > 0.0)
        q, n = columns.size, max(self.n_rows, 2.0)
        mean, deviations = self.mean[columns], self.deviations[columns]
        zeros, ones = np.zeros(q), np.ones(q)
        scales = Scales(columns, zeros, zeros, ones, zeros, frozen(mean), frozen(deviations))
        correlation = self.correlation[np.ix_(columns, columns)]
        moments = Moments.of_covariance(np.zeros(q), correlation)
        shrinkage = choose_plain_shrinkage(q, n)
        side = -_quantiles(0.5 * CENSORED)
        clips = (frozen(np.full(q, -side)), frozen(np.full(q, side)))
        conditional = moments.conditional(np.full(q, shrinkage, dtype=np.intp), clips)
        C = conditional.coefficients
        residuals = np.sqrt(np.maximum(np.einsum("ij,ij->j", C, correlation @ C), np.finfo(np.float64).tiny))
        low, high = ((extreme[columns] - mean) / deviations for extreme in self.extremes)
        farthest = np.maximum(np.abs(low), high)
        judged = self._count_values()[columns] > DISTINCT
        one, several = self._order_statistics(n - 1.0), self._order_statistics(n - q)
        ranges = tuple(
            _scaled(_tail(one, farthest[k]), float(mean[k]), float(deviations[k])) if judged[k] else None
            for k in range(q)
        )
        conditionals = tuple(
            _scaled(_tail(several, farthest[k]), 0.0, float(residuals[k])) if judged[k] and q > 1 else None
            for k in range(q)
        )
        precision = moments.precision(shrinkage)
        distance = moments.distance(shrinkage)
        whole = Tail.counted(np.sqrt(self._squared_distances(float((precision * correlation).sum()), n - q)))
        relations = []
        all_farthest = np.zeros(self.mean.size)
        all_farthest[columns] = farthest
        for k, spread in enumerate(spreads.tolist()):
            if tolerances[k] > 0.0:
                relations.append(Tail.exact(round(n), float(tolerances[k])))
            else:
                reach = float(all_farthest[used[:, k]].max(initial=0.0))
                relations.append(_scaled(_tail(several, reach, sizes=True), 0.0, spread))
        return Evidence(
            (View(scales, conditional),),
            np.zeros(q, dtype=np.intp),
            ranges,
            conditionals,
            distance,
            whole,
            self._find_steady(),
            frozen(np.full((2, q), -np.inf)),
            np.zeros(q),
            tuple(relations),
            frozen(np.full((2, len(relations)), -np.inf)),
            np.zeros(len(relations)),
        )

    def _find_steady(self) -> Steady:
        """Columns that never left one value."""
        columns = np.flatnonzero(self.deviations == 0.0)
        log_p = np.full(columns.size, float(np.log(0.5 / (self.n_rows + 0.5))))
        return Steady(columns, frozen(self.mean[columns]), frozen(log_p))

    def _count_values(self) -> Floats:
        """How many values each column (p,) may have had; infinitely many where it has no step."""
        low, high = self.extremes
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.steps > 0.0, np.rint((high - low) / self.steps) + 1.0, np.inf)

    def _order_statistics(self, freedom: float) -> Floats:
        """Ascending deviations of new rows (m + 1,), in units of the spread that these rows show.

        As many as there are rows, a sample of them at most, and what the largest of all rows hardly ever exceeds; by
        Student's law, since the spread is estimated.
        """
        freedom = max(freedom, _LEAST_FREEDOM)
        places = np.append(self._places(), 1.0 - 0.5 * CENSORED / max(self.n_rows, 2.0))
        return np.asarray(np.sqrt((self.n_rows + 1.0) / freedom) * _quantiles(places, freedom))

    def _squared_distances(self, rank: float, freedom: float) -> Floats:
        """The same of squared distances in `rank` directions: r (n + 1) / (n - r) F(r, n - r)."""
        from scipy.special import fdtri

        if rank <= 0.0:
            return np.zeros(1)
        freedom = max(freedom, _LEAST_FREEDOM)
        return np.asarray(rank * (self.n_rows + 1.0) / freedom * fdtri(rank, freedom, self._places()))

    def _places(self) -> Floats:
        m = int(np.clip(self.n_rows, 2, SAMPLE_ROWS))
        return np.asarray((np.arange(m) + 0.5) / m)


def learn_gaussian_law(n_types: int, level: float, rate: float, n_rows: float) -> RowLaw:
    """The law of scores where each of so many kinds of evidence has uniform p-values.

    The mean odds of K kinds exceed s about as often as those of one kind exceed K s: with a probability of
    1 / (1 + K s) for whole rows, and of 1 / (K s + 1 / BY_CHANCE) for each of the others, of which less is counted.
    Kinds that depend on each other do so less often: of Gaussian rows about 1 % are unusual at a level of 0.975
    (benchmarks/calibration.py --moments).
    """
    sums = n_types * _SCORES
    log_p = np.log(np.minimum(1.0 / (1.0 + sums) + (n_types - 1) / (sums + 1.0 / BY_CHANCE), 1.0))
    places = np.log1p(_SCORES)
    unusual, error = (
        float(np.expm1(np.interp(-float(np.log(p)), -log_p, places))) for p in (1.0 - level, rate / max(n_rows, 1.0))
    )
    return RowLaw(frozen(places), frozen(log_p), unusual, max(error, unusual), round(n_rows))


def _quantiles(places: Floats | float, freedom: float | None = None) -> Floats:
    """Of Student's law with so many degrees of freedom; None: the Gaussian's."""
    # Loads for long, and is not needed to judge.
    from scipy.special import ndtri, stdtrit

    return np.asarray(ndtri(places) if freedom is None else stdtrit(freedom, places))


def _tail(ordered: Floats, farthest: float, *, sizes: bool = False) -> Tail:
    """The tail of order statistics (m + 1,), stretched as far as one was seen if that is more than chance makes."""
    ordered, last = ordered[:-1], float(ordered[-1])
    edge = float(np.quantile(ordered, 1.0 - 0.5 * TAIL))
    times = max((farthest - edge) / (last - edge), 1.0) if last > edge else 1.0
    beyond = np.maximum(np.abs(ordered) - edge, 0.0)
    values = ordered + np.sign(ordered) * (times - 1.0) * beyond
    return Tail.of_sizes(values) if sizes else Tail.two_sided(values)


def _scaled(tail: Tail, middle: float, unit: float) -> Tail:
    return replace(tail, middle=middle + unit * tail.middle, unit=unit * tail.unit)
