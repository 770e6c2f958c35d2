"""The paper's descent, accelerated: a few dozen steps for its thousand, from many starts at once.

One step of the paper is X <- polar(V' soft(V X, mu)) = X polar(I - L' clip(L, mu)) with L = V X: to first order a
rotation of L by the skew part of -L' clip(L, mu), the gradient of the Huber smoothing of the L1 norm. Here the
rotations gather momentum, and Cayley's formula applies them: one inverse where the polar factor takes an SVD.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dgesv, sgesv

from aspca.linalg.arrays import Floats

# From so many columns on arithmetic takes longer than calls.
_LARGE = 100


def polar(M: Floats) -> Floats:
    """The orthogonal matrix nearest to each matrix of M, shape (..., d, d)."""
    left, _, right = np.linalg.svd(M)
    return np.asarray(left @ right, dtype=np.float64)


def anneal(
    starts: npt.NDArray[np.floating], mu_first: Floats, n_steps: int, mu_final: float = 3e-4, momentum: float = 0.9
) -> npt.NDArray[np.floating]:
    """Follow the smoothed minimum of ||L||_{1,1} over the rotations as the smoothing shrinks, from each start.

    Parameters
    ----------
    starts : ndarray of shape (m, p, d)
        Loadings, each with orthonormal columns; their precision is that of the steps and of the result.
    mu_first : ndarray of shape (m,)
        First smoothing of each start; about the size of an entry forgets the start, less remembers it.
    n_steps : int
        Steps, the same number for each start.
    mu_final : float
        Last smoothing.
    momentum : float
        Share of a step that the next one repeats; more of it takes more steps to settle.

    Returns
    -------
    ndarray of shape (m, p, d)
        Rotated loadings near local minima. Heuristic: no value is promised.
    """
    m, _, d = starts.shape
    columns = np.ascontiguousarray(np.swapaxes(starts, 1, 2))
    turn = np.zeros((m, d, d), dtype=columns.dtype)
    eye = np.eye(d, dtype=columns.dtype)
    # numpy's own solver takes three times as long in single precision.
    gesv = sgesv if columns.dtype == np.float32 else dgesv
    for mu in np.geomspace(mu_first[:, None, None], mu_final, n_steps).astype(columns.dtype):
        slope = np.clip(columns, -mu, mu) @ np.swapaxes(columns, 1, 2)
        turn = momentum * turn + 0.5 * (slope - np.swapaxes(slope, 1, 2))
        # Cayley's (I + T/2)^-1 (I - T/2), written with one inverse; of a large matrix, which is not formed.
        if d > _LARGE:
            solved = [gesv(left, right)[2] for left, right in zip(eye + 0.5 * turn, columns, strict=True)]
            columns = 2.0 * np.array(solved) - columns
        else:
            columns = (2.0 * np.linalg.inv(eye + 0.5 * turn) - eye) @ columns
    return np.ascontiguousarray(np.swapaxes(columns, 1, 2))
