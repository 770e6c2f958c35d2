"""Where the search begins: the given basis, a basis of localised vectors, and seeded random rotations."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.solvers.rotation.anneal import polar

_SEED = 20150810
_MOST_COLUMNS_SPIKY = 48
_MOST_COLUMNS_RANDOM = 20
# Rows whose share of the span is this close tie, and the first is taken: BLAS rounding must not choose.
_TIE = 1e-9


def spread_rows(V: Floats) -> Ints:
    """d rows of V that span its row space well: each the longest beside those before it (pivoted Cholesky of V V')."""
    p, d = V.shape
    left = np.sum(V * V, axis=1)
    factor = np.zeros((p, d))
    rows = np.zeros(d, dtype=np.intp)
    for k in range(d):
        j = rows[k] = int(np.argmax(left >= left.max() * (1.0 - _TIE)))
        column = V @ V[j] - factor[:, :k] @ factor[j, :k]
        factor[:, k] = column / np.sqrt(column[j])
        left = left - factor[:, k] ** 2
    return np.sort(rows)


def localised_rotation(V: Floats) -> Floats:
    """The Q whose V Q is nearest to unit vectors: d features, each the home of one column.

    Known for the orbitals of molecules (selected columns of the density matrix, Damle, Lin and Ying 2015). The
    larger d is beside p, the closer the columns are to their unit vectors, and the harder this start is to beat.
    """
    return polar(V[spread_rows(V)].T)


def spiky_rotation(V: Floats, n_steps: int = 30) -> Floats:
    """Orthogonal Q near a maximum of sum (V Q)^4: few large entries, many small ones (MSP, varimax-like)."""
    Q = np.eye(V.shape[1])
    for _ in range(n_steps):
        Q = polar(V.T @ (V @ Q) ** 3)
    return Q


def make_starts(V: Floats) -> tuple[Floats, Floats]:
    """Rotations to begin from, the same in every run, and how warm each is annealed: 1 is the paper's first mu.

    The localised basis comes first. With few columns random ones join in; with many, spiky ones cost too much.
    """
    d = V.shape[1]
    local, given = localised_rotation(V), np.eye(d)
    if d > _MOST_COLUMNS_SPIKY:
        return np.stack([local, given]), np.array([4.0, 2.0])
    spiky = spiky_rotation(V)
    # A warm beginning forgets where it started and finds the widest basin; a cooler one stays nearer.
    rotations, warmth = [local, spiky, spiky, given], [1.0, 1.0, 0.3, 1.0]
    if d <= _MOST_COLUMNS_RANDOM:
        random = np.random.default_rng(_SEED)
        n_random = 18 if d <= 10 else 6
        rotations += [local, *(polar(random.standard_normal((d, d))) for _ in range(n_random))]
        warmth += [0.5, *np.resize([0.5, 0.2, 1.0], n_random).tolist()]
    return np.stack(rotations), np.array(warmth)
