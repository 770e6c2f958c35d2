"""One component: candidates first, then a bound; the convex solvers only as far as the certificate needs them.

1. Guess sparse vectors and improve each by the active set.
2. Repair a cheap multiplier to fit the best one: often the gap closes here.
3. ADMM; every few steps round its X to new candidates and repair its U.
4. What is still open on a small block is finished by the interior-point method.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.problems.component import ComponentProblem
from aspca.solvers import interior_point as ipm
from aspca.solvers.active_set import Candidate, feasible_near
from aspca.solvers.admm import Iterate
from aspca.solvers.incumbent import Incumbent
from aspca.solvers.starts import bottom_vectors, pair_starts, prefix_starts, reweighted, unit_starts


class Status(Enum):
    """How a component's solve ended; the value is the sentence a user reads."""

    CERTIFIED = "the vector attains the optimum of the convex problem within the tolerance"
    RELAXED = "the convex problem is solved, but its optimum is not rank one: the gap is the vector's true distance"
    ITERATIONS = "the iteration limit ended the convex solver early: the bounds are valid but apart"
    BUDGET = "the time budget ended the convex solver early: the bounds are valid but apart"


@dataclass(frozen=True)
class Effort:
    """How hard to try."""

    tol: float
    max_iter: int
    deadline: float
    """On the clock of time.perf_counter."""

    def spent(self) -> bool:
        return time.perf_counter() > self.deadline


@dataclass(frozen=True)
class Warmth:
    """What neighbouring problems leave behind: vectors to try (p, k), and multipliers."""

    vectors: Floats
    multipliers: tuple[Floats, ...]


@dataclass(frozen=True)
class ComponentSolution:
    """A component with both its bounds, in the coordinates of its block."""

    v: Floats
    upper: float
    lower: float
    primal: float
    U: Floats
    factor: Floats | None
    """X = factor factor' where it is better than v v', else None."""
    tie: bool
    iterations: int
    status: Status


def solve_component(problem: ComponentProblem, effort: Effort, *, dominant: bool, warmth: Warmth) -> ComponentSolution:
    """Solve one component's problem to `effort.tol`; see the module's text for the stages."""
    state = Incumbent(problem)
    iterations = 0
    ended: Status | None = None
    _guess(problem, state, warmth)
    for U in (problem.closed_form_dual(), *warmth.multipliers):
        first = np.clip(U, -problem.alpha, problem.alpha)
        np.fill_diagonal(first, problem.alpha)
        state.offer_dual(first)
    if state.gap > effort.tol and not effort.spent():
        small = problem.p <= ipm.LARGEST
        iterations = _first_order(problem, state, first, effort, limit=60 if small else effort.max_iter)
        if state.gap > effort.tol and small and not effort.spent():
            iterations += _second_order(problem, state, effort)
    if state.sdp_gap > effort.tol:
        ended = Status.BUDGET if effort.spent() else Status.ITERATIONS
    return _finish(problem, state, effort, dominant, iterations, ended)


def _guess(problem: ComponentProblem, state: Incumbent, warmth: Warmth) -> None:
    for f in warmth.vectors.T:
        state.offer_start(f - problem.V @ (problem.V.T @ f))
    for start in pair_starts(problem, 12):
        state.offer_start(start)
    for start in unit_starts(problem, 1):
        state.offer_start(start)
    for f in bottom_vectors(problem, 2).T:
        for start in prefix_starts(f, 4):
            state.offer_start(start)


def _round(problem: ComponentProblem, state: Incumbent, factor: Floats, Z: Floats | None) -> None:
    f = factor[:, -1]
    if Z is not None:
        state.offer_start(np.where(np.diag(Z) > 0, f, 0.0))
    for start in prefix_starts(f, 3):
        state.offer_start(start)


def _first_order(problem: ComponentProblem, state: Incumbent, U: Floats, effort: Effort, limit: int) -> int:
    iterate = Iterate.start(problem, U)
    check = 1
    for iteration in range(1, limit + 1):
        iterate.step(problem)
        if iteration < check and iteration < limit:
            continue
        check = iteration + max(1 + iteration, 10) if iteration < 5 else iteration + max(10, iteration // 10)
        state.offer_factor(iterate.factor)
        _round(problem, state, iterate.factor, iterate.Z)
        state.offer_dual(iterate.U)
        if state.gap <= effort.tol or (problem.p > ipm.LARGEST and state.sdp_gap <= effort.tol) or effort.spent():
            return iteration
        iterate.balance(problem)
    return limit


def _second_order(problem: ComponentProblem, state: Incumbent, effort: Effort) -> int:
    # A hundredth of the tolerance: what is asked of X's bounds must survive cutting its factor and rounding.
    result = ipm.interior_point(problem, 1e-2 * min(effort.tol, 1e-6), effort.deadline)
    state.offer_factor(result.factor)
    _round(problem, state, result.factor, None)
    if state.gap > effort.tol:
        # Not rank one, as it seems: look for the best vector in earnest.
        for f in result.factor[:, -4:].T:
            for start in prefix_starts(reweighted(problem, f, 30), 4):
                state.offer_start(start)
    state.offer_dual(result.U)
    return result.iterations


def _finish(
    problem: ComponentProblem,
    state: Incumbent,
    effort: Effort,
    dominant: bool,
    iterations: int,
    ended: Status | None,
) -> ComponentSolution:
    best = state.best
    rank_one = state.gap <= effort.tol
    if best is None or (dominant and not rank_one and state.factor is not None):
        best = _dominant(problem, state.factor)
        state.tie = False
    status = ended or (Status.CERTIFIED if rank_one else Status.RELAXED)
    return ComponentSolution(
        v=best.v,
        upper=best.value,
        lower=state.lower,
        primal=min(state.primal, best.value),
        U=state.U,
        factor=state.factor if state.factor_value < best.value else None,
        tie=state.tie,
        iterations=iterations,
        status=status,
    )


def _dominant(problem: ComponentProblem, factor: Floats | None) -> Candidate:
    """The paper's rounding: X's top eigenvector.

    Entries below 1e-6 of the largest are cut, unless that turns the vector: beside dense earlier components a small
    entry may be what keeps it orthogonal.
    """
    f = problem.N[:, 0] if factor is None else factor[:, -1]
    f = f / np.linalg.norm(f)
    for cut in (1e-6, 1e-8, 1e-10):
        v = feasible_near(problem, np.where(np.abs(f) > cut * np.abs(f).max(), f, 0.0))
        if v is not None and abs(float(v @ f)) > 1.0 - 1e-9:
            return Candidate(v, problem.objective(v))
    v = f - problem.V @ (problem.V.T @ f)
    v = v / np.linalg.norm(v)
    return Candidate(v, problem.objective(v))
