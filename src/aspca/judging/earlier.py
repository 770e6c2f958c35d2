"""What models of the first file format did otherwise, so that they go on scoring as they did.

Their scores are split over the orthonormal components, with no variance below 5e-4 of a typical feature's, and rows
with gaps are judged by the components that can be computed.
"""

from __future__ import annotations

import numpy as np

from aspca.judging.limits import score_limit
from aspca.judging.metric import score_variances
from aspca.judging.quantiles import chi2_quantile, f_quantile
from aspca.linalg.arrays import Floats


def earlier_weights(kind: str, covariance: Floats, unresolved: Floats, floor: float) -> Floats:
    """The matrix W (d, d) of the first format; `floor` is the variance that nothing counts below."""
    if kind == "spe":
        return np.eye(len(covariance))
    if kind == "standardized":
        return np.diag(1.0 / np.sqrt(_floored(np.diag(covariance), unresolved, floor)))
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    # Eigenvectors mix the rules: each may carry the rounding of the worst of them.
    worst = np.full(len(values), unresolved.max(initial=0.0))
    root = (vectors / np.sqrt(_floored(values, worst, floor))) @ vectors.T
    return np.asarray(0.5 * (root + root.T))


def earlier_limit(
    kind: str, asked: str, level: float, weights: Floats, covariance: Floats, unresolved: Floats, fitted_to: float
) -> float:
    """The limit of a score from moments, as it was computed then."""
    variances = score_variances(weights, covariance, unresolved)
    limit = score_limit(asked, level, variances=variances).value
    if kind == "whitened":
        # Directions at the floor have weight below one: their units were given, not fitted.
        limit *= _few_rows_factor(int((variances > 1.0 - 1e-9).sum()), fitted_to, level)
    return limit


def _few_rows_factor(d: int, n_rows: float, level: float) -> float:
    d = min(d, int(n_rows) - 2)
    if d < 1:
        return 1.0
    fitted = d * (n_rows + 1.0) / (n_rows - d) * f_quantile(level, d, n_rows - d)
    return fitted / chi2_quantile(level, d)


def _floored(variances: Floats, unresolved: Floats, floor: float) -> Floats:
    floored = np.maximum(np.maximum(variances, unresolved), floor)
    return np.where(floored > 0.0, floored, 1.0)
