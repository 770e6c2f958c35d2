"""Readable rules: the sparsest vectors of the abnormal subspace, which need not be orthogonal; the tightest first.

No orthogonal basis holds both `A = B` and `D = C + A`; these rules do.

Notation: V (p, d) the eigenvectors of least variance, C the covariance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from aspca.linalg.arrays import Bools, Floats, Ints, ascending, sign_of
from aspca.moments.space import unresolved_variances
from aspca.rules.forward import MOST_TERMS, NEW, select_forward
from aspca.rules.refit import Candidate, Pool, Refit, make_candidate
from aspca.rules.search import Search

_EPS = float(np.finfo(np.float64).eps)
# Where the variances of the subspace's own directions, ascending, rise by this factor, a level of tightness ends.
# Measured: with 10, planted rules are missed where loose directions are just 10 times looser; with 3, one level of
# rules falls apart.
_GAP = 5.0
# Entries of a projector below this are rounding.
_APART = 1e-9
# The levels below the whole may together hold so many loadings, or as many as the whole: each takes its own search.
_MOST_LOADINGS = 20_000


class ReadableBasis(NamedTuple):
    """Readable rules as vectors."""

    loadings: Floats  # (p, d) Independent, of unit length, the tightest first.
    # (d,) False where a rule is one of the orthonormal loadings handed in (its part on features that hang together),
    # because nothing simpler was found in its place.
    sparsest: Bools


def find_readable_basis(loadings: Floats, covariance: Floats, rows: float = float("inf")) -> ReadableBasis:
    """d independent unit vectors, as sparse as found, that span the same subspace as `loadings` up to its noise.

    `loadings` (p, d) are eigenvectors of the covariance, and `rows` says how many rows this rests on: of few, vectors
    on many features look tighter than they are.

    Programs find vectors of the subspace with few features (`search`); their terms that are zero up to the rule's own
    noise are dropped and the rest refitted (`refit`). Of these candidates the simplest independent ones are taken,
    greedily: one feature more is worth a tenth of the variance.

    Levels: where the subspace holds directions much tighter than the rest (a gap of 5 between the eigenvalues of V'CV;
    exact dependencies are a level of their own), rules of the tight part come first, and the sparsest vectors of the
    whole complete them. So a subspace larger than its rules still shows them, and totals, duplicates and constants
    come out exact beside loose rules.

    Guarantee: independent; each within an angle of 0.1 (sine) of the subspace; a function of the span alone, unless
    some of the loadings are simpler than what was found: then these are kept. An exact rule has only terms without
    which it is not exact, and coefficients as accurate as the covariance. No random numbers.
    Sparsest vectors are hard to find in general: these are found by local methods, without a certificate.

    Cost: parts of the subspace that share no feature are taken apart. On one core a part of 100 features takes 0.2 to
    0.5 seconds, one of 200 0.5 to 2.5, one of 400 2 to 16, the more the fewer sparse vectors there are. A rule that
    was found has at most q - c + 1 of a part's q features, c its rules: any subspace has such vectors.
    """
    p = covariance.shape[0]
    vectors: list[Floats] = []
    sparsest: list[bool] = []
    linked = np.abs(loadings @ loadings.T) > _APART
    _, label = connected_components(csr_array(linked.astype(np.int64)), directed=False)
    for number in range(int(label.max()) + 1):
        # Features that hang together through the projector on the span, where these have any.
        block = np.flatnonzero(label == number)
        if linked[block, block].any():
            for one, w in _rules_of_block(loadings[block], covariance[np.ix_(block, block)], rows):
                vector = np.zeros(p)
                vector[block] = w
                vectors.append(vector * sign_of(vector))
                sparsest.append(one.given < 0)
    W, order = _in_order(np.column_stack(vectors), covariance)
    return ReadableBasis(W, np.array(sparsest)[order])


def _in_order(W: Floats, C: Floats) -> tuple[Floats, Ints]:
    """Vectors (p, m), the tightest first, and their order."""
    variance = np.einsum("ij,ij->j", W, C @ W)
    order = ascending(variance, W, unit=float(np.trace(C)) / len(C))
    return np.ascontiguousarray(W[:, order]), order


def _deviations(C: Floats) -> Floats:
    deviations = np.sqrt(np.diag(C))
    # A constant costs something too: there is no reason to name it in another rule.
    return np.asarray(np.where(deviations > 0.0, deviations, deviations.mean() or 1.0))


def _rules_of_block(V: Floats, C: Floats, rows: float) -> list[tuple[Candidate, Floats]]:
    """Rules of features that hang together, and their unit vectors; V (q, d) are rows of the loadings."""
    weights = _deviations(C)
    lengths = np.linalg.norm(V, axis=0)
    # A column of several blocks: its part in each lies in the subspace too.
    given = V[:, lengths > _APART] / lengths[lengths > _APART]
    # Of the subspace the part that lives on these features, and on no others.
    values, directions = np.linalg.eigh(V @ V.T)
    chosen = _by_levels(directions[:, values > 0.5], given, C, weights, rows)
    return [(one, w / np.linalg.norm(w)) for one in chosen for w in [one.z / weights]]


def _by_levels(Q: Floats, given: Floats, C: Floats, weights: Floats, rows: float) -> list[Candidate]:
    """Rules of the span of Q (q, c), those of the tightest directions first."""
    q, d = Q.shape
    R = C / np.outer(weights, weights)
    variances, rotation = np.linalg.eigh(Q.T @ C @ Q)
    V = Q @ rotation
    # Per direction, the variance that rounding may show.
    floors = np.maximum(unresolved_variances(V, C), 4.0 * q * _EPS * float(np.square(_deviations(C)).mean()))
    exact = int((variances <= floors).sum())
    pool = Pool()
    kept: list[Candidate] = []
    for end in _levels(np.maximum(variances, floors), exact, q):
        level, last = V[:, :end], end == d
        refit = Refit(R, weights, level, rows)
        # What completes a basis if nothing else does.
        fill = [make_candidate(z, refit, given=k) for k, z in enumerate((given if last else level).T * weights)]
        kept = Search(level, refit, pool, kept, fill).run()
        if not last:
            # As many features as a vector of any such subspace has: no rule of this level, but perhaps of the next.
            kept = [one for one in kept if one.given < 0 and (end <= exact or len(one.support) <= q - end)]
    return kept


def _levels(variances: Floats, exact: int, q: int) -> list[int]:
    """Where levels of tightness end, the last at d; the clearest gaps, as long as the levels of q features stay small.

    The first `exact` variances are rounding: their level ends there, and none before.
    """
    d = variances.size
    rise = variances[1:] / variances[:-1]
    rise[: max(exact - 1, 0)] = 1.0
    if 0 < exact < d:
        rise[exact - 1] = np.inf
    ends: list[int] = []
    for k in np.argsort(-rise, kind="stable"):
        if rise[k] >= _GAP and sum(ends) + k + 1 <= max(d, _MOST_LOADINGS // q):
            ends.append(int(k) + 1)
    return [*sorted(ends), d]


# ---- wide tables


def find_short_loadings(covariance: Floats, most_variance: float, rows: float) -> Floats:
    """What forward selection finds in a wide table, the simplest independent rules, and nothing to fill up with.

    Independent unit vectors (p, m) on at most 9 features each, the tightest first; constants are rules as well. None
    varies by more than `most_variance`; the covariance rests on so many rows. A basis of the sparsest vectors takes
    minutes to find, and nobody could read what it holds beside short rules: what no short rule speaks of lies outside
    of the rules, and is judged there.
    """
    p = len(covariance)
    weights = _deviations(covariance)
    R = covariance / np.outer(weights, weights)
    refit = Refit(R, weights, None, rows)
    pool = Pool()
    for j in np.flatnonzero(np.sqrt(np.diag(covariance)) <= np.sqrt(most_variance)):
        pool.add(make_candidate(np.eye(1, p, int(j))[0], refit))
    vectors, pivots = select_forward(R)
    for z, pivot in zip(vectors.T, pivots.tolist(), strict=True):
        rule = refit.without_noise(z, pivot)
        if rule is not None and np.count_nonzero(rule) <= MOST_TERMS + 1:
            pool.add(make_candidate(rule, refit))
    loadings = [one.z / weights for one in _independent(pool)]
    W = np.array([w / np.linalg.norm(w) * sign_of(w) for w in loadings]).reshape(-1, p).T
    variance = np.einsum("ij,ij->j", W, covariance @ W)
    return _in_order(W[:, variance <= most_variance], covariance)[0]


def _independent(pool: Pool) -> list[Candidate]:
    """The simplest first, each that is not made up of those before it."""
    ordered = sorted(pool.values(), key=lambda one: (one.cost, one.support))
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
        if size > NEW:
            basis[len(chosen)] = rest / size
            chosen.append(one)
    return chosen
