"""Rows with gaps: judged by the rules that can be computed without what is missing, on the scale of whole rows.

A row's score is the sum over the rules that can be computed, weighted as the score of these rules alone would be. Fewer
rules add up to less, so it is multiplied by the limit of all rules over the limit of these: then one threshold serves
all rows, and the row's rules still share its score exactly. A row without a single rule scores zero: nothing is known
against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aspca.judging.alarms import AlarmSettings, Floors, alarms_from_moments, needs_rows
from aspca.judging.blame import FeatureSplit
from aspca.judging.scores import SHARE_OF_TYPICAL, score_variances, score_weights
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments import IncompleteMoments, Moments

# A value counts for a rule if it usually moves it by more than this share of its spread.
_LITTLE = 0.1


@dataclass(frozen=True, eq=False)
class Gaps:
    """What was missing in the rows that a model was fitted to.

    Attributes
    ----------
    missing : ndarray of shape (p,)
        How many values of each feature.
    iterations : int
        Steps of the estimate of mean and covariance from the values that are there.
    converged : bool
    left_out : int
        Rows that took no part in it.
    """

    missing: Ints
    iterations: int
    converged: bool
    left_out: int


def completed(rows: IncompleteMoments) -> tuple[Moments, Gaps | None]:
    """The moments to fit to rows with gaps, and what was missing."""
    found = rows.completed()
    return found.moments, Gaps(rows.n_missing, found.iterations, found.converged, found.n_rows_left_out)


@dataclass(frozen=True, eq=False)
class GappedScore:
    """The score of a model for rows with gaps.

    Attributes
    ----------
    score : str
    alarms : AlarmSettings
    floors : Floors
    loadings : ndarray of shape (p, d)
    weights : ndarray of shape (d, d)
        Those of whole rows.
    projected : ndarray of shape (d, d)
        Covariance of the projections.
    unresolved : ndarray of shape (d,)
        The variance of each rule that rounding of the covariance alone may show.
    typical : float
        Variance of a typical feature, in the scaled space.
    fitted_to : float or None
        As in `alarms_from_moments`.
    variances : ndarray of shape (p,)
        Of the features, in the scaled space.
    """

    score: str
    alarms: AlarmSettings
    floors: Floors
    loadings: Floats
    weights: Floats
    projected: Floats
    unresolved: Floats
    typical: float
    fitted_to: float | None
    variances: Floats

    def used(self, missing: Bools) -> Bools:
        """Which rules (n, d) can be computed for rows with these values missing (n, p)."""
        return np.asarray(missing.astype(np.float64) @ self.matters == 0.0)

    @cached_property
    def matters(self) -> Bools:
        """Which features (p, d) a rule cannot do without: at their mean they would move it by a tenth of its spread."""
        spreads = np.sqrt(
            np.maximum(np.maximum(np.diag(self.projected), self.unresolved), SHARE_OF_TYPICAL * self.typical)
        )
        moved = np.abs(self.loadings) * np.sqrt(self.variances)[:, None]
        # What never varied is missed as well: nobody knows what it would be now.
        return np.asarray((moved > _LITTLE * spreads) | ((self.loadings != 0.0) & (self.variances == 0.0)[:, None]))

    def weighted(self, used: Bools, projections: Floats) -> Floats:
        """Weighted projections (n, d) of projections (n, d), zero for rules not used: their squares are the score."""
        weighted = np.zeros(projections.shape)
        for rows, rules in _patterns(used):
            weighted[rows] = np.where(rules, projections[rows], 0.0) @ self.weights_of(rules)
        return weighted

    def split(self, scaled: Floats, weighted: Floats) -> Floats:
        """Scores split over the features (n, p) as in `judging.blame`; zero where the scaled rows (n, p) are NaN."""
        parts = np.zeros(scaled.shape)
        filled = np.nan_to_num(scaled, nan=0.0)
        for rows, rules in _patterns(self.used(np.isnan(scaled))):
            blame = FeatureSplit(self.loadings @ self.weights_of(rules), self.typical)
            parts[rows] = blame(filled[rows], weighted[rows])
        return parts

    def weights_of(self, used: Bools) -> Floats:
        """W (d, d) for rows of which only these rules (d,) can be computed: zero for the others."""
        if used.all():
            return self.weights
        known = self._known.get(used.tobytes())
        if known is None:
            known = self._known[used.tobytes()] = self._weights_of(np.flatnonzero(used))
        return known

    @cached_property
    def _known(self) -> dict[bytes, Floats]:
        return {}

    def _weights_of(self, rules: Ints) -> Floats:
        weights = np.zeros(self.weights.shape)
        if rules.size:
            inside = np.ix_(rules, rules)
            alone = score_weights(self.score, self.projected[inside], self.unresolved[rules], self.typical)
            weights[inside] = np.sqrt(self._whole_limit / self._limit(rules, alone)) * alone
        return weights

    @cached_property
    def _whole_limit(self) -> float:
        return self._limit(np.arange(len(self.weights)), self.weights)

    def _limit(self, rules: Ints, weights: Floats) -> float:
        """The limit of the score of these rules alone, from moments."""
        asked, level = self.alarms.total
        by_moments = isinstance(asked, str) and not needs_rows(asked)
        settings = replace(
            self.alarms, contamination="auto", level=level, limit=asked if by_moments else "pearson", rule_limit=0.0
        )
        alarms = alarms_from_moments(
            settings,
            Floors(self.floors.total, self.floors.squares[rules]),
            score_variances(weights, self.projected[np.ix_(rules, rules)], self.unresolved[rules]),
            np.diag(self.projected)[rules],
            fitted_to=self.fitted_to,
        )
        return max(alarms.the_total(), float(np.finfo(np.float64).tiny))


def _patterns(used: Bools) -> Iterator[tuple[Ints, Bools]]:
    """Rows with the same pattern (n, d), and the pattern (d,)."""
    _, kind = np.unique(np.packbits(used, axis=1), axis=0, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(kind.ravel()[order])) + 1):
        if rows.size:
            yield rows, used[rows[0]]
