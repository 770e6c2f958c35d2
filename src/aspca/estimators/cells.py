"""The columns of a table of any library: numbers, dates and texts, whatever they are stored as."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from aspca.estimators.tables import LARGEST_INTEGER, array_of, frame_of, no_columns_error
from aspca.linalg.arrays import Floats
from aspca.preparation.columns import cell_text

_CELLS = (str, bytes, numbers.Real, Decimal, np.bool_, datetime.date, datetime.time, np.datetime64)


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column as it came.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "date", "text"}
    numbers : ndarray of shape (n,) or None
        Numbers, truth values as 0 and 1, or dates as seconds since 1970 (UTC where they name no zone), NaN where
        missing; None for texts.
    cells : sequence of n, or ndarray of shape (n,)
        The cells themselves.
    remark : str
        Why its cells were left out, if they were.
    """

    name: str
    kind: str
    numbers: Floats | None
    cells: Any
    remark: str = ""


class _Odd(TypeError, ValueError):
    """A column whose cells are neither texts, numbers nor dates; `remark` says what they are."""

    def __init__(self, sentence: str, remark: str = "it holds lists or records") -> None:
        super().__init__(sentence)
        self.remark = remark


def raw_columns(X: Any, *, leave_odd: bool = False) -> list[RawColumn]:
    """The columns of a data frame of any library, or of a two-dimensional array, then named x0, x1, ...

    Durations are numbers, in seconds.

    Parameters
    ----------
    leave_odd : bool
        Whether columns of lists, records and other objects are left without values, with a remark, and not refused.

    Raises
    ------
    ValueError
        Something else, no rows or columns, or a column of complex numbers.
    TypeError
        A cell that is neither text, number nor date.
    """
    columns = _columns(X, leave_odd)
    if not columns:
        raise no_columns_error(np.shape(X))
    if not len(columns[0].cells):
        raise ValueError("Found array with 0 sample(s), while a minimum of 1 is required.")
    return columns


def _columns(X: Any, leave_odd: bool) -> list[RawColumn]:
    frame = frame_of(X)
    if frame is None:
        return [_raw(f"x{j}", column) for j, column in enumerate(array_of(X).T)]
    columns = []
    for column in frame.iter_columns():
        try:
            columns.append(_raw(str(column.name), _array(column)))
        except _Odd as odd:
            if not leave_odd:
                raise
            columns.append(RawColumn(str(column.name), "text", None, [None] * len(column), odd.remark))
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
        seconds = values.astype("timedelta64[us]").astype(np.int64) / 1e6
        seconds = np.where(np.isnat(values), np.nan, seconds)
        return RawColumn(name, "number", seconds, seconds)
    if values.ndim != 1:
        raise _Odd(
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
            raise _Odd(
                f"Column {name!r} has a cell of type {kind} in row {row}: each argument must be a string, a number or "
                "a date.",
                "it holds lists or records" if several else f"it holds cells of type {kind}",
            )
    return RawColumn(name, "text", None, [str(cell) if isinstance(cell, datetime.time) else cell for cell in cells])


def _floats(name: str, cells: Sequence[Any]) -> Floats:
    for row, cell in enumerate(cells):
        if isinstance(cell, int) and abs(cell) > LARGEST_INTEGER:
            raise ValueError(
                f"Column {name!r} has an integer too large in size in row {row}; values must lie within +-1e150, so "
                "rescale the column."
            )
    return np.array([np.nan if cell_text(cell) is None else float(cell) for cell in cells])


def _seconds(cell: Any) -> float:
    if cell_text(cell) is None:
        return np.nan
    if isinstance(cell, np.datetime64):
        return float(cell.astype("datetime64[us]").astype(np.int64)) / 1e6
    if not isinstance(cell, datetime.datetime):
        cell = datetime.datetime(cell.year, cell.month, cell.day)
    return float((cell if cell.tzinfo else cell.replace(tzinfo=datetime.UTC)).timestamp())
