"""One component: candidates first, then a bound; the convex solvers only as far as the certificate needs them.

1. Guess a few sparse vectors and improve each by the active set.
2. Repair a cheap multiplier to fit the best one: often the gap closes here.
3. ADMM for a better multiplier, repaired again; now and then its X is rounded to new vectors.
4. What is still open on a small block is finished by the interior-point method.
5. Where the optimum is not rank one, or not proved to be unique, more guesses: for the best vector, and for ties.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.problems.component import ComponentProblem
from aspca.solvers import interior_point as ipm
from aspca.solvers.active_set import Candidate, trimmed
from aspca.solvers.admm import Iterate
from aspca.solvers.incumbent import Incumbent
from aspca.solvers.starts import bottom_vectors, pair_starts, prefix_starts, reweighted, unit_starts


class Status(Enum):
    """How a component's solve ended; the value is the sentence a user reads."""

    CERTIFIED = "the vector attains the optimum of the convex problem, within the tolerance or within rounding"
    RELAXED = "the convex problem is solved, but its optimum is not rank one: the best vector may be better by the gap"
    ITERATIONS = "the iteration limit ended the convex solver early: the bounds are valid but apart"
    PRECISION = "float64 precision ended the convex solver early: the bounds are valid but apart"
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


@dataclass(frozen=True)
class GivenUp:
    """A solve that ended because its value lies above what was asked for, and what proves that."""

    lower: float
    U: Floats


def solve_component(
    problem: ComponentProblem, effort: Effort, *, dominant: bool, warmth: Warmth, give_up_above: float = np.inf
) -> ComponentSolution | GivenUp:
    """Solve one component's problem to `effort.tol`; see the module's text for the stages.

    Once the problem's value is known to exceed `give_up_above`, nothing more is done.
    """
    state = Incumbent(problem)
    duals = [_in_box(problem, U) for U in warmth.multipliers] + [problem.closed_form_dual()]
    _first_guesses(problem, state, warmth)
    for U in duals:
        state.offer_dual(U, effort.tol)
        if state.settled(effort.tol):
            return _finish(problem, state, effort, dominant, 0)
        if state.lower > give_up_above:
            return GivenUp(state.lower, state.U)
    iterations = 0
    if not effort.spent():
        small = problem.p <= ipm.LARGEST
        limit = 60 if small else effort.max_iter
        iterations = _first_order(problem, state, duals[0], effort, limit, give_up_above)
        if state.lower > give_up_above and not state.settled(effort.tol):
            return GivenUp(state.lower, state.U)
        if not state.closed(effort.tol) and small and not effort.spent():
            iterations += _second_order(problem, state, effort)
        if not state.settled(effort.tol) and not effort.spent():
            _more_guesses(problem, state)
    return _finish(problem, state, effort, dominant, iterations)


def _in_box(problem: ComponentProblem, U: Floats) -> Floats:
    inside = np.clip(U, -problem.alpha, problem.alpha)
    np.fill_diagonal(inside, 0.0)
    return inside


def _first_guesses(problem: ComponentProblem, state: Incumbent, warmth: Warmth) -> None:
    """What is right most of the time."""
    for f in warmth.vectors.T:
        state.offer_start(f - problem.V @ (problem.V.T @ f))
    for start in pair_starts(problem, 3):
        state.offer_start(start)
    for start in unit_starts(problem, 1):
        state.offer_start(start)


def _more_guesses(problem: ComponentProblem, state: Incumbent) -> None:
    """For the best vector where the optimum is not rank one, and for the ties of one that is."""
    for start in pair_starts(problem, 12):
        state.offer_start(start)
    for f in bottom_vectors(problem, 2).T:
        _offer_rounded(problem, state, f, 2)
    if state.factor is not None and state.factor_value < state.upper:
        for f in state.factor[:, -4:].T:
            near = reweighted(problem, f, 30)
            for start in (near, *prefix_starts(near, 3)):
                state.offer_start(start)


def _first_order(
    problem: ComponentProblem, state: Incumbent, U: Floats, effort: Effort, limit: int, give_up_above: float
) -> int:
    """ADMM until the gap closes; a vector is rounded from it only now and then, which costs more than its steps."""
    small = problem.p <= ipm.LARGEST
    iterate = Iterate.start(problem, U)
    check, rounding = 1, 10
    for iteration in range(1, limit + 1):
        iterate.step(problem)
        if iteration < check and iteration < limit:
            continue
        check = 5 if iteration < 5 else iteration + max(5, iteration // 10)
        state.offer_factor(iterate.factor)
        if iteration >= rounding:
            rounding = 4 * iteration
            f = iterate.factor[:, -1]
            state.offer_start(np.where(np.diag(iterate.Z) > 0, f, 0.0))
            _offer_rounded(problem, state, f, 2)
        state.offer_dual(iterate.U, effort.tol)
        done = state.closed(effort.tol) if small else state.solved(effort.tol)
        if done or state.lower > give_up_above or effort.spent():
            return iteration
        iterate.balance(problem)
    return limit


def _second_order(problem: ComponentProblem, state: Incumbent, effort: Effort) -> int:
    # A thousandth of the tolerance: where X is not rank one its eigenvectors should be as good as its value.
    result = ipm.interior_point(problem, 1e-3 * effort.tol, effort.deadline)
    state.offer_factor(result.factor)
    _offer_rounded(problem, state, result.factor[:, -1], 3)
    state.offer_dual(result.U, effort.tol)
    return result.iterations


def _offer_rounded(problem: ComponentProblem, state: Incumbent, f: Floats, prefixes: int) -> None:
    """Vectors from f, which is orthogonal to V: f itself, and f cut at its steepest falls."""
    state.offer_start(trimmed(problem, f))
    for start in prefix_starts(f, prefixes):
        state.offer_start(start)


def _finish(
    problem: ComponentProblem,
    state: Incumbent,
    effort: Effort,
    dominant: bool,
    iterations: int,
) -> ComponentSolution:
    best = state.best
    factor, value = state.factor, state.factor_value
    if best is not None and best.value < value:
        # The sparse vector proves more than X, whichever of the two is taken.
        factor, value = best.v[:, None], best.value
    rank_one = state.closed(effort.tol)
    if best is None or (dominant and not rank_one and state.factor is not None):
        best = _dominant(problem, state.factor)
        state.tie = False
    status = Status.CERTIFIED if rank_one else Status.RELAXED
    if not state.solved(effort.tol):
        status = Status.PRECISION if problem.p <= ipm.LARGEST else Status.ITERATIONS
        if effort.spent():
            status = Status.BUDGET
    return ComponentSolution(
        v=best.v,
        upper=best.value,
        lower=state.lower,
        primal=min(value, best.value),
        U=state.U,
        factor=factor if value < best.value else None,
        tie=state.tie,
        iterations=iterations,
        status=status,
    )


def _dominant(problem: ComponentProblem, factor: Floats | None) -> Candidate:
    """The paper's rounding: X's top eigenvector, rounding remnants cut."""
    v = trimmed(problem, problem.N[:, 0] if factor is None else factor[:, -1])
    return Candidate(v, problem.objective(v))
