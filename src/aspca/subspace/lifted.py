"""Rows as the matrix of their lifted columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from aspca.linalg.arrays import Floats, frozen
from aspca.moments import Moments
from aspca.preparation.lifting import lift_columns
from aspca.preparation.plan import Preparation
from aspca.subspace.scaling import column_scale, refuse_vanishing, scaled_covariance


def lifted_covariance(table: Any) -> tuple[tuple[str, ...], Floats]:
    """Names (p,) and covariance (p, p) of the standardized lifted columns of a table (n, columns), n >= 2.

    Columns without a name are called x0, x1 and so on; one that does not vary has the variance zero.

    Raises
    ------
    ValueError
        It is no such table, or holds what is not a finite number.
    """
    rows = np.asarray(table)
    if rows.dtype == object:
        rows = _numbers(rows)
    if rows.ndim != 2 or rows.shape[0] < 2 or rows.shape[1] == 0 or rows.dtype.kind not in "biuf":
        raise ValueError(
            f"With lift, A must be a table of numbers with at least two rows and a column, got shape {rows.shape} of "
            f"type {rows.dtype}."
        )
    names = tuple(str(name) for name in getattr(table, "columns", [f"x{j}" for j in range(rows.shape[1])]))
    # Moments refuse what is no finite number.
    Moments.from_array(rows, names=names)
    rows = rows.astype(np.float64)
    plan = lift_columns(Preparation.identity(names), rows)
    moments = Moments.from_array(plan.encode(list(rows.T)), names=plan.names)
    refuse_vanishing(moments, plan.names)
    return plan.names, frozen(scaled_covariance(moments, column_scale(moments, "standard")))


def _numbers(cells: Any) -> Any:
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        return cells
