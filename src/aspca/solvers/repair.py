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
from aspca.solvers.active_set import Candidate, stationarity

_NEWTON_STEPS = 60


def repair(problem: ComponentProblem, candidate: Candidate, U: Floats) -> Floats:
    """The feasible multiplier nearest to U, row by row, that certifies `candidate` as far as one can."""
    v, alpha = candidate.v, problem.alpha
    S = np.flatnonzero(v)
    T = np.flatnonzero(v == 0)
    s = np.sign(v[S])
    fixed = U.copy()
    fixed[np.ix_(S, S)] = alpha * np.outer(s, s)
    if T.size:
        b = stationarity(problem, v, candidate.value)[T]
        rows = _rows_with_product(U[np.ix_(T, S)], v[S], b, alpha)
        fixed[np.ix_(T, S)] = rows
        fixed[np.ix_(S, T)] = rows.T
    np.fill_diagonal(fixed, 0.0)
    return fixed


def _rows_with_product(rows: Floats, v: Floats, target: Floats, alpha: float) -> Floats:
    """Nearest rows u with |u| <= alpha and u.v = target (clipped to what the box allows).

    u = clip(row + tau v) and u.v grows with tau, piecewise linearly: Newton inside a shrinking bracket.
    """
    reach = alpha * np.abs(v).sum()
    target = np.clip(target, -reach, reach)
    # tau that pushes every entry to its bound, so the root lies inside.
    far = 2.0 * alpha / np.abs(v).min()
    low = np.full(rows.shape[0], -far)
    high = np.full(rows.shape[0], far)
    tau = np.zeros(rows.shape[0])
    v2 = v * v
    for _ in range(_NEWTON_STEPS):
        moved = rows + tau[:, None] * v
        u = np.clip(moved, -alpha, alpha)
        miss = u @ v - target
        if np.abs(miss).max() <= 4e-16 * reach:
            break
        high = np.where(miss > 0, np.minimum(high, tau), high)
        low = np.where(miss < 0, np.maximum(low, tau), low)
        slope = (np.abs(moved) < alpha) @ v2
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = tau - miss / slope
        inside = (slope > 0) & (newton > low) & (newton < high)
        tau = np.where(miss == 0, tau, np.where(inside, newton, 0.5 * (low + high)))
    return np.clip(rows + tau[:, None] * v, -alpha, alpha)
