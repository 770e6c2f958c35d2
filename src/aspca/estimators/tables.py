"""Tables as users have them: what cannot be taken, refused in one sentence before scikit-learn prints it whole; names,
row labels and the library a table comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

# As `moments` allows, but as an integer: 10**400 cannot be compared with a float.
LARGEST_INTEGER = 10**150


def refuse_odd_tables(X: Any) -> None:
    """Raise for sparse matrices, complex numbers, dates, other numbers of dimensions, and cells that are no numbers.

    What is fine, or strange in other ways, is left to scikit-learn's own validation.
    """
    refuse_odd_shapes(X)
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


def refuse_odd_shapes(X: Any) -> None:
    """Raise for sparse matrices and for names of columns that occur twice."""
    if issparse(X):
        raise TypeError("Sparse data was passed, but dense data is required; use X.toarray() if it fits in memory.")
    if hasattr(X, "__len__"):
        _refuse_doubled_names(X)


def in_order(X: Any, names: tuple[str, ...] | None) -> Any:
    """A table with the columns `names` in that order, if it has just these in another; else as it is."""
    if names is None or not hasattr(X, "columns"):
        return X
    given = _column_names(X)
    if given == list(names) or len(set(given)) != len(given) or set(given) != set(names):
        return X
    return X.select(list(names)) if hasattr(X, "select") else X[list(names)]


def _column_names(X: Any) -> list[str]:
    return [str(name) for name in (X.column_names if hasattr(X, "column_names") else X.columns)]


def _refuse_doubled_names(X: Any) -> None:
    if not hasattr(X, "columns"):
        return
    names = _column_names(X)
    if len(set(names)) < len(names):
        name = next(name for position, name in enumerate(names) if name in names[:position])
        raise ValueError(
            f"The column name {name!r} occurs {names.count(name)} times, but each must be unique, since rules are "
            "written in names; rename or drop the others."
        )


def refuse_nameless(X: Any, names: tuple[str, ...] | None) -> None:
    """Raise for rows without column names where the columns have names."""
    if names is not None and not hasattr(X, "columns"):
        raise ValueError(
            f"These rows have no column names, but the model was fitted to columns with names, the first being "
            f"{names[0]!r}, so their order cannot be checked; pass a data frame with the columns of the fit."
        )


def row_labels(X: Any, n: int) -> Sequence[object]:
    """What a table calls its rows: a pandas index, or positions."""
    index = getattr(X, "index", None)
    return range(n) if index is None or callable(index) or len(index) != n else list(index)


def library_of(X: Any) -> str:
    """The data-frame library that a table comes from; pandas for anything else."""
    name = type(X).__module__.partition(".")[0]
    return name if name in ("polars", "pyarrow") else "pandas"


def _refuse_cells(column: Any, name: str) -> None:
    values = np.asarray(column)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name} must hold real numbers; take real parts first.")
    if values.dtype.kind in "Mm":
        raise ValueError(
            f"Column {name} holds dates or durations, but all values must be numbers; turn them into numbers, leave "
            "the column out, or see aspca.Preprocessor."
        )
    if values.dtype.kind not in "OUS":
        return
    for row, cell in enumerate(values):
        if isinstance(cell, str):
            raise ValueError(
                f"Column {name} holds text ({cell[:40]!r} in row {row}), but all values must be numbers; convert the "
                "column, leave it out, or see aspca.Preprocessor."
            )
        if isinstance(cell, int) and abs(cell) > LARGEST_INTEGER:
            raise ValueError(
                f"Column {name} has an integer too large in size in row {row}; values must lie within +-1e150, so "
                "rescale the column."
            )
