"""Descents of the L1 norm over the rotations: the paper's, the same accelerated, and where these start.

Notation: V (p, d) start, X (d, d) rotation, C = V X the sparse loadings, mu the weight of the L1 norm (the paper's
equation for the global sparsity optimisation). The search is measured against the paper's alternating scheme
(`paper_rotation`), and takes a few dozen steps for its thousand, from many starts at once (`anneal`): the given basis,
one of localised vectors, and seeded random rotations.

One step of the paper is X <- polar(V' soft(V X, mu)) = X polar(I - L' clip(L, mu)) with L = V X: to first order a
rotation of L by the skew part of -L' clip(L, mu), the gradient of the Huber smoothing of the L1 norm. Here the
rotations gather momentum, and Cayley's formula applies them: one inverse where the polar factor takes an SVD.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dgesv, sgesv

from aspca.linalg.arrays import Floats, Ints

# From so many columns on arithmetic takes longer than calls.
_LARGE = 100
# Any number would do; results depend on it.
_SEED = 20150810
# Beyond so many columns these starts cost more than they gain.
_MOST_COLUMNS_SPIKY, _MOST_COLUMNS_RANDOM = 48, 20
# Rows whose share of the span is this close tie, and the first is taken: BLAS rounding must not choose.
_TIE = 1e-9


def polar(M: Floats) -> Floats:
    """The orthogonal matrix nearest to each matrix of M, shape (..., d, d)."""
    left, _, right = np.linalg.svd(M)
    return np.asarray(left @ right, dtype=np.float64)


def anneal(
    starts: npt.NDArray[np.floating], mu_first: Floats, n_steps: int, mu_final: float = 3e-4, momentum: float = 0.9
) -> npt.NDArray[np.floating]:
    """Follow the smoothed minimum of ||L||_{1,1} over the rotations as the smoothing shrinks, from each start.

    `starts` (m, p, d) each have orthonormal columns; their precision is that of the steps and of the result (m, p, d),
    loadings near local minima: heuristic, no value is promised. `mu_first` (m,) is the first smoothing of each start:
    about the size of an entry forgets the start, less remembers it. `momentum` is the share of a step that the next one
    repeats; more of it takes more steps to settle.
    """
    m, _, d = starts.shape
    columns = np.ascontiguousarray(np.swapaxes(starts, 1, 2))
    turn = np.zeros((m, d, d), dtype=columns.dtype)
    eye = np.eye(d, dtype=columns.dtype)
    # numpy's own solver takes three times as long in single precision.
    gesv = sgesv if columns.dtype == np.float32 else dgesv
    for mu in np.geomspace(mu_first[:, None, None], mu_final, n_steps).astype(columns.dtype):
        slope = np.clip(columns, -mu, mu) @ np.swapaxes(columns, 1, 2)
        turn = momentum * turn + 0.5 * (slope - np.swapaxes(slope, 1, 2))
        # Cayley's (I + T/2)^-1 (I - T/2), written with one inverse; of a large matrix, which is not formed.
        if d > _LARGE:
            solved = [gesv(left, right)[2] for left, right in zip(eye + 0.5 * turn, columns, strict=True)]
            columns = 2.0 * np.array(solved) - columns
        else:
            columns = (2.0 * np.linalg.inv(eye + 0.5 * turn) - eye) @ columns
    return np.ascontiguousarray(np.swapaxes(columns, 1, 2))


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


def paper_rotation(V: Floats, n_steps: int = 1000, mu_final: float = 1e-4, mu_first: float | None = None) -> Floats:
    """Orthogonal X from the alternating minimisation of ||V - C X'|| + mu ||C||_{1,1}.

    The paper writes an unsquared Frobenius norm but cites the sparse PCA of 2006 for the alternation, which
    squares it. Read here as ``1/2 ||V - C X'||_F^2 + mu ||C||_{1,1}``: the step for C is then a soft threshold
    at exactly mu, the step for X a Procrustes problem (SVD of V'C). mu starts at the paper's
    ``||V||_F / ||V||_{1,1}`` and falls geometrically to `mu_final`.

    V (p, d) has orthonormal columns; the rotated loadings are V @ X. No guarantee: the result is not a local minimum of
    ||V X||_{1,1}, carries no exact zeros, and can even lie above the start.
    """
    X = np.eye(V.shape[1])
    if mu_first is None:
        mu_first = float(np.linalg.norm(V) / np.abs(V).sum())
    for mu in np.geomspace(mu_first, mu_final, n_steps):
        L = V @ X
        C = np.sign(L) * np.maximum(np.abs(L) - mu, 0.0)
        left, _, right = np.linalg.svd(V.T @ C)
        X = left @ right
    return X
