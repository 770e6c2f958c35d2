"""Whether a rule is more than chance: how likely unrelated columns hold one that is as tight.

One test for every rule. Of n independent Gaussian rows the residual share of one column regressed on k - 1 unrelated
ones follows Beta((n - k)/2, (k - 1)/2), whatever those others are; the bound adds up over every choice of columns
(`_log_choices`). Each term of a rule may be the one that is regressed, so the likeliest to speak does. What real
columns do otherwise makes rows count for fewer, or tightness for less:

- *Tails*: where a few rows carry a column, their coinciding with another's few is no rare event. Rows count for fewer
  by as much as the largest squared deviation exceeds 2 ln n, which is where that of Gaussian rows lies; and a rule is
  compared with what its columns vary without their largest value, since one row is no relation.
- *Succession*: of columns that follow themselves with lag-one correlations r and s, n rows are worth
  n (1 - rs)/(1 + rs) (Bartlett): one column without a memory is enough. Slow columns share their slow motions by
  chance, but not their quick ones: a rule may instead be as tight as it takes beside the faster half of a column's
  motions, of which there are n/2 (the share of a first-order autoregression's variance above a quarter of the sampling
  rate).
- *Steps*: whole numbers coincide. A column of variance v in units of its steps has at most the entropy
  H = log(2 pi e (v + 1/12))/2 a row, so n rows of it coincide with what k fitted terms say no less often than
  exp(-(n - k) H).
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.moments.blocks import CONTINUOUS
from aspca.moments.space import ScaledSpace

# Chance is excluded below this probability.
EXCLUDED = 0.01


def bound_chances(space: ScaledSpace, loadings: Floats, variances: Floats) -> Floats:
    """A bound on how likely rules as tight as these (m,) are among unrelated columns, each at most 1.

    `loadings` (p, m) are directions of the scaled space, `variances` (m,) those of the training rows along them, never
    below what is resolved. Zero for a rule about one column alone, its categories included.
    """
    return np.array([_chance(space, loading, float(v)) for loading, v in zip(loadings.T, variances, strict=True)])


def _chance(space: ScaledSpace, loading: Floats, variance: float) -> float:
    used = np.flatnonzero((loading != 0.0) & (space.variances > 0.0))
    if len({space.features[j].column for j in used}) <= 1:
        return 0.0
    k = used.size
    unrelated = loading[used] ** 2 * space.variances[used] * space.without_largest[used]
    shares = np.where(unrelated > 0.0, variance / np.where(unrelated > 0.0, unrelated, 1.0), 1.0)
    memory = space.lag1[used]
    rows = space.fitted_to * space.effective_share[used]
    # The slowest of the others is the one that a column may follow by chance.
    slowest, next_slowest = np.sort(memory)[[-1, -2]]
    first = np.arange(k) == int(np.argmax(memory))
    together = memory * np.where(first, next_slowest, slowest)
    motions = space.deviations[used] ** 2
    of_all = _of_rows(shares, rows * (1.0 - together) / (1.0 + together), motions, space.decimals[used])
    quick = _quick_share(memory)
    of_quick = _of_rows(shares / quick, 0.5 * rows, 2.0 * (1.0 - memory) * motions, space.decimals[used])
    likeliest = float(np.where(memory > 0.0, np.minimum(of_all, of_quick), of_all).min())
    return float(np.exp(min(0.0, likeliest + _log_choices(k, space.n_varying))))


def _of_rows(shares: Floats, rows: Floats, variances: Floats, decimals: np.ndarray) -> Floats:
    """Logarithms (k,) of the probability that each term alone is met as closely by the k - 1 others."""
    k = shares.size
    # More decimals than float64 has are no steps.
    stepped = decimals < CONTINUOUS
    steps = np.where(stepped, 10.0 ** -np.minimum(decimals, CONTINUOUS).astype(np.float64), 1.0)
    entropy = np.where(stepped, 0.5 * np.log(2.0 * np.pi * np.e * (variances / steps / steps + 1.0 / 12.0)), np.inf)
    left = np.maximum(rows - k, 0.0)
    coincide = np.where(left > 0.0, -left * np.where(left > 0.0, entropy, 0.0), 0.0)
    return np.asarray(np.maximum(_log_tight(shares, rows, k), coincide))


def _quick_share(memory: Floats) -> Floats:
    """The share of a first-order autoregression's variance above a quarter of the sampling rate."""
    slow = np.maximum(1.0 - memory, np.finfo(np.float64).eps)
    # 1 - 2/pi atan(t), without the difference of nearly equal numbers.
    return np.asarray(2.0 / np.pi * np.arctan(slow / (1.0 + memory)))


def _log_tight(shares: Floats, n_rows: Floats, n_terms: int) -> Floats:
    """Of the probabilities (k,) that one column is met this closely by n_terms - 1 unrelated ones."""
    # A quarter of a second to import, which scoring by a stored model need not wait for.
    from scipy.special import betainc

    left = n_rows - n_terms
    enough = left > 0.0
    alone = betainc(0.5 * np.where(enough, left, 1.0), 0.5 * (n_terms - 1), np.minimum(shares, 1.0))
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(enough, np.log(alone), 0.0))


def _log_choices(n_terms: int, n_features: int) -> float:
    """Of the number of ways to choose one feature and those that it is regressed on."""
    from scipy.special import gammaln

    return float(np.log(n_features) + gammaln(n_features) - gammaln(n_terms) - gammaln(n_features - n_terms + 1))


# ---- how much wider a rule is on rows that it was not fitted to


def measure_widening(projections: Floats, spreads: Floats) -> Floats:
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


def estimate_widening(variance: float, parts: Floats, n_rows: int, probability: float) -> float:
    """The widening to expect of a rule on new rows, from moments alone: for where no rows are held out.

    `variance` is that of the rule over the training rows, `parts` (k,) are those of its terms, each alone:
    coefficient^2 times the feature's variance; `probability` says how likely chance gives as much, see `chances`.

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
    if variance > 0.0 and probability > EXCLUDED:
        fitted = max(fitted, float(parts.sum()) / variance)
    return float(np.sqrt(fitted))
