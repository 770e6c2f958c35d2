"""The best of everything found so far for one component: vectors, a feasible X, and a dual bound."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.sparse_pca.active_set import Candidate, active_set, stationarity
from aspca.sparse_pca.multipliers import Reflections, repair
from aspca.sparse_pca.problem import ComponentProblem


class Incumbent:
    """Collects offers and answers: how large is the gap now?"""

    def __init__(self, problem: ComponentProblem) -> None:
        self.problem = problem
        self.best: Candidate | None = None
        self.tie = False
        self.factor: Floats | None = None
        self.factor_value = np.inf
        self.U = problem.closed_form_dual()
        self.lower = -np.inf
        self.margin = 0.0
        self._tried: set[bytes] = set()
        self._needs: tuple[Candidate, Floats] | None = None

    # ---- offers

    def offer_start(self, start: Floats) -> None:
        """Descend from a start unless its support and signs were tried before."""
        key = np.sign(start).astype(np.int8).tobytes()
        if key in self._tried:
            return
        self._tried.add(key)
        self.offer(active_set(self.problem, start))

    def offer(self, candidate: Candidate | None) -> None:
        if candidate is None:
            return
        if self.best is None:
            self.best = candidate
            return
        # Two objectives closer than this are the same number: the tie is then broken by the lowest support.
        margin = max(self.problem.tie, 1e-9 * abs(self.best.value))
        if candidate.value < self.best.value - margin:
            self.best, self.tie = candidate, False
        elif candidate.value <= self.best.value + margin:
            mine, theirs = tuple(candidate.support), tuple(self.best.support)
            if mine == theirs:
                if candidate.value < self.best.value:
                    self.best = candidate
            else:
                self.tie = True
                if mine < theirs:
                    self.best = candidate

    def offer_dual(self, U: Floats, tol: float, *, repaired: bool = True) -> None:
        """Take U, repaired to have the best vector as eigenvector or as it is, if it bounds better."""
        if self.best is not None and repaired:
            self.bound(repair(self.problem, self.best.v, self._needed(self.best), U))
        if not self.closed(tol):
            self.bound(U)

    def reflections(self, U: Floats) -> Reflections | None:
        """What may prove the best vector, from near U; None where there is no vector yet."""
        return None if self.best is None else Reflections(self.problem, self.best, self._needed(self.best), U)

    def _needed(self, best: Candidate) -> Floats:
        """What a multiplier must do to the best vector."""
        if self._needs is None or self._needs[0] is not best:
            self._needs = best, stationarity(self.problem, best.v, best.value)
        return self._needs[1]

    def bound(self, U: Floats) -> None:
        """Take U, as it is, if it bounds better."""
        bound, margin = self.problem.dual(U)
        if bound > self.lower:
            self.lower, self.margin, self.U = bound, margin, U

    def offer_factor(self, factor: Floats) -> None:
        value = self.problem.primal(factor)
        if value < self.factor_value:
            self.factor, self.factor_value = factor, value

    # ---- answers

    @property
    def upper(self) -> float:
        return np.inf if self.best is None else self.best.value

    @property
    def primal(self) -> float:
        """The best feasible X's value, vectors included."""
        return min(self.upper, self.factor_value)

    def closed(self, tol: float) -> bool:
        """Whether the best vector attains the convex optimum."""
        return self.best is not None and self.problem.closed(self.upper, self.lower, tol)

    def solved(self, tol: float) -> bool:
        """Whether the convex problem itself is solved, by a vector or by X."""
        return np.isfinite(self.primal) and self.problem.closed(self.primal, self.lower, tol)

    def proved_unique(self, tol: float) -> bool:
        """Whether the best vector is optimal, and the bound proves that no other is as good."""
        slack = max(self.upper - self.lower, 0.0)
        return self.closed(tol) and self.margin > 10.0 * slack + max(self.problem.tie, 1e-9 * abs(self.upper))
