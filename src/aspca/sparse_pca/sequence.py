"""The sequence of components over all features: split into blocks, solve, merge, and keep what proves the bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.ranking import sign_of
from aspca.linalg.threads import blas_threads_for
from aspca.sparse_pca.component import Effort, Warmth
from aspca.sparse_pca.groups import split
from aspca.sparse_pca.merge import Block, Merge, Taken
from aspca.sparse_pca.verify.claims import Status

# What a neighbouring result offers to a step (from 0) on some of the features.
WarmthAt = Callable[[int, Ints], Warmth | None]


@dataclass(frozen=True)
class BlockMultiplier:
    """A dual variable U of one block, in force from a step of the sequence until the block's next one.

    `packed` (m(m-1)/2,) is its strict upper triangle, row by row: half the memory, from the moment it is kept.
    """

    block: int
    since: int
    packed: Floats


@dataclass(frozen=True)
class Step:
    """What is known of one component of the sequence: bounds on the whole problem, over all features.

    Values leave out the constant alpha, as in `problems.component`.
    """

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
    """Vectors (p, count), the steps that found them, their blocks, and the multipliers that prove the lower bounds."""

    vectors: Floats
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
    warm: WarmthAt = lambda step, features: None,
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
    vectors = np.zeros((C.shape[0], count))
    steps: list[Step] = []
    multipliers: list[BlockMultiplier] = []
    for number in range(count):
        taken = merge.take_next(partial(warm, number))
        multipliers += [BlockMultiplier(index, number, _packed(blocks[index].U)) for index in merge.unrecorded()]
        steps.append(_step(taken, merge, C.shape[0], effort))
        v = taken.solution.v * sign_of(taken.solution.v)
        vectors[taken.block.features, number] = v
        taken.block.take(v)
        merge.hand_back(taken)
        if progress is not None:
            progress(number + 1, count, steps[-1])
    return Sequence(vectors, groups, steps, multipliers)


def _packed(U: Floats) -> Floats:
    return np.concatenate([row[i + 1 :] for i, row in enumerate(U)])


def _step(taken: Taken, merge: Merge, p: int, effort: Effort) -> Step:
    solution, problem = taken.solution, taken.block.problem()
    lower = merge.lower()
    home, relaxed = merge.relaxed()
    primal, factor = solution.upper, None
    if relaxed.primal < solution.upper:
        inside = relaxed.v[:, None] if relaxed.factor is None else relaxed.factor
        primal, factor = relaxed.primal, home.spread(inside, p)
    rank_one = problem.closed(solution.upper, lower, effort.tol)
    status = solution.status
    if rank_one:
        status = Status.CERTIFIED
    elif problem.closed(primal, lower, effort.tol):
        status = Status.RELAXED
    elif status in (Status.CERTIFIED, Status.RELAXED):
        # Solved on its own block, but another block's bound lies lower.
        status = Status.QUICK if effort.quick else Status.PRECISION
    return Step(
        lower=lower,
        upper=solution.upper,
        primal=primal,
        factor=factor,
        rank_one=rank_one,
        tie=solution.tie or taken.tie,
        iterations=solution.iterations,
        status=status,
    )
