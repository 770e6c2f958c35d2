"""Canonical rules: the sparsest vectors of the abnormal subspace, which need not be orthogonal; the tightest first.

No orthogonal basis holds both `A = B` and `D = C + A`; these rules do, and so *do not split the score*: their shares
overlap and add up to nothing. They are for reading, beside the orthonormal ones.

Notation: V (p, d) the loadings, P = VV' the projector, C the covariance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack
from scipy.sparse.csgraph import connected_components

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.orientation import ascending, sign_of
from aspca.rules.refit import inside, without_noise
from aspca.rules.search import sparsest
from aspca.subspace.space import unresolved_variance

# Where the variances of the subspace's own directions, ascending, rise by this factor, a level of tightness ends.
# Measured: with 10, planted rules are missed where loose directions are just 10 times looser; with 3, one level of
# rules falls apart.
_GAP = 5.0
# A rule counts as new if this much of it (a sine) is not made up of the rules before it: well above what a refit may
# leave the subspace by.
_NEW = 0.25
# Entries of a projector below this are rounding.
_APART = 1e-9
# A block with more loadings than this takes longer than half a minute: it keeps its orthogonal rules.
_MOST_LOADINGS = 20_000


def canonical_loadings(loadings: Floats, covariance: Floats) -> Floats:
    """d independent unit vectors (p, d), as sparse as found, that span the same subspace as `loadings` up to its noise.

    Linear programs find vectors of the subspace with few features (`canonical_search`); their terms that are zero up
    to the rule's own noise are dropped and the rest refitted (`canonical_refit`). Of these candidates the simplest
    independent ones are taken, greedily: one feature more is worth a tenth of the variance.

    Levels: where the subspace holds directions much tighter than the rest (a gap of 5 between the eigenvalues of V'CV;
    exact dependencies are a level of their own), rules of the tight part come first, and the sparsest vectors of the
    whole complete them. So a subspace larger than its rules still shows them, and totals, duplicates and constants
    come out exact beside loose rules.

    Guarantee: independent; each within an angle of 0.1 (sine) of the subspace; a function of the span alone, unless the
    loadings themselves are simpler altogether than all that was found: then they are kept.
    Sparsest vectors are hard to find in general: these are found by convex programs, without a certificate.

    Cost: parts of the subspace that share no feature are taken apart. A part of q features and c rules takes at most 3q
    linear programs of c rows and q + 1 columns (1.5q at q = 200, c = 100), and its lower levels together at most as
    much again: 0.3 seconds at q = 30, c = 10, and 20 seconds at q = 200, c = 100. A part with more than 20,000 loadings
    (q times c) keeps its orthogonal rules.
    """
    vectors = np.zeros(loadings.shape)
    for rows, columns in _blocks(loadings != 0):
        V, C = loadings[np.ix_(rows, columns)], covariance[np.ix_(rows, rows)]
        vectors[np.ix_(rows, columns)] = _simplest_basis(V, C)
    vectors = vectors * np.array([sign_of(column) for column in vectors.T])
    variance = np.einsum("ij,ij->j", vectors, covariance @ vectors)
    order = ascending(variance, vectors, unit=float(np.trace(covariance)) / covariance.shape[0])
    return np.ascontiguousarray(vectors[:, order])


def _blocks(pattern: NDArray[np.bool_]) -> list[tuple[Ints, Ints]]:
    """Rows and columns that hang together through a pattern's non-zeros, where there are columns."""
    p, d = pattern.shape
    links = csr_array(pattern)
    joined = vstack([hstack([csr_array((p, p)), links]), hstack([links.T, csr_array((d, d))])])
    _, label = connected_components(joined, directed=False)
    return [(np.flatnonzero(label[:p] == block), np.flatnonzero(label[p:] == block)) for block in np.unique(label[p:])]


def _simplest_basis(V: Floats, C: Floats) -> Floats:
    """Canonical vectors of the span of V, by the parts of it that share no feature; V itself if it is simpler."""
    projector = V @ V.T
    parts = []
    for rows, _ in _blocks(np.abs(projector) > _APART):
        values, directions = np.linalg.eigh(projector[np.ix_(rows, rows)])
        Q = directions[:, values > 0.5]
        if Q.size > _MOST_LOADINGS:
            return V
        part = np.zeros((V.shape[0], Q.shape[1]))
        if Q.size:
            part[rows] = _by_levels(Q, C[np.ix_(rows, rows)])
        parts.append(part)
    chosen = np.column_stack(parts)
    weights = _weights(C)
    complexity = [sum(_simplicity(w, C, weights)[0] for w in basis.T) for basis in (chosen, V)]
    return chosen if chosen.shape == V.shape and complexity[0] <= complexity[1] else V


def _weights(C: Floats) -> Floats:
    deviations = np.sqrt(np.diag(C))
    # A constant costs something too: there is no reason to name it in another rule.
    return np.asarray(np.where(deviations > 0.0, deviations, deviations.mean() or 1.0))


def _by_levels(Q: Floats, C: Floats) -> Floats:
    """Canonical vectors of the span of Q (q, d), those of the tightest directions first."""
    q, d = Q.shape
    weights = _weights(C)
    variances, rotation = np.linalg.eigh(Q.T @ C @ Q)
    V = Q @ rotation
    if d == 1:
        return without_noise(V[:, 0], V, C, int(np.argmax(np.abs(V[:, 0]) * weights)))[:, None]
    unresolved = np.array([unresolved_variance(np.abs(column), C) for column in V.T])
    least = 4.0 * q * np.finfo(np.float64).eps * float((weights**2).mean())
    exact = int((variances <= np.maximum(unresolved, least)).sum())
    pool: list[Floats] = []
    chosen = np.zeros((q, 0))
    for end in _levels(np.maximum(variances, np.maximum(unresolved, least)), exact):
        level, kept = V[:, :end], chosen

        def choose(candidates: list[Floats], level: Floats = level, kept: Floats = kept) -> Floats:
            return _independent(candidates, level, C, weights, kept)

        pool = sparsest(level, C, weights, pool, kept.shape[1], choose)
        pool += _twins(choose(pool), level, C, weights)
        chosen = choose(pool)
        if exact < end < d:
            # As many features as a vector of any such subspace has: no rule of this level, but perhaps of the next.
            chosen = chosen[:, (chosen != 0).sum(axis=0) <= q - end]
    return chosen


def _twins(chosen: Floats, V: Floats, C: Floats, weights: Floats) -> list[Floats]:
    """Rules as sparse as a chosen one, with a feature exchanged by another: beside A = B, D = B + C is D = A + C.

    Linear programs see no difference between them; one of them is the tighter.
    """
    sizes = (chosen != 0).sum(axis=0)
    pairs = np.flatnonzero(sizes == 2)
    twins = []
    for k in np.flatnonzero(sizes > 2):
        for pair in pairs:
            for j in np.flatnonzero((chosen[:, k] != 0) & (chosen[:, pair] != 0)):
                w = chosen[:, k] - chosen[j, k] / chosen[j, pair] * chosen[:, pair]
                w[j] = 0.0
                if 0 < np.count_nonzero(w) <= sizes[k]:
                    twin = without_noise(w, V, C, int(np.argmax(np.abs(w) * weights)))
                    # Both may leave the subspace a little, and their difference more than that.
                    if inside(twin, V):
                        twins.append(twin)
    return twins


def _levels(variances: Floats, exact: int) -> list[int]:
    """Where levels of tightness end, the last at d; the clearest gaps, as long as all levels together hold 2d vectors.

    The first `exact` variances are rounding: their level ends there, and none before.
    """
    d = variances.size
    rise = variances[1:] / variances[:-1]
    rise[: max(exact - 1, 0)] = 1.0
    if 0 < exact < d:
        rise[exact - 1] = np.inf
    ends: list[int] = []
    for k in np.argsort(-rise, kind="stable"):
        if rise[k] >= _GAP and sum(ends) + k + 1 <= d:
            ends.append(int(k) + 1)
    return [*sorted(ends), d]


def _simplicity(w: Floats, C: Floats, weights: Floats) -> tuple[float, list[int]]:
    """Features plus decades of variance, as a share of the largest term's; then the features that come first."""
    support = np.flatnonzero(w)
    widest = float(np.square(w * weights).max())
    variance = float(w @ C @ w)
    # Exact rules are equally tight, whatever rounding says; of others, what differs in three digits only is the same.
    exact = variance <= max(unresolved_variance(np.abs(w), C), np.finfo(np.float64).eps * widest)
    share = np.finfo(np.float64).eps if exact else float(f"{variance / widest:.2e}")
    return support.size + float(np.log10(share)), support.tolist()


def _independent(candidates: list[Floats], V: Floats, C: Floats, weights: Floats, kept: Floats) -> Floats:
    """The vectors `kept` and the simplest candidates independent of them, as many as V has columns."""
    d = V.shape[1]
    chosen: list[Floats] = []
    basis = np.zeros((d, 0))

    def take(w: Floats, new: float) -> None:
        nonlocal basis
        inside = V.T @ w
        inside = inside / np.linalg.norm(inside)
        rest = inside - basis @ (basis.T @ inside)
        size = float(np.linalg.norm(rest))
        if size > new and len(chosen) < d:
            chosen.append(w)
            basis = np.column_stack([basis, rest / size])

    for w in kept.T:
        take(w, 0.0)
    ordered = sorted(candidates, key=lambda w: _simplicity(w, C, weights))
    new = _NEW
    while len(chosen) < d:
        for w in ordered:
            take(w, new)
        # The columns of V are candidates: of d, one always has 1 / sqrt(d) left.
        new *= 0.5
    return np.column_stack(chosen)
