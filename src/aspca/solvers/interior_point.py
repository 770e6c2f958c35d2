"""A primal-dual interior-point method for one component's convex problem on a small block.

The first-order method certifies most components in a few steps, but where the solution has rank above one
or the dual is degenerate its tail is long. This method does not care: about fifteen Newton steps to any
accuracy, at O(p^6) each (a dense system in the p(p-1)/2 off-diagonal multipliers), so it is for blocks of at
most `LARGEST` features.

Notation (see problems.component): Y (m, m) psd with X = N Y N' and tr Y = 1; S = N'(C+U)N - t I psd;
u the off-diagonal of U, |u| < alpha, with multipliers a, b >= 0 of u <= alpha and u >= -alpha. The conditions:
tr Y = 1, 2 X_ij = a_ij - b_ij, and Y S = mu I, a (alpha - u) = mu, b (alpha + u) = mu with mu -> 0. The direction
is the HKM one with Mehrotra's predictor and corrector. All iterates are strictly feasible on both sides.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from aspca.linalg.arrays import Floats
from aspca.problems.component import ComponentProblem

LARGEST = 50
_MAX_ITER = 60


@dataclass(frozen=True)
class InteriorPoint:
    """X = factor factor' and U, both feasible."""

    factor: Floats
    U: Floats
    iterations: int


def interior_point(problem: ComponentProblem, tol: float, deadline: float = np.inf) -> InteriorPoint:
    """Solve to a relative gap of `tol`, or as far as float64 or the deadline (time.perf_counter) carries."""
    p, m, alpha, N = problem.p, problem.free, problem.alpha, problem.N
    rows, cols = np.triu_indices(p, 1)
    q = rows.size
    # Work in units of alpha, so that one set of constants fits all problems.
    base = N.T @ (problem.C / alpha + np.eye(p)) @ N

    Y = np.eye(m) / m
    u = -0.9 * np.clip(problem.C[rows, cols] / alpha, -1.0, 1.0)
    X = N @ Y @ N.T
    lift = 1.0 / (p * m)
    a = 2.0 * np.maximum(X[rows, cols], 0.0) + lift
    b = a - 2.0 * X[rows, cols]
    M = base + _congruence(N, u, rows, cols)
    low = float(np.linalg.eigvalsh(M)[0])
    t = low - max(1.0, abs(low))
    S = M - t * np.eye(m)

    best_gap, best = np.inf, (Y, u)
    iteration = 0
    for iteration in range(1, _MAX_ITER + 1):
        up, down = 1.0 - u, 1.0 + u
        gap = float(np.vdot(Y, S)) + float(a @ up + b @ down)
        mu = gap / (m + 2 * q)
        if gap < best_gap:
            best_gap, best = gap, (Y, u)
        if gap <= tol * max(abs(t), 1.0) or time.perf_counter() > deadline:
            break
        try:
            L = np.linalg.cholesky(S)
            Sinv = cho_solve((L, True), np.eye(m))
            K = N @ Sinv @ N.T
            X = N @ Y @ N.T
            YSinv = Y @ Sinv
            G = N @ (0.5 * (YSinv + YSinv.T)) @ N.T
            H = _schur(X, K, rows, cols)
            H[np.diag_indices(q)] += a / up + b / down
            factor = cho_factor(H, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            break
        g = -2.0 * G[rows, cols]
        Hg = cho_solve(factor, g, check_finite=False)
        tau = float(np.trace(YSinv)) - float(g @ Hg)

        def direction(
            target: float, second_Y: Floats, second_a: Floats, second_b: Floats
        ) -> tuple[Floats, float, Floats, Floats, Floats, Floats]:
            # second_*: the products of the predictor's steps, which the corrector takes into account.
            R = target * Sinv - second_Y
            RX = N @ R @ N.T
            ra = (target - second_a) / up
            rb = (target - second_b) / down
            rhs = 2.0 * RX[rows, cols] - ra + rb
            Hr = cho_solve(factor, rhs, check_finite=False)
            dt = (1.0 - float(np.trace(R)) - float(g @ Hr)) / tau
            du = Hr - dt * Hg
            dS = _congruence(N, du, rows, cols) - dt * np.eye(m)
            YdS = Y @ dS @ Sinv
            dY = R - Y - 0.5 * (YdS + YdS.T)
            da = ra - a + a * du / up
            db = rb - b - b * du / down
            return du, dt, dS, dY, da, db

        none = np.zeros(q)
        du, dt, dS, dY, da, db = direction(0.0, np.zeros((m, m)), none, none)
        try:
            LY = np.linalg.cholesky(Y)
        except np.linalg.LinAlgError:
            break
        primal = min(1.0, _longest(LY, dY), _ratio(a, da), _ratio(b, db))
        dual = min(1.0, _longest(L, dS), _ratio(up, -du), _ratio(down, du))
        after = float(np.vdot(Y + primal * dY, S + dual * dS)) + float(
            (a + primal * da) @ (up - dual * du) + (b + primal * db) @ (down + dual * du)
        )
        sigma = min(1.0, max(after / gap, 1e-6)) ** 3
        cross = dY @ dS @ Sinv
        du, dt, dS, dY, da, db = direction(sigma * mu, 0.5 * (cross + cross.T), -da * du, db * du)
        primal = min(1.0, 0.97 * min(_longest(LY, dY), _ratio(a, da), _ratio(b, db)))
        dual = min(1.0, 0.97 * min(_longest(L, dS), _ratio(up, -du), _ratio(down, du)))
        if max(primal, dual) < 1e-6:
            break
        Y = Y + primal * dY
        Y = 0.5 * (Y + Y.T)
        a, b = a + primal * da, b + primal * db
        u, t = u + dual * du, t + dual * dt
        S = S + dual * dS

    Y, u = best
    U = np.zeros((p, p))
    U[rows, cols] = np.clip(u, -1.0, 1.0)
    U = alpha * (U + U.T)
    np.fill_diagonal(U, alpha)
    return InteriorPoint(_factor(N, Y), U, iteration)


def _congruence(N: Floats, u: Floats, rows: Floats, cols: Floats) -> Floats:
    """N' U N for the symmetric U with off-diagonal u and zero diagonal."""
    p = N.shape[0]
    U = np.zeros((p, p))
    U[rows, cols] = u
    half = N.T @ U @ N
    return np.asarray(half + half.T, dtype=np.float64)


def _schur(X: Floats, K: Floats, i: Floats, j: Floats) -> Floats:
    """H_(ij),(kl) = X_ik K_jl + X_il K_jk + K_ik X_jl + K_il X_jk."""
    Xi, Xj, Ki, Kj = X[i], X[j], K[i], K[j]
    H = Xi[:, i] * Kj[:, j]
    H += Xi[:, j] * Kj[:, i]
    H += Ki[:, i] * Xj[:, j]
    H += Ki[:, j] * Xj[:, i]
    return H


def _longest(L: Floats, step: Floats) -> float:
    """Largest s with L L' + s step psd."""
    half = solve_triangular(L, step, lower=True, check_finite=False)
    whole = solve_triangular(L, half.T, lower=True, check_finite=False)
    low = float(np.linalg.eigvalsh(0.5 * (whole + whole.T))[0])
    return np.inf if low >= 0 else -1.0 / low


def _ratio(x: Floats, step: Floats) -> float:
    """Largest s with x + s step >= 0."""
    falling = step < 0
    return float((-x[falling] / step[falling]).min(initial=np.inf))


def _factor(N: Floats, Y: Floats) -> Floats:
    """Factor of N Y N' with exact trace one, ascending eigenvalues, rounding remnants left out."""
    w, E = np.linalg.eigh(0.5 * (Y + Y.T))
    keep = w > 1e-13 * w[-1]
    w = w[keep] / w[keep].sum()
    return np.asarray(N @ (E[:, keep] * np.sqrt(w)), dtype=np.float64)
