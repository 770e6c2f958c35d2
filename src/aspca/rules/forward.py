"""Short rules by forward selection: each feature regressed on one more of the others at a time, all of them at once.

Where a rule has few terms, what is left of a feature falls off a cliff with the last of them: that many are kept. The
conditional covariances of all pairs of features are updated together, so the cost is a few passes over a (p, p) matrix
a term, whatever the rules: it finds sums of a few columns among thousands, where programs over the whole subspace
(`search`) would take hours. It does not find what no single term hints at.

Notation: R (p, p) the correlations, S_j the terms chosen for feature j, E_ij = cov(i, j | S_j), G_ij = var(i | S_j).
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments.space import ScaledSpace

# From more features that vary than this on, only rules of few terms are looked for (`rules.readable`).
WIDE = 512
# And from this on where there are no more rows than features: any such rows obey as many long rules as rows are
# missing, which take minutes to find (300 rows of 500 features: 70 s) and hide the short ones.
WIDE_OF_FEW_ROWS = 200
# Rules of at most so many terms besides the one that is regressed.
MOST_TERMS = 8
# A rule says something new if this much of it (a sine) is not made up of simpler ones: well above what a refit may
# leave the subspace by.
NEW = 0.25
# What is left of a feature falls by at least this factor with the last term of its rule.
_CLIFF = 3.0
# A feature of which no more than this is left, given the terms so far, adds nothing but rounding.
_NOTHING = 1e-8
# Features that are regressed together: what is kept of them stays in the cache.
_TOGETHER = 32


def finds_short_only(space: ScaledSpace) -> bool:
    """Whether only rules of few terms are looked for."""
    return space.n_varying > (WIDE_OF_FEW_ROWS if space.fitted_to <= space.n_varying else WIDE)


def select_forward(R: Floats, most: int = MOST_TERMS) -> tuple[Floats, Ints]:
    """Vectors Z (p, n), in units of the features' deviations, and the feature (n,) that each regresses.

    Only of features of which a few others leave a third or less. Deterministic: of equal gains the first feature's.
    Rows of R that are constants are zero.
    """
    p = len(R)
    varying = int((np.diag(R) > 0.0).sum())
    terms = np.zeros((min(most, max(varying - 1, 0)), p), dtype=np.intp)
    left = np.ones((len(terms) + 1, p))
    if not len(terms):
        return np.zeros((p, 0)), np.zeros(0, dtype=np.intp)
    for start in range(0, p, _TOGETHER):
        some = np.arange(start, min(start + _TOGETHER, p))
        terms[:, some], left[1:, some] = _selected(R, some, len(terms))
    falls = left[:-1] / left[1:]
    # With later terms by rounding alone: the first of the steepest.
    steepest = np.argmax(falls >= (1.0 - 1e-6) * falls.max(axis=0), axis=0)
    found = np.flatnonzero((falls.max(axis=0) >= _CLIFF) & (np.diag(R) > 0.0))
    Z = np.zeros((p, found.size))
    for k, j in enumerate(found.tolist()):
        S = terms[: steepest[j] + 1, j]
        Z[j, k] = 1.0
        Z[S, k] = -np.linalg.lstsq(R[np.ix_(S, S)], R[S, j], rcond=1e-12)[0]
    return Z, found


def _selected(R: Floats, features: Ints, most: int) -> tuple[Ints, Floats]:
    """Terms (most, k) of k features, in the order they were taken, and what each step leaves of the features."""
    p, k = len(R), features.size
    terms, left = np.zeros((most, k), dtype=np.intp), np.empty((most, k))
    # Row j of E and G: what feature j's terms leave of all features, and of their covariances with it.
    E, G = R[features], np.repeat(np.diag(R)[None, :], k, axis=0)
    each = np.arange(k)
    barred = np.repeat(np.diag(R)[None, :] <= 0.0, k, axis=0)
    barred[each, features] = True
    # How each term, given those before it, goes with all features: (j, step, i), of variance one.
    ways = np.empty((k, most, p))
    for step in range(most):
        chosen = terms[step] = _largest_gain(E, G, barred)
        barred[each, chosen] = True
        before = ways[:, :step]
        way = R[chosen]
        if step:
            way -= (before[each, :, chosen][:, None, :] @ before)[:, 0]
        size = G[each, chosen]
        way /= np.sqrt(np.where(size > _NOTHING, size, 1.0))[:, None]
        way[size <= _NOTHING] = 0.0
        E -= way[each, features][:, None] * way
        G -= np.square(way)
        ways[:, step] = way
        left[step] = np.maximum(E[each, features], np.finfo(np.float64).eps)
    return terms, left


def _largest_gain(E: Floats, G: Floats, barred: Bools) -> Ints:
    """For each feature, the term that takes most of what is left of it (k,)."""
    gain = np.square(E)
    gain /= np.maximum(G, _NOTHING)
    gain[barred | (G <= _NOTHING)] = -1.0
    # Gains that differ in rounding only are equal: the first of them.
    largest = gain.max(axis=1, keepdims=True)
    return np.asarray(np.argmax(gain >= (1.0 - 1e-9) * largest - 1e-300, axis=1))
