"""Groups that are solved or rotated by themselves: connected features, and levels of tightness.

Features that no entry above alpha connects never share a component. If |A_ij| <= alpha across two groups, pinching X to
its diagonal blocks keeps it feasible and never raises <C,X> + alpha ||X||_1, since C_ij X_ij + alpha |X_ij| >= 0; the
value is then linear in the blocks' weights, so one block suffices. Each earlier component lives in one block, hence so
does the next: the whole sequence separates.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints

# Directions of which one has more than this many times the variance of the next tighter one are of two kinds.
_JUMP = 10.0


def split_features(A: Floats, alpha: float) -> list[Ints]:
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


def split_levels(variances: Floats, floor: float) -> list[Ints]:
    """Directions whose variances follow each other without a jump, level by level, the tightest first.

    A level ends below a tenfold jump: it may span more than that where variances rise evenly.

    No variance (d,) counts as smaller than `floor`, so exact directions are one level, whatever rounding made of them.
    Each level holds the positions of its directions, ascending; together 0 .. d - 1.
    """
    counted = np.maximum(variances, floor)
    order = np.argsort(counted, kind="stable")
    ascending = counted[order]
    jumps = np.flatnonzero(ascending[1:] > _JUMP * ascending[:-1]) + 1
    return [np.sort(level) for level in np.split(order, jumps)]
