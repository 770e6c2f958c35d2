"""From a vector of a subspace to a rule: terms that are zero up to the rule's own noise dropped, the rest refitted.

Notation: V (p, d) an orthonormal basis of the subspace, C the covariance, j the pivot feature of a vector.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.subspace.space import unresolved_variance

# A term is noise if the rule without it, refitted, varies by at most this much more (a share of the rule's variance).
_NOISE = 0.25
# A refitted rule may leave the subspace by this angle (its sine): the subspace is an estimate too.
_LEAVES = 0.1
# Two fits on the same features are the same rule if their cosine is above this.
_SAME_RULE = 0.95
# Of the terms that matter least, this many are tried in turn.
_TRIES = 3


def without_noise(vector: Floats, V: Floats, C: Floats, pivot: int) -> Floats:
    """A vector without the terms that are zero up to its noise, the others refitted; of unit length.

    The refit regresses the pivot on the other features: of all coefficients, the ones of least variance.
    """
    vector = vector / vector[pivot]
    kept = np.flatnonzero(vector)
    kept = kept[kept != pivot]
    w = _regressed(C, pivot, kept)
    if kept.size == 0 or not inside(w, V):
        return np.asarray(vector / np.linalg.norm(vector))
    floor = unresolved_variance(np.abs(w), C)
    least = max(float(w @ C @ w), floor)
    most = (1.0 + _NOISE) * min(max(float(vector @ C @ vector), floor), 2.0 * least)
    while kept.size:
        for dropped in _by_loss(w, C, kept):
            fewer = np.delete(kept, dropped)
            refitted = _regressed(C, pivot, fewer)
            if float(refitted @ C @ refitted) <= most and inside(refitted, V):
                kept, w = fewer, refitted
                break
        else:
            break
    balanced = _balanced(w, C)
    w = balanced if inside(balanced, V) else w
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


def inside(w: Floats, V: Floats) -> bool:
    """Whether a vector leaves the span of the orthonormal V by no more than an angle of 0.1 (its sine)."""
    return bool(np.linalg.norm(w - V @ (V.T @ w)) <= _LEAVES * np.linalg.norm(w))
