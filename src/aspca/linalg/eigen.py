"""Eigenvectors and null spaces of symmetric matrices, straight from LAPACK where thousands of small ones are asked for.

This loads scipy.linalg, which scoring by a stored model need not wait for: what it needs is in `small` and `ranking`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgeqp3, dorgqr, dsyevr

from aspca.linalg.arrays import Bools, Floats

# Rows cut out of an orthonormal matrix: true zeros are about 1e-16, and ignoring a direction below this costs at most
# this much orthogonality.
_RANK_TOL = 1e-13
# Eigenvalues closer than this (relative to the largest) count as one: their vectors would be known to 1e-6 at best.
_ONE = 1e-10


def find_lowest_pairs(m: Floats, many: int) -> tuple[Floats, Floats]:
    """The `many` lowest eigenvalues, ascending, and their vectors: a third of the cost of all of them."""
    if many < m.shape[0]:
        w, z, found, _, failed = dsyevr(m, range="I", il=1, iu=many)
        if not failed and found == many:
            return w[:many], z[:, :many]
    w, z = np.linalg.eigh(m)
    return w[:many], z[:, :many]


def find_lowest_values(m: Floats, many: int) -> Floats:
    """The `many` lowest eigenvalues, ascending."""
    if many < m.shape[0]:
        w, _, found, _, failed = dsyevr(m, compute_v=0, range="I", il=1, iu=many)
        if not failed and found == many:
            return np.asarray(w[:many], dtype=np.float64)
    return np.asarray(np.linalg.eigvalsh(m)[:many], dtype=np.float64)


def find_pairs_below(m: Floats, bound: float) -> tuple[Floats, Floats]:
    """The eigenvalues below a bound, ascending, and their vectors."""
    w, z = np.linalg.eigh(m)
    many = int(np.searchsorted(w, bound))
    return w[:many], z[:, :many].copy()


def find_left_null_space(rows: Floats) -> Floats | None:
    """Orthonormal basis (m, r) of {x : rows' x = 0} for rows (m, k); None stands for all of R^m.

    By a QR factorisation with pivoting, straight from LAPACK: the active set needs thousands of small ones.
    """
    columns = rows[:, np.abs(rows).max(axis=0, initial=0.0) > _RANK_TOL] if rows.size else rows[:, :0]
    m, k = columns.shape
    if k == 0:
        return None
    qr, _, tau, _, _ = dgeqp3(columns)
    rank = int((np.abs(qr.diagonal()) > _RANK_TOL).sum())
    if rank >= m:
        return np.zeros((m, 0))
    reflectors = np.zeros((m, m), order="F")
    reflectors[:, : min(m, k)] = qr[:, : min(m, k)]
    full = dorgqr(reflectors, tau[: min(m, k)], overwrite_a=1)[0]
    return np.ascontiguousarray(full[:, rank:])


@dataclass(frozen=True)
class Eigenbasis:
    """values ascending (p,), vectors (p, p), and whether each value ties with a neighbour."""

    values: Floats
    vectors: Floats
    tied: Bools


def find_eigenbasis(C: Floats) -> Eigenbasis:
    """Eigenvectors of C with a deterministic basis in every cluster.

    Where eigenvalues tie (to rounding) the eigenvectors are arbitrary; the projector on their span is not. Its basis is
    chosen by the features in order, so that every BLAS gives the same vectors.
    """
    values, vectors = np.linalg.eigh(C)
    unit = float(np.abs(values).max(initial=0.0))
    close = np.diff(values) <= _ONE * unit
    tied = np.concatenate(([False], close)) | np.concatenate((close, [False]))
    start = 0
    for stop in [*(np.flatnonzero(~close) + 1), values.size]:
        if stop - start > 1:
            vectors[:, start:stop] = choose_basis(vectors[:, start:stop])
        start = stop
    return Eigenbasis(values, vectors, tied)


def choose_basis(span: Floats) -> Floats:
    """An orthonormal basis of the columns' span that depends on the span alone.

    Gram-Schmidt on the projections of the unit vectors, in order, taking each that keeps at least half of the
    largest remaining length: the first features with a real share of the span.
    """
    left = span.copy()
    basis = np.zeros_like(span)
    for k in range(span.shape[1]):
        length = np.linalg.norm(left, axis=1)
        j = int(np.argmax(length >= 0.5 * length.max() * (1 - 1e-9)))
        direction = left[j] / length[j]
        basis[:, k] = left @ direction
        left = left - np.outer(left @ direction, direction)
    # Twice is enough: one more pass takes out what cancellation left.
    q, r = np.linalg.qr(basis)
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0), dtype=np.float64)
