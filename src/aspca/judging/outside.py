"""What lies outside the rules: directions along which normal rows vary freely, given how far they are off the rules.

Notation: C (p, p) the covariance, R (p, m) the rules, z = x R W their deviations, decorrelated with variance one,
Q (p, r) a basis of what is orthogonal to the rules. A row's coordinates Q'x less what its z lets expect of them, H'z
with H = W'R'CQ, are uncorrelated with the rules: so both parts of the Mahalanobis distance add up to the whole of it.
"""

from __future__ import annotations

import numpy as np

from aspca.judging.outside_form import OutsideForm
from aspca.linalg.arrays import Bools, Floats

# From so many directions on their eigenvectors take longer than all else, and Cholesky's factor does as well: distances
# do not depend on which root is taken.
LARGE = 256


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
    unresolved = unresolved_outside(covariance)
    form = None
    if p - m >= LARGE:
        form = OutsideForm.of(covariance, loadings, weights, exact, blur=blur, unresolved=unresolved)
    if form is not None:
        # No zero is negative: a model file does not keep that, and factorisations see it.
        return form.directions() + 0.0
    mixed = covariance
    if blur:
        mixed = covariance + blur * np.diag(np.diag(covariance))
    if m:
        basis = np.linalg.qr(loadings, mode="complete")[0][:, m:]
        known = (loadings @ weights)[:, ~exact]
        expected = (known.T @ covariance) @ basis
        directions = basis - known @ expected
        within = basis.T @ (mixed @ basis) - expected.T @ expected
    else:
        directions, within = None, mixed
    within = 0.5 * (within + within.T) / (1.0 + blur)
    values, vectors = np.linalg.eigh(within)
    if not still:
        values, vectors = values[values > unresolved], vectors[:, values > unresolved]
    floored = np.maximum(values, unresolved)
    vectors = vectors / np.sqrt(np.where(floored > 0.0, floored, 1.0))
    return np.asarray((vectors if directions is None else directions @ vectors) + 0.0)


def unresolved_outside(covariance: Floats) -> float:
    """Rounding of the covariance moves no unit vector's variance by more than this."""
    size = float(np.abs(covariance).sum(axis=1).max(initial=0.0))
    return 4.0 * len(covariance) * float(np.finfo(np.float64).eps) * size
