"""Readable rules: the sparsest vectors of the abnormal subspace, which need not be orthogonal; the tightest first.

No orthogonal basis holds both `A = B` and `D = C + A`; these rules do.

Notation: V (p, d) the loadings, P = VV' the projector, C the covariance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.ranking import ascending, sign_of
from aspca.moments.space import unresolved_variances
from aspca.rules.anchor import anchored
from aspca.rules.choice import Candidate, Pool, candidate, independent
from aspca.rules.refit import Refit
from aspca.rules.search import search

_EPS = float(np.finfo(np.float64).eps)
# Where the variances of the subspace's own directions, ascending, rise by this factor, a level of tightness ends.
# Measured: with 10, planted rules are missed where loose directions are just 10 times looser; with 3, one level of
# rules falls apart.
_GAP = 5.0
# Entries of a projector below this are rounding.
_APART = 1e-9
# The levels below the whole may together hold so many loadings, or as many as the whole: each takes its own search.
_MOST_LOADINGS = 20_000


@dataclass(frozen=True, eq=False)
class ReadableBasis:
    """Readable rules as vectors.

    Attributes
    ----------
    loadings : ndarray of shape (p, d)
        Independent, of unit length, the tightest first.
    sparsest : ndarray of bool, shape (d,)
        False where a rule is one of the orthonormal loadings handed in (its part on features that hang together),
        because nothing simpler was found in its place.
    """

    loadings: Floats
    sparsest: Bools


def readable_loadings(loadings: Floats, covariance: Floats) -> Floats:
    """The loadings (p, d) of `readable_basis`."""
    return readable_basis(loadings, covariance).loadings


def readable_basis(loadings: Floats, covariance: Floats, rows: float = float("inf")) -> ReadableBasis:
    """d independent unit vectors, as sparse as found, that span the same subspace as `loadings` up to its noise.

    Parameters
    ----------
    loadings : ndarray of shape (p, d)
        Orthonormal.
    covariance : ndarray of shape (p, p)
    rows : float
        How many rows it rests on: of few, vectors on many features look tighter than they are.

    Programs find vectors of the subspace with few features (`search`); their terms that are zero up to the rule's own
    noise are dropped and the rest refitted (`refit`). Of these candidates the simplest independent ones are taken,
    greedily (`choice`): one feature more is worth a tenth of the variance.

    Levels: where the subspace holds directions much tighter than the rest (a gap of 5 between the eigenvalues of V'CV;
    exact dependencies are a level of their own), rules of the tight part come first, and the sparsest vectors of the
    whole complete them. So a subspace larger than its rules still shows them, and totals, duplicates and constants
    come out exact beside loose rules. What is tight is asked of the covariance where the subspace lies beside it by
    an angle that a rule may have (`anchor`).

    Guarantee: independent; each within an angle of 0.1 (sine) of the subspace; a function of the span alone, unless
    some of the loadings are simpler than what was found: then these are kept. An exact rule has only terms without
    which it is not exact, and coefficients as accurate as the covariance. No random numbers.
    Sparsest vectors are hard to find in general: these are found by local methods, without a certificate.

    Cost: parts of the subspace that share no feature are taken apart. On one core a part of 100 features takes 0.2 to
    0.5 seconds, one of 200 0.5 to 2.5, one of 400 2 to 16, the more the fewer sparse vectors there are. A rule that
    was found has at most q - c + 1 of a part's q features, c its rules: any subspace has such vectors.
    """
    p = covariance.shape[0]
    anchor = _anchored(loadings, covariance)
    vectors: list[Floats] = []
    sparsest: list[bool] = []
    for block in _blocks(anchor, loadings):
        for w, found in _rules_of_block(anchor[block], loadings[block], covariance[np.ix_(block, block)], rows):
            vector = np.zeros(p)
            vector[block] = w
            vectors.append(vector * sign_of(vector))
            sparsest.append(found)
    W = np.column_stack(vectors)
    variance = np.einsum("ij,ij->j", W, covariance @ W)
    order = ascending(variance, W, unit=float(np.trace(covariance)) / p)
    return ReadableBasis(np.ascontiguousarray(W[:, order]), np.array(sparsest)[order])


def _deviations(C: Floats) -> Floats:
    deviations = np.sqrt(np.diag(C))
    # A constant costs something too: there is no reason to name it in another rule.
    return np.asarray(np.where(deviations > 0.0, deviations, deviations.mean() or 1.0))


def _floors(V: Floats, C: Floats) -> Floats:
    """Per direction, the variance that rounding may show (d,)."""
    typical = float(np.square(_deviations(C)).mean())
    return np.asarray(np.maximum(unresolved_variances(V, C), 4.0 * C.shape[0] * _EPS * typical))


def _anchored(V: Floats, C: Floats) -> Floats:
    """A basis of the span of V, its tight part as tight as the covariance has it."""
    d = V.shape[1]
    values, directions = np.linalg.eigh(C)
    values, directions = values[:d], directions[:, :d]
    floors = _floors(directions, C)
    exact = int((values <= floors).sum())
    values = np.maximum(values, floors)
    return anchored(V, C, _levels(values, exact, V.shape[0])[:-1], values, directions)


def _blocks(B: Floats, V: Floats) -> list[Ints]:
    """Features that hang together through the projectors on the spans of B and V, where these have any."""
    linked = (np.abs(B @ B.T) > _APART) | (np.abs(V @ V.T) > _APART)
    _, label = connected_components(csr_array(linked.astype(np.int64)), directed=False)
    blocks = [np.flatnonzero(label == block) for block in range(int(label.max()) + 1)]
    return [rows for rows in blocks if linked[rows, rows].any()]


def _rules_of_block(B: Floats, V: Floats, C: Floats, rows: float) -> list[tuple[Floats, bool]]:
    """Rules of a block, and whether each was found (or is one of V); B and V (q, d) are its rows of both bases."""
    weights = _deviations(C)
    lengths = np.linalg.norm(V, axis=0)
    # A column of several blocks: its part in each lies in the subspace too.
    given = V[:, lengths > _APART] / lengths[lengths > _APART]
    bases = (_span(B),) if np.array_equal(B, V) else (_span(B), _span(V))
    chosen = _by_levels(bases, given, C, weights, rows)
    return [(w / np.linalg.norm(w), one.given < 0) for one in chosen for w in [one.z / weights]]


def _span(rows: Floats) -> Floats:
    """Orthonormal basis of the part of a subspace that lives on these rows of a basis of it, and on no others."""
    values, directions = np.linalg.eigh(rows @ rows.T)
    return np.asarray(directions[:, values > 0.5])


def _by_levels(bases: tuple[Floats, ...], given: Floats, C: Floats, weights: Floats, rows: float) -> list[Candidate]:
    """Rules of the span of the first of the bases (q, c), those of the tightest directions first, within all."""
    Q = bases[0]
    q, d = Q.shape
    R = C / np.outer(weights, weights)
    variances, rotation = np.linalg.eigh(Q.T @ C @ Q)
    V = Q @ rotation
    floors = _floors(V, C)
    exact = int((variances <= floors).sum())
    pool = Pool()
    kept: list[Candidate] = []
    for end in _levels(np.maximum(variances, floors), exact, q):
        level, last = V[:, :end], end == d
        refit = Refit(R, weights, (level, *bases[1:]), rows)
        # What completes a basis if nothing else does.
        fill = [candidate(z, refit, given=k) for k, z in enumerate((given if last else level).T * weights)]

        def choose(
            level: Floats = level, kept: list[Candidate] = kept, fill: list[Candidate] = fill
        ) -> list[Candidate]:
            return independent([*pool.candidates, *fill], level, weights, kept)

        kept = search(level, refit, pool, len(kept), choose)
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
