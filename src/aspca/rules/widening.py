"""How much wider a rule is on rows that it was not fitted to."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.rules.chance import EXCLUDED, chance_probability


def held_out_widening(projections: Floats, spreads: Floats) -> Floats:
    """Spread of each rule on held-out rows over its spread on the training rows (d,).

    `projections` (n, d) are the held-out rows' deviations from the rules, in the units of `spreads` (d,); a shift
    counts as spread. Where the training spread is zero: 1 if no row deviates, infinite otherwise. NaN is a deviation
    that is not known.
    """
    known = ~np.isnan(projections)
    projections = np.where(known, projections, 0.0)
    largest = np.abs(projections).max(axis=0, initial=0.0)
    shrunk = projections / np.where(largest > 0.0, largest, 1.0)
    outside = largest * np.sqrt((shrunk**2).sum(axis=0) / np.maximum(known.sum(axis=0), 1))
    never = np.where(outside > 0.0, np.inf, 1.0)
    return np.where(spreads > 0.0, outside / np.where(spreads > 0.0, spreads, 1.0), never)


def expected_widening(
    variance: float, parts: Floats, n_rows: int, n_features: int, probability: float | None = None
) -> float:
    """The widening to expect of a rule on new rows, from moments alone: for where no rows are held out.

    Parameters
    ----------
    variance : float
        Of the rule, over the training rows.
    parts : ndarray of shape (k,)
        Variances of its terms, each alone: coefficient^2 times the feature's variance.
    n_rows, n_features : int
        What it was fitted to, and chosen from.
    probability : float or None
        How likely chance gives as much, see `chances`; None: of independent Gaussian rows.

    Notes
    -----
    Two effects of few rows. *Fitted coefficients*: for Gaussian rows and one feature regressed on the m = k - 1 others,
    the expected squared error on a new row over that on the training rows is (n + 1)(n - 2) / ((n - m - 1)(n - m - 2)):
    what leaving rows out gives on average, without the rows. *Chosen features*: if it cannot be excluded that
    the best choice among unrelated features is as tight, the rule may be nothing but that choice, and new rows
    would show the variance of unrelated terms, the sum of `parts`. The larger effect counts. Infinite for n <= m + 2.
    """
    m = parts.size - 1
    if n_rows <= m + 2:
        return float("inf")
    fitted = (n_rows + 1.0) * (n_rows - 2.0) / ((n_rows - m - 1.0) * (n_rows - m - 2.0))
    if variance > 0.0:
        if probability is None:
            probability = chance_probability(variance / float(parts.max()), n_rows, parts.size, n_features)
        if probability > EXCLUDED:
            fitted = max(fitted, float(parts.sum()) / variance)
    return float(np.sqrt(fitted))
