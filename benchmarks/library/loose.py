"""Sparse sequences whose orthogonality, accuracy or rounding is not what the paper's text says.

The semidefinite program in the paper's form (X psd, Tr X = 1, Tr(RX) = 0, R = VV' of the earlier vectors) has no
interior once there is an earlier vector, so an interior-point solver ends with Tr(RX) a little above zero. A finite
weight models that: minimise <C, X> + weight Tr(RX) + penalty ||X||_1 without the constraint. An infinite one is the
paper's text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from aspca.linalg.arrays import Floats
from aspca.sparse_pca.interior_point import InteriorPoint
from aspca.sparse_pca.problem import ComponentProblem

EXACT = float("inf")
# The relative gap to which X is solved unless a looser one is asked for.
GAP = 1e-9

# From the eigenvalues of X, ascending, its eigenvectors and the number of the step (from 1): the vector to take.
Choice = Callable[[Floats, Floats, int], Floats]


def dominant(shares: Floats, vectors: Floats, step: int) -> Floats:
    """The paper's choice."""
    return np.asarray(vectors[:, -1])


@dataclass(frozen=True)
class Loose:
    """How a sequence departs from the exact one."""

    weight: float = EXACT
    """On Tr(RX), instead of the constraint."""
    gap: float = GAP
    """At which the solver stops."""
    cut: float = 0.0
    """Loadings below this become zero, in the vector and so in R."""
    choose: Choice = dominant
    clarabel: float | None = None
    """The tolerance of Clarabel, called through CVXPY in the paper's form, where that is to solve."""

    def relaxation(self, C: Floats, penalty: float, V: Floats) -> tuple[Floats, float]:
        """X (p, p), and its value; the weighted term is part of it, or earlier vectors would come again."""
        if self.clarabel is not None:
            return _in_papers_form(C, penalty, V, self.clarabel)
        if np.isfinite(self.weight):
            problem = ComponentProblem(C + self.weight * (V @ V.T), penalty, V[:, :0], 0.0)
        else:
            problem = ComponentProblem(C, penalty, V, 0.0)
        if problem.free == 1:
            X = problem.N @ problem.N.T
        else:
            method = InteriorPoint(
                problem, problem.N @ problem.N.T / problem.free, problem.closed_form_dual(), self.gap
            )
            while method.step():
                pass
            X = method.factor @ method.factor.T
        return X, float(np.vdot(problem.C, X)) + penalty * float(np.abs(X).sum())

    def sequence(self, C: Floats, penalty: float, count: int | None = None) -> tuple[Floats, Floats, Floats]:
        """The first vectors (p, count), all by default, their values, and the largest eigenvalue of each X."""
        p = C.shape[0]
        V, values, shares = np.zeros((p, 0)), [], []
        for step in range(1, (count or p) + 1):
            X, value = self.relaxation(C, penalty, V)
            w, E = np.linalg.eigh(X)
            v = self.choose(w, E, step)
            v = np.where(np.abs(v) < self.cut, 0.0, v)
            V = np.column_stack([V, v / np.linalg.norm(v)])
            values.append(value)
            shares.append(w[-1])
        return V, np.array(values), np.array(shares)

    def blockwise(self, C: Floats, penalty: float) -> Floats:
        """The same vectors by blocks of |C_ij| > penalty, merged by value: what p = 41 needs to be quick."""
        p = C.shape[0]
        _, block_of = connected_components(np.abs(C) > penalty, directed=False)
        V, values = np.zeros((p, p)), np.zeros(p)
        done = 0
        for block in range(block_of.max() + 1):
            at = np.flatnonzero(block_of == block)
            took = slice(done, done + at.size)
            if at.size == 1:
                V[at, done], values[done] = 1.0, C[at[0], at[0]] + penalty
            else:
                V[at, took], values[took], _ = self.sequence(C[np.ix_(at, at)], penalty)
            done += at.size
        return V[:, np.argsort(values, kind="stable")]


def _in_papers_form(C: Floats, penalty: float, V: Floats, tolerance: float) -> tuple[Floats, float]:
    """As the paper's authors will have typed it into CVX; their solver is not to be had here."""
    import cvxpy as cp

    X = cp.Variable(C.shape, PSD=True)
    constraints = [cp.trace(X) == 1]
    if V.shape[1]:
        constraints.append(cp.trace((V @ V.T) @ X) == 0)
    problem = cp.Problem(cp.Minimize(cp.trace(C @ X) + penalty * cp.sum(cp.abs(X))), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVXPY warns of inaccurate solutions, which are what is looked at here
        problem.solve(solver="CLARABEL", tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance)
    return np.asarray(X.value), float(problem.value)


def orthonormal(V: Floats) -> Floats:
    """The same vectors, each made orthogonal to the earlier ones."""
    Q, R = np.linalg.qr(V)
    return np.asarray(Q * np.where(np.diag(R) < 0, -1.0, 1.0))


def largest_product(V: Floats) -> float:
    """How far columns are from orthogonal."""
    return float(np.abs(V.T @ V - np.eye(V.shape[1])).max())
