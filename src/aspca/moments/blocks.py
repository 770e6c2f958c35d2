"""The moments of one block of rows, centred before anything is multiplied."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.linalg.symmetric import symmetrise

# A block of 1 MiB stays in the second-level cache, and is all that is ever copied of the data.
BLOCK_VALUES = 2**17
# Temporaries of 256 KiB: larger ones go back to the operating system each time, and come as fresh pages.
SLICE_VALUES = 2**15
# A block much shorter than it is wide would cost more in adding p x p matrices than in making them.
ENOUGH_ROWS = 2048
# BLAS sums products one after the other: errors grow with the rows of a block, but hardly with merges.
MOST_ROWS = 2**13


def row_slices(n_rows: int, n_features: int) -> Iterator[slice]:
    """Consecutive slices that cover `n_rows` rows, each about one block in size."""
    step = max(min(BLOCK_VALUES // n_features, MOST_ROWS), min(n_features, ENOUGH_ROWS), 1)
    return _slices(n_rows, step)


def cached_slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Consecutive slices of a matrix, for temporaries that stay small."""
    return _slices(n_rows, max(SLICE_VALUES // n_columns, 1))


def _slices(n_rows: int, step: int) -> Iterator[slice]:
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """`(s, e)` with `s` the rounded sum and `s + e` equal to `a + b` exactly (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def block_moments(columns: Floats, weights: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Centre, residual and scatter of one block.

    Parameters
    ----------
    columns : (p, m) float64, m >= 1, finite; overwritten.
    weights : (m,) positive, or None for ones.

    Returns
    -------
    centre, residual : (p,); their unevaluated sum is the mean, `centre` being the mean as one float64.
    scatter : (p, p), sum of w (x - mean)(x - mean)'; infinite where it exceeds float64.

    Notes
    -----
    Three subtractions, each of something closer to the mean. (1) The heaviest row: never further than sqrt(m)
    standard deviations from the mean, while the first row may be an outlier of no weight. (2) The mean
    so found, rounded to float64: from here on it does not matter how far off that row was. (3) The mean of
    what is left, which is below the resolution of the data; what its rounding leaves behind enters squared.
    """
    share = None if weights is None else weights / weights.sum()
    heaviest = 0 if weights is None else int(weights.argmax())
    start = columns[:, heaviest].copy()
    centre = np.empty_like(start)
    for lines in cached_slices(*columns.shape):
        centre[lines] = start[lines] + _mean(columns[lines] - start[lines, None], share)
    columns -= centre[:, None]
    residual = _mean(columns, share)
    columns -= residual[:, None]
    if weights is not None:
        columns *= np.sqrt(weights)
    scatter = columns @ columns.T
    # BLAS makes A A' symmetric wherever NumPy asks it to, but nothing promises that it does.
    symmetrise(scatter)
    centre, residual = two_sum(centre, residual)
    return centre, residual, scatter


def add_outer(scatter: Floats, gap: Floats, weight: float) -> None:
    """Add weight gap gap' to `scatter` (p, p), a few rows at a time: no second p x p matrix."""
    for rows in cached_slices(*scatter.shape):
        # The product of the gaps first: only that is exactly symmetric.
        scatter[rows] += weight * np.outer(gap[rows], gap)


def _mean(columns: Floats, share: Floats | None) -> Floats:
    result: Floats = columns.mean(axis=1) if share is None else columns @ share
    return result
