"""Levels of tightness: directions whose variances follow each other without a jump."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints

# Directions of which one has more than this many times the variance of the next tighter one are of two kinds.
_JUMP = 10.0


def levels_of(variances: Floats, floor: float) -> list[Ints]:
    """Directions level by level, the tightest first.

    A level ends below a tenfold jump: it may span more than that where variances rise evenly.

    Parameters
    ----------
    variances : (d,)
    floor : float >= 0
        No variance counts as smaller, so exact directions are one level, whatever rounding made of them.

    Returns
    -------
    list of ndarray
        The positions of each level's directions, in ascending order; together 0 .. d - 1.
    """
    counted = np.maximum(variances, floor)
    order = np.argsort(counted, kind="stable")
    ascending = counted[order]
    jumps = np.flatnonzero(ascending[1:] > _JUMP * ascending[:-1]) + 1
    return [np.sort(level) for level in np.split(order, jumps)]
