"""Data frames of any library and arrays: their columns as numbers, dates and texts, names, row labels and library; and
what cannot be taken, refused in one sentence before scikit-learn prints it whole."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from aspca.linalg.arrays import Floats
from aspca.preparation.columns import cell_text

# How scikit-learn's message begins; its own checks want it word for word.
_OTHER_COLUMNS = "The feature names should match those that were passed during fit."
# For tables of pandas, for others, and where columns are missing.
_CURES = (
    "X[model.feature_names_in_] takes those of the fit, in their order.",
    "X.select(list(model.feature_names_in_)) takes those of the fit, in their order.",
    "A model needs all columns that it was fitted to, by the same names: add or rename them, or fit again.",
)
# How lazy tables are made into data frames.
_COLLECTED = {"polars": "collect", "dask": "compute", "duckdb": "df", "ibis": "execute", "pyspark": "toPandas"}


def get_frame(X: Any) -> nw.DataFrame[Any] | None:
    """A data frame of any library, seen through narwhals; None for an array, or whatever else."""
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
            f"{'' if how is None else f', here by X.{how}()'}."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def refuse_odd_tables(X: Any) -> None:
    """Raise for sparse matrices, complex numbers, dates, no columns, what is no table, and cells that are no numbers.

    What is fine, or strange in other ways, is left to scikit-learn's own validation.
    """
    refuse_odd_shapes(X)
    frame = get_frame(X)
    if frame is not None:
        if not frame.columns:
            raise no_columns_error((len(frame), 0))
        for column in frame.iter_columns():
            _refuse_cells(column.to_native(), repr(str(column.name)))
        return
    table = to_array(X)
    if table.dtype.kind == "c":
        raise ValueError("Complex data not supported: the table must hold real numbers; take real parts first.")
    if table.dtype.kind in "OUSMm":
        for index, column in enumerate(table.T):
            _refuse_cells(column, str(index))


def refuse_odd_shapes(X: Any) -> None:
    """Raise for sparse matrices, lazy tables, masked cells, and names of columns that occur twice."""
    if issparse(X):
        raise TypeError("Sparse data was passed, but dense data is required; use X.toarray() if it fits in memory.")
    if isinstance(X, np.ma.MaskedArray) and np.ma.getmaskarray(X).any():
        raise ValueError(
            f"The array has {int(np.ma.getmaskarray(X).sum())} masked cells, whose values must not be used; pass "
            "X.astype(float).filled(np.nan), which makes them missing values."
        )
    if type(X).__name__ == "RecordBatch":
        raise TypeError("A batch of records has no names here; make it a table, by pyarrow.Table.from_batches([X]).")
    frame = get_frame(X)
    if frame is not None:
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            raise _doubled(names)


def to_array(X: Any) -> np.ndarray[Any, Any]:
    """What is no data frame as an array of rows and columns."""
    if isinstance(X, list | tuple) and len(lengths := [len(row) for row in X if isinstance(row, list | tuple)]) > 1:
        odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), None)
        if odd is not None:
            raise ValueError(
                f"Row 0 has {lengths[0]} cells, but row {odd} has {lengths[odd]}: rows of a table are of one length."
            )
    table = np.asarray(X)
    if table.ndim == 2:
        return table
    if not table.ndim:
        cures = {"dict": "pandas.DataFrame(X) makes it one", "str": "aspca.detect reads files, or pandas.read_csv"}
        cure = cures.get(type(X).__name__)
        raise ValueError(
            "Expected 2D array: a table of rows and columns is needed, such as a data frame, but it is of type "
            f"{type(X).__name__}{'' if cure is None else f'; {cure}'}."
        )
    if hasattr(X, "to_frame"):
        raise ValueError(
            "Reshape your data: a table of rows and columns is needed, but it is a series; use X.to_frame() for one "
            "column, or X.to_frame().T for one row of a pandas table."
        )
    raise ValueError(
        f"Reshape your data: a table of rows and columns is needed, but it has {table.ndim} dimension(s); use "
        "reshape(-1, 1) for one column or reshape(1, -1) for one row."
    )


def no_columns_error(shape: tuple[int, ...]) -> ValueError:
    """The sentence for a table without columns."""
    return ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


@contextmanager
def explain_other_columns(X: Any) -> Iterator[None]:
    """Where scikit-learn refuses columns, in another order or others than those of the fit, add what to do."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith(_OTHER_COLUMNS) or str(error).endswith(_CURES):
            raise
        frame = get_frame(X)
        pandas = frame is None or frame.implementation.is_pandas_like()
        cure = _CURES[2] if "yet now missing" in str(error) else _CURES[0] if pandas else _CURES[1]
        raise ValueError(f"{str(error).rstrip()}\n{cure}") from None


def _doubled(names: list[str]) -> ValueError:
    name = next(name for position, name in enumerate(names) if name in names[:position])
    return ValueError(
        f"The column name {name!r} occurs {names.count(name)} times, but each must be unique, since rules are "
        "written in names; rename or drop the others."
    )


def refuse_nameless(X: Any, names: tuple[str, ...] | None) -> None:
    """Raise for rows without column names where the columns have names."""
    if names is not None and get_frame(X) is None:
        # A series, or what is no table at all, gets its own sentence.
        to_array(X)
        raise ValueError(
            f"These rows have no column names, but the model was fitted to columns with names, the first being "
            f"{names[0]!r}, so their order cannot be checked; pass a data frame with the columns of the fit."
        )


def get_row_labels(X: Any, n: int) -> Sequence[object]:
    """What a table calls its rows: a pandas index, or positions."""
    frame = get_frame(X)
    index = None if frame is None else nw.maybe_get_index(frame)
    labels: Sequence[object] = range(n) if index is None else list(index)
    return range(n) if labels == list(range(n)) else labels


def get_library(X: Any) -> str:
    """The data-frame library that a table comes from, if outputs can be of it; pandas for anything else."""
    frame = get_frame(X)
    name = "pandas" if frame is None else str(frame.implementation.value)
    return name if name in ("polars", "pyarrow") else "pandas"


def _refuse_cells(column: Any, name: str) -> None:
    values = np.asarray(column)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name} must hold real numbers; take real parts first.")
    if values.dtype.kind in "Mm":
        raise _dates_error(name)
    if values.dtype.kind in "iu":
        refuse_rounding(values, name)
    if values.dtype.kind not in "OUS":
        return
    for row, cell in enumerate(values):
        if isinstance(cell, datetime.date):
            raise _dates_error(name)
        if isinstance(cell, list | tuple | dict | set | np.ndarray):
            # scikit-learn's checks want a TypeError, and some of these words.
            raise TypeError(
                f"Column {name} has a {type(cell).__name__} in row {row}, but each argument must be neither string, "
                "list nor dict but one number; give its parts columns of their own, or leave the column out."
            )
        if isinstance(cell, str | bytes):
            raise ValueError(
                f"Column {name} holds text ({cell[:40]!r} in row {row}), but all values must be numbers; convert the "
                "column, leave it out, or see aspca.Preprocessor."
            )
        _refuse_huge(cell, name, row)


def _refuse_huge(cell: object, name: str, row: int) -> None:
    # As `moments` allows, but as an integer: 10**400 cannot be compared with a float.
    if isinstance(cell, int) and abs(cell) > 10**150:
        raise ValueError(
            f"Column {name} has an integer too large in size in row {row}; values must lie within +-1e150, so rescale "
            "the column."
        )


def refuse_rounding(values: np.ndarray[Any, Any], name: str) -> None:
    """Raise for integers (n,) that are no numbers of 64 bits: they would be taken for others, and ids be alike."""
    if not values.size or -(2**53) <= int(values.min()) <= int(values.max()) <= 2**53:
        return
    # Through Python's integers: that of 2^63 as a number of 64 bits has no place in int64.
    odd = next((row for row, cell in enumerate(values.tolist()) if int(float(cell)) != cell), None)
    if odd is not None:
        raise ValueError(
            f"Column {name} has the integer {values[odd]} in row {odd}, of more digits than a number of 64 bits holds; "
            f"leave the column out if it names rows, or pass it as X[{name}].astype(float) if its last digits do not "
            "matter."
        )


def _dates_error(name: str) -> ValueError:
    return ValueError(
        f"Column {name} holds dates or durations, but all values must be numbers; turn them into numbers, leave the "
        "column out, or see aspca.Preprocessor."
    )


# ---- columns as they come

_CELLS = (str, bytes, numbers.Real, Decimal, np.bool_, datetime.date, datetime.time, np.datetime64)


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column as it came."""

    name: str
    kind: str  # "number", "boolean", "date" or "text"
    # Truth values as 0 and 1, dates as seconds since 1970 (UTC where they name no zone); None for texts.
    numbers: Floats | None
    cells: Any  # (n,)
    remark: str = ""  # why its cells were left out, if they were


class _OddColumnError(TypeError, ValueError):
    """A column whose cells are neither texts, numbers nor dates; `remark` says what they are."""

    def __init__(self, sentence: str, remark: str = "it holds lists or records") -> None:
        super().__init__(sentence)
        self.remark = remark


def read_columns(X: Any, *, leave_odd: bool = False) -> list[RawColumn]:
    """The columns of a data frame of any library, or of a two-dimensional array, then named x0, x1, ...

    Durations are numbers, in seconds. With `leave_odd`, columns of lists, records and other objects are left without
    values, with a remark, and not refused.
    """
    frame = get_frame(X)
    columns = []
    for j, column in enumerate(to_array(X).T if frame is None else frame.iter_columns()):
        name, cells = (f"x{j}", column) if frame is None else (str(column.name), _array(column))
        try:
            columns.append(_raw(name, cells))
        except _OddColumnError as error:
            if not leave_odd or frame is None:
                raise
            columns.append(RawColumn(name, "text", None, [None] * len(column), error.remark))
    if not columns:
        raise no_columns_error(np.shape(X))
    if not len(columns[0].cells):
        raise ValueError("Found array with 0 sample(s), while a minimum of 1 is required.")
    return columns


def _array(column: Any) -> np.ndarray[Any, Any]:
    """The cells of a column of narwhals; integers stay such where some are missing."""
    try:
        values = np.asarray(column.to_native())
        if values.dtype.kind != "f" or not column.dtype.is_integer():
            return values
    except NotImplementedError:
        # Types of pyarrow that it cannot make an array of, such as a dictionary of dates.
        pass
    cells = np.empty(len(column), dtype=object)
    cells[:] = column.to_list()
    return cells


def _raw(name: str, values: np.ndarray[Any, Any]) -> RawColumn:
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r} must hold real numbers; take real parts first.")
    if values.dtype.kind == "m":
        # As for dates.
        seconds = np.where(np.isnat(values), np.nan, values.astype("timedelta64[us]").astype(np.int64) / 1e6)
        return RawColumn(name, "number", seconds, seconds)
    if values.ndim != 1:
        raise _OddColumnError(
            f"Column {name!r} has several values in a cell, but each must be one; give them columns of their own, or "
            "leave the column out."
        )
    if values.dtype.kind in "biuf":
        return RawColumn(name, "boolean" if values.dtype.kind == "b" else "number", values.astype(np.float64), values)
    if values.dtype.kind == "M":
        # Through microseconds, which hold every year; whole seconds would lose what is below them.
        seconds = values.astype("datetime64[us]").astype(np.int64) / 1e6
        return RawColumn(name, "date", np.where(np.isnat(values), np.nan, seconds), values)
    cells = values.tolist()
    given = [cell for cell in cells if cell_text(cell) is not None]
    if given and all(isinstance(cell, bool | np.bool_) for cell in given):
        return RawColumn(name, "boolean", _floats(name, cells), cells)
    if given and all(isinstance(cell, numbers.Real | Decimal | np.bool_) for cell in given):
        return RawColumn(name, "number", _floats(name, cells), cells)
    if given and all(isinstance(cell, datetime.date | np.datetime64) for cell in given):
        return RawColumn(name, "date", np.array([_seconds(cell) for cell in cells]), cells)
    if not given:
        return RawColumn(name, "number", np.full(len(cells), np.nan), cells)
    for row, cell in enumerate(cells):
        if cell_text(cell) is not None and not isinstance(cell, _CELLS):
            kind = type(cell).__name__
            several = isinstance(cell, list | tuple | set | dict | np.ndarray)
            raise _OddColumnError(
                f"Column {name!r} has a cell of type {kind} in row {row}: each argument must be a string, a number or "
                "a date.",
                "it holds lists or records" if several else f"it holds cells of type {kind}",
            )
    return RawColumn(name, "text", None, [str(cell) if isinstance(cell, datetime.time) else cell for cell in cells])


def _floats(name: str, cells: Sequence[Any]) -> Floats:
    for row, cell in enumerate(cells):
        _refuse_huge(cell, repr(name), row)
    return np.array([np.nan if cell_text(cell) is None else float(cell) for cell in cells])


def _seconds(cell: Any) -> float:
    if cell_text(cell) is None:
        return np.nan
    if isinstance(cell, np.datetime64):
        return float(cell.astype("datetime64[us]").astype(np.int64)) / 1e6
    if not isinstance(cell, datetime.datetime):
        cell = datetime.datetime(cell.year, cell.month, cell.day)
    return float((cell if cell.tzinfo else cell.replace(tzinfo=datetime.UTC)).timestamp())
