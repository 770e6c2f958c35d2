"""The tangent space of the rotations: skew matrices as vectors, and least squares over them.

Notation: Omega (d, d) skew, omega its n = d (d-1) / 2 entries above the diagonal; L Omega is the first-order change of
the loadings when L is rotated by Omega.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from aspca.linalg.arrays import Floats, Ints


@dataclass(frozen=True)
class SkewSpace:
    """Index tables that turn per-column d x d matrices into one n x n matrix."""

    upper: Ints
    lower: Ints
    source: Ints
    target: Ints
    sign: Floats

    @property
    def size(self) -> int:
        """n, the dimension of the space."""
        return len(self.upper)

    def matrix(self, omega: Floats, d: int) -> Floats:
        """The skew matrix with omega above its diagonal."""
        skew = np.zeros((d, d))
        skew[self.upper, self.lower] = omega
        return skew - skew.T

    def vector(self, G: Floats) -> Floats:
        """Coefficients of omega in <G, Omega>."""
        return np.asarray(G[self.upper, self.lower] - G[self.lower, self.upper], dtype=np.float64)


@lru_cache(maxsize=16)
def skew_space(d: int) -> SkewSpace:
    """Index tables for d columns (about 3 d^3 numbers)."""
    upper, lower = np.triu_indices(d, 1)
    n = len(upper)
    position = np.zeros((d, d), dtype=np.intp)
    position[upper, lower] = position[lower, upper] = np.arange(n)
    sign = np.sign(np.arange(d)[None, :] - np.arange(d)[:, None]).astype(np.float64)
    i, j, k = np.indices((d, d, d)).reshape(3, -1)
    # Two different pairs meet in the quadratic form only through the one column i they share.
    keep = (i != j) & (i != k) & (j != k)
    i, j, k = i[keep], j[keep], k[keep]
    return SkewSpace(upper, lower, (i * d + j) * d + k, position[j, i] * n + position[k, i], sign[j, i] * sign[k, i])


def least_squares(L: Floats, weights: Floats, gradient: Floats, ridge: float) -> Floats | None:
    """The skew Omega minimising <gradient, L Omega> + 1/2 sum weights * (L Omega)^2.

    Parameters
    ----------
    L : ndarray of shape (p, d)
        Loadings.
    weights, gradient : ndarray of shape (p, d)
        Weights >= 0, and the linear part.
    ridge : float
        Multiple of the mean diagonal that is added to it, > 0; keeps rank-deficient problems solvable.

    Returns
    -------
    ndarray of shape (d, d), or None
        None when the matrix is not positive definite in floating point.
    """
    d = L.shape[1]
    space = skew_space(d)
    n = space.size
    # Column i of L Omega involves column i of Omega alone: one d x d Gram matrix for each i.
    gram = (L.T[None, :, :] * weights.T[:, None, :]) @ L
    normal = np.zeros(n * n)
    normal[space.target] = gram.ravel()[space.source] * space.sign
    own = np.einsum("ijj->ij", gram)
    diagonal = own[space.upper, space.lower] + own[space.lower, space.upper]
    normal[:: n + 1] = diagonal + ridge * float(diagonal.mean())
    try:
        factor = cho_factor(normal.reshape(n, n).T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    omega = cho_solve(factor, -space.vector(L.T @ gradient), check_finite=False)
    if not np.all(np.isfinite(omega)):
        return None
    return space.matrix(np.asarray(omega, dtype=np.float64), d)


def cayley(skew: Floats) -> Floats:
    """The rotation (I - Omega/2)^-1 (I + Omega/2): orthogonal to rounding, exp(Omega) to second order."""
    eye = np.eye(len(skew))
    return np.asarray(np.linalg.solve(eye - skew / 2.0, eye + skew / 2.0), dtype=np.float64)
