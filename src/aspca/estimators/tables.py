"""Tables as users have them: what cannot be taken, refused in one sentence before scikit-learn prints it whole; names,
row labels and the library a table comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

# As `moments` allows, but as an integer: 10**400 cannot be compared with a float.
LARGEST_INTEGER = 10**150
# How lazy tables are made into data frames.
_COLLECTED = {"polars": "X.collect()", "dask": "X.compute()", "duckdb": "X.df()", "pyspark": "X.toPandas()"}


def frame_of(X: Any) -> nw.DataFrame[Any] | None:
    """A data frame of any library, seen through narwhals; None for an array, or whatever else.

    Raises
    ------
    TypeError
        A table whose rows are still to be computed.
    ValueError
        A name of a column occurs twice.
    """
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError:
        # Without narwhals here, which does not tell: pyarrow's name of the names, or everybody else's.
        raise _doubled([str(name) for name in getattr(X, "column_names", None) or X.columns]) from None
    if isinstance(frame, nw.LazyFrame):
        library = frame.implementation.value
        how = _COLLECTED.get(library)
        raise TypeError(
            f"A lazy table of {library} was passed, whose rows are still to be computed; collect it first"
            f"{'' if how is None else f', here by {how}'}."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def column_names(frame: nw.DataFrame[Any]) -> list[str]:
    """What rules call the columns of a data frame."""
    return [str(name) for name in frame.columns]


def refuse_odd_tables(X: Any) -> None:
    """Raise for sparse matrices, complex numbers, dates, other numbers of dimensions, and cells that are no numbers.

    What is fine, or strange in other ways, is left to scikit-learn's own validation.
    """
    refuse_odd_shapes(X)
    frame = frame_of(X)
    if frame is not None:
        for column in frame.iter_columns():
            _refuse_cells(column.to_native(), repr(str(column.name)))
        return
    if not hasattr(X, "__len__"):
        return
    try:
        table = np.asarray(X)
    except (ValueError, TypeError):
        return
    if table.dtype.kind == "c":
        raise ValueError("Complex data not supported: the table must hold real numbers; take real parts first.")
    if table.ndim != 2:
        raise dimensions_error(table)
    if table.dtype.kind in "OUSMm":
        for index, column in enumerate(table.T):
            _refuse_cells(column, str(index))


def refuse_odd_shapes(X: Any) -> None:
    """Raise for sparse matrices, lazy tables, and names of columns that occur twice."""
    if issparse(X):
        raise TypeError("Sparse data was passed, but dense data is required; use X.toarray() if it fits in memory.")
    frame = frame_of(X)
    if frame is not None:
        names = column_names(frame)
        if len(set(names)) < len(names):
            raise _doubled(names)


def dimensions_error(table: np.ndarray[Any, Any]) -> ValueError:
    """The sentence for an array that is no table."""
    return ValueError(
        f"Reshape your data: a table of rows and columns is needed, but it has {table.ndim} dimension(s); use "
        "reshape(-1, 1) for one column or reshape(1, -1) for one row."
    )


def in_order(X: Any, names: tuple[str, ...] | None) -> Any:
    """A table with the columns `names` in that order, if it has just these in another; else as it is."""
    frame = None if names is None else frame_of(X)
    if names is None or frame is None:
        return X
    given = column_names(frame)
    if given == list(names) or len(set(given)) != len(given) or set(given) != set(names):
        return X
    return frame[:, [given.index(name) for name in names]].to_native()


def _doubled(names: list[str]) -> ValueError:
    name = next(name for position, name in enumerate(names) if name in names[:position])
    return ValueError(
        f"The column name {name!r} occurs {names.count(name)} times, but each must be unique, since rules are "
        "written in names; rename or drop the others."
    )


def refuse_nameless(X: Any, names: tuple[str, ...] | None) -> None:
    """Raise for rows without column names where the columns have names."""
    if names is not None and frame_of(X) is None:
        raise ValueError(
            f"These rows have no column names, but the model was fitted to columns with names, the first being "
            f"{names[0]!r}, so their order cannot be checked; pass a data frame with the columns of the fit."
        )


def row_labels(X: Any, n: int) -> Sequence[object]:
    """What a table calls its rows: a pandas index, or positions."""
    frame = frame_of(X)
    index = None if frame is None else nw.maybe_get_index(frame)
    return range(n) if index is None else list(index)


def library_of(X: Any) -> str:
    """The data-frame library that a table comes from, if outputs can be of it; pandas for anything else."""
    frame = frame_of(X)
    name = "pandas" if frame is None else str(frame.implementation.value)
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
