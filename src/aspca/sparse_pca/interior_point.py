"""A primal-dual interior-point method for one component's convex problem on a small block.

The first-order method certifies most components in a few steps, but where the solution has rank above one
or the dual is degenerate its tail is long. This method does not care: about ten Newton steps to any
accuracy, at O(p^6) each (a dense system in the p(p-1)/2 off-diagonal multipliers, or in the entries of Y where those
are fewer), so it is for blocks of at most `LARGEST` features.

Notation (see `problem`): Y (m, m) psd with X = N Y N' and tr Y = 1; S = N'(C+U)N - t I psd;
u the off-diagonal of U, |u| < alpha, with multipliers a, b >= 0 of u <= alpha and u >= -alpha. The conditions:
tr Y = 1, 2 X_ij = a_ij - b_ij, and Y S = mu I, a (alpha - u) = mu, b (alpha + u) = mu with mu -> 0. The direction
is the HKM one with Mehrotra's predictor and corrector. All iterates are strictly feasible on both sides.

Each step is taken in the coordinates T in which Y = T T' is the identity and T'ST = diag(s) is diagonal: the relation
between the steps of Y and S is then entry by entry, and the Newton matrix is a single product with its transpose. Far
from the solution it need not be that precise, and is put together from smaller products (`_by_pieces`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.small import list_above_diagonal, list_upper_triangle
from aspca.sparse_pca.problem import ComponentProblem

LARGEST = 50
_MAX_ITER = 60
# How far the start is pulled from an iterate of the first-order method into the interior.
_PULL_X = 0.1
_PULL_U = 0.2
_ROUNDING_NEAR = 1e-5
# Down to this gap rounding in the Newton matrix does not matter.
_FAR = 1e-3


class InteriorPoint:
    """The method, one Newton step at a time from near a feasible X and U, which stay feasible, to a gap."""

    def __init__(self, problem: ComponentProblem, X: Floats, U: Floats, enough: float) -> None:
        self.problem, self._enough = problem, enough
        self.iterations = 0
        self._point = _Point.near(problem, X, U)
        self._best = (self._point.gap, self._point.Y, self._point.u)
        self._slow, self._stuck, self._central = 0, False, False

    @property
    def gap(self) -> float:
        """Relative to the value, or to alpha where that is larger."""
        return self._best[0] / max(abs(self._point.t + 1.0), 1.0)

    @property
    def top_share(self) -> float:
        """The largest eigenvalue of X, whose trace is one."""
        return float(np.linalg.eigvalsh(self._best[1])[-1])

    @property
    def factor(self) -> Floats:
        """X = factor factor' with exact trace one, ascending eigenvalues, rounding remnants left out."""
        w, E = np.linalg.eigh(self._best[1])
        keep = w > 1e-13 * w[-1]
        w = w[keep] / w[keep].sum()
        return np.asarray(self.problem.N @ (E[:, keep] * np.sqrt(w)), dtype=np.float64)

    @property
    def U(self) -> Floats:
        return _symmetric(self.problem.alpha * np.clip(self._best[2], -1.0, 1.0), self.problem.p)

    def step(self) -> bool:
        """One predictor-corrector step; False at a gap that is small enough, by rounding, or at the limit of steps."""
        if self._stuck or self.iterations >= _MAX_ITER or not self.gap > self._enough:
            return False
        self.iterations += 1
        before = self._point.gap
        try:
            self._point.step()
        except np.linalg.LinAlgError:
            self._stuck = True
            return False
        after = self._point.gap
        self._slow = 0 if after < 0.9 * before else self._slow + 1
        if after < self._best[0]:
            self._best = (after, self._point.Y, self._point.u)
        if self._slow > 2:
            # Far from the solution a start too near the boundary is to blame; close to it, rounding.
            self._stuck = self._central or self.gap < _ROUNDING_NEAR
            if not self._stuck:
                self._point = _Point.near(
                    self.problem, self._point.N @ self._point.N.T, self.problem.closed_form_dual()
                )
                self._central, self._slow = True, 0
        return True


@dataclass
class _Point:
    """A strictly feasible point of both problems, in units of alpha so that one set of constants fits all."""

    N: Floats
    Y: Floats
    S: Floats
    t: float
    u: Floats
    a: Floats
    b: Floats
    memory: _Memory

    @classmethod
    def near(cls, problem: ComponentProblem, X: Floats, U: Floats) -> _Point:
        p, m, N = problem.p, problem.free, problem.N
        above = list_above_diagonal(p)
        Y = (1.0 - _PULL_X) * (N.T @ X @ N) + (_PULL_X / m) * np.eye(m)
        Y = 0.5 * (Y + Y.T) / np.trace(Y)
        u = (1.0 - _PULL_U) / problem.alpha * np.clip(U, -problem.alpha, problem.alpha)[above]
        M = N.T @ (problem.C / problem.alpha + _symmetric(u, p)) @ N
        low = float(np.linalg.eigvalsh(M)[0])
        t = low - 0.5 * max(float(np.vdot(Y, M)) - low, 1e-3 * max(1.0, abs(low)))
        S = 0.5 * (M + M.T) - t * np.eye(m)
        # The smaller of a and b from the central path, the larger one from 2 X = a - b.
        x, mu = (N @ Y @ N.T)[above], float(np.vdot(Y, S)) / m
        small = mu / (1.0 + np.sign(x) * u)
        return cls(N, Y, S, t, u, small + 2.0 * np.maximum(x, 0.0), small - 2.0 * np.minimum(x, 0.0), _Memory(p, m))

    @property
    def gap(self) -> float:
        return float(np.vdot(self.Y, self.S)) + float(self.a @ (1.0 - self.u) + self.b @ (1.0 + self.u))

    def step(self) -> None:
        """One predictor-corrector step."""
        gap = self.gap
        newton = _Newton(self, far=gap > _FAR * max(abs(self.t + 1.0), 1.0))
        none = np.zeros_like(self.u)
        guess = newton.direction(0.0, np.zeros_like(self.Y), none, none)
        primal, dual = (min(1.0, length) for length in newton.lengths(guess))
        after = newton.inner_product(guess, primal, dual)
        after += float((self.a + primal * guess.a) @ (1.0 - self.u - dual * guess.u))
        after += float((self.b + primal * guess.b) @ (1.0 + self.u + dual * guess.u))
        sigma = min(1.0, max(after / gap, 1e-6)) ** 3
        cross = guess.Y @ guess.S / newton.s
        d = newton.direction(
            sigma * gap / (self.S.shape[0] + 2 * self.u.size),
            0.5 * (cross + cross.T),
            -guess.a * guess.u,
            guess.b * guess.u,
        )
        primal, dual = (min(1.0, 0.97 * length) for length in newton.lengths(d))
        T = newton.T
        self.Y = self.Y + primal * (T @ d.Y @ T.T)
        self.Y = 0.5 * (self.Y + self.Y.T)
        self.a, self.b = self.a + primal * d.a, self.b + primal * d.b
        self.u, self.t = self.u + dual * d.u, self.t + dual * d.t
        moved = self.N.T @ _symmetric(dual * d.u, self.N.shape[0]) @ self.N
        self.S = self.S + 0.5 * (moved + moved.T) - dual * d.t * np.eye(self.S.shape[0])


@dataclass(frozen=True)
class _Direction:
    """A step; those of Y and S in the coordinates of `_Newton.T`."""

    u: Floats
    t: float
    S: Floats
    Y: Floats
    a: Floats
    b: Floats


class _Newton:
    """The linearised conditions at a point, factorised once for predictor and corrector."""

    def __init__(self, at: _Point, *, far: bool) -> None:
        self.at = at
        m = at.S.shape[0]
        L = np.linalg.cholesky(at.Y)
        self.s, Q = np.linalg.eigh(L.T @ at.S @ L)
        if self.s[0] <= 0:
            raise np.linalg.LinAlgError("S is not positive definite any more")
        self.T: Floats = L @ Q
        self.up, self.down = 1.0 - at.u, 1.0 + at.u
        self.D = at.a / self.up + at.b / self.down
        self.first, self.second = list_upper_triangle(m)
        self.trace = (self.T.T @ self.T)[self.first, self.second]
        self.diagonal, self.diagonal_at = self.first == self.second, np.diag_indices(m)
        # dY = R - relation * dS, entry by entry; y below is dY on and above the diagonal, with the diagonal halved.
        self.relation = 0.5 * (1.0 / self.s[:, None] + 1.0 / self.s)
        self.weight = self._half(self.relation)
        self.above, self.G = list_above_diagonal(at.N.shape[0]), at.N @ self.T
        # The products of all pairs, where K is made of them.
        self.pairs: Floats | None = None
        failed = not far
        if far:
            self.in_Y = True
            K = _by_pieces(self.G, _symmetric(2.0 / self.D, at.N.shape[0]), at.memory)
            K.T.ravel()[:: K.shape[0] + 1] += 1.0 / self.weight
            self.K, failed = dpotrf(K, lower=1, clean=0, overwrite_a=1)
        if failed:
            self._by_product(at.memory)
        self.along_t = self._solve(np.zeros_like(self.trace), np.zeros_like(at.u), self.trace)

    def _by_product(self, memory: _Memory) -> None:
        """K as a product, factorised."""
        self.pairs = _pair_products(self.G, memory.pairs)
        # The smaller of the two Newton matrices, in the entries of Y or in u: each the inverse of the other's update.
        self.in_Y = self.weight.size < self.D.size
        if self.in_Y:
            half = np.multiply(self.pairs, np.sqrt(2.0 / self.D), out=memory.half)
            diagonal = 1.0 / self.weight
        else:
            half = np.multiply(self.pairs, np.sqrt(2.0 * self.weight)[:, None], out=memory.half)
            diagonal = self.D
        # In Fortran's order `half` is its transpose: K = half half' is LAPACK's A'A, and the other way round.
        K = dsyrk(1.0, half.T, trans=int(self.in_Y), lower=1, c=memory.smaller, overwrite_c=1)
        K.T.ravel()[:: K.shape[0] + 1] += diagonal
        self.K, failed = dpotrf(K, lower=1, clean=0, overwrite_a=1)
        if failed:
            # Near the solution K is singular to rounding; without forming it there is twice the precision.
            tall = np.vstack([half.T if self.in_Y else half, np.diag(np.sqrt(diagonal))])
            self.K = np.asfortranarray(np.asarray(np.linalg.qr(tall, mode="r")).T)

    def direction(self, mu: float, second_Y: Floats, second_a: Floats, second_b: Floats) -> _Direction:
        """Towards the point of the central path at `mu`; second_* are the products of the predictor's steps."""
        at = self.at
        m = self.s.size
        R = np.diag(mu / self.s - 1.0) - second_Y
        ra = (mu - second_a) / self.up - at.a
        rb = (mu - second_b) / self.down - at.b
        y0, u0 = self._solve(self._half(R), ra - rb, np.zeros_like(self.weight))
        y1, u1 = self.along_t
        dt = -float(self.trace @ y0) / float(self.trace @ y1)
        y, du = y0 + dt * y1, u0 + dt * u1
        dY, dS = np.zeros((m, m)), np.zeros((m, m))
        dY[self.first, self.second] = y
        # From u and t, not from dY: these are what moves S, also where the system was solved badly.
        dS[self.first, self.second] = self._moved(du) - dt * self.trace
        dS[self.diagonal_at] *= 0.5
        dY, dS = dY + dY.T, dS + dS.T
        return _Direction(du, dt, dS, dY, ra + at.a * du / self.up, rb - at.b * du / self.down)

    def lengths(self, d: _Direction) -> tuple[float, float]:
        """How far one can go before the primal, and the dual, point leaves its cone."""
        at = self.at
        root = np.sqrt(self.s)
        primal = min(_to_boundary(d.Y), _ratio(at.a, d.a), _ratio(at.b, d.b))
        dual = min(_to_boundary(d.S / (root[:, None] * root)), _ratio(self.up, -d.u), _ratio(self.down, d.u))
        return primal, dual

    def inner_product(self, d: _Direction, primal: float, dual: float) -> float:
        """<Y, S> after steps of these lengths."""
        return float(np.vdot(np.eye(self.s.size) + primal * d.Y, np.diag(self.s) + dual * d.S))

    def _half(self, matrix: Floats) -> Floats:
        """The entries on and above the diagonal, the diagonal halved."""
        upper = matrix[self.first, self.second].copy()
        upper[self.diagonal] *= 0.5
        return upper

    def _solve(self, R: Floats, r: Floats, f: Floats) -> tuple[Floats, Floats]:
        """y and u with  y + weight (P u - f) = R  and  D u = 2 P'y - r,  P the `_pair_products`.

        These are dY = R - relation dS with dS = P u - f, and 2 dX = r + D u with dX = P'y.
        """
        if self.in_Y:
            y = self._back(R / self.weight + self._moved(r / self.D) + f)
            return y, (2.0 * self._spread(y) - r) / self.D
        u = self._back(2.0 * self._spread(R + self.weight * f) - r)
        return R + self.weight * (f - self._moved(u)), u

    def _moved(self, u: Floats) -> Floats:
        """P u: G'UG on and above the diagonal, for U of off-diagonal u."""
        if self.pairs is not None:
            return self.pairs @ u
        return np.asarray((self.G.T @ _symmetric(u, self.G.shape[0]) @ self.G)[self.first, self.second])

    def _spread(self, y: Floats) -> Floats:
        """P'y: the off-diagonal of G dY G'."""
        if self.pairs is not None:
            return y @ self.pairs
        dY = np.zeros((self.s.size, self.s.size))
        dY[self.first, self.second] = y
        return np.asarray((self.G @ (dY + dY.T) @ self.G.T)[self.above])

    def _back(self, right: Floats) -> Floats:
        return np.asarray(dpotrs(self.K, right, lower=1)[0], dtype=np.float64)


class _Memory:
    """Room for the matrices of a Newton step, the same for every step: fresh pages cost as much as the arithmetic."""

    def __init__(self, p: int, m: int) -> None:
        self._shape = m * (m + 1) // 2, p * (p - 1) // 2
        self.products = np.empty((m, m, p))
        self.K = np.zeros((self._shape[0], self._shape[0]), order="F")

    # What only the last steps need.

    @cached_property
    def pairs(self) -> Floats:
        return np.empty(self._shape)

    @cached_property
    def half(self) -> Floats:
        return np.empty(self._shape)

    @cached_property
    def smaller(self) -> Floats:
        n, q = self._shape
        return self.K if n < q else np.zeros((q, q), order="F")


def _by_pieces(G: Floats, E: Floats, memory: _Memory) -> Floats:
    """The lower triangle, in Fortran's order, of P diag(e) P', e the off-diagonal of E and P the `_pair_products`.

    Its entries are W_(ac),(bd) + W_(ad),(bc) with W_(ac),(bd) = sum_ij G_ia G_ic E_ij G_jb G_jd: of order m^4 p, where
    the product is of order m^4 p^2. But what cancels in P cancels only in the sum here, felt near the solution.
    """
    p, m = G.shape
    rows = np.ascontiguousarray(G.T)
    H = np.multiply(rows[:, None], rows, out=memory.products)
    HE = (H.reshape(m * m, p) @ E).reshape(m, m, p)
    # In C's order the lower triangle is the upper one.
    K = memory.K.T
    start = 0
    for a in range(m):
        left = m - a
        end = start + left
        one, other = _places(left)
        # By b, and by d and c: those below a have been dealt with.
        W = np.matmul(H[a:, a:], HE[a, a:].T).reshape(left, left * left)
        K[start:end, start:] = W.take(one, axis=1)
        K[start:end, start:] += W.take(other, axis=1)
        start = end
    return memory.K


@lru_cache(maxsize=64)
def _places(size: int) -> tuple[Ints, Ints]:
    """Where the entries on and above the diagonal of a square matrix lie among all, and where its transpose's do."""
    row, column = list_upper_triangle(size)
    return column * size + row, row * size + column


def _pair_products(T: Floats, P: Floats) -> Floats:
    """P_(ab),(ij) = T_ia T_jb + T_ib T_ja over a <= b and i < j: (T'UT)_ab = P u for U with off-diagonal u."""
    p, m = T.shape
    i, j = list_above_diagonal(p)
    left, right = np.ascontiguousarray(T.T[:, i]), np.ascontiguousarray(T.T[:, j])
    start = 0
    for a in range(m):
        end = start + m - a
        np.multiply(left[a], right[a:], out=P[start:end])
        P[start:end] += right[a] * left[a:]
        start = end
    return P


def _symmetric(u: Floats, p: int) -> Floats:
    """The symmetric matrix with off-diagonal u and zero diagonal."""
    U = np.zeros((p, p))
    U[list_above_diagonal(p)] = u
    return U + U.T


def _to_boundary(step: Floats) -> float:
    """Largest s with I + s step psd."""
    low = float(np.linalg.eigvalsh(step)[0])
    return np.inf if low >= 0 else -1.0 / low


def _ratio(x: Floats, step: Floats) -> float:
    """Largest s with x + s step >= 0, x > 0."""
    low = float((step / x).min())
    return np.inf if low >= 0 else -1.0 / low
