"""Canonical rules: the sparsest vectors of the abnormal subspace, which need not be orthogonal.

No orthogonal basis holds both `A = B` and `D = C + A`; these rules do, and so *do not split the score*: their shares
overlap and add up to nothing. They are for reading, beside the orthonormal ones.

Notation: V (p, d) the loadings, P = VV' the projector, C the covariance, j the pivot feature of a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack
from scipy.sparse.csgraph import connected_components

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.orientation import ascending, sign_of
from aspca.model.rules import Rule, rules_of, unresolved_variance
from aspca.model.subspace import Certificate

# A term is noise if the rule without it, refitted, varies by at most this much more (a share of the rule's variance).
_NOISE = 0.25
# A refitted rule may leave the subspace by this angle (its sine): the subspace is an estimate too.
_LEAVES = 0.1
# A rule counts as new if this much of it (a sine again) is not made up of the rules before it: well above what a refit
# may leave the subspace by.
_NEW = 0.25
# Two fits on the same features are the same rule if their cosine is above this.
_SAME_RULE = 0.95
# Of the terms that matter least, this many are tried in turn.
_TRIES = 3
# An entry of a linear program's solution below this share of the largest is its rounding.
_ZERO = 1e-7
# A block with more loadings than this takes longer than a quarter of a minute: it keeps its orthogonal rules.
_MOST_LOADINGS = 20_000


def canonical_rules(
    loadings: Floats,
    mean: Floats,
    scale: Floats,
    covariance: Floats,
    names: tuple[str, ...],
    *,
    n_rows: int | None = None,
    certificate: tuple[Certificate, ...] = (),
) -> tuple[Rule, ...]:
    """The canonical rules of the span of `loadings`, with `Rule.canonical` set; arguments as for `rules_of`."""
    vectors = canonical_loadings(loadings, covariance)
    return rules_of(vectors, mean, scale, covariance, names, n_rows=n_rows, certificate=certificate, canonical=True)


def canonical_loadings(loadings: Floats, covariance: Floats) -> Floats:
    """d independent unit vectors (p, d), as sparse as found, that span the same subspace as `loadings` up to its noise.

    For each feature j, a linear program finds the vector of the subspace with entry j equal to one and the lowest l1
    norm in units of the features' deviations. Its terms that are zero up to the rule's own noise are dropped, the rest
    refitted to the least variance. Of all candidates, and the loadings themselves, the sparsest independent ones are
    taken, greedily, clearly independent ones first; of equally sparse ones the tightest.

    Guarantee: independent; no more non-zeros than `loadings`; each within an angle of 0.1 (sine) of the subspace.
    Sparsest vectors are hard to find in general: these are found by convex programs, without a certificate.

    Cost: features that no loading joins are taken apart; a block of q features and c rules takes q linear programs in
    c + 2q variables: about half a second at q = 30, c = 10, and 15 seconds at q = 200, c = 100. A block with more than
    20,000 loadings (q times c) keeps its orthogonal rules.
    """
    vectors = np.zeros(loadings.shape)
    for rows, columns in _blocks(loadings):
        V, C = loadings[np.ix_(rows, columns)], covariance[np.ix_(rows, rows)]
        vectors[np.ix_(rows, columns)] = _sparsest_basis(V, C) if V.size <= _MOST_LOADINGS else V
    vectors = vectors * np.array([sign_of(column) for column in vectors.T])
    variance = np.einsum("ij,ij->j", vectors, covariance @ vectors)
    order = ascending(variance, vectors, unit=float(np.trace(covariance)) / covariance.shape[0])
    return np.ascontiguousarray(vectors[:, order])


def _blocks(V: Floats) -> list[tuple[Ints, Ints]]:
    """Rows and columns of V that hang together through its non-zeros."""
    p, d = V.shape
    pattern = csr_array(V != 0)
    joined = vstack([hstack([csr_array((p, p)), pattern]), hstack([pattern.T, csr_array((d, d))])])
    _, label = connected_components(joined, directed=False)
    return [(np.flatnonzero(label[:p] == block), np.flatnonzero(label[p:] == block)) for block in np.unique(label[p:])]


def _sparsest_basis(V: Floats, C: Floats) -> Floats:
    """Canonical vectors of one block."""
    deviations = np.sqrt(np.diag(C))
    # A constant costs something too: there is no reason to name it in another rule.
    weights = np.where(deviations > 0.0, deviations, deviations.mean() or 1.0)
    found = [(column, int(np.argmax(np.abs(column) * weights))) for column in V.T]
    # A line holds one vector only: nothing to search.
    for pivot in np.flatnonzero(np.linalg.norm(V, axis=1) > _ZERO) if V.shape[1] > 1 else ():
        vector = _lowest_norm(V, weights, int(pivot))
        if vector is not None:
            found.append((vector, int(pivot)))
    candidates = [*V.T, *(_without_noise(vector, V, C, pivot) for vector, pivot in found)]
    chosen = _independent(np.column_stack(candidates), V, C)
    return chosen if (chosen != 0).sum() <= (V != 0).sum() else V


def _lowest_norm(V: Floats, weights: Floats, pivot: int) -> Floats | None:
    """The vector Vq of least weighted l1 norm with entry `pivot` equal to one; None if the solver gives up."""
    p, d = V.shape
    # Vq - above + below = 0, above and below >= 0.
    zero = hstack([csr_array(V), -eye_array(p), eye_array(p)])
    one = csr_array(np.concatenate([V[pivot], np.zeros(2 * p)])[None, :])
    # Sparse, which the stubs do not know.
    equations: Any = vstack([zero, one])
    right = np.zeros(p + 1)
    right[p] = 1.0
    done = linprog(
        np.concatenate([np.zeros(d), weights, weights]),
        A_eq=equations,
        b_eq=right,
        bounds=[(None, None)] * d + [(0.0, None)] * (2 * p),
        method="highs-ds",
    )
    if done.x is None:
        return None
    vector = V @ done.x[:d]
    moved = np.abs(vector) * weights
    return np.asarray(np.where(moved > _ZERO * moved.max(), vector, 0.0))


def _without_noise(vector: Floats, V: Floats, C: Floats, pivot: int) -> Floats:
    """A vector without the terms that are zero up to its noise, the others refitted; of unit length.

    The refit regresses the pivot on the other features: of all coefficients, the ones of least variance.
    """
    vector = vector / vector[pivot]
    kept = np.flatnonzero(vector)
    kept = kept[kept != pivot]
    w = _regressed(C, pivot, kept)
    if kept.size == 0 or not _inside(w, V):
        return np.asarray(vector / np.linalg.norm(vector))
    floor = unresolved_variance(np.abs(w), C)
    least = max(float(w @ C @ w), floor)
    most = (1.0 + _NOISE) * min(max(float(vector @ C @ vector), floor), 2.0 * least)
    while kept.size:
        for dropped in _by_loss(w, C, kept):
            fewer = np.delete(kept, dropped)
            refitted = _regressed(C, pivot, fewer)
            if float(refitted @ C @ refitted) <= most and _inside(refitted, V):
                kept, w = fewer, refitted
                break
        else:
            break
    balanced = _balanced(w, C)
    w = balanced if _inside(balanced, V) else w
    return np.asarray(w / np.linalg.norm(w))


def _balanced(w: Floats, C: Floats) -> Floats:
    """The rule of least variance on the same features that prefers none of them, if it is still the same rule.

    A regression takes all noise to be the pivot's, which shrinks the other coefficients. The lowest eigenvector of the
    correlations shares the noise out.
    """
    support = np.flatnonzero(w)
    deviations = np.sqrt(np.diag(C)[support])
    if support.size == 1 or deviations.min() == 0.0:
        return w
    correlation = C[np.ix_(support, support)] / deviations[:, None] / deviations
    lowest = np.linalg.eigh(correlation)[1][:, 0]
    moved = w[support] * deviations
    if abs(float(lowest @ moved)) < _SAME_RULE * float(np.linalg.norm(moved)):
        return w
    balanced = np.zeros(w.size)
    balanced[support] = lowest / deviations
    return np.asarray(balanced / np.abs(balanced).max(), dtype=np.float64)


def _ridged(C: Floats, kept: Ints) -> Floats:
    """C on the features kept, made definite by what rounding leaves open: duplicates share their coefficient."""
    G = C[np.ix_(kept, kept)]
    size = np.diag(G)
    G[np.diag_indices_from(G)] += 4.0 * C.shape[0] * np.finfo(np.float64).eps * np.where(size > 0.0, size, 1.0)
    return G


def _regressed(C: Floats, pivot: int, kept: Ints) -> Floats:
    w = np.zeros(C.shape[0])
    w[pivot] = 1.0
    w[kept] = -np.linalg.solve(_ridged(C, kept), C[kept, pivot])
    return w


def _by_loss(w: Floats, C: Floats, kept: Ints) -> Iterator[Ints]:
    """What to drop next, as positions: the terms whose loss raises the variance least, all, half, a quarter of them...

    Then the next few, one by one: the first may be the one that keeps the rule in the subspace.
    """
    loss = w[kept] ** 2 / np.diag(np.linalg.inv(_ridged(C, kept)))
    order = np.argsort(loss, kind="stable")
    many = kept.size
    while many:
        yield order[:many]
        many //= 2
    yield from order[1:_TRIES, None]


def _inside(w: Floats, V: Floats) -> bool:
    return bool(np.linalg.norm(w - V @ (V.T @ w)) <= _LEAVES * np.linalg.norm(w))


def _independent(candidates: Floats, V: Floats, C: Floats) -> Floats:
    """The sparsest independent candidates, as many as V has columns; the tightest of equally sparse ones."""

    def simplicity(k: int) -> tuple[int, float, list[int]]:
        w = candidates[:, k]
        support = np.flatnonzero(w)
        widest = float((w**2 * np.diag(C)).max())
        variance = max(float(w @ C @ w), unresolved_variance(np.abs(w), C))
        # Three digits: what differs by less is the same rule, and the features that come first have it.
        return support.size, float(f"{variance / widest:.2e}") if widest > 0.0 else 0.0, support.tolist()

    coordinates = V.T @ candidates
    coordinates /= np.linalg.norm(coordinates, axis=0)
    order = sorted(range(candidates.shape[1]), key=simplicity)
    basis = np.zeros((V.shape[1], 0))
    chosen: list[int] = []
    new = _NEW
    while len(chosen) < V.shape[1]:
        for k in order:
            rest = coordinates[:, k] - basis @ (basis.T @ coordinates[:, k])
            size = float(np.linalg.norm(rest))
            if size > new and len(chosen) < V.shape[1]:
                chosen.append(k)
                basis = np.column_stack([basis, rest / size])
        # The columns of V are candidates: of d, one always has 1 / sqrt(d) left.
        new *= 0.5
    return candidates[:, chosen]
