"""The projection onto the spectraplex, from the leading eigenvectors of a slowly changing matrix.

While X is of high rank, one full eigendecomposition. Once its rank is small, the vectors of the step before are nearly
right: a few products of the matrix with a thin block, and an eigenproblem in what they span. That is inexact, but X is
feasible whatever vectors it is made of, and the error shrinks along with the steps of the outer method.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.linalg.simplex import project_simplex
from aspca.problems.component import ComponentProblem

# Below this many features a full eigendecomposition costs no more than the products.
_SMALL = 120
# Vectors carried along beyond the rank of X, so that new directions can come in.
_GUARD = 6
# Products with the matrix per step.
_DEPTH = 2


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
