"""A short, accelerated version of the paper's alternation, for many starts at once.

One step of the paper is X <- polar(V' soft(V X, mu)) = polar(X - V' clip(V X, mu)): a gradient step of length mu on
the Huber smoothing of the L1 norm. A Nesterov-like extrapolation of X makes a few hundred such steps go further
than the paper's thousand.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats

# Below this many columns one SVD is as fast as a few products.
_FEWEST_COLUMNS_ITERATED = 24


def polar(M: Floats) -> Floats:
    """The orthogonal matrix nearest to each matrix of M, shape (..., d, d)."""
    left, _, right = np.linalg.svd(M)
    return np.asarray(left @ right, dtype=np.float64)


def quick_polar(M: Floats) -> Floats:
    """`polar` by matrix products where that converges (singular values not far apart), else by the SVD."""
    d = M.shape[-1]
    if d < _FEWEST_COLUMNS_ITERATED:
        return polar(M)
    eye = np.eye(d)
    Y = M * np.sqrt(d / np.sum(M * M, axis=(-2, -1), keepdims=True))
    for _ in range(8):
        rest = eye - np.swapaxes(Y, -2, -1) @ Y
        error = float(np.abs(rest).max())
        if not error < 4.0:
            break
        # Newton-Schulz of third order: the error is cubed, so 1e-5 before the step is rounding after it.
        Y = Y @ (eye + 0.5 * rest + 0.375 * (rest @ rest))
        if error < 1e-5:
            return np.asarray(Y, dtype=np.float64)
    return polar(M)


def anneal(
    V: Floats, starts: Floats, momentum: Floats, mu_first: Floats, n_steps: int = 200, mu_final: float = 1e-3
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
    mu_first : ndarray of shape (m,)
        First smoothing of each start; about the size of an entry of V forgets the start, less remembers it.
    n_steps : int
        Steps, the same number for each start.
    mu_final : float
        Last smoothing.

    Returns
    -------
    ndarray of shape (m, d, d)
        Orthogonal matrices near local minima. Heuristic: no value is promised.
    """
    factor = momentum[:, None, None]
    X = ahead = starts
    for share in np.linspace(0.0, 1.0, n_steps):
        mu = (mu_first ** (1.0 - share) * mu_final**share)[:, None, None]
        step = quick_polar(ahead - V.T @ np.clip(V @ ahead, -mu, mu))
        ahead = step + factor * (step - X)
        X = step
    return X
