"""alpha = 0: the components are eigenvectors, all of them from one decomposition.

Where eigenvalues tie (to rounding) the eigenvectors are arbitrary; the projector on their span is not. Its basis is
then chosen by the features in order: the projection of the first feature that sticks out, then of the next, so
that every BLAS gives the same vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats

# Eigenvalues closer than this (relative to the largest) count as one: their vectors would be known to 1e-6 at best.
_ONE = 1e-10


@dataclass(frozen=True)
class Eigenbasis:
    """values ascending (p,), vectors (p, p), and whether each value ties with a neighbour."""

    values: Floats
    vectors: Floats
    tied: Bools


def eigenbasis(C: Floats) -> Eigenbasis:
    """Eigenvectors of C with a deterministic basis in every cluster."""
    values, vectors = np.linalg.eigh(C)
    unit = float(np.abs(values).max(initial=0.0))
    close = np.diff(values) <= _ONE * unit
    tied = np.concatenate(([False], close)) | np.concatenate((close, [False]))
    start = 0
    for stop in [*(np.flatnonzero(~close) + 1), values.size]:
        if stop - start > 1:
            vectors[:, start:stop] = basis_by_features(vectors[:, start:stop])
        start = stop
    return Eigenbasis(values, vectors, tied)


def basis_by_features(span: Floats) -> Floats:
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
