"""A row's score split over its features: who is to blame for the rules it breaks.

Notation: x (p,) a centred and scaled row, B (p, d) the weighted loadings, z = x B. The score is |z|^2.

Changing one feature j alone, by the best amount, removes g_j = (z . b_j)^2 / |b_j|^2 of it, b_j its row of B. That
finds the one feature whose change explains the row, even inside its usual range, where several broken rules point to
it; but it says little where many features moved. Term sizes are the reverse: z_i is a sum of one term x_j B_ji per
feature, and what is far from its mean makes large terms.

So the score is split in two. What the best single change removes is shared by the features that would do nearly as
well, by w_j = |x_j| g~_j^4, where g~_j = (z . b_j)^2 / (|b_j|^2 + 1/v) is g_j for changes that are not wild beside the
variance v of a typical feature: all features of one broken rule do equally well, and the one furthest from its mean
comes first. The rest of each rule's part is split by the sizes of its terms. Both are non-negative, and sum to the
score. Chosen by benchmarks/causes.py and benchmarks/interpretation.py, see docs/choices.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Floats

# How sharply a feature that explains less is ruled out: (g~)^4, by squaring the root of g~ three times.
_SQUARINGS = 3
# Values per block of rows: what is computed for a block stays in cache.
_BLOCK_VALUES = 2**15


@dataclass(frozen=True, eq=False)
class FeatureSplit:
    """The split for a model.

    Attributes
    ----------
    weighted_loadings : ndarray of shape (p, d)
    typical : float
        Variance of a typical feature, in the scaled space.
    """

    weighted_loadings: Floats
    typical: float

    def __call__(self, scaled: Floats, weighted: Floats) -> Floats:
        """Contributions (n, p) of rows x (n, p) with z (n, d)."""
        parts = np.empty(scaled.shape)
        step = max(1, _BLOCK_VALUES // max(scaled.shape[1], 1))
        for start in range(0, len(scaled), step):
            rows = slice(start, start + step)
            sizes = np.abs(scaled[rows])
            shared, rest = self._best_change(sizes, weighted[rows])
            np.add(shared, self._by_terms(sizes, rest), out=parts[rows])
        return parts

    @cached_property
    def _lengths(self) -> Floats:
        return np.asarray(np.linalg.norm(self.weighted_loadings, axis=1))

    @cached_property
    def _units(self) -> Floats:
        """Rows of the weighted loadings, each of length one or zero."""
        return self.weighted_loadings / np.where(self._lengths > 0, self._lengths, 1.0)[:, None]

    @cached_property
    def _tameness(self) -> Floats:
        """What turns the root of g into that of g~."""
        tamed = np.hypot(self._lengths, 1.0 / np.sqrt(self.typical) if self.typical > 0 else 0.0)
        return np.asarray(self._lengths / np.where(tamed > 0, tamed, 1.0))

    @cached_property
    def _absolute(self) -> Floats:
        return np.abs(self.weighted_loadings)

    def _best_change(self, sizes: Floats, weighted: Floats) -> tuple[Floats, Floats]:
        """What one change removes, shared (n, p), and what it leaves of z (n, d); `sizes` are |x|."""
        along = weighted @ self._units.T
        gains = np.abs(along)
        gains *= self._tameness
        best = gains.argmax(axis=1)
        rows = np.arange(len(gains))
        # In units of their largest, no power of them overflows.
        gains /= _positive(gains[rows, best])[:, None]
        for _ in range(_SQUARINGS):
            gains *= gains
        gains *= sizes
        total = gains.sum(axis=1)
        # A row whose best feature sits at its mean blames that one alone.
        alone = total <= 0
        gains[rows[alone], best[alone]] = total[alone] = 1.0
        steps = along[rows, best]
        gains *= (steps / total * steps)[:, None]
        return gains, weighted - steps[:, None] * self._units[best]

    def _by_terms(self, sizes: Floats, rest: Floats) -> Floats:
        """The squares of `rest` (n, d), each split over the features (n, p) by the sizes of its rule's terms."""
        # Where no feature is off its mean there is no rest either.
        total = _positive(sizes @ self._absolute)
        return np.asarray(sizes * ((rest * (rest / total)) @ self._absolute.T), dtype=np.float64)


def _positive(values: Floats) -> Floats:
    """Divisors: one where there is nothing to divide."""
    return np.where(values > 0, values, 1.0)
