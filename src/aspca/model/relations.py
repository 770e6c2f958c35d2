"""Which relations are rules: tight, short and the same for all rows. The others are correlations, and not told."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Bools, Floats
from aspca.linalg.ranking import round_for_ranking
from aspca.model.constants import HOMOGENEOUS, MOST_TERMS, TIGHT
from aspca.model.learn import rank_columns

# Residuals of less than this share of the spread of independent columns are not looked into.
_SURELY_TIGHT = 1e-3
# Exact sums may be longer, as identities may.
_MOST_EXACT_TERMS = 12
# Correlations of ranks that chance makes of few rows, in their standard errors.
_BY_CHANCE = 4.0


def are_rules(loadings: Floats, variances: Floats, exact: Bools, own: Floats, scaled: Floats) -> Bools:
    """Which relations (m,) are rules.

    Parameters
    ----------
    loadings : ndarray of shape (p, m)
    variances : ndarray of shape (m,)
        Of the deviations from them.
    exact : ndarray of shape (m,)
        Which have no noise.
    own : ndarray of shape (p,)
        The variances of the columns.
    scaled : ndarray of shape (n, p)
        Rows, centred and scaled; NaN where a value is missing.
    """
    terms = (loadings != 0.0).sum(axis=0)
    beside = np.square(loadings).T @ own
    tight = variances <= TIGHT**2 * np.where(beside > 0.0, beside, 1.0)
    constant = exact & (terms == 1) & (beside == 0.0)
    chosen = (terms > 1) & (exact & (terms <= _MOST_EXACT_TERMS) | tight & (terms <= MOST_TERMS)) | constant
    ranks = None
    # What is left of the tightest is nothing but how sums were rounded or gaps filled.
    noisy = variances > _SURELY_TIGHT**2 * beside
    for k in np.flatnonzero(chosen & ~exact & noisy).tolist():
        ranks = rank_columns(scaled) if ranks is None else ranks
        used = np.flatnonzero(loadings[:, k])
        deviations = scaled[:, used] @ loadings[used, k]
        chosen[k] = is_homogeneous(deviations, ranks)
        if not chosen[k]:
            # A column in few levels is ranked within these by its own noise: then as the others say that it is.
            again = ranks.copy()
            for j in used.tolist():
                solved = rank_columns(round_for_ranking(scaled[:, [j]] - deviations[:, None] / loadings[j, k]))[:, 0]
                raw, told = (_depends(deviations, one[:, None]) for one in (ranks[:, j], solved))
                again[:, j] = solved if told < raw else ranks[:, j]
            chosen[k] = is_homogeneous(deviations, again)
    return np.asarray(chosen)


def is_homogeneous(deviations: Floats, ranks: Floats) -> bool:
    """Whether neither the mean nor the spread of deviations (n,) depends on the row, by ranks of its columns (n, p)."""
    n = int((~np.isnan(deviations)).sum())
    return n < 3 or _depends(deviations, ranks) <= max(HOMOGENEOUS, _BY_CHANCE / float(np.sqrt(n)))


def _depends(deviations: Floats, ranks: Floats) -> float:
    """The largest correlation of ranks of deviations (n,), or their sizes, with those of columns (n, p)."""
    known = ~np.isnan(deviations)
    own = rank_columns(deviations[known, None])[:, 0]
    both = np.column_stack([own, rank_columns(np.abs(own)[:, None])[:, 0]])
    rows = ranks[known]
    columns = np.hstack([rows, rank_columns(np.abs(rows))])
    both, columns = both - both.mean(axis=0), columns - columns.mean(axis=0)
    sizes = np.sqrt(np.square(both).sum(axis=0))[:, None] * np.sqrt(np.square(columns).sum(axis=0))
    correlations = np.abs(both.T @ columns) / np.where(sizes > 0.0, sizes, 1.0)
    return float(correlations.max(initial=0.0))
