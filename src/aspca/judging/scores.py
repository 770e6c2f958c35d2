"""What a row's score is made of: squared deviations from the rules, in one of three units."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.subspace.defaults import SHARE_OF_TYPICAL

SCORES = ("spe", "standardized", "whitened")


def score_weights(kind: str, projected: Floats, unresolved: Floats, typical: float) -> Floats:
    """The matrix W (d, d) with which a row of projections y (d,) scores sum_j ((y @ W)_j)^2.

    Every term is the contribution of one rule: never negative, and together they are the score, exactly.

    Parameters
    ----------
    kind : {"spe", "standardized", "whitened"}
        - ``spe``, the paper's: W = 1. Rules count in the units of the scaled space, so loose rules dominate.
        - ``standardized``: W = diag(1 / spread). Each rule counts in units of its own spread, however tight it is;
          rules that vary together are counted together.
        - ``whitened``: W = (V'SV)^(-1/2), the symmetric root. The score is the Mahalanobis distance of the projections,
          the same for every basis of the subspace. Of all roots this one leaves the projections closest to what they
          were, so term j still speaks of rule j (closest in the mean square over the training rows).
    projected : (d, d)
        V'SV, the covariance of the projections of the training rows.
    unresolved : (d,)
        The variance of each rule that rounding of the covariance alone may show.
    typical : float
        Variance of a typical feature, in the scaled space.

    Notes
    -----
    Variances (``standardized``) and eigenvalues (``whitened``) are taken to be no smaller than the larger of what
    float64 resolves and 5e-4 of `typical`. Where nothing varies at all, there are no units to be found and W is
    the identity.
    """
    if kind not in SCORES:
        raise ValueError(f"score must be one of {', '.join(SCORES)}, got {kind!r}.")
    d = projected.shape[0]
    if kind == "spe":
        return np.eye(d)
    if kind == "standardized":
        return np.diag(1.0 / np.sqrt(_floored(np.diag(projected), unresolved, typical)))
    values, vectors = np.linalg.eigh(_symmetric(projected))
    # Eigenvectors mix the rules: each may carry the rounding of the worst of them.
    worst = np.full(d, unresolved.max(initial=0.0))
    root: Floats = (vectors / np.sqrt(_floored(values, worst, typical))) @ vectors.T
    return _symmetric(root)


def score_variances(weights: Floats, projected: Floats, unresolved: Floats) -> Floats:
    """Eigenvalues (d,), ascending, of the covariance of y @ W: the score of a Gaussian row is their weighted sum of
    chi-squares.

    None is quoted below what float64 resolves of it.
    """
    values = np.linalg.eigvalsh(_symmetric(weights.T @ (projected @ weights)))
    return np.asarray(np.maximum(values, _weighted(weights, unresolved).max(initial=0.0)))


def _floored(variances: Floats, unresolved: Floats, typical: float) -> Floats:
    floored = np.maximum(np.maximum(variances, unresolved), SHARE_OF_TYPICAL * typical)
    return np.where(floored > 0.0, floored, 1.0)


def _weighted(weights: Floats, unresolved: Floats) -> Floats:
    # The root first: weights of rules in tiny units are huge, and their squares would overflow.
    return np.asarray(np.square(np.sqrt(unresolved)[:, None] * weights).sum(axis=0))


def _symmetric(matrix: Floats) -> Floats:
    return 0.5 * (matrix + matrix.T)
