"""Sequential linear programming on the tangent space: descent until no small rotation lowers the L1 norm.

min ||L + L Omega||_{1,1} over skew |Omega_ij| <= radius is a linear program. Entries too large to reach zero within the
radius keep their sign and enter the cost only, so the program stays small. Its solution is a corner; a radius at
which it predicts no descent shows that L is a local minimum.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from aspca.linalg.arrays import Floats
from aspca.solvers.rotation.tangent import cayley, skew_space


def best_small_rotation(L: Floats, radius: float) -> tuple[Floats, float]:
    """The skew Omega within the radius that minimises ||L + L Omega||_{1,1}, and the fall it predicts."""
    d = L.shape[1]
    space = skew_space(d)
    n = space.size
    size = np.abs(L)
    near = size <= radius * (size.sum(axis=1, keepdims=True) - size)
    cost = space.vector(L.T @ np.where(near, 0.0, np.sign(L)))
    rows, columns = np.nonzero(near)
    m = len(rows)
    first = np.minimum(np.arange(d)[None, :], columns[:, None])
    second = np.maximum(np.arange(d)[None, :], columns[:, None])
    # (L Omega)_ki = sum_j L_kj Omega_ji, and Omega_ji = +omega for j < i, -omega for j > i.
    position = (first * (2 * d - first - 1)) // 2 + second - first - 1
    value = L[rows] * np.sign(columns[:, None] - np.arange(d)[None, :])
    keep = value != 0.0
    equation = np.broadcast_to(np.arange(m)[:, None], value.shape)
    change = sparse.csr_array((value[keep], (equation[keep], position[keep])), shape=(m, n))
    eye = sparse.eye_array(m, format="csr")
    bounds = [(-radius, radius)] * n + [(0.0, np.inf)] * (2 * m)
    result = linprog(
        np.concatenate([cost, np.ones(2 * m)]),
        A_eq=sparse.hstack([change, -eye, eye], format="csc"),
        b_eq=-L[rows, columns],
        bounds=bounds,
        method="highs-ds",
    )
    if result.x is None:
        return np.zeros((d, d)), 0.0
    return space.matrix(np.asarray(result.x[:n]), d), float(size[near].sum() - result.fun)


def polish(L: Floats, max_programs: int = 15, radius: float = 0.02, tol: float = 1e-10) -> Floats:
    """Descend by linear programs to a local minimum of ||L||_{1,1} over the rotations.

    Parameters
    ----------
    L : ndarray of shape (p, d)
        Orthonormal columns, d >= 2; meant for d up to about 15.
    max_programs : int
        At most this many linear programs.
    radius : float
        First bound on the entries of Omega.
    tol : float
        Predicted relative fall below which L counts as a local minimum.

    Returns
    -------
    ndarray of shape (p, d)
        L times a rotation; ||.||_{1,1} never rises.
    """
    value = float(np.abs(L).sum())
    for _ in range(max_programs):
        skew, predicted = best_small_rotation(L, radius)
        if predicted <= tol * value:
            break
        moved = L @ cayley(skew)
        fall = value - float(np.abs(moved).sum())
        if fall > 0.0:
            L, value = moved, value - fall
        if fall < 0.25 * predicted:
            radius /= 4.0
    return L
