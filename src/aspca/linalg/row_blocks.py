"""Products of rows and a matrix, the same for a row in any company; and rows in parts that stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats

# BLAS works in tiles of rows; a block is a few of them.
_ROWS = 64
# Rows that are taken as one long row where each meets the same numbers: a loop over few columns is mostly overhead.
_ABREAST = 16

Array = npt.NDArray[Any]


def multiply_rows(rows: Floats, matrix: Floats) -> Floats:
    """rows @ matrix (n, k), in blocks of one size, the last one filled up with zeros.

    BLAS sums in another order for one row than for many; of one size of block it always does the same sums.
    """
    out = np.empty((len(rows), matrix.shape[1]))
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    whole = len(rows) // _ROWS * _ROWS
    for start in range(0, whole, _ROWS):
        np.matmul(rows[start : start + _ROWS], matrix, out=out[start : start + _ROWS])
    if whole < len(rows):
        block = np.zeros((_ROWS, rows.shape[1]))
        block[: len(rows) - whole] = rows[whole:]
        out[whole:] = (block @ matrix)[: len(rows) - whole]
    return out


def sum_rows(rows: Floats) -> Floats:
    """rows.sum(axis=1) (n,), column after column: NumPy sums one row in another order than many."""
    total = np.zeros(len(rows))
    for column in rows.T:
        total += column
    return total


def cached_parts(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices that cover so many rows, each of whole blocks and small enough for the cache."""
    # 256 KiB of float64: what is made of a part is still in the cache when the next step needs it.
    step = max(_ROWS, 2**15 // max(n_columns, 1) // _ROWS * _ROWS)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def broadcast_rows(operation: np.ufunc, rows: Array, numbers: Floats, out: Array | None = None) -> Array:
    """operation(rows, numbers), numbers (p,) meeting each of the rows (n, p): the same, only several times as fast."""
    p = numbers.size
    whole = len(rows) // _ABREAST * _ABREAST
    long = rows.flags.c_contiguous and whole > 0 and p > 0
    if not long or not (out is None or out.flags.c_contiguous):
        return cast(Array, operation(rows, numbers, out=out))
    first = operation(
        rows[:whole].reshape(-1, _ABREAST * p),
        np.broadcast_to(numbers, (_ABREAST, p)).reshape(-1),
        out=None if out is None else out[:whole].reshape(-1, _ABREAST * p),
    ).reshape(whole, p)
    if whole == len(rows):
        return cast(Array, first if out is None else out)
    last = operation(rows[whole:], numbers, out=None if out is None else out[whole:])
    return np.concatenate([first, last]) if out is None else out
