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

from aspca.linalg.arrays import Floats, Ints
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
    state = _State(problem)
    best = (state.gap, state.Y, state.u)
    iterations = 0
    while iterations < _MAX_ITER and state.gap > tol * max(abs(state.t + 1.0), 1.0) and time.perf_counter() <= deadline:
        iterations += 1
        try:
            moved = state.step()
        except np.linalg.LinAlgError:
            # Rounding ended what the method can do: the best point so far is the answer.
            break
        if state.gap < best[0]:
            best = (state.gap, state.Y, state.u)
        if not moved:
            break
    _, Y, u = best
    p, alpha = problem.p, problem.alpha
    U = np.zeros((p, p))
    U[state.rows, state.cols] = alpha * np.clip(u, -1.0, 1.0)
    U = U + U.T
    return InteriorPoint(_factor(problem.N, Y), U, iterations)


@dataclass(frozen=True)
class _Direction:
    u: Floats
    t: float
    S: Floats
    Y: Floats
    a: Floats
    b: Floats


class _State:
    """A strictly feasible point of both problems, in units of alpha so that one set of constants fits all."""

    def __init__(self, problem: ComponentProblem) -> None:
        p, m = problem.p, problem.free
        self.N = problem.N
        self.rows, self.cols = np.triu_indices(p, 1)
        self.schur = _SchurMatrix(self.rows, self.cols)
        C = problem.C / problem.alpha
        self.Y: Floats = np.eye(m) / m
        self.u: Floats = -0.9 * np.clip(C[self.rows, self.cols], -1.0, 1.0)
        x = self._ambient(self.Y)
        self.a: Floats = 2.0 * np.maximum(x, 0.0) + 1.0 / (p * m)
        self.b: Floats = self.a - 2.0 * x
        M = self.N.T @ C @ self.N + self._congruence(self.u)
        low = float(np.linalg.eigvalsh(M)[0])
        self.t = low - max(1.0, abs(low))
        self.S: Floats = M - self.t * np.eye(m)

    @property
    def gap(self) -> float:
        return float(np.vdot(self.Y, self.S)) + float(self.a @ (1.0 - self.u) + self.b @ (1.0 + self.u))

    def step(self) -> bool:
        """One predictor-corrector step; False when it no longer moves."""
        newton = _Newton(self)
        m, q = self.S.shape[0], self.u.size
        none = np.zeros(q)
        guess = newton.direction(0.0, np.zeros((m, m)), none, none)
        primal, dual = (min(1.0, length) for length in newton.lengths(guess))
        after = float(np.vdot(self.Y + primal * guess.Y, self.S + dual * guess.S))
        after += float((self.a + primal * guess.a) @ (1.0 - self.u - dual * guess.u))
        after += float((self.b + primal * guess.b) @ (1.0 + self.u + dual * guess.u))
        sigma = min(1.0, max(after / self.gap, 1e-6)) ** 3
        cross = guess.Y @ guess.S @ newton.Sinv
        d = newton.direction(
            sigma * self.gap / (m + 2 * q), 0.5 * (cross + cross.T), -guess.a * guess.u, guess.b * guess.u
        )
        primal, dual = (min(1.0, 0.97 * length) for length in newton.lengths(d))
        self.Y = self.Y + primal * 0.5 * (d.Y + d.Y.T)
        self.a, self.b = self.a + primal * d.a, self.b + primal * d.b
        self.u, self.t, self.S = self.u + dual * d.u, self.t + dual * d.t, self.S + dual * d.S
        return max(primal, dual) >= 1e-6

    def _ambient(self, Y: Floats) -> Floats:
        """The off-diagonal entries of N Y N'."""
        full: Floats = self.N @ Y @ self.N.T
        return full[self.rows, self.cols]

    def _congruence(self, u: Floats) -> Floats:
        """N' U N for the symmetric U with off-diagonal u and zero diagonal."""
        p = self.N.shape[0]
        U = np.zeros((p, p))
        U[self.rows, self.cols] = u
        half: Floats = self.N.T @ U @ self.N
        return half + half.T


class _Newton:
    """The linearised conditions at a point, factorised once for predictor and corrector."""

    def __init__(self, at: _State) -> None:
        self.at = at
        m, q = at.S.shape[0], at.u.size
        self.LS: Floats = np.asarray(np.linalg.cholesky(at.S), dtype=np.float64)
        self.LY: Floats = np.asarray(np.linalg.cholesky(at.Y), dtype=np.float64)
        self.Sinv: Floats = cho_solve((self.LS, True), np.eye(m), check_finite=False)
        self.up, self.down = 1.0 - at.u, 1.0 + at.u
        YSinv = at.Y @ self.Sinv
        H = at.schur(at.N @ at.Y @ at.N.T, at.N @ self.Sinv @ at.N.T)
        H.ravel()[:: q + 1] += at.a / self.up + at.b / self.down
        # H is symmetric: its transpose is the same matrix in the order that LAPACK overwrites in place.
        self.H = cho_factor(H.T, lower=True, overwrite_a=True, check_finite=False)
        self.g = -2.0 * at._ambient(0.5 * (YSinv + YSinv.T))
        self.Hg: Floats = cho_solve(self.H, self.g, check_finite=False)
        self.tau = float(np.trace(YSinv)) - float(self.g @ self.Hg)

    def direction(self, mu: float, second_Y: Floats, second_a: Floats, second_b: Floats) -> _Direction:
        """Towards the point of the central path at `mu`; second_* are the products of the predictor's steps."""
        at = self.at
        R = mu * self.Sinv - second_Y
        ra = (mu - second_a) / self.up
        rb = (mu - second_b) / self.down
        Hr: Floats = cho_solve(self.H, 2.0 * at._ambient(R) - ra + rb, check_finite=False)
        dt = (1.0 - float(np.trace(R)) - float(self.g @ Hr)) / self.tau
        du = Hr - dt * self.Hg
        dS = at._congruence(du) - dt * np.eye(at.S.shape[0])
        YdS = at.Y @ dS @ self.Sinv
        dY = R - at.Y - 0.5 * (YdS + YdS.T)
        return _Direction(du, dt, dS, dY, ra - at.a + at.a * du / self.up, rb - at.b - at.b * du / self.down)

    def lengths(self, d: _Direction) -> tuple[float, float]:
        """How far one can go before the primal, and the dual, point leaves its cone."""
        at = self.at
        primal = min(_to_boundary(self.LY, d.Y), _ratio(at.a, d.a), _ratio(at.b, d.b))
        dual = min(_to_boundary(self.LS, d.S), _ratio(self.up, -d.u), _ratio(self.down, d.u))
        return primal, dual


class _SchurMatrix:
    """H_(ij),(kl) = X_ik K_jl + X_il K_jk + K_ik X_jl + K_il X_jk over pairs i < j, k < l.

    Written into the same memory every time: fresh pages for q x q temporaries would cost more than the arithmetic.
    """

    def __init__(self, rows: Ints, cols: Ints) -> None:
        self.rows, self.cols = rows, cols
        self.H, self._one, self._two = (np.empty((rows.size, rows.size)) for _ in range(3))

    def __call__(self, X: Floats, K: Floats) -> Floats:
        i, j, H = self.rows, self.cols, self.H
        XI, XJ, KI, KJ = X[:, i], X[:, j], K[:, i], K[:, j]
        H.fill(0.0)
        for left, right in ((XI, KJ), (XJ, KI), (KI, XJ), (KJ, XI)):
            np.take(left, i, axis=0, out=self._one, mode="clip")
            np.take(right, j, axis=0, out=self._two, mode="clip")
            np.multiply(self._one, self._two, out=self._one)
            np.add(H, self._one, out=H)
        return H


def _to_boundary(L: Floats, step: Floats) -> float:
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
