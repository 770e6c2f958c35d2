"""Short rules of wide tables: what forward selection finds, the simplest independent ones, and nothing to fill up with.

Of more features than `WIDE` a basis of the sparsest vectors takes minutes to find, and what it holds beside short rules
nobody could read. What no short rule speaks of lies outside of the rules, and is judged there.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.linalg.ranking import ascending, sign_of
from aspca.rules.choice import Candidate, Pool, candidate
from aspca.rules.forward import MOST_TERMS, forward_vectors
from aspca.rules.refit import Refit

# A rule says something new if this much of it (a sine) is not made up of simpler ones, as in `rules.choice`.
_NEW = 0.25


def short_loadings(covariance: Floats, most_variance: float, rows: float) -> Floats:
    """Independent unit vectors (p, m) on at most 9 features each, the tightest first; constants are rules as well.

    Parameters
    ----------
    covariance : ndarray of shape (p, p)
    most_variance : float
        None of them varies by more.
    rows : float
        How many rows it rests on.
    """
    p = len(covariance)
    deviations = np.sqrt(np.diag(covariance))
    weights = np.where(deviations > 0.0, deviations, deviations.mean() or 1.0)
    R = covariance / np.outer(weights, weights)
    refit = Refit(R, weights, (), rows)
    pool = Pool()
    for j in np.flatnonzero(deviations <= np.sqrt(most_variance)):
        pool.add(candidate(np.eye(1, p, int(j))[0], refit))
    vectors, pivots = forward_vectors(R)
    for z, pivot in zip(vectors.T, pivots.tolist(), strict=True):
        rule = refit.without_noise(z, pivot)
        if rule is not None and np.count_nonzero(rule) <= MOST_TERMS + 1:
            pool.add(candidate(rule, refit))
    loadings = [one.z / weights for one in _independent(pool.candidates)]
    W = np.array([w / np.linalg.norm(w) * sign_of(w) for w in loadings]).reshape(-1, p).T
    variance = np.einsum("ij,ij->j", W, covariance @ W)
    W, variance = W[:, variance <= most_variance], variance[variance <= most_variance]
    return np.ascontiguousarray(W[:, ascending(variance, W, unit=float(np.trace(covariance)) / p)])


def _independent(candidates: list[Candidate]) -> list[Candidate]:
    """The simplest first, each that is not made up of those before it."""
    ordered = sorted(candidates, key=lambda one: (one.cost, one.support))
    chosen: list[Candidate] = []
    basis = np.zeros((len(ordered), ordered[0].z.size if ordered else 0))
    for one in ordered:
        known, used = basis[: len(chosen)], list(one.support)
        rest = one.z / np.linalg.norm(one.z)
        # Most share features with a few others only.
        along = known[:, used] @ rest[used]
        near = np.flatnonzero(along)
        if near.size:
            known = known[near]
            rest = rest - along[near] @ known
            # Once more: what rounding left along them.
            rest = rest - (known @ rest) @ known
        size = float(np.linalg.norm(rest))
        if size > _NEW:
            basis[len(chosen)] = rest / size
            chosen.append(one)
    return chosen
