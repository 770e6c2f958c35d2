"""Column scales, from moments alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspca.linalg.arrays import SMALLEST_DEVIATION, Floats
from aspca.moments import Moments
from aspca.moments.blocks import cached_slices
from aspca.moments.validation import column_name


def refuse_vanishing(moments: Moments, names: Sequence[str]) -> None:
    """Raise for columns that vary by so little that the squares of what they vary by leave the range of float64.

    Between this and the largest value allowed, a table scaled by any power of two gives the same model.
    """
    scatter = np.diag(moments.scatter)
    least = np.minimum(scatter, scatter / moments.weight)
    bad = np.flatnonzero((moments.minimum < moments.maximum) & (least < SMALLEST_DEVIATION**2))
    if bad.size:
        others = f" (and {bad.size - 1} more)" if bad.size > 1 else ""
        raise ValueError(
            f"{column_name(int(bad[0]), names)}{others} varies by less than {SMALLEST_DEVIATION:g}, whose square "
            "float64 cannot hold; multiply the column (or the weights) by a constant, or leave it out."
        )


def column_scale(moments: Moments, scaling: str) -> Floats:
    """What each centred column is divided by (p,); 1 for a constant column.

    ``maxabs`` is the paper's: the largest distance from the mean, so that columns lie in [-1, 1];
    ``standard`` the standard deviation; ``none`` leaves the units alone.
    """
    variance = np.diag(moments.scatter) / moments.weight
    if scaling == "maxabs":
        above = (moments.maximum - moments.centre) - moments.residual
        below = (moments.minimum - moments.centre) - moments.residual
        scale = np.maximum(np.abs(above), np.abs(below))
    elif scaling == "standard":
        scale = np.sqrt(variance)
    else:
        scale = np.ones(moments.n_features)
    # A variance below the normal range of float64 has lost its digits: such a column counts as constant.
    vanished = variance < np.finfo(np.float64).tiny
    constant = (moments.minimum == moments.maximum) | vanished
    return np.where(constant, 1.0, scale)


def scaled_covariance(moments: Moments, scale: Floats) -> Floats:
    """Covariance of the scaled columns (p, p): the paper's A divided by n."""
    covariance = moments.covariance
    # A few rows at a time: no second and third p x p matrix.
    for rows in cached_slices(*covariance.shape):
        covariance[rows] /= np.outer(scale[rows], scale)
    return covariance
