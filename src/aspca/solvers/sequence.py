"""The sequence of components over all features: split into blocks, solve, merge, and keep what proves the bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.orientation import sign_of
from aspca.solvers.blocks import split
from aspca.solvers.component import Effort, Status
from aspca.solvers.merge import Block, Merge, Taken, WarmthAt
from aspca.solvers.threads import blas_threads_for


@dataclass(frozen=True)
class BlockMultiplier:
    """A dual variable of one block, in force from a step of the sequence until the block's next one."""

    block: int
    since: int
    U: Floats


@dataclass(frozen=True)
class Step:
    """One component of the sequence, over all features, with bounds on the whole problem.

    Values leave out the constant alpha, as in `problems.component`.
    """

    v: Floats
    lower: float
    upper: float
    primal: float
    factor: Floats | None
    """X = factor factor' where it is better than v v', else None."""
    rank_one: bool
    tie: bool
    iterations: int
    status: Status


# Called with the number of the step from 1, how many there will be, and the step.
Progress = Callable[[int, int, Step], None]


@dataclass(frozen=True)
class Sequence:
    """Steps, the blocks they come from, and the multipliers that prove their lower bounds."""

    blocks: list[Ints]
    steps: list[Step]
    multipliers: list[BlockMultiplier]


def extract(
    C: Floats,
    alpha: float,
    count: int,
    effort: Effort,
    *,
    scale: float,
    dominant: bool,
    warm: WarmthAt = lambda step: None,
    progress: Progress | None = None,
) -> Sequence:
    """The first `count` components of the sequence that minimises v'Cv + alpha ||v||_1^2 step by step.

    `scale` is the smallest meaningful size of a value; `dominant` asks for the paper's rounding.
    """
    groups = split(C, alpha)
    with blas_threads_for(max(group.size for group in groups)):
        return _extract(C, alpha, count, effort, groups, scale, dominant, warm, progress)


def _extract(
    C: Floats,
    alpha: float,
    count: int,
    effort: Effort,
    groups: list[Ints],
    scale: float,
    dominant: bool,
    warm: WarmthAt,
    progress: Progress | None,
) -> Sequence:
    blocks = [Block(features, C, alpha, scale) for features in groups]
    merge = Merge(blocks, effort, dominant)
    steps: list[Step] = []
    multipliers: list[BlockMultiplier] = []
    for number in range(count):
        taken = merge.take_next(warm(number))
        for index, block in enumerate(blocks):
            if not block.exhausted and not block.recorded:
                multipliers.append(BlockMultiplier(index, number, block.U))
                block.recorded = True
        step = _step(taken, merge, C.shape[0], effort.tol)
        steps.append(step)
        taken.block.take(step.v[taken.block.features])
        merge.hand_back(taken.block)
        if progress is not None:
            progress(number + 1, count, step)
    return Sequence(groups, steps, multipliers)


def _step(taken: Taken, merge: Merge, p: int, tol: float) -> Step:
    solution, problem = taken.solution, taken.block.problem()
    lower = merge.lower()
    home, relaxed = merge.relaxed()
    primal, factor = solution.upper, None
    if relaxed.primal < solution.upper:
        inside = relaxed.v[:, None] if relaxed.factor is None else relaxed.factor
        primal, factor = relaxed.primal, home.spread(inside, p)
    rank_one = problem.closed(solution.upper, lower, tol)
    status = solution.status
    if rank_one:
        status = Status.CERTIFIED
    elif problem.closed(primal, lower, tol):
        status = Status.RELAXED
    elif status in (Status.CERTIFIED, Status.RELAXED):
        # Solved on its own block, but another block's bound lies lower.
        status = Status.PRECISION
    return Step(
        v=taken.block.spread(sign_of(solution.v) * solution.v, p),
        lower=lower,
        upper=solution.upper,
        primal=primal,
        factor=factor,
        rank_one=rank_one,
        tie=solution.tie or taken.tie,
        iterations=solution.iterations,
        status=status,
    )
