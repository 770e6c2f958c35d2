"""The sequence of components: blocks solved on their own and merged in the order of their values.

Adding an orthogonality constraint only raises a block's value, so a block's last dual bound stays valid: the merge is
lazy, and a block is solved (again) only when its bound says it might be next.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.orientation import sign_of
from aspca.problems.component import ComponentProblem
from aspca.solvers.blocks import split
from aspca.solvers.component import ComponentSolution, Effort, Status, Warmth, solve_component
from aspca.solvers.eigenvectors import Eigenbasis, eigenbasis
from aspca.solvers.incumbent import TIE

Progress = Callable[[int, int, float], None]


@dataclass(frozen=True)
class BlockMultiplier:
    """A dual variable of one block, in force from a step of the sequence until the block's next one."""

    block: int
    since: int
    U: Floats


@dataclass(frozen=True)
class Step:
    """One component of the sequence, in the coordinates of all features, with bounds on the whole problem."""

    v: Floats
    lower: float
    upper: float
    primal: float
    factor: Floats | None
    tie: bool
    rank_one: bool
    iterations: int
    status: Status


@dataclass(frozen=True)
class Sequence:
    """Steps, the blocks they come from, and the multipliers that prove their lower bounds."""

    blocks: list[Ints]
    steps: list[Step]
    multipliers: list[BlockMultiplier]


@dataclass
class _Block:
    index: int
    features: Ints
    C: Floats
    V: Floats
    lower: float
    U: Floats
    recorded: bool = False
    pending: ComponentSolution | None = None
    eigen: Eigenbasis | None = None

    @property
    def exhausted(self) -> bool:
        return self.V.shape[1] == self.features.size


class _Merge:
    def __init__(
        self,
        C: Floats,
        alpha: float,
        effort: Effort,
        scale: float,
        dominant: bool,
        warm: Callable[[int], Warmth | None],
    ) -> None:
        self.alpha, self.effort, self.scale, self.dominant, self.warm = alpha, effort, scale, dominant, warm
        self.p = C.shape[0]
        self.blocks = [self._block(i, group, C) for i, group in enumerate(split(C, alpha))]
        self.multipliers: list[BlockMultiplier] = []

    def _block(self, index: int, features: Ints, C: Floats) -> _Block:
        block = _Block(
            index, features, C[np.ix_(features, features)], np.zeros((features.size, 0)), 0.0, np.zeros(0)
        )
        if self.alpha == 0.0:
            block.eigen = eigenbasis(block.C)
        problem = self._problem(block)
        block.U = problem.closed_form_dual()
        block.lower = problem.dual(block.U)
        return block

    def _problem(self, block: _Block) -> ComponentProblem:
        return ComponentProblem(block.C, self.alpha, block.V, self.scale)

    def _key(self, block: _Block) -> float:
        if block.pending is None:
            return block.lower
        # The convex problem's own value decides for the paper's rounding, the best vector's for the sparse one.
        return block.pending.primal if self.dominant else block.pending.upper

    def _solve(self, block: _Block, step: int) -> None:
        problem = self._problem(block)
        if block.eigen is not None:
            # Without a penalty the multiplier is zero for good: it need not be recorded again.
            block.pending = _eigen_solution(problem, block.eigen)
        else:
            warmth = self._warmth(block, step)
            block.pending = solve_component(problem, self.effort, dominant=self.dominant, warmth=warmth)
            block.recorded = False
        block.lower, block.U = block.pending.lower, block.pending.U

    def _warmth(self, block: _Block, step: int) -> Warmth:
        """What the block's own last solve and a neighbouring result offer."""
        given = self.warm(step)
        if given is None:
            return Warmth(np.zeros((block.features.size, 0)), (block.U,))
        inside = given.vectors[block.features]
        vectors = inside[:, np.linalg.norm(inside, axis=0) > 0.5]
        return Warmth(
            vectors, (block.U, *(U[np.ix_(block.features, block.features)] for U in given.multipliers))
        )

    def run(self, count: int, progress: Progress | None) -> Iterator[Step]:
        heap = [(block.lower, int(block.features[0]), block.index) for block in self.blocks]
        heapq.heapify(heap)
        for step in range(count):
            winner = self._next(heap, step)
            made = self._emit(winner, step)
            if progress is not None:
                gap = (made.upper - made.lower) / max(abs(made.upper), self.alpha, self.scale)
                progress(step + 1, count, gap)
            if not winner.exhausted:
                heapq.heappush(heap, (winner.lower, int(winner.features[0]), winner.index))
            yield made

    def _next(self, heap: list[tuple[float, int, int]], step: int) -> _Block:
        """Pop the block whose component comes next; the lowest feature index wins a tie."""
        ready: list[_Block] = []
        while True:
            unit = max([abs(self._key(b)) for b in ready] + [self.alpha, self.scale])
            bar = min((self._key(b) for b in ready), default=np.inf) + TIE * unit
            if not heap or heap[0][0] > bar:
                break
            _, _, index = heapq.heappop(heap)
            block = self.blocks[index]
            if block.pending is None:
                self._solve(block, step)
            ready.append(block)
        best = min(self._key(b) for b in ready)
        unit = max(abs(best), self.alpha, self.scale)
        tied = [b for b in ready if self._key(b) <= best + TIE * unit]
        winner = min(tied, key=lambda b: int(b.features[np.flatnonzero(self._pending(b).v)[0]]))
        for block in ready:
            if block is not winner:
                heapq.heappush(heap, (self._key(block), int(block.features[0]), block.index))
        self._tied = len(tied) > 1
        return winner

    @staticmethod
    def _pending(block: _Block) -> ComponentSolution:
        assert block.pending is not None  # noqa: S101 - for the type checker: ready blocks are solved
        return block.pending

    def _emit(self, winner: _Block, step: int) -> Step:
        for block in self.blocks:
            if not block.exhausted and not block.recorded:
                self.multipliers.append(BlockMultiplier(block.index, step, block.U))
                block.recorded = True
        lower = min(block.lower for block in self.blocks if not block.exhausted)
        solution = self._pending(winner)
        sign = sign_of(solution.v)
        v = np.zeros(self.p)
        v[winner.features] = sign * solution.v
        factor = None
        if solution.factor is not None:
            factor = np.zeros((self.p, solution.factor.shape[1]))
            factor[winner.features] = solution.factor
        winner.V = np.column_stack([winner.V, sign * solution.v])
        winner.pending = None
        return Step(
            v=v,
            lower=lower,
            upper=solution.upper,
            primal=solution.primal,
            factor=factor,
            tie=solution.tie or self._tied,
            rank_one=solution.rank_one,
            iterations=solution.iterations,
            status=solution.status,
        )


def _eigen_solution(problem: ComponentProblem, eigen: Eigenbasis) -> ComponentSolution:
    k = problem.V.shape[1]
    v = eigen.vectors[:, k]
    value = problem.objective(v)
    return ComponentSolution(
        v=v,
        upper=value,
        lower=min(float(eigen.values[k]), value) - problem.rounding,
        primal=value,
        U=np.zeros_like(problem.C),
        factor=None,
        tie=bool(eigen.tied[k]),
        rank_one=True,
        iterations=0,
        status=Status.CERTIFIED,
    )


def extract(
    C: Floats,
    alpha: float,
    count: int,
    effort: Effort,
    *,
    scale: float,
    dominant: bool,
    warm: Callable[[int], Warmth | None] = lambda step: None,
    progress: Progress | None = None,
) -> Sequence:
    """The first `count` components of the sequence that minimises v'Cv + alpha ||v||_1^2 step by step."""
    merge = _Merge(C, alpha, effort, scale, dominant, warm)
    steps = list(merge.run(count, progress))
    return Sequence([block.features for block in merge.blocks], steps, merge.multipliers)
