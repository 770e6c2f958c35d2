"""Joint sparse loadings of the abnormal subspace: one group lasso on the covariance, solved to a duality gap.

Notation
--------
S (p, p), the covariance of the scaled rows X: S = X'X / n. V (p, d), PCA's last d directions. B (p, d), the loadings
sought; b_j its rows. A (p, d), A'A = 1, an orthonormal basis of the span of V. The problem of Jiang, Fei and Huan is

    min over A, B:  1/2 ||X - X B A'||_F^2 / n + mu sum_j ||b_j||.

Why A may be left alone
-----------------------
A = V R with R a rotation. Turning A by R and B by the same R changes neither B A' nor any row norm, so every pair
(V R, B) has the twin (V, B R') of the same value: minimising over B with A = V is the whole problem. It is convex,

    min over B:  1/2 ||X (V - B)||_F^2 / n + mu sum_j ||b_j||,

up to half the variance outside the abnormal subspace, a constant. The Procrustes step of the alternating scheme is kept
as what it then is, a rotation of B; at the solution it is the identity.

The dual, for any T (n, d) with ||X_j'T|| / n <= mu for all j, is <XV, T> / n - ||T||^2 / 2n. A multiple of the residual
X (V - B) is such a T, and its value needs S only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class JointSparse:
    """Joint sparse loadings and what is known of them."""

    mu: float
    loadings: Floats  # (p, d) B
    objective: float  # 1/2 ||X (V - B)||^2 / n + mu sum_j ||b_j||
    gap: float  # no B has an objective lower than this one's by more
    history: tuple[float, ...]  # the objective at the start and after every pass: it never rises, but for rounding

    @property
    def weights(self) -> Floats:
        """Norms (p,) of the rows of the loadings."""
        return np.asarray(np.linalg.norm(self.loadings, axis=1))

    @property
    def selected(self) -> Ints:
        """Features with a weight, the heaviest first."""
        order = np.argsort(-self.weights, kind="stable")
        return order[self.weights[order] > 0.0]


def find_largest_mu(covariance: Floats, directions: Floats) -> float:
    """The penalty from which on no feature is selected: the largest row norm of S V.

    0 where the directions do not vary beyond rounding, and S V is noise.
    """
    unit = _find_unit(covariance)
    largest = float(np.linalg.norm((covariance / unit) @ directions, axis=1).max())
    return unit * largest if largest > 4.0 * covariance.shape[0] * np.finfo(np.float64).eps else 0.0


def solve_joint_sparse(
    covariance: Floats,
    directions: Floats,
    mu: float,
    *,
    start: Floats | None = None,
    tol: float = 1e-8,
    max_iter: int = 2000,
) -> JointSparse:
    """The joint sparse loadings of PCA's last directions, from the covariance alone.

    Each pass makes three steps, none of which raises the objective: a quadratic majorant solved for all non-zero rows
    at once (which takes collinear features in its stride), the Procrustes rotation, and a sweep of exact minimisations
    row by row (which sets and lifts exact zeros).

    `covariance` S (p, p) is symmetric positive semidefinite, `directions` V (p, d) are orthonormal eigenvectors of it,
    and the default `start`; at mu = 0 the loadings are the directions. Passes end when the gap is at most the share
    `tol` of the objective at B = 0, or at `max_iter`: the gap then says how far the objective may be from the lowest.
    """
    unit = _find_unit(covariance)
    S, penalty = covariance / unit, mu / unit
    C = S @ directions
    at_zero = 0.5 * float(np.sum(directions * C))
    if penalty == 0.0:
        return JointSparse(mu, directions.copy(), 0.0, 0.0, (0.0,))
    if mu >= find_largest_mu(covariance, directions):
        return JointSparse(mu, np.zeros_like(directions), unit * at_zero, 0.0, (unit * at_zero,))
    B = (directions if start is None else start).copy()
    history = [compute_objective(S, directions, B, penalty)]
    for _ in range(max_iter):
        majorised = step_reweighted(S, C, B, penalty)
        # The matrix of that step may be singular to rounding, and the step worth nothing.
        if compute_objective(S, directions, majorised, penalty) <= history[-1]:
            B = majorised
        B = rotate_procrustes(C, B)
        sweep_rows(S, C, B, penalty)
        history.append(compute_objective(S, directions, B, penalty))
        gap = history[-1] - bound_objective(S, directions, B, penalty)
        if gap <= tol * at_zero:
            break
    return JointSparse(mu, B, unit * history[-1], unit * max(gap, 0.0), tuple(unit * value for value in history))


def solve_path(
    covariance: Floats, directions: Floats, mus: Sequence[float] | Floats, *, tol: float = 1e-8, max_iter: int = 2000
) -> tuple[JointSparse, ...]:
    """One solution for each penalty, in the order given; each starts from that of the next lower one."""
    penalties = np.asarray(mus, dtype=np.float64)
    found: dict[int, JointSparse] = {}
    start: Floats | None = None
    for k in np.argsort(penalties, kind="stable"):
        found[int(k)] = solve_joint_sparse(
            covariance, directions, float(penalties[k]), start=start, tol=tol, max_iter=max_iter
        )
        start = found[int(k)].loadings
    return tuple(found[k] for k in range(penalties.size))


# ---- the problem


def compute_objective(S: Floats, V: Floats, B: Floats, mu: float) -> float:
    """1/2 ||X (V - B)||^2 / n + mu sum_j ||b_j||."""
    off = V - B
    return 0.5 * float(np.sum(off * (S @ off))) + mu * float(np.linalg.norm(B, axis=1).sum())


def bound_objective(S: Floats, V: Floats, B: Floats, mu: float) -> float:
    """A lower bound of the objective over all B: the best multiple of the residual that is feasible in the dual."""
    off = V - B
    gradient = S @ off
    steepest = float(np.linalg.norm(gradient, axis=1).max())
    along, squared = float(np.sum(V * gradient)), float(np.sum(off * gradient))
    if steepest <= 0.0 or squared <= 0.0 or along <= 0.0:
        return 0.0
    multiple = min(mu / steepest, along / squared)
    return multiple * along - 0.5 * multiple**2 * squared


# ---- the steps


def sweep_rows(S: Floats, C: Floats, B: Floats, mu: float) -> None:
    """Minimise over one row of B after the other, in place; C = S V.

    For row j alone the objective is S_jj ||b||^2 / 2 - r.b + mu ||b||, so b = (1 - mu / ||r||)_+ r / S_jj.
    """
    for j in range(S.shape[0]):
        if S[j, j] <= 0.0:
            B[j] = 0.0
            continue
        r = C[j] - S[j] @ B + S[j, j] * B[j]
        length = float(np.linalg.norm(r))
        B[j] = (1.0 - mu / length) / S[j, j] * r if length > mu else 0.0


def step_reweighted(S: Floats, C: Floats, B: Floats, mu: float) -> Floats:
    """The minimiser of the majorant that has ||b||^2 / 2w + w / 2 for each norm ||b||, w being the norm so far."""
    used: Ints = np.flatnonzero(np.any(B != 0.0, axis=1))
    out = np.zeros_like(B)
    root = np.sqrt(np.linalg.norm(B[used], axis=1))[:, None]
    # (S + mu / w) B = C, multiplied from both sides by the root of w: no division by a norm close to zero.
    matrix = root * S[np.ix_(used, used)] * root.T
    matrix.flat[:: used.size + 1] += mu
    try:
        out[used] = root * np.linalg.solve(matrix, root * C[used])
    except np.linalg.LinAlgError:
        return B.copy()
    return out


def rotate_procrustes(C: Floats, B: Floats) -> Floats:
    """B turned by the rotation that minimises the objective: the alternating scheme's step for A, seen from B.

    The best A = V R for a given B maximises trace(R' V'S B); the pair (V R, B) equals (V, B R').
    """
    # Singular values sum to at least the trace, with equality where the best rotation is none.
    cross = C.T @ B
    left, values, right = np.linalg.svd(cross)
    total = float(values.sum())
    if total - float(np.trace(cross)) <= 1e-14 * total:
        return B.copy()
    return np.asarray(B @ (left @ right).T)


def _find_unit(S: Floats) -> float:
    """A power of two close to the largest variance: dividing by it is exact, and no square overflows or vanishes."""
    largest = float(np.diag(S).max())
    return float(2.0 ** np.clip(np.frexp(largest)[1], -1000, 1000)) if largest > 0 else 1.0
