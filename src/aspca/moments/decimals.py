"""How many decimals a column is given in: 0 for whole numbers, 2 for cents."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints

# More decimals than this are no step that somebody chose: the column is continuous.
MOST_DECIMALS = 6
CONTINUOUS = 16
# Of a block, so many values are tried before all of them: a continuous column fails at once.
_FIRST = 64
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


def decimals_of(columns: Floats) -> Ints:
    """The decimals that every value of each column (p, n) needs, `CONTINUOUS` beyond six; 0 where there are no values.

    A value counts as a decimal number if it is the float64 nearest to one, give or take a rounding or two.
    """
    found = np.full(len(columns), CONTINUOUS, dtype=np.intp)
    open_columns = np.arange(len(columns))
    for decimals in range(MOST_DECIMALS + 1):
        fits = _fit(columns[open_columns, :_FIRST], decimals)
        for row in np.flatnonzero(fits):
            fits[row] = bool(_fit(columns[open_columns[row]][None], decimals)[0])
        found[open_columns[fits]] = decimals
        open_columns = open_columns[~fits]
        if not open_columns.size:
            break
    return found


def _fit(columns: Floats, decimals: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = columns * 10.0**decimals
        off = np.abs(shifted - np.rint(shifted))
        # Beyond 2^53 every float64 is a whole number: no sign of a step.
        bad = (off > ROUNDING * np.abs(shifted)) | (np.abs(shifted) >= 2.0**53)
    return np.asarray(~bad.any(axis=1))
