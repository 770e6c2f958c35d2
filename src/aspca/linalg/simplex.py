"""Projection onto the probability simplex."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats


def project_simplex(w: Floats) -> Floats:
    """Nearest point of {x >= 0, sum x = 1} to w, w sorted in ascending order (as eigenvalues come)."""
    descending = w[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, w.size + 1)
    last = int(np.flatnonzero(descending > excess)[-1])
    return np.asarray(np.maximum(w - excess[last], 0.0), dtype=np.float64)
