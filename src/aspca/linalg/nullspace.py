"""Bases of what is orthogonal to a few vectors."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats

# Singular values of rows cut out of an orthonormal matrix: true zeros are about 1e-16,
# and ignoring a direction below this costs at most this much orthogonality.
_RANK_TOL = 1e-13


def left_null_space(rows: Floats) -> Floats | None:
    """Orthonormal basis (m, r) of {x : rows' x = 0} for rows (m, k); None stands for all of R^m."""
    columns = rows[:, np.abs(rows).max(axis=0, initial=0.0) > _RANK_TOL] if rows.size else rows[:, :0]
    if columns.shape[1] == 0:
        return None
    u, sv, _ = np.linalg.svd(columns, full_matrices=True)
    rank = int((sv > _RANK_TOL).sum())
    return np.asarray(u[:, rank:], dtype=np.float64)
