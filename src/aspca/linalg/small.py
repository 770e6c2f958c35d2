"""What thousands of small vectors and matrices are asked for, without the overhead of a general answer."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np

from aspca.linalg.arrays import Floats, Ints


def length(x: Floats) -> float:
    """The Euclidean length of a vector, or of all entries of a matrix; no square must leave the range of float64."""
    flat = x.ravel(order="K")
    return sqrt(float(flat @ flat))


@lru_cache(maxsize=64)
def above_diagonal(p: int) -> tuple[Ints, Ints]:
    """Rows and columns of the entries above the diagonal of a (p, p) matrix, row by row; not to be written to."""
    return _read_only(np.triu_indices(p, 1))


@lru_cache(maxsize=64)
def upper_triangle(p: int) -> tuple[Ints, Ints]:
    """The same, and the diagonal."""
    return _read_only(np.triu_indices(p))


def _read_only(indices: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    for one in indices:
        one.flags.writeable = False
    return indices
