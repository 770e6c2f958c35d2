"""The sequence of components over all features: split into blocks, solve, merge, and keep what proves the bounds.

Blocks merge lazily. Adding an orthogonality constraint only raises a block's value, so a block's last dual bound stays
valid: a block is solved (again) only when its bound says that its component might be next, and only until its bound
says otherwise.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from aspca.linalg.arrays import Floats, Ints, sign_of
from aspca.linalg.eigen import Eigenbasis, find_eigenbasis
from aspca.linalg.threads import blas_threads_for
from aspca.sparse_pca.certificate import Step
from aspca.sparse_pca.component import ComponentSolution, Effort, GivenUp, WarmStart, solve_component
from aspca.sparse_pca.groups import split_features
from aspca.sparse_pca.problem import ComponentProblem
from aspca.sparse_pca.verify.claims import Multiplier, Status

# What a neighbouring result offers to a step (from 0) on some of the features; and to the step at hand.
WarmStartAt = Callable[[int, Ints], WarmStart]
WarmStartOn = Callable[[Ints], WarmStart]
# Called with the number of the step from 1, how many there will be, and the step.
Progress = Callable[[int, int, Step], None]


@dataclass(frozen=True)
class Sequence:
    """Vectors (p, count), the steps that found them, their blocks, and the multipliers that prove the lower bounds."""

    vectors: Floats
    blocks: list[Ints]
    steps: list[Step]
    multipliers: list[Multiplier]


def start_cold(step: int, features: Ints) -> WarmStart:
    """Nothing to start from."""
    return WarmStart(np.zeros((features.size, 0)), ())


def extract(
    C: Floats,
    alpha: float,
    count: int,
    effort: Effort,
    *,
    scale: float,
    dominant: bool,
    warm: WarmStartAt = start_cold,
    progress: Progress | None = None,
) -> Sequence:
    """The first `count` components of the sequence that minimises v'Cv + alpha ||v||_1^2 step by step.

    `scale` is the smallest meaningful size of a value; `dominant` asks for the paper's rounding.
    """
    groups = split_features(C, alpha)
    vectors = np.zeros((C.shape[0], count))
    steps: list[Step] = []
    multipliers: list[Multiplier] = []
    with blas_threads_for(max(group.size for group in groups)):
        blocks = [Block(features, C, alpha, scale) for features in groups]
        merge = Merge(blocks, effort, dominant)
        for number in range(count):
            taken = merge.take_next(partial(warm, number))
            for index in merge.unrecorded():
                # The strict upper triangle, row by row: half the memory, from the moment it is kept.
                packed = np.concatenate([row[i + 1 :] for i, row in enumerate(blocks[index].U)])
                multipliers.append(Multiplier(index, number, packed))
            steps.append(_step(taken, merge, C.shape[0], effort))
            v = taken.solution.v * sign_of(taken.solution.v)
            vectors[taken.block.features, number] = v
            merge.accept(taken, v)
            if progress is not None:
                progress(number + 1, count, steps[-1])
    return Sequence(vectors, groups, steps, multipliers)


def _step(taken: Taken, merge: Merge, p: int, effort: Effort) -> Step:
    solution, problem = taken.solution, taken.block.problem()
    lower = merge.lower()
    home, relaxed = merge.relaxed()
    primal, factor = solution.upper, None
    if relaxed.primal < solution.upper:
        inside = relaxed.v[:, None] if relaxed.factor is None else relaxed.factor
        primal, factor = relaxed.primal, np.zeros((p, inside.shape[1]))
        factor[home.features] = inside
    rank_one = problem.closed(solution.upper, lower, effort.tol)
    if rank_one:
        status = Status.CERTIFIED
    elif problem.closed(primal, lower, effort.tol):
        status = Status.RELAXED
    else:
        # Where it was solved on its own block, another block's bound lies lower.
        status = solution.early or (Status.QUICK if effort.quick else Status.PRECISION)
    tie = solution.tie or taken.tie
    return Step(lower, solution.upper, primal, factor, rank_one, tie, solution.iterations, status)


class Block:
    """One connected group of features: what was found in it, and what is known of its next component."""

    def __init__(self, features: Ints, C: Floats, alpha: float, scale: float) -> None:
        self.features = features
        self.C = C if features.size == C.shape[0] else C[np.ix_(features, features)]
        self.alpha, self.scale = alpha, scale
        self.V = np.zeros((features.size, 0))
        self.eigen: Eigenbasis | None = None
        problem = self.problem()
        if alpha == 0.0:
            self.eigen = find_eigenbasis(self.C)
            self.U = np.zeros_like(self.C)
            self.lower = float(self.eigen.values[0]) - problem.rounding
        else:
            self.U = problem.closed_form_dual()
            self.lower = problem.dual(self.U)[0]

    @property
    def exhausted(self) -> bool:
        return bool(self.V.shape[1] == self.features.size)

    def problem(self) -> ComponentProblem:
        return ComponentProblem(self.C, self.alpha, self.V, self.scale)

    def solve(self, effort: Effort, dominant: bool, given: WarmStartOn, above: float) -> ComponentSolution | None:
        """The next component; None, with a better bound, if its value turns out to lie above `above`."""
        found: ComponentSolution | GivenUp
        if self.features.size == 1:
            found = _alone(self.problem(), self.U)
        elif self.eigen is not None:
            found = _eigenvector(self.problem(), self.eigen, self.U)
        else:
            other = given(self.features)
            # Its own last multiplier first.
            warm = WarmStart(other.vectors, (self.U, *other.multipliers))
            found = solve_component(self.problem(), effort, dominant=dominant, warm=warm, give_up_above=above)
        self.lower, self.U = found.lower, found.U
        return None if isinstance(found, GivenUp) else found


@dataclass(frozen=True)
class Taken:
    """The block whose component comes next, and whether others were as good."""

    index: int
    block: Block
    solution: ComponentSolution
    tie: bool


class Merge:
    """A queue of blocks by the lowest value that their next component can have."""

    def __init__(self, blocks: list[Block], effort: Effort, dominant: bool) -> None:
        self.blocks, self.effort, self.dominant = blocks, effort, dominant
        self._heap = [(block.lower, index) for index, block in enumerate(blocks)]
        heapq.heapify(self._heap)
        self._tie = max(block.problem().tie for block in blocks)
        # By block: its bound (infinite once it is exhausted); the next component, where it is known, and the convex
        # problem's value there (else infinite); whether its multiplier is news.
        self._lower = np.array([block.lower for block in blocks])
        self._known: dict[int, ComponentSolution] = {}
        self._primal = np.full(len(blocks), np.inf)
        self._unrecorded = set(range(len(blocks)))

    def take_next(self, given: WarmStartOn) -> Taken:
        """The next component's block; the lowest feature index wins a tie. To be accepted."""
        ready: list[tuple[int, ComponentSolution]] = []
        while self._heap and self._heap[0][0] <= self._bar(ready):
            index = heapq.heappop(self._heap)[1]
            solution = self._known.get(index) or self._solve(index, given, self._bar(ready))
            if solution is None:
                heapq.heappush(self._heap, (self.blocks[index].lower, index))
            else:
                ready.append((index, solution))
        bar = self._bar(ready)
        tied = [(index, solution) for index, solution in ready if self._value(solution) <= bar]
        winner, solution = min(tied, key=lambda one: int(self.blocks[one[0]].features[np.flatnonzero(one[1].v)[0]]))
        for index, other in ready:
            if index != winner:
                heapq.heappush(self._heap, (self._value(other), index))
        return Taken(winner, self.blocks[winner], solution, len(tied) > 1)

    def accept(self, taken: Taken, v: Floats) -> None:
        """v, in the coordinates of its block, joins the sequence; the block's next component is another."""
        taken.block.V = np.column_stack([taken.block.V, v])
        del self._known[taken.index]
        self._primal[taken.index] = np.inf
        if taken.block.exhausted:
            self._lower[taken.index] = np.inf
        else:
            heapq.heappush(self._heap, (taken.block.lower, taken.index))

    def lower(self) -> float:
        """A bound below every value that is left."""
        return float(self._lower.min())

    def relaxed(self) -> tuple[Block, ComponentSolution]:
        """The block in which the convex problem's value is lowest, among those solved."""
        index = int(self._primal.argmin())
        return self.blocks[index], self._known[index]

    def unrecorded(self) -> list[int]:
        """The blocks whose multiplier changed since this was last asked, in order."""
        changed, self._unrecorded = sorted(self._unrecorded), set()
        return changed

    def _solve(self, index: int, given: WarmStartOn, above: float) -> ComponentSolution | None:
        block = self.blocks[index]
        before = block.U
        solution = block.solve(self.effort, self.dominant, given, above)
        self._lower[index] = block.lower
        if solution is not None:
            self._known[index] = solution
            self._primal[index] = solution.primal
        if block.U is not before:
            self._unrecorded.add(index)
        return solution

    def _value(self, solution: ComponentSolution) -> float:
        # The convex problem's own value decides for the paper's rounding, the best vector's for the sparse one.
        return solution.primal if self.dominant else solution.upper

    def _bar(self, ready: list[tuple[int, ComponentSolution]]) -> float:
        """What ties with the best value so far."""
        if not ready:
            return np.inf
        best = min(self._value(solution) for _, solution in ready)
        return best + max(self._tie, 1e-9 * abs(best))


def _alone(problem: ComponentProblem, U: Floats) -> ComponentSolution:
    """A feature that nothing connects to others: its unit vector, and nothing to compute. U stays as it is."""
    value = float(problem.C[0, 0])
    return ComponentSolution(np.ones(1), upper=value, lower=value - problem.rounding, primal=value, U=U)


def _eigenvector(problem: ComponentProblem, eigen: Eigenbasis, U: Floats) -> ComponentSolution:
    """Without a penalty U is zero for good."""
    k = problem.V.shape[1]
    v = eigen.vectors[:, k]
    value = problem.objective(v)
    # Where the basis was chosen anew the eigenvalues no longer belong to its vectors one by one.
    low = problem.dual(U)[0] if eigen.tied[k] else float(eigen.values[k]) - problem.rounding
    return ComponentSolution(v, upper=value, lower=min(low, value), primal=value, U=U, tie=bool(eigen.tied[k]))
