"""Multipliers that prove a given vector optimal: the nearest to an approximate one, and by reflections.

Repair: if v is optimal there is a U in the box with U_SS = alpha ss' and U_jS v_S = b_j off the support S (see
`stationarity`); then N'(C+U)N has v as an eigenvector with eigenvalue objective(v), and the dual bound meets
the objective as soon as the rest of the spectrum lies above it. An iterate of the convex solver is close to
such a U; moving each row the least distance closes a gap of 1e-3 to rounding in one step.

Reflections: a multiplier that proves v lies in two convex sets: those in the box that have v as an eigenvector with its
own value (`repair` is the projection onto them), and those for which C + U is above that value on all that is
orthogonal to v (a projection by one eigendecomposition). Douglas-Rachford's method reflects a point Z in one set after
the other; its shadow in the first set is a feasible multiplier at every step, so every step has a valid bound. Where
the sets meet in more than a point it ends after finitely many steps, at a gap of rounding: 1 to 30 where v is right,
while ADMM, which does not know v, may take hundreds. Where v is not optimal the sets do not meet and the gap stalls:
that is noticed, and what stays below the value points to other vectors. On blocks that are small enough for the
interior-point method that one is as quick, and does not need to know v.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.linalg.eigen import find_lowest_values, find_pairs_below
from aspca.sparse_pca.active_set import Candidate
from aspca.sparse_pca.problem import ComponentProblem

# Aiming a little above the value lets steps end in the inside of the second set, and keeps the next eigenvalue away
# from v's, which proves v to be the only optimum. Of aims from 0 to 1e-3 this took the fewest steps.
_AIM = 1e-3
# 1 is the plain method, 2 reflections alone.
_RELAXATION = 1.5
# Over so many steps the gap must fall to this share, or the steps lead nowhere.
_WINDOW, _FALL = 6, 0.6
# Rounding of what optimality asks for off the support.
_SLACK = 1e-6


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


class Reflections:
    """Douglas-Rachford's method for one vector, one step at a time; U is feasible after each.

    `b` is the vector's `stationarity`, U a multiplier to start from.
    """

    def __init__(self, problem: ComponentProblem, best: Candidate, b: Floats, U: Floats) -> None:
        self.problem, self._best, self._b = problem, best, b
        self._size = max(abs(best.value + problem.alpha), problem.alpha, problem.scale)
        self._target = best.value + _AIM * self._size
        self._constrained = problem.V.shape[1] > 0
        self._inside: Floats = problem.N.T @ best.v if self._constrained else best.v
        self._Z = U.copy()
        self.U = self._fitting(U)
        # (p, at most 2): where C + U lies lowest on what is orthogonal to v.
        self.lowest: Floats = np.zeros((problem.p, 0))
        self._gaps: list[float] = []
        # No multiplier in the box has v as an eigenvector: v is not optimal.
        most = problem.alpha * float(np.abs(best.v).sum()) * (1.0 + _SLACK)
        self._hopeless = bool((np.abs(b[best.v == 0]) > most).any())

    @property
    def over(self) -> bool:
        """Whether the gap has stopped falling, at zero or above it."""
        gaps = self._gaps
        return self._hopeless or (len(gaps) > _WINDOW and gaps[-1] >= _FALL * gaps[-1 - _WINDOW])

    def near(self, tol: float) -> bool:
        """Whether U proves the vector to `tol`."""
        return self._gaps[-1] <= tol * self._size

    def step(self) -> bool:
        """One step; False, and none, where they are over."""
        if self.over:
            return False
        w, E = find_pairs_below(self._without_v(2.0 * self.U - self._Z), self._target)
        E = self.problem.N @ E if self._constrained else E
        self.lowest = E[:, :2].copy()
        # The projection onto the second set lifts what lies below the target up to it. In place: for large p, memory.
        self._Z *= 1.0 - _RELAXATION
        self._Z += _RELAXATION * self.U
        E *= np.sqrt(_RELAXATION * (self._target - w))
        self._Z += E @ E.T
        del E
        self.U = self._fitting(self._Z)
        low = float(find_lowest_values(self._without_v(self.U), 1)[0])
        self._gaps.append(max(self._best.value - low, 0.0))
        return True

    def _without_v(self, U: Floats) -> Floats:
        """C + U on what is left, v's own direction moved out of the way."""
        m, v = self.problem.C + U, self._inside
        if self._constrained:
            m = self.problem.N.T @ m @ self.problem.N
        along = m @ v
        m -= np.outer(v, along)
        m -= np.outer(along - (v @ along + 2.0 * self.problem.size) * v, v)
        # The transpose of a copy: adding a matrix to its own transpose in place would read what it has written.
        m += m.T.copy()
        m *= 0.5
        return m

    def _fitting(self, Z: Floats) -> Floats:
        alpha = self.problem.alpha
        return np.asarray(np.clip(repair(self.problem, self._best.v, self._b, Z), -alpha, alpha), dtype=np.float64)
