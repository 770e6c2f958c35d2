"""The first-order method for one component's convex problem: ADMM between the spectraplex and the l1 norm.

X-step: project onto {X psd, tr X = 1, X V = 0}, one eigendecomposition in the coordinates of N, exactly
feasible. Z-step: soft thresholding; its multiplier U lies exactly in the box. So every iterate carries a valid
primal value and a valid dual bound.

Constants (measured in the prototype study): over-relaxation 1.6; rho starts at 0.2 alpha p and is balanced
between the two residuals by at most a factor 4 at a time, within [0.01, 10] alpha p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.linalg.simplex import project_simplex
from aspca.problems.component import ComponentProblem

_RELAXATION = 1.6


@dataclass
class Iterate:
    """State of the method; `factor` (p, r) holds X = factor factor', largest eigenvalue last."""

    Z: Floats
    U: Floats
    rho: float
    factor: Floats
    _previous: Floats
    _X: Floats

    @classmethod
    def start(cls, problem: ComponentProblem, U: Floats) -> Iterate:
        p = problem.p
        zero = np.zeros((p, p))
        return cls(zero, U, 0.2 * problem.alpha * p, np.zeros((p, 0)), zero, zero)

    def step(self, problem: ComponentProblem) -> None:
        N, alpha, rho = problem.N, problem.alpha, self.rho
        m = N.T @ (self.Z - (self.U + problem.C) / rho) @ N
        w, E = np.linalg.eigh(0.5 * (m + m.T))
        x = project_simplex(w)
        kept = x > 0
        self.factor = N @ (E[:, kept] * np.sqrt(x[kept]))
        self._X = self.factor @ self.factor.T
        t = _RELAXATION * self._X + (1 - _RELAXATION) * self.Z + self.U / rho
        box = alpha / rho
        clipped = np.clip(t, -box, box)
        np.fill_diagonal(clipped, 0.0)
        self._previous, self.Z = self.Z, t - clipped
        self.U = np.clip(rho * clipped, -alpha, alpha)

    def balance(self, problem: ComponentProblem) -> None:
        """Move rho where one residual is far behind the other."""
        size = max(np.linalg.norm(self._X), np.linalg.norm(self.Z))
        primal = np.linalg.norm(self._X - self.Z) / size
        dual = 2 * self.rho * np.linalg.norm(self.Z - self._previous) / np.linalg.norm(self.U)
        factor = float(np.sqrt(primal / max(float(dual), 1e-300)))
        if factor > 2 or factor < 0.5:
            unit = problem.alpha * problem.p
            self.rho = float(np.clip(self.rho * np.clip(factor, 0.25, 4.0), 0.01 * unit, 10 * unit))
