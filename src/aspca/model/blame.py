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

import numpy as np

from aspca.linalg.arrays import Floats

# How sharply a feature that explains less is ruled out.
_SHARPNESS = 4


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
        shared, rest = self._best_change(scaled, weighted)
        shared += self._by_terms(scaled, rest)
        return shared

    def _best_change(self, scaled: Floats, weighted: Floats) -> tuple[Floats, Floats]:
        """What one change removes, shared (n, p), and what it leaves of z (n, d)."""
        B = self.weighted_loadings
        sizes = np.einsum("ij,ij->i", B, B)
        along = weighted @ B.T
        damped = np.sqrt(sizes + (1.0 / self.typical if self.typical > 0 else 0.0))
        # Roots of g~: in units of their largest, no power of them overflows.
        gains = np.abs(along) / np.where(damped > 0, damped, 1.0)
        best = gains.argmax(axis=1)
        rows = np.arange(len(gains))
        largest = gains[rows, best]
        gains /= np.where(largest > 0, largest, 1.0)[:, None]
        np.power(gains, 2 * _SHARPNESS, out=gains)
        farthest = np.abs(scaled).max(axis=1, initial=0.0)
        gains *= np.abs(scaled) / np.where(farthest > 0, farthest, 1.0)[:, None]
        total = gains.sum(axis=1)
        # A row whose best feature sits at its mean blames that one alone.
        alone = total <= 0
        gains[rows[alone], best[alone]] = 1.0
        lengths = np.sqrt(sizes[best])
        steps = along[rows, best] / np.where(lengths > 0, lengths, 1.0)
        units = B[best] / np.where(lengths > 0, lengths, 1.0)[:, None]
        gains *= (steps**2 / np.where(alone, 1.0, total))[:, None]
        return gains, weighted - steps[:, None] * units

    def _by_terms(self, scaled: Floats, rest: Floats) -> Floats:
        """The squares of `rest` (n, d), each split over the features (n, p) by the sizes of its rule's terms."""
        sizes, loadings = np.abs(scaled), np.abs(self.weighted_loadings)
        total = sizes @ loadings
        # Where no feature is off its mean there is no rest either.
        per_size = np.divide(rest**2, total, out=np.zeros_like(total), where=total > 0)
        return np.asarray(sizes * (per_size @ loadings.T), dtype=np.float64)
