"""Bases of what is orthogonal to a few vectors."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgeqp3, dorgqr

from aspca.linalg.arrays import Floats

# Rows cut out of an orthonormal matrix: true zeros are about 1e-16, and ignoring a direction below this costs at most
# this much orthogonality.
_RANK_TOL = 1e-13


def left_null_space(rows: Floats) -> Floats | None:
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
