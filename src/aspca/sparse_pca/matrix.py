"""The matrix that a user hands over: checked, exactly symmetric, entries of order one, in a single copy.

Or the covariance matrix of a table that is handed over instead.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf

from aspca.linalg.arrays import Floats, frozen
from aspca.linalg.small import symmetrise
from aspca.linalg.threads import blas_threads_for
from aspca.moments import Moments
from aspca.moments.space import column_scale, refuse_vanishing, scaled_covariance
from aspca.preparation.columns import Preparation
from aspca.preparation.lifting import add_transforms

# Relative to the largest entry: what a covariance computed in float64 may miss symmetry by, and its eigenvalues zero
# (per feature).
_SLACK = 1e-8


@dataclass(frozen=True)
class ScaledMatrix:
    """A times `unit`, a power of two, which scales exactly: the solver sees entries of order one in any units."""

    values: Floats
    unit: float
    largest: float  # the largest |A_ij|, in the units of A


def scale_matrix(A: npt.ArrayLike) -> ScaledMatrix:
    """A fresh scaled copy of a real, finite, symmetric, positive semidefinite A (p, p); ValueError for anything else.

    Memory: that copy alone, if A is float64.
    """
    raw = np.asarray(A)
    if raw.dtype.kind not in "biuf":
        raise ValueError(f"A must hold real numbers, got an array of type {raw.dtype}.")
    if raw.ndim != 2 or raw.shape[0] != raw.shape[1] or raw.shape[0] == 0:
        raise ValueError(f"A must be a square matrix with at least one feature, got shape {raw.shape}.")
    raw = raw.astype(np.float64, copy=False)
    largest = _largest(raw)
    unit = 1.0 if largest == 0 else float(2.0 ** -np.clip(np.frexp(largest)[1], -1000, 1000))
    values = np.multiply(raw, unit, out=np.empty(raw.shape))
    if symmetrise(values) > _SLACK * largest * unit:
        raise ValueError("A must be symmetric; pass a covariance or scatter matrix, such as D.T @ D.")
    with blas_threads_for(raw.shape[0]):
        definite = largest == 0 or _factorises(values, _SLACK * raw.shape[0] * largest * unit)
        # The factor was written over the matrix: once more, in the same memory.
        symmetrise(np.multiply(raw, unit, out=values))
        lowest = 0.0 if definite else float(np.linalg.eigvalsh(values)[0]) / unit
        if lowest < -_SLACK * raw.shape[0] * largest:
            raise ValueError(
                f"A must be positive semidefinite, but its smallest eigenvalue is {lowest:.3g}; "
                "pass a covariance or scatter matrix, such as D.T @ D."
            )
    return ScaledMatrix(values, unit, largest)


def _largest(raw: Floats) -> float:
    # Extremes hand on NaN and infinity, so one pass without temporaries tells all.
    largest = float(np.maximum(raw.max(), -raw.min()))
    if not np.isfinite(largest):
        i = next(i for i, row in enumerate(raw) if not np.isfinite(row).all())
        j = int(np.flatnonzero(~np.isfinite(raw[i]))[0])
        raise ValueError(f"A must be finite, but entry ({i}, {j}) is {raw[i, j]}.")
    return largest


def _factorises(values: Floats, shift: float) -> bool:
    """Whether values + shift I has a Cholesky factor, which is written over `values`.

    A success proves that no eigenvalue lies below -shift, but for rounding, which is p eps / 1e-8 of it: at a fraction
    of the time of computing the eigenvalues.
    """
    values.flat[:: values.shape[0] + 1] += shift
    # The transpose is in Fortran's order: LAPACK works in place.
    return bool(dpotrf(values.T, lower=1, overwrite_a=1, clean=0)[1] == 0)


def compute_table_covariance(table: Any) -> tuple[tuple[str, ...], Floats]:
    """Names (p,) and covariance (p, p) of a table's (n, columns) standardized columns, logarithms and squares; n >= 2.

    Columns without a name are called x0, x1 and so on; one that does not vary has the variance zero.
    ValueError: it is no such table, or holds what is not a finite number.
    """
    rows = np.asarray(table)
    if rows.dtype == object:
        with suppress(TypeError, ValueError):
            rows = rows.astype(np.float64)
    if rows.ndim != 2 or rows.shape[0] < 2 or rows.shape[1] == 0 or rows.dtype.kind not in "biuf":
        raise ValueError(
            f"With lift, A must be a table of numbers with at least two rows and a column, got shape {rows.shape} of "
            f"type {rows.dtype}."
        )
    names = tuple(str(name) for name in getattr(table, "columns", [f"x{j}" for j in range(rows.shape[1])]))
    # Moments refuse what is no finite number.
    Moments.from_array(rows, names=names)
    rows = rows.astype(np.float64)
    plan = add_transforms(Preparation.identity(names), rows)
    moments = Moments.from_array(plan.encode(list(rows.T)), names=plan.names)
    refuse_vanishing(moments, plan.names)
    return plan.names, frozen(scaled_covariance(moments, column_scale(moments, "standard")))
