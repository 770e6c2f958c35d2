"""Tables that cannot be taken, refused in one sentence before scikit-learn prints them whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

# As `moments` allows, but as an integer: 10**400 cannot be compared with a float.
_LARGEST_INTEGER = 10**150


def refuse_odd_tables(X: Any) -> None:
    """Raise for sparse matrices, complex numbers, dates, other numbers of dimensions, and cells that are no numbers.

    What is fine, or strange in other ways, is left to scikit-learn's own validation.
    """
    if issparse(X):
        raise TypeError("Sparse data was passed, but dense data is required; use X.toarray() if it fits in memory.")
    if not hasattr(X, "__len__"):
        return
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        for position, name in enumerate(X.columns):
            _refuse_cells(X.iloc[:, position] if hasattr(X, "iloc") else X[name], repr(str(name)))
        return
    try:
        table = np.asarray(X)
    except (ValueError, TypeError):
        return
    if table.dtype.kind == "c":
        raise ValueError("Complex data not supported: the table must hold real numbers; take real parts first.")
    if table.ndim != 2:
        raise ValueError(
            f"Reshape your data: a table of rows and columns is needed, but it has {table.ndim} dimension(s); use "
            "reshape(-1, 1) for one column or reshape(1, -1) for one row."
        )
    if table.dtype.kind in "OUSMm":
        for index, column in enumerate(table.T):
            _refuse_cells(column, str(index))


def _refuse_cells(column: Any, name: str) -> None:
    values = np.asarray(column)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name} must hold real numbers; take real parts first.")
    if values.dtype.kind in "Mm":
        raise ValueError(
            f"Column {name} holds dates or durations, but all values must be numbers; turn them into numbers or leave "
            "the column out."
        )
    if values.dtype.kind not in "OUS":
        return
    for row, cell in enumerate(values):
        if isinstance(cell, str):
            raise ValueError(
                f"Column {name} holds text ({cell[:40]!r} in row {row}), but all values must be numbers; convert or "
                "encode the column, or leave it out."
            )
        if isinstance(cell, int) and abs(cell) > _LARGEST_INTEGER:
            raise ValueError(
                f"Column {name} has an integer too large in size in row {row}; values must lie within +-1e150, so "
                "rescale the column."
            )
