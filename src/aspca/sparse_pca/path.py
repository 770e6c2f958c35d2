"""Paths of penalties, each solve starting where its neighbour ended: given penalties, or a cap on features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.sparse_pca.subspace import SparseSubspace, sparse_subspace

# Each step of the path halves the penalty; the last one is then halved this often, in the logarithm.
_HALVINGS = 4


def sparse_subspace_path(
    A: Floats,
    n_components: int,
    alphas: Sequence[float],
    variant: str = "BG",
    rounding: str = "sparse",
    *,
    proof: str = "quick",
    **options: Any,
) -> list[SparseSubspace]:
    """`sparse_subspace` for each alpha, in the order given.

    Solved from the largest alpha down, where blocks are smallest and vectors sparsest; each result's vectors and
    multipliers (clipped to the new box) start the next. A path is looked at before one of its results is taken: so
    their proofs are quick ones unless asked for, and `certify` completes the one that counts. `options` are those of
    `sparse_subspace`.
    """
    results: dict[int, SparseSubspace] = {}
    previous: SparseSubspace | None = None
    for index in sorted(range(len(alphas)), key=lambda k: -alphas[k]):
        previous = sparse_subspace(
            A, n_components, alphas[index], variant, rounding, proof=proof, warm_start=previous, **options
        )
        results[index] = previous
    return [results[index] for index in range(len(alphas))]


def capped_subspace(
    covariance: Floats,
    max_features: int,
    smallest: float,
    solve: Callable[[float, SparseSubspace | None], SparseSubspace],
) -> SparseSubspace:
    """The subspace of the smallest penalty along a path, not below `smallest`, whose rules keep to `max_features`.

    Above the largest off-diagonal entry every rule is one feature alone, which any cap allows. From there the penalty
    falls by halves, each solve starting from the last, until a rule exceeds the cap; between that penalty and the last
    good one it is halved four times more (to 5 %). What is returned keeps the cap. That no smaller penalty further down
    does so again cannot be promised: the number of features need not grow evenly.

    Parameters
    ----------
    covariance : (p, p)
    max_features : int >= 1
    smallest : float >= 0
        The penalty to stop at if the cap holds there: what would be used without a cap.
    solve : callable
        The subspace at a penalty, from a warm start or None.
    """
    off_diagonal = np.abs(covariance - np.diag(np.diag(covariance)))
    good = max(float(off_diagonal.max(initial=0.0)), smallest)
    kept, bad = solve(good, None), good
    while good > smallest and bad == good:
        bad = max(0.5 * good, smallest)
        tried = solve(bad, kept)
        if features_of(tried) <= max_features:
            kept, good = tried, bad
    for _ in range(_HALVINGS if bad < good else 0):
        middle = float(np.sqrt(good * bad))
        tried = solve(middle, kept)
        if features_of(tried) <= max_features:
            kept, good = tried, middle
        else:
            bad = middle
    return kept


def features_of(subspace: SparseSubspace) -> int:
    """The number of features of the largest rule."""
    return int((subspace.loadings != 0).sum(axis=0).max())
