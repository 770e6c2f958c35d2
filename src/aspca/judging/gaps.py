"""Rows with gaps: judged by all that the cells which are there say, on the scale of whole rows.

A rule can be computed if no value is missing that it cannot do without. The complete score of such a row is the
distance of its observed cells: from the rules that can be computed, as of whole rows, and in all other directions of
the cells observed, tight ones that no rule names among them. The other scores take the rules that can be computed.

Fewer directions add up to less, so a score is multiplied by the limit of whole rows over the limit of its own
directions: then one threshold serves all rows, and the parts of a score still add up to it. A row of which nothing is
known scores zero: nothing is known against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from aspca.judging.alarms import total_limit
from aspca.judging.hotelling import Hotelling
from aspca.judging.metric import READABLE, Metric, score_weights, share_outside
from aspca.judging.outside import outside_directions
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import row_products
from aspca.rules.table import RuleTable
from aspca.settings import FROM_MOMENTS, Settings
from aspca.subspace.space import ScaledSpace

if TYPE_CHECKING:
    from aspca.moments import IncompleteMoments, Moments

# A value counts for a rule if it usually moves it by more than this share of its spread.
_LITTLE = 0.1
# The limit of a score that chance does not move.
_NOTHING = float(np.finfo(np.float64).tiny)


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
    """The score of a model for rows with gaps."""

    settings: Settings
    space: ScaledSpace
    table: RuleTable
    metric: Metric
    determined: Bools

    def used(self, missing: Bools) -> Bools:
        """Which rules (n, m) can be computed for rows with these values missing (n, p)."""
        return np.asarray(missing.astype(np.float64) @ self.matters == 0.0)

    @cached_property
    def matters(self) -> Bools:
        """Which features (p, m) a rule cannot do without: at their mean they would move it by a tenth of its spread."""
        moved = np.abs(self.table.loadings) * np.sqrt(self.space.variances)[:, None]
        # What never varied is missed as well: nobody knows what it would be now.
        still = (self.table.loadings != 0.0) & (self.space.variances == 0.0)[:, None]
        return np.asarray((moved > _LITTLE * np.sqrt(self.table.variances)) | still)

    def weighted(self, scaled: Floats, deviations: Floats) -> tuple[Floats, Floats]:
        """Weighted deviations (n, m) and the parts outside the rules (2, n) of scaled rows (n, p) with gaps."""
        missing = np.isnan(scaled)
        weighted, outside = np.zeros(deviations.shape), np.zeros((2, len(scaled)))
        for rows, gaps in patterns(missing):
            metric = self.metric_of(gaps)
            known = np.where(self.used(gaps[None])[0], deviations[rows], 0.0)
            weighted[rows] = row_products(known, metric.weights)
            squares = np.square(row_products(np.where(gaps, 0.0, scaled[rows]), metric.outside)).sum(axis=1)
            outside[:, rows] = metric.outside_parts(squares)
        return weighted, outside

    def metric_of(self, gaps: Bools) -> Metric:
        """The metric of rows with these values missing (p,): nothing counts that is not known."""
        gaps = gaps & ~self.determined
        if not gaps.any():
            return self.metric
        # Nobody looks at what identities determine.
        gaps = gaps | self.determined
        known = self._known.get(gaps.tobytes())
        if known is None:
            if len(self._known) >= min(_MOST_KEPT, _MOST_CELLS_KEPT // gaps.size**2):
                self._known.clear()
            known = self._known[gaps.tobytes()] = self._metric_of(gaps)
        return known

    @cached_property
    def _known(self) -> dict[bytes, Metric]:
        return {}

    def _metric_of(self, gaps: Bools) -> Metric:
        rules = np.flatnonzero(self.used(gaps[None])[0])
        alone = self._weights_of(rules)
        outside, limit = self._outside(gaps, rules, alone)
        own = Metric(self.metric.kind, alone, outside, limit, share_outside(outside.shape[1], rules.size))
        factor = self._factor(rules, own)
        weights = np.zeros(self.metric.weights.shape)
        weights[np.ix_(rules, rules)] = np.sqrt(factor) * alone
        # The part outside is tempered at its limit: both stretch together.
        return Metric(own.kind, weights, np.sqrt(factor) * outside, factor * limit, own.outside_share)

    def _weights_of(self, rules: Ints) -> Floats:
        covariance = self.table.covariance[np.ix_(rules, rules)]
        return score_weights(self.metric.kind, covariance, self.table.variances[rules], self.table.unresolved[rules])

    def _outside(self, gaps: Bools, rules: Ints, weights: Floats) -> tuple[Floats, float]:
        """Directions of the observed cells outside these rules, and their limit."""
        there = np.flatnonzero(~gaps)
        directions = np.zeros((len(gaps), 0))
        if self.metric.kind == "complete" and there.size > rules.size:
            covariance = self.space.covariance[np.ix_(there, there)]
            loadings = self.table.loadings[np.ix_(there, rules)]
            exact, blur = self.table.exact[rules], self.space.blur
            found = outside_directions(covariance, loadings, weights, exact, still=True, blur=blur)
            directions = np.zeros((len(gaps), found.shape[1]))
            directions[there] = found
        return directions, Hotelling(directions, self.space.fitted_to).limit(self.settings.total[1]).value

    def _factor(self, rules: Ints, own: Metric) -> float:
        key = (rules.size, int(self.table.exact[rules].sum()), own.outside.shape[1])
        if self.metric.kind not in READABLE:
            return self._ratio(rules, own)
        if key not in self._factors:
            self._factors[key] = self._ratio(rules, own)
        return self._factors[key]

    def _ratio(self, rules: Ints, own: Metric) -> float:
        """The limit of whole rows over that of these directions; one where nothing varies in either."""
        if not rules.size and not own.outside.shape[1]:
            return 1.0
        whole, alone = self._whole_limit, self._limit(rules, own)
        return whole / alone if min(whole, alone) > _NOTHING else 1.0

    @cached_property
    def _factors(self) -> dict[tuple[int, int, int], float]:
        return {}

    @cached_property
    def _whole_limit(self) -> float:
        return self._limit(np.arange(len(self.table)), self.metric)

    def _limit(self, rules: Ints, metric: Metric) -> float:
        """The limit of the score of these rules alone, from moments."""
        asked, level = self.settings.total
        name = asked if isinstance(asked, str) and asked in FROM_MOMENTS else "pearson"
        return max(total_limit(name, level, self.space, self.table.only(rules), metric).value, _NOTHING)


# Of so many patterns of gaps the metric is kept; a table with more has hardly any twice. A metric has p^2 numbers: of
# many features fewer are kept, 256 MB of them.
_MOST_KEPT, _MOST_CELLS_KEPT = 4096, 1 << 25


def patterns(missing: Bools) -> Iterator[tuple[Ints, Bools]]:
    """Rows with the same gaps (n, p), and the gaps (p,)."""
    _, kind = np.unique(np.packbits(missing, axis=1), axis=0, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(kind.ravel()[order])) + 1):
        if rows.size:
            yield rows, missing[rows[0]]
