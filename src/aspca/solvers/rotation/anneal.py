"""A short, accelerated version of the paper's alternation, for many starts at once.

One step of the paper is X <- polar(V' soft(V X, mu)) = polar(X - V' clip(V X, mu)): a gradient step of length mu on
the Huber smoothing of the L1 norm. A Nesterov-like extrapolation of X makes a few hundred such steps go further
than the paper's thousand.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats


def polar(M: Floats) -> Floats:
    """The orthogonal matrix nearest to each matrix of M, shape (..., d, d)."""
    left, _, right = np.linalg.svd(M)
    return np.asarray(left @ right, dtype=np.float64)


def anneal(
    V: Floats, starts: Floats, momentum: Floats, warmth: Floats, n_steps: int = 200, mu_final: float = 1e-3
) -> Floats:
    """Follow the smoothed minimum of ||V X||_{1,1} as the smoothing shrinks, from each start.

    Parameters
    ----------
    V : ndarray of shape (p, d)
        Orthonormal columns.
    starts : ndarray of shape (m, d, d)
        Orthogonal matrices.
    momentum : ndarray of shape (m,)
        Extrapolation factor of each start, in [0, 1).
    warmth : ndarray of shape (m,)
        First smoothing of each start, as a multiple of the mean size of an entry of V.
    n_steps : int
        Steps, the same number for each start.
    mu_final : float
        Last smoothing.

    Returns
    -------
    ndarray of shape (m, d, d)
        Orthogonal matrices near local minima. Heuristic: no value is promised.
    """
    mean_size = np.linalg.norm(V) / np.abs(V).sum()
    factor = momentum[:, None, None]
    X = ahead = starts
    for share in np.linspace(0.0, 1.0, n_steps):
        mu = ((mean_size * warmth) ** (1.0 - share) * mu_final**share)[:, None, None]
        step = polar(ahead - V.T @ np.clip(V @ ahead, -mu, mu))
        ahead = step + factor * (step - X)
        X = step
    return X
