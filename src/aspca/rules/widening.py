"""Whether a rule is more than chance: how much wider it is on rows that it was not fitted to."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats

# Chance is excluded below this probability.
_EXCLUDED = 0.01


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


def expected_widening(variance: float, parts: Floats, n_rows: int, n_features: int) -> float:
    """The widening to expect of a rule on new rows, from moments alone: for where no rows are held out.

    Parameters
    ----------
    variance : float
        Of the rule, over the training rows.
    parts : ndarray of shape (k,)
        Variances of its terms, each alone: coefficient^2 times the feature's variance.
    n_rows, n_features : int
        What it was fitted to, and chosen from.

    Notes
    -----
    Two effects of few rows. *Fitted coefficients*: for Gaussian rows and one feature regressed on the m = k - 1 others,
    the expected squared error on a new row over that on the training rows is (n + 1)(n - 2) / ((n - m - 1)(n - m - 2)):
    what leaving rows out gives on average, without the rows. *Chosen features*: if `chance_probability` cannot exclude
    that the best choice among unrelated features is as tight, the rule may be nothing but that choice, and new rows
    would show the variance of unrelated terms, the sum of `parts`. The larger effect counts. Infinite for n <= m + 2.
    """
    m = parts.size - 1
    if n_rows <= m + 2:
        return float("inf")
    fitted = (n_rows + 1.0) * (n_rows - 2.0) / ((n_rows - m - 1.0) * (n_rows - m - 2.0))
    if variance > 0.0:
        probability = chance_probability(variance / float(parts.max()), n_rows, parts.size, n_features)
        if probability > _EXCLUDED:
            fitted = max(fitted, float(parts.sum()) / variance)
    return float(np.sqrt(fitted))


def chance_probability(share: float, n_rows: int, n_terms: int, n_features: int) -> float:
    """A bound on how likely the best rule of `n_terms` among `n_features` unrelated features is this tight.

    `share` is the rule's variance over that of its widest term. For independent Gaussian features the residual share of
    one regressed on k - 1 others is Beta((n - k)/2, (k - 1)/2); the bound adds up over every choice of features. It is
    about *independent* rows: successive measurements count for fewer. One feature alone relates to nothing, so chance
    has no part in it: 0.
    """
    if n_terms <= 1:
        return 0.0
    if n_rows <= n_terms:
        return 1.0
    # A quarter of a second to import, which scoring by a stored model need not wait for.
    from scipy.special import betainc, gammaln

    alone = float(betainc(0.5 * (n_rows - n_terms), 0.5 * (n_terms - 1), min(share, 1.0)))
    if alone <= 0.0:
        return 0.0
    ways = np.log(n_features) + gammaln(n_features) - gammaln(n_terms) - gammaln(n_features - n_terms + 1)
    return float(np.exp(min(0.0, np.log(alone) + ways)))
