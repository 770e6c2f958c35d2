"""From which score on a row counts as abnormal."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from aspca.linalg.arrays import Floats


def box_limit(variances: Floats, level: float) -> float:
    """Box's limit of the squared prediction error: the `level` quantile of g chi2(h).

    `variances` are the eigenvalues of the covariance of the projections. For Gaussian rows the score is a weighted sum
    of chi-squares; g and h match its mean and variance: g = sum(v^2)/sum(v), h = sum(v)^2/sum(v^2).
    """
    variances = np.maximum(variances, 0.0)
    largest = float(variances.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    relative = variances / largest
    total, squares = float(relative.sum()), float((relative**2).sum())
    return largest * (squares / total) * float(chi2.ppf(level, total**2 / squares))


def inverted_cdf_quantile(scores: Floats, weights: Floats | None, level: float) -> float:
    """The smallest score at which the (weighted) share of rows not above it reaches `level`.

    An integer weight counts as that many equal rows. A share that falls short of `level` by rounding reaches it.
    """
    order = np.argsort(scores, kind="stable")
    weights = np.ones(scores.size) if weights is None else weights[order]
    reached = np.cumsum(weights)
    first = int(np.searchsorted(reached, level * reached[-1] * (1.0 - 1e-12)))
    return float(scores[order][min(first, scores.size - 1)])
