"""The first-order method for one component's convex problem: ADMM between the spectraplex and the l1 norm.

X-step: project onto {X psd, tr X = 1, X V = 0}, which takes the leading eigenvectors of one matrix; whatever vectors
are found, X is exactly feasible. Z-step: soft thresholding; its multiplier U lies exactly in the box. So every iterate
carries a valid primal value and a valid dual bound.

Constants (measured in the prototype study): over-relaxation 1.6; rho starts at 0.2 alpha p and is balanced
between the two residuals by at most a factor 4 at a time, within [0.01, 10] alpha p.

The projection takes one full eigendecomposition while X is of high rank. Once its rank is small, the vectors of the
step before are nearly right: a few products of the matrix with a thin block, and an eigenproblem in what they span.
That is inexact, but the error shrinks along with the steps of the outer method.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.linalg.small import length, project_simplex
from aspca.sparse_pca.problem import ComponentProblem

_RELAXATION = 1.6
# Below this many features a full eigendecomposition costs no more than the products.
_SMALL = 120
# Vectors carried along beyond the rank of X, so that new directions can come in.
_GUARD = 6
# Products with the matrix per step.
_DEPTH = 2


class Iterate:
    """State of the method. Matrices are updated in place: for large p, fresh memory costs as much as the arithmetic."""

    def __init__(self, problem: ComponentProblem, U: Floats, limit: int) -> None:
        p = problem.p
        self.iterations, self.limit = 0, limit
        self.problem = problem
        self.rho = 0.2 * problem.alpha * p
        self.factor: Floats = np.zeros((p, 0))  # X = factor factor', (p, r), largest eigenvalue last
        self.Z: Floats = np.zeros((p, p))
        self._scaled_U: Floats = U / self.rho
        self._scaled_C: Floats = problem.C / self.rho
        self._work, self._previous = np.empty((p, p)), np.zeros((p, p))
        self._leading = LeadingVectors(problem)

    @property
    def X(self) -> Floats:
        return self.factor @ self.factor.T

    @property
    def U(self) -> Floats:
        alpha = self.problem.alpha
        return np.clip(self.rho * self._scaled_U, -alpha, alpha)

    def step(self) -> bool:
        """One step; False, and none, beyond the limit."""
        if self.iterations >= self.limit:
            return False
        self.iterations += 1
        work, scaled_U = self._work, self._scaled_U
        np.subtract(self.Z, scaled_U, out=work)
        work -= self._scaled_C
        self.factor = self._leading.project(work)
        np.matmul(self.factor * _RELAXATION, self.factor.T, out=work)
        work += scaled_U
        self._previous, self.Z = self.Z, self._previous
        np.multiply(self._previous, 1 - _RELAXATION, out=self.Z)
        work += self.Z
        box = self.problem.alpha / self.rho
        np.clip(work, -box, box, out=scaled_U)
        scaled_U.flat[:: len(scaled_U) + 1] = 0.0
        np.subtract(work, scaled_U, out=self.Z)
        return True

    def balance(self) -> None:
        """Move rho where one residual is far behind the other."""
        X = self.X
        size = max(length(X), length(self.Z))
        primal = length(X - self.Z) / size
        dual = 2 * length(self.Z - self._previous) / max(length(self._scaled_U), 1e-300)
        factor = float(np.sqrt(primal / max(float(dual), 1e-300)))
        if factor > 2 or factor < 0.5:
            unit = self.problem.alpha * self.problem.p
            rho = float(np.clip(self.rho * np.clip(factor, 0.25, 4.0), 0.01 * unit, 10 * unit))
            self._scaled_U *= self.rho / rho
            self._scaled_C *= self.rho / rho
            self.rho = rho


class LeadingVectors:
    """The projection of symmetric matrices onto {X psd, tr X = 1, X V = 0}."""

    def __init__(self, problem: ComponentProblem) -> None:
        self.problem = problem
        self._block: Floats | None = None

    def project(self, M: Floats) -> Floats:
        """F (p, r) with F F' the projection of M, largest eigenvalue last."""
        found = None if self._block is None else self._from_block(M, self._block)
        w, E = found or self._exact(M)
        x = project_simplex(w)
        rank = int(np.count_nonzero(x))
        keep = rank + max(_GUARD, rank // 3)
        self._block = E[:, -keep:] if self.problem.p >= _SMALL and 8 * keep <= self.problem.free else None
        return np.asarray(E[:, -rank:] * np.sqrt(x[-rank:]), dtype=np.float64)

    def _exact(self, M: Floats) -> tuple[Floats, Floats]:
        problem = self.problem
        if problem.V.shape[1] == 0:
            w, E = np.linalg.eigh(M)
            return w, E
        m = problem.N.T @ M @ problem.N
        w, E = np.linalg.eigh(0.5 * (m + m.T))
        return w, problem.N @ E

    def _from_block(self, M: Floats, block: Floats) -> tuple[Floats, Floats] | None:
        """Ritz pairs in the span of the block and its products with M; None where the block turns out too narrow."""
        V = self.problem.V
        spans = [block]
        for _ in range(_DEPTH):
            product = M @ spans[-1]
            product -= V @ (V.T @ product)
            spans.append(product / np.linalg.norm(product, axis=0))
        q = np.linalg.qr(np.hstack(spans))[0]
        q -= V @ (V.T @ q)
        w, E = np.linalg.eigh(q.T @ (M @ q))
        many = block.shape[1]
        w, E = w[-many:], q @ E[:, -many:]
        # If even the last of them is part of X, there may be more.
        return None if project_simplex(w)[0] > 0 else (w, E)
