"""The sequence of components over all features: split into blocks, solve, merge, and keep what proves the bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.ranking import sign_of
from aspca.linalg.threads import blas_threads_for
from aspca.sparse_pca.certificate import Step
from aspca.sparse_pca.component import Effort, Warmth
from aspca.sparse_pca.groups import split_features
from aspca.sparse_pca.merge import Block, Merge, Taken
from aspca.sparse_pca.verify.claims import Multiplier, Status

# What a neighbouring result offers to a step (from 0) on some of the features.
WarmthAt = Callable[[int, Ints], Warmth | None]


# Called with the number of the step from 1, how many there will be, and the step.
Progress = Callable[[int, int, Step], None]


@dataclass(frozen=True)
class Sequence:
    """Vectors (p, count), the steps that found them, their blocks, and the multipliers that prove the lower bounds."""

    vectors: Floats
    blocks: list[Ints]
    steps: list[Step]
    multipliers: list[Multiplier]


def no_warmth(step: int, features: Ints) -> None:
    """Where there is no neighbouring result."""


def extract(
    C: Floats,
    alpha: float,
    count: int,
    effort: Effort,
    *,
    scale: float,
    dominant: bool,
    warm: WarmthAt = no_warmth,
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
            multipliers += [Multiplier(index, number, _packed(blocks[index].U)) for index in merge.unrecorded()]
            steps.append(_step(taken, merge, C.shape[0], effort))
            v = taken.solution.v * sign_of(taken.solution.v)
            vectors[taken.block.features, number] = v
            taken.block.take(v)
            merge.hand_back(taken)
            if progress is not None:
                progress(number + 1, count, steps[-1])
    return Sequence(vectors, groups, steps, multipliers)


def _packed(U: Floats) -> Floats:
    """The strict upper triangle, row by row: half the memory, from the moment it is kept."""
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
    if rank_one:
        status = Status.CERTIFIED
    elif problem.closed(primal, lower, effort.tol):
        status = Status.RELAXED
    else:
        # Where it was solved on its own block, another block's bound lies lower.
        status = solution.early or (Status.QUICK if effort.quick else Status.PRECISION)
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
