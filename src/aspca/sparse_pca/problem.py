"""The convex problem behind one sparse component: what is solved, never how.

Notation
--------
C      (p, p)   A for the backward direction, -A for the forward one (the paper's covariance A)
alpha           the penalty, the paper's lambda on the scale of A
V      (p, k)   the components found earlier, orthonormal columns
N      (p, p-k) an orthonormal basis of what is left
v      (p,)     a candidate component: v'v = 1, V'v = 0
X      (p, p)   its relaxation: X psd, tr X = 1, X V = 0 (the paper's equations for ASPCA-F and ASPCA-B)
U      (p, p)   the dual variable: symmetric, |U_ij| <= alpha

primal(X)    = <C, X> + alpha (||X||_1 - 1)           to be minimised
objective(v) = primal(v v') = v'Cv + alpha (||v||_1^2 - 1)
dual(U)      = smallest eigenvalue of N'(C + U)N        to be maximised, never above any primal value

Since X is psd with trace one its diagonal adds alpha to every value, and U_ii = alpha is always best. That constant is
left out here, and U has a zero diagonal: a large alpha must not drown the differences. Certificates add it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from aspca.linalg.arrays import EPS, Floats, Ints
from aspca.linalg.eigen import find_left_null_space, find_lowest_values


@dataclass(frozen=True)
class ComponentProblem:
    """One step of the sequence on one block of features."""

    C: Floats
    alpha: float
    V: Floats
    scale: float  # smallest meaningful size of a value: the gap's denominator never falls below it
    _bases: dict[bytes, Floats | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def p(self) -> int:
        return int(self.C.shape[0])

    @property
    def free(self) -> int:
        """Dimension of what is left."""
        return self.p - int(self.V.shape[1])

    @cached_property
    def N(self) -> Floats:
        k = self.V.shape[1]
        if k == 0:
            return np.eye(self.p)
        q = qr(self.V, mode="full")[0]
        return np.ascontiguousarray(q[:, k:])

    def basis_on(self, support: Ints) -> Floats | None:
        """Basis (|S|, r) of the vectors on a support that are orthogonal to V; None where that is all of them."""
        key = support.tobytes()
        if key not in self._bases:
            # The active set comes back to the same few supports; keeping all of them would take memory like p^3.
            if len(self._bases) >= 16:
                self._bases.clear()
            self._bases[key] = find_left_null_space(self.V[support])
        return self._bases[key]

    @cached_property
    def size(self) -> float:
        """Frobenius norm of C plus that of the largest U: an upper bound for the norm of C + U."""
        return float(np.linalg.norm(self.C)) + self.alpha * self.p

    @property
    def rounding(self) -> float:
        """What rounding may add to a computed eigenvalue of N'(C+U)N (a generous multiple of p eps ||C+U||)."""
        return 8.0 * self.p * EPS * self.size

    def objective(self, v: Floats) -> float:
        return float(v @ (self.C @ v)) + self.alpha * (float(np.abs(v).sum()) ** 2 - float(v @ v))

    def primal(self, factor: Floats) -> float:
        """Primal value of X = factor factor', factor (p, r)."""
        x = factor @ factor.T
        return float(np.vdot(self.C, x)) + self.alpha * (float(np.abs(x).sum()) - float(np.trace(x)))

    def dual(self, U: Floats) -> tuple[float, float]:
        """A lower bound on the convex problem's value, and how far the next eigenvalue of N'(C + U)N lies above it.

        The bound is lowered by what rounding may have added. A distance well above the gap shows that the optimum is
        unique: every optimal X lies in the span of the bottom eigenvector.
        """
        m = self.C + U
        if self.V.shape[1]:
            m = self.N.T @ m @ self.N
            m = 0.5 * (m + m.T)
        if m.shape[0] == 1:
            return float(m[0, 0]) - self.rounding, np.inf
        low = find_lowest_values(m, 2)
        return float(low[0]) - self.rounding, float(low[1] - low[0])

    def closed(self, value: float, lower: float, tol: float) -> bool:
        """Whether the gap is at most `tol`, or no larger than rounding allows.

        Without a penalty, eigenvalues within 1e-10 of the largest count as one (see `linalg.eigen`).
        """
        allowed = tol * max(abs(value + self.alpha), self.alpha, self.scale) + 2.0 * self.rounding
        return value - lower <= allowed + (1e-10 * self.size if self.alpha == 0.0 else 0.0)

    @cached_property
    def tie(self) -> float:
        """Values closer than this are the same number."""
        return 1e-9 * max(min(self.alpha, float(np.abs(self.C).max())), self.scale)

    def in_box(self, U: Floats) -> Floats:
        """The nearest multiplier with |U_ij| <= alpha and a zero diagonal."""
        inside = np.clip(U, -self.alpha, self.alpha)
        np.fill_diagonal(inside, 0.0)
        return inside

    def closed_form_dual(self) -> Floats:
        """The box's best answer entry by entry: cancel C where |C_ij| <= alpha, shrink it elsewhere."""
        return self.in_box(-self.C)
