"""What `"auto"` means: functions of the scaled covariance alone, so that every source of data gives the same model."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats

# A direction that carries less than this share of an average feature's variance counts as abnormal.
_SHARE_OF_VARIANCE = 0.1
# The penalty, as a share of an average feature's variance.
_SHARE_OF_PENALTY = 0.01


def _average_variance(covariance: Floats) -> float:
    """Mean variance of the features that vary at all."""
    variance = np.diag(covariance)
    varying = variance[variance > 0]
    return float(varying.mean()) if varying.size else 0.0


def default_n_components(covariance: Floats) -> int:
    """Number of directions with little variance, constant features included; at least 1."""
    values = np.linalg.eigvalsh(covariance)
    return max(1, int((values <= _SHARE_OF_VARIANCE * _average_variance(covariance)).sum()))


def default_alpha(covariance: Floats) -> float:
    """A penalty small beside what features vary, large beside what rules do."""
    return _SHARE_OF_PENALTY * _average_variance(covariance)
