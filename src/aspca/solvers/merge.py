"""The lazy merge of the blocks' sequences into one.

Adding an orthogonality constraint only raises a block's value, so a block's last dual bound stays valid: a block is
solved (again) only when its bound says that its component might be next, and only until its bound says otherwise.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.problems.component import ComponentProblem
from aspca.solvers.component import ComponentSolution, Effort, GivenUp, Status, Warmth, solve_component
from aspca.solvers.eigenvectors import Eigenbasis, eigenbasis

WarmthAt = Callable[[int], Warmth | None]


class Block:
    """One connected group of features: what was found in it, and what is known of its next component."""

    def __init__(self, features: Ints, C: Floats, alpha: float, scale: float) -> None:
        self.features = features
        self.C = C[np.ix_(features, features)]
        self.alpha, self.scale = alpha, scale
        self.V = np.zeros((features.size, 0))
        self.next: ComponentSolution | None = None
        self.eigen: Eigenbasis | None = eigenbasis(self.C) if alpha == 0.0 else None
        problem = self.problem()
        self.U = problem.closed_form_dual()
        self.lower = problem.dual(self.U)[0]
        self.recorded = False

    @property
    def exhausted(self) -> bool:
        return bool(self.V.shape[1] == self.features.size)

    def problem(self) -> ComponentProblem:
        return ComponentProblem(self.C, self.alpha, self.V, self.scale)

    def solve(self, effort: Effort, dominant: bool, given: Warmth | None, above: float) -> ComponentSolution | None:
        """The next component; None, with a better bound, if its value turns out to lie above `above`."""
        found: ComponentSolution | GivenUp
        if self.features.size == 1:
            found = _alone(self.problem())
        elif self.eigen is not None:
            # Without a penalty the multiplier is zero for good: it need not be recorded again.
            found = _eigenvector(self.problem(), self.eigen)
        else:
            found = solve_component(
                self.problem(), effort, dominant=dominant, warmth=self._warmth(given), give_up_above=above
            )
            self.recorded = False
        self.lower, self.U = found.lower, found.U
        self.next = None if isinstance(found, GivenUp) else found
        return self.next

    def take(self, v: Floats) -> None:
        """v (in the block's coordinates) joins the sequence."""
        self.V = np.column_stack([self.V, v])
        self.next = None

    def spread(self, inside: Floats, p: int) -> Floats:
        """An array over the block's features as one over all p."""
        full = np.zeros((p, *inside.shape[1:]))
        full[self.features] = inside
        return full

    def _warmth(self, given: Warmth | None) -> Warmth:
        """What the block's own last solve and a neighbouring result offer."""
        if given is None:
            return Warmth(np.zeros((self.features.size, 0)), (self.U,))
        inside = given.vectors[self.features]
        vectors = inside[:, np.linalg.norm(inside, axis=0) > 0.5]
        return Warmth(vectors, (self.U, *(U[np.ix_(self.features, self.features)] for U in given.multipliers)))


@dataclass(frozen=True)
class Taken:
    """The block whose component comes next, and whether others were as good."""

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

    def take_next(self, given: Warmth | None) -> Taken:
        """The next component's block; the lowest feature index wins a tie. Hand it back when its vector is taken."""
        ready: list[tuple[int, ComponentSolution]] = []
        while self._heap and self._heap[0][0] <= self._bar(ready):
            index = heapq.heappop(self._heap)[1]
            block = self.blocks[index]
            solution = block.next or block.solve(self.effort, self.dominant, given, self._bar(ready))
            if solution is None:
                heapq.heappush(self._heap, (block.lower, index))
            else:
                ready.append((index, solution))
        bar = self._bar(ready)
        tied = [(index, solution) for index, solution in ready if self._value(solution) <= bar]
        winner, solution = min(tied, key=lambda one: self._first_feature(*one))
        for index, other in ready:
            if index != winner:
                heapq.heappush(self._heap, (self._value(other), index))
        return Taken(self.blocks[winner], solution, len(tied) > 1)

    def hand_back(self, block: Block) -> None:
        if not block.exhausted:
            heapq.heappush(self._heap, (block.lower, self.blocks.index(block)))

    def lower(self) -> float:
        """A bound below every value that is left."""
        return min(block.lower for block in self.blocks if not block.exhausted)

    def relaxed(self) -> tuple[Block, ComponentSolution]:
        """The block in which the convex problem's value is lowest, among those solved."""
        solved = [(block, block.next) for block in self.blocks if block.next is not None]
        return min(solved, key=lambda one: one[1].primal)

    def _value(self, solution: ComponentSolution) -> float:
        # The convex problem's own value decides for the paper's rounding, the best vector's for the sparse one.
        return solution.primal if self.dominant else solution.upper

    def _bar(self, ready: list[tuple[int, ComponentSolution]]) -> float:
        """What ties with the best value so far."""
        if not ready:
            return np.inf
        best = min(self._value(solution) for _, solution in ready)
        return best + max(self._tie, 1e-9 * abs(best))

    def _first_feature(self, index: int, solution: ComponentSolution) -> int:
        return int(self.blocks[index].features[np.flatnonzero(solution.v)[0]])


def _alone(problem: ComponentProblem) -> ComponentSolution:
    """A feature that nothing connects to others: its unit vector, and nothing to compute."""
    value = float(problem.C[0, 0])
    nothing = np.zeros((1, 1))
    return ComponentSolution(
        v=np.ones(1),
        upper=value,
        lower=value - problem.rounding,
        primal=value,
        U=nothing,
        factor=None,
        tie=False,
        iterations=0,
        status=Status.CERTIFIED,
    )


def _eigenvector(problem: ComponentProblem, eigen: Eigenbasis) -> ComponentSolution:
    k = problem.V.shape[1]
    v = eigen.vectors[:, k]
    value = problem.objective(v)
    # Where the basis was chosen anew the eigenvalues no longer belong to its vectors one by one.
    low = problem.dual(np.zeros_like(problem.C))[0] if eigen.tied[k] else float(eigen.values[k]) - problem.rounding
    return ComponentSolution(
        v=v,
        upper=value,
        lower=min(low, value),
        primal=value,
        U=np.zeros_like(problem.C),
        factor=None,
        tie=bool(eigen.tied[k]),
        iterations=0,
        status=Status.CERTIFIED,
    )
