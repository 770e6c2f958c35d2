"""Covariances of features that no row has together: open as far as the data go, and filled so that nothing is added."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspca.linalg.arrays import Bools, Floats
from aspca.moments.patterns import Patterns

# Sweeps over the features, and the change of a correlation at which they end.
_MOST_SWEEPS, _SETTLED = 100, 1e-10


def seen_together(patterns: Sequence[Patterns], n_features: int) -> Bools:
    """Which pairs of features (p, p) some row has both of."""
    weights = np.zeros((n_features, n_features))
    for part in patterns:
        present = part.present(n_features)
        weights += (part.weights[:, None] * present).T @ present
    return np.asarray(weights > 0.0)


def most_random(covariance: Floats, together: Bools) -> Floats:
    """The covariance (p, p) of largest determinant that has the same entries where `together`.

    Features never seen together are then independent given the others, so that no rule is read into them. One feature
    at a time: its open covariances follow from its regression on the features it was seen with.
    """
    deviations = np.sqrt(np.diagonal(covariance))
    scale = np.where(deviations > 0.0, deviations, 1.0)
    correlations = covariance / np.outer(scale, scale)
    cutoff = len(scale) * float(np.finfo(np.float64).eps)
    for _ in range(_MOST_SWEEPS):
        before = correlations.copy()
        for i in np.flatnonzero(~together.all(axis=1)):
            never, others = ~together[i], together[i].copy()
            others[i] = False
            inverse = np.linalg.pinv(correlations[np.ix_(others, others)], rcond=cutoff, hermitian=True)
            open_ones = correlations[i, others] @ inverse @ correlations[np.ix_(others, never)]
            correlations[i, never] = correlations[never, i] = open_ones
        if np.abs(correlations - before).max() <= _SETTLED:
            break
    return np.asarray(correlations * np.outer(scale, scale))
