"""At most m features per rule: the smallest penalty that gives it, by a warm path from the sparse end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.subspace.result import SparseSubspace

# Each step of the path halves the penalty; the last one is then halved this often, in the logarithm.
_HALVINGS = 4


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
