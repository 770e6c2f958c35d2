"""How closely each row's values follow those of the row before: successive measurements count for fewer rows.

Nothing of it shows in moments, so it takes a pass over rows in their order; sums per column are all that is kept.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from aspca.linalg.arrays import Floats, frozen
from aspca.linalg.steady import cached_parts
from aspca.moments.moments import Moments

# A lag-one correlation counts from so many of its own standard errors on: one in forty columns of independent rows,
# which lose little by it, since it takes two that follow themselves to follow each other by chance.
_SIGNIFICANT = 2.0
# Sums over other batches differ in the last digits of float64; the digits that are kept do not.
_DIGITS = 9


def succession(batches: Iterable[Floats], moments: Moments) -> Floats:
    """The lag-one correlation of each column (p,), zero where it is no more than that of independent rows may be.

    Parameters
    ----------
    batches : iterable of ndarray of shape (m, p)
        Rows in order, in batches of any size; NaN is a value that is missing, and no pair is made of it.
    moments : Moments
        Of these rows, or of those that are not gross: a value beyond their extremes counts as one of these.

    Notes
    -----
    A correlation from n rows about their own mean is too low by about (1 + 4 r)/n (Kendall); so much is added, or a few
    rows of a random walk would look like many of something quicker. In a table that is sorted by one column only that
    column follows itself.
    """
    mean = moments.centre + moments.residual
    low, high = moments.minimum - mean, moments.maximum - mean
    reach = np.maximum(high, -low)
    reach = np.where(reach > 0.0, reach, 1.0)
    squares, products, pairs = (np.zeros(mean.size) for _ in range(3))
    last = np.full((1, mean.size), np.nan)
    for batch in (rows[part] for rows in batches for part in cached_parts(*rows.shape)):
        # In units of the farthest value, so that no square overflows.
        rows = np.vstack([last, np.clip(np.asarray(batch, dtype=np.float64) - mean, low, high) / reach])
        # A row that repeats the one before counts for several, and follows nothing.
        new = (rows[1:] != rows[:-1]).any(axis=1)
        last, product = rows[-1:], rows[1:][new] * rows[:-1][new]
        squares += np.nansum(rows[1:][new] ** 2, axis=0)
        products += np.nansum(product, axis=0)
        pairs += (~np.isnan(product)).sum(axis=0)
    many = np.maximum(pairs, 1.0)
    found = products / np.where(squares > 0.0, squares, 1.0)
    # The increments of a walk of n rows have 6/n of its variance, however long it is: 2 (1 - r) of an autoregression's.
    corrected = np.minimum(found + (1.0 + 4.0 * found) / many, 1.0 - 3.0 / np.maximum(many, 3.0))
    return frozen(np.where(corrected > _SIGNIFICANT / np.sqrt(many), np.round(corrected, _DIGITS), 0.0))


def effective_rows(n_rows: float, correlation: Floats | float) -> Floats:
    """How many independent rows n successive ones are worth for a covariance: n (1 - r^2)/(1 + r^2), at least 2.

    `correlation` is the lag-one correlation r of both columns, as `succession` gives it.
    """
    square = np.square(np.asarray(correlation, dtype=np.float64))
    return np.asarray(np.clip(n_rows * (1.0 - square) / (1.0 + square), min(2.0, n_rows), n_rows))
