"""The lowest eigenpairs of a small symmetric matrix, straight from LAPACK."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dsyevr

from aspca.linalg.arrays import Floats


def lowest_pairs(m: Floats, many: int) -> tuple[Floats, Floats]:
    """The `many` lowest eigenvalues, ascending, and their vectors: a third of the cost of all of them."""
    if many < m.shape[0]:
        w, z, found, _, failed = dsyevr(m, range="I", il=1, iu=many)
        if not failed and found == many:
            return w[:many], z[:, :many]
    w, z = np.linalg.eigh(m)
    return w[:many], z[:, :many]


def lowest_values(m: Floats, many: int) -> Floats:
    """The `many` lowest eigenvalues, ascending."""
    if many < m.shape[0]:
        w, _, found, _, failed = dsyevr(m, compute_v=0, range="I", il=1, iu=many)
        if not failed and found == many:
            return np.asarray(w[:many], dtype=np.float64)
    return np.asarray(np.linalg.eigvalsh(m)[:many], dtype=np.float64)


def below(m: Floats, bound: float) -> tuple[Floats, Floats]:
    """The eigenvalues below a bound, ascending, and their vectors."""
    w, z = np.linalg.eigh(m)
    many = int(np.searchsorted(w, bound))
    return w[:many], z[:, :many].copy()
