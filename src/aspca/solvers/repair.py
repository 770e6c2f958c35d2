"""Turn an approximate multiplier into an exactly feasible one that has a given vector as exact eigenvector.

If v is optimal there is a U in the box with U_SS = alpha ss' and U_jS v_S = b_j off the support S (see
`stationarity`); then N'(C+U)N has v as an eigenvector with eigenvalue objective(v), and the dual bound meets
the objective as soon as the rest of the spectrum lies above it. An iterate of the convex solver is close to
such a U; moving each row the least distance closes a gap of 1e-3 to rounding in one step.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.problems.component import ComponentProblem


def repair(problem: ComponentProblem, v: Floats, b: Floats, U: Floats) -> Floats:
    """The feasible multiplier nearest to U, row by row, that certifies v as far as one can; b is its `stationarity`."""
    alpha = problem.alpha
    S = np.flatnonzero(v)
    T = np.flatnonzero(v == 0)
    s = np.sign(v[S])
    fixed = U.copy()
    fixed[S[:, None], S] = (alpha * s)[:, None] * s
    if T.size:
        rows = _rows_with_product(U[T[:, None], S], v[S], b[T], alpha)
        fixed[T[:, None], S] = rows
        fixed[S[:, None], T] = rows.T
    fixed.flat[:: len(fixed) + 1] = 0.0
    return fixed


def _rows_with_product(rows: Floats, v: Floats, target: Floats, alpha: float) -> Floats:
    """Nearest rows u with |u| <= alpha and u.v = target (clipped to what the box allows).

    u = clip(row + tau v), and u.v grows with tau, piecewise linearly, from -alpha ||v||_1 on: its slope rises by v_i^2
    where the i-th entry leaves one bound and falls by as much where it reaches the other.
    """
    size = np.abs(v)
    inward = rows * np.sign(v)
    tau = np.concatenate([(-alpha - inward) / size, (alpha - inward) / size], axis=1)
    change = np.concatenate([size**2, -(size**2)])
    order = np.argsort(tau, axis=1)
    each = np.arange(rows.shape[0])
    tau = tau[each[:, None], order]
    slope = np.cumsum(change[order], axis=1)[:, :-1]
    product = np.cumsum(slope * (tau[:, 1:] - tau[:, :-1]), axis=1) - alpha * size.sum()
    # The segment in which the target lies, then back from its end.
    last = product.shape[1] - 1
    at = np.minimum((product < target[:, None]).sum(axis=1), last)
    back = (product[each, at] - target) / np.maximum(slope[each, at], 1e-300)
    found = np.clip(tau[each, at + 1] - back, tau[each, at], tau[each, at + 1])
    moved = rows + found[:, None] * v
    # What the sums lost to rounding, by one step of Newton's.
    miss = np.clip(moved, -alpha, alpha) @ v - target
    free = (np.abs(moved) < alpha) @ (v * v)
    found = found - np.divide(miss, free, out=np.zeros_like(miss), where=free > 0)
    return np.asarray(np.clip(rows + found[:, None] * v, -alpha, alpha), dtype=np.float64)
