"""Exact splitting: features that no entry above alpha connects never share a component.

If |A_ij| <= alpha across two groups, pinching X to its diagonal blocks keeps it feasible and never raises
<C,X> + alpha ||X||_1, since C_ij X_ij + alpha |X_ij| >= 0; the value is then linear in the blocks' weights, so one
block suffices. Each earlier component lives in one block, hence so does the next: the whole sequence separates.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints


def split(A: Floats, alpha: float) -> list[Ints]:
    """Connected groups of the graph {|A_ij| > alpha} of a symmetric A, each ascending, ordered by first feature.

    A walk that reads every row at most once, and keeps nothing but rows: the graph itself is never stored.
    """
    left = np.ones(A.shape[0], dtype=np.bool_)
    size = np.empty(A.shape[0])
    groups: list[Ints] = []
    for start in range(A.shape[0]):
        if not left[start]:
            continue
        left[start] = False
        group = [start]
        for feature in group:  # grows as it is walked
            reached = np.flatnonzero((np.abs(A[feature], out=size) > alpha) & left)
            if reached.size:
                left[reached] = False
                group += reached.tolist()
                if not left.any():
                    break
        groups.append(np.sort(np.array(group, dtype=np.intp)))
    return groups
