"""One component: candidates first, then a bound; the convex solvers only as far as the certificate needs them.

1. Guess a few sparse vectors and improve each by the active set.
2. Repair a cheap multiplier to fit the best one: often the gap closes here.
3. ADMM for a better multiplier, repaired again; now and then its X is rounded to new vectors, and on a large block
   reflections try to prove the best one.
4. What is still open on a small block is finished by the interior-point method.
5. Where the optimum is not rank one, or not proved to be unique, more guesses: for the best vector, and for ties.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.sparse_pca import interior_point as ipm
from aspca.sparse_pca.active_set import (
    Candidate,
    active_set,
    cut_at_steepest_fall,
    keep_largest,
    make_pair_starts,
    make_unit_starts,
    make_warm_starts,
    reweighted,
    stationarity,
    trimmed,
)
from aspca.sparse_pca.admm import Iterate
from aspca.sparse_pca.multipliers import Reflections, repair
from aspca.sparse_pca.problem import ComponentProblem
from aspca.sparse_pca.verify.claims import Status

# Steps of the first-order method on a block that is small enough for the second-order one.
_FEW = 10
# The same where a quick proof is enough, on any block: most vectors are certified after these.
_QUICK = 40
# The gap from which on the interior point's X is worth rounding.
_NEAR = 1e-2
# Rounds of majorisation from a dense vector to a sparse one, on the way and at the end.
_ROUNDS, _MANY_ROUNDS = 15, 60
# The share of its largest eigenvalue from which on X looks like a vector.
_RANK_ONE = 0.8
# So few features that trying all pairs costs nothing.
_TINY = 12


@dataclass(frozen=True)
class Effort:
    """How hard to try."""

    tol: float
    max_iter: int
    deadline: float  # on the clock of time.perf_counter
    quick: bool = False  # whether a vector and a valid bound are enough, however far apart

    def spent(self) -> bool:
        return time.perf_counter() > self.deadline

    def steps(self, method: Method) -> Iterator[bool]:
        """Take steps until the method can do no more or the time is spent; of each, whether it was the last in time."""
        spent = self.spent()
        while not spent and method.step():
            spent = self.spent()
            yield spent


class Method(Protocol):
    """An iterative method for the convex problem, whose iterates are feasible after each step."""

    def step(self) -> bool:
        """One step; False where the method can do no more."""


@dataclass(frozen=True)
class WarmStart:
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
    factor: Floats | None = None  # X = factor factor' where it is better than v v', else None
    tie: bool = False
    iterations: int = 0
    early: Status | None = None  # what ended the solve before the convex problem was solved; None where it is


@dataclass(frozen=True)
class GivenUp:
    """A solve that ended because its value lies above what was asked for, and what proves that."""

    lower: float
    U: Floats


def solve_component(
    problem: ComponentProblem, effort: Effort, *, dominant: bool, warm: WarmStart, give_up_above: float = np.inf
) -> ComponentSolution | GivenUp:
    """Solve one component's problem to `effort.tol`; see the module's text for the stages.

    Once the problem's value is known to exceed `give_up_above`, nothing more is done.
    """
    state = Incumbent(problem)
    duals = [problem.in_box(U) for U in warm.multipliers] + [problem.closed_form_dual()]
    # What is right most of the time.
    near = list(make_warm_starts(problem, warm.vectors, 2))
    for guess in near or [*make_pair_starts(problem, 1), *make_unit_starts(problem, 1)]:
        before = state.best
        state.offer_start(guess)
        if state.best is before:
            continue
        for U in duals:
            state.offer_dual(U, effort.tol)
            if state.proved_unique(effort.tol):
                return _finish(problem, state, effort, dominant, 0)
            if state.lower > give_up_above:
                return GivenUp(state.lower, state.U)
    if state.best is None:
        # No guess to repair for: the multipliers still bound as they are, also where no time is left for more.
        for U in duals:
            state.offer_dual(U, effort.tol)
    iterations = 0
    if not effort.spent():
        small = problem.p <= ipm.LARGEST
        limit = _FEW if small else min(effort.max_iter, _QUICK) if effort.quick else effort.max_iter
        iterate = Iterate(problem, duals[0], limit)
        # Of a large block every matrix counts.
        del duals
        iterations = _first_order(problem, state, iterate, effort, give_up_above)
        if state.lower > give_up_above and not state.proved_unique(effort.tol):
            return GivenUp(state.lower, state.U)
        if not state.closed(effort.tol) and small and not effort.quick and not effort.spent():
            iterations += _second_order(problem, state, iterate, effort, dominant)
        if not state.proved_unique(effort.tol) and not effort.quick and not effort.spent():
            _more_guesses(problem, state, effort)
    return _finish(problem, state, effort, dominant, iterations)


def _reach(problem: ComponentProblem) -> int:
    """The most entries that a start is given: the supports of interest are sparse, and a descent from more is long."""
    return max(ipm.LARGEST, int(4.0 * np.sqrt(problem.p)) + int(problem.V.shape[1]))


def _more_guesses(problem: ComponentProblem, state: Incumbent, effort: Effort) -> None:
    """For the best vector where the optimum is not rank one, and for the ties of one that is."""
    if state.closed(effort.tol) or problem.p <= _TINY:
        for start in make_pair_starts(problem, 12):
            state.offer_start(start)
    if state.factor is not None and state.factor_value < state.upper:
        for f in state.factor[:, -4:].T:
            _offer_near(problem, state, f, _MANY_ROUNDS)


def _offer_near(problem: ComponentProblem, state: Incumbent, f: Floats, rounds: int) -> None:
    """A sparse vector near a dense one."""
    near = reweighted(problem, keep_largest(f, _reach(problem)), rounds)
    if near is not None:
        state.offer_start(trimmed(problem, near))


def _reflected(problem: ComponentProblem, state: Incumbent, U: Floats, effort: Effort, give_up_above: float) -> int:
    """Reflections for the best vector, until it is proved to be the only optimum or they lead nowhere; their number.

    Where they lead nowhere, what stays below points to other vectors; one that is better is tried in turn.
    """
    iterations = 0
    while (method := state.reflections(U)) is not None:
        U = method.U
        for _ in effort.steps(method):
            iterations += 1
            if method.near(effort.tol):
                state.bound(method.U)
                if state.proved_unique(effort.tol):
                    return iterations
        state.bound(method.U)
        if state.closed(effort.tol) or state.lower > give_up_above or effort.spent():
            break
        before, U = state.best, method.U
        for f in method.lowest.T:
            _offer_near(problem, state, f, _ROUNDS)
        if state.best is before:
            break
    return iterations


def _first_order(
    problem: ComponentProblem, state: Incumbent, iterate: Iterate, effort: Effort, give_up_above: float
) -> int:
    """ADMM until the gap closes; a vector is rounded from it only now and then, which costs more than its steps."""
    small = problem.p <= ipm.LARGEST
    check, rounding, reflections = 1, 10, 0
    for last in effort.steps(iterate):
        iteration = iterate.iterations
        if iteration < min(check, iterate.limit) and not last:
            continue
        check = 5 if iteration < 5 else iteration + max(5, iteration // 6)
        state.offer_factor(iterate.factor)
        rounded = iteration >= rounding
        if rounded:
            rounding = 4 * iteration if small else 2 * iteration
            f = iterate.factor[:, -1]
            state.offer_start(keep_largest(np.where(np.diag(iterate.Z) > 0, f, 0.0), _reach(problem)))
        # Where X has ended at more than one vector, no repair will make it one.
        like_a_vector = iteration <= 20 or float((iterate.factor[:, -1] ** 2).sum()) > _RANK_ONE
        state.offer_dual(iterate.U, effort.tol, repaired=like_a_vector)
        if rounded and not small and like_a_vector and not state.closed(effort.tol):
            reflections += _reflected(problem, state, iterate.U, effort, give_up_above)
        done = state.closed(effort.tol) if small else state.solved(effort.tol)
        if done or state.lower > give_up_above:
            break
        iterate.balance()
    return iterate.iterations + reflections


def _second_order(problem: ComponentProblem, state: Incumbent, iterate: Iterate, effort: Effort, dominant: bool) -> int:
    """Newton steps until the gap closes, to a vector rounded on the way or to X itself."""
    # Where X's eigenvector is what is taken, it should be as good as the value.
    enough = (1e-3 if dominant else 0.5) * effort.tol
    method = ipm.InteriorPoint(problem, iterate.X, iterate.U, enough)
    for _ in effort.steps(method):
        if method.gap < _NEAR and method.top_share > _RANK_ONE:
            state.offer_start(cut_at_steepest_fall(method.factor[:, -1]))
            state.offer_dual(method.U, effort.tol)
            if state.closed(effort.tol):
                return method.iterations
    state.offer_factor(method.factor)
    state.offer_start(trimmed(problem, method.factor[:, -1]))
    state.offer_dual(method.U, effort.tol)
    return method.iterations


def _finish(
    problem: ComponentProblem, state: Incumbent, effort: Effort, dominant: bool, iterations: int
) -> ComponentSolution:
    best = state.best
    factor, value = state.factor, state.factor_value
    if best is not None and best.value < value:
        # The sparse vector proves more than X, whichever of the two is taken.
        factor, value = best.v[:, None], best.value
    rank_one = state.closed(effort.tol)
    if best is None or (dominant and not rank_one and state.factor is not None):
        # The paper's rounding: X's top eigenvector, rounding remnants cut.
        v = trimmed(problem, problem.N[:, 0] if state.factor is None else state.factor[:, -1])
        best, state.tie = Candidate(v, problem.objective(v)), False
    early = None
    if not state.solved(effort.tol):
        limit = Status.PRECISION if problem.p <= ipm.LARGEST else Status.ITERATIONS
        early = Status.BUDGET if effort.spent() else Status.QUICK if effort.quick else limit
    return ComponentSolution(
        v=best.v,
        upper=best.value,
        lower=state.lower,
        primal=min(value, best.value),
        U=state.U,
        factor=factor if value < best.value else None,
        tie=state.tie,
        iterations=iterations,
        early=early,
    )


class Incumbent:
    """The best of everything found so far for one component: vectors, a feasible X, and a dual bound.

    Collects offers and answers: how large is the gap now?
    """

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
