"""Numbers for rows by what they hold: the same in whatever order and parts a table comes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats
from aspca.linalg.row_blocks import broadcast_rows

Keys = npt.NDArray[np.uint64]
# Odd numbers that mix bits well: those of splitmix64.
_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def mix(keys: Keys) -> Keys:
    """Keys (any shape) with their bits mixed."""
    keys = keys + _SPREAD
    keys = (keys ^ (keys >> np.uint64(30))) * _MIX[0]
    keys = (keys ^ (keys >> np.uint64(27))) * _MIX[1]
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def hash_values(rows: Floats, low: Floats, high: Floats) -> Keys:
    """A number for each of rows (m, p), by their values alone (m,), where columns have these extremes (p,).

    Of the sum of its values, each as a share of its column's range and with a weight of its own, in 2^32 steps of a
    range: rounding, in other units, moves hardly a row to the next step.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # Weights that are in no simple proportion, or sums of rounded numbers would meet.
        shares = (mix(np.arange(low.size, dtype=np.uint64)) >> np.uint64(11)) * 2.0**-53
        weights = 2.0**32 * (0.5 + shares) / (high - low)
    low, weights = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(weights), weights, 0.0)
    # Row by row: what BLAS sums hangs on where in a batch a row stands.
    sums = np.nan_to_num(np.einsum("ij,j->i", broadcast_rows(np.subtract, rows, low), weights), copy=False)
    return mix(np.floor(sums).astype(np.int64).view(np.uint64))
