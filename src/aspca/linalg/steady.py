"""Products of rows and a matrix that are the same for a row in any company."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats

# BLAS works in tiles of rows; a block is a few of them.
_ROWS = 64


def row_products(rows: Floats, matrix: Floats) -> Floats:
    """rows @ matrix (n, k), in blocks of one size, the last one filled up with zeros.

    BLAS sums in another order for one row than for many; of one size of block it always does the same sums.
    """
    out = np.empty((len(rows), matrix.shape[1]))
    block, product = np.zeros((_ROWS, rows.shape[1])), np.empty((_ROWS, matrix.shape[1]))
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        block[: len(part)], block[len(part) :] = part, 0.0
        np.matmul(block, matrix, out=product)
        out[start : start + len(part)] = product[: len(part)]
    return out
