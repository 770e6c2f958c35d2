"""What lies outside the rules: directions along which normal rows vary freely, given how far they are off the rules.

Notation: C (p, p) the covariance, R (p, m) the rules, z = x R W their deviations, decorrelated with variance one,
Q (p, r) a basis of what is orthogonal to the rules. A row's coordinates Q'x less what its z lets expect of them, H'z
with H = W'R'CQ, are uncorrelated with the rules: so both parts of the Mahalanobis distance add up to the whole of it.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Bools, Floats


def outside_directions(
    covariance: Floats, loadings: Floats, weights: Floats, exact: Bools, *, still: bool, blur: float = 0.0
) -> Floats:
    """Directions N (p, r), uncorrelated with the rules and with each other, of variance one over the training rows.

    Parameters
    ----------
    covariance : (p, p)
    loadings : (p, m)
    weights : (m, m)
        W.
    exact : (m,)
        Rules without noise of their own: nothing can be expected from them.
    still : bool
        Whether directions without variance count, in units of what float64 resolves; for few rows they are nothing but
        the lack of rows.
    blur : float >= 0
        How much of the features' own variances is mixed in, see `ScaledSpace.blur`; with it the variances over the
        training rows are one on average only.
    """
    p, m = loadings.shape
    if m >= p:
        return np.zeros((p, 0))
    basis = np.linalg.qr(loadings, mode="complete")[0][:, m:] if m else np.eye(p)
    known = (loadings @ weights)[:, ~exact]
    expected = known.T @ (covariance @ basis)
    directions = basis - known @ expected
    within = basis.T @ (covariance @ basis) - expected.T @ expected
    if blur:
        within = (within + blur * (basis.T * np.diag(covariance)) @ basis) / (1.0 + blur)
    values, vectors = np.linalg.eigh(0.5 * (within + within.T))
    # Rounding of the covariance moves no unit vector's variance by more than this.
    unresolved = 4.0 * p * float(np.finfo(np.float64).eps) * float(np.abs(covariance).sum(axis=1).max(initial=0.0))
    if not still:
        values, vectors = values[values > unresolved], vectors[:, values > unresolved]
    floored = np.maximum(values, unresolved)
    return np.asarray(directions @ (vectors / np.sqrt(np.where(floored > 0.0, floored, 1.0))))
