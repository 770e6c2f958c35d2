"""Projection onto the probability simplex."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats

_HUGE = 2.0**20


def project_simplex(w: Floats) -> Floats:
    """Nearest point of {x >= 0, sum x = 1} to w, w sorted in ascending order (as eigenvalues come)."""
    # A common shift does not matter, but beside a huge one the sum of one would be lost in rounding.
    if abs(w[-1]) > _HUGE:
        w = w - w[-1]
    descending = w[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, w.size + 1)
    last = int(np.flatnonzero(descending > excess)[-1])
    return np.asarray(np.maximum(w - excess[last], 0.0), dtype=np.float64)
