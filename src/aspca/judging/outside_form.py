"""Distances outside the rules without directions: one Cholesky factor in a basis that is mostly zeros.

Where many features lie outside, an orthonormal basis of what is orthogonal to the rules takes longer than all else.
Distances do not depend on the basis. So each rule names one of its features, its pivot, and what is orthogonal to the
rules is the graph of a map from the other features to the pivots: as sparse as the rules are.

Notation: C (p, p) the covariance, R (p, m) the rules, R_p and R_o their rows at the pivots and at the other features,
B = E_o - E_p T with T = R_p^-T R_o' (m, r), so that R'B = 0; z = x R W the decorrelated deviations, H = W'R'CB, and
S = B'MB - H'H, M the covariance with the features' own variances mixed in. A row's coordinates are B'x - H'z, its
squared distance |L^-1 (B'x - H'z)|^2 with S = LL'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.small import symmetrise, thinned
from aspca.moments.blocks import cached_slices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Pivots are chosen so that no other entry of their column is larger; slopes beyond this lose digits all the same.
_STEEP = 1e3
# LAPACK's estimate of the least eigenvalue may be too high, hardly ever by more than this factor.
_ESTIMATE = 16.0
# By how much less the last feature counts than the first where pivots are chosen.
_FIRST = 1e-7
# Rules of unit length of which less than this is left beside others depend on them.
_DEPENDENT = 1e-8
# Squares of more, summed, leave the range of float64.
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class OutsideForm:
    """What measures rows outside the rules.

    Attributes
    ----------
    pivots, others : ndarray of shape (m,) and (r,)
        Features.
    slopes : (m, r) array, sparse where that is quicker
        T.
    rules : (p, k) array, sparse where that is quicker
        Those of the rules that have noise of their own.
    weights, heights : ndarray of shape (k, k) and (k, r)
        W and H, of these.
    factor : ndarray of shape (r, r)
        L, lower triangular; what lies above its diagonal does not count.
    """

    pivots: Ints
    others: Ints
    slopes: csr_array | Floats
    rules: csr_array | Floats
    weights: Floats
    heights: Floats
    factor: Floats

    @classmethod
    def of(
        cls,
        covariance: Floats,
        loadings: Floats,
        weights: Floats,
        exact: Bools,
        *,
        blur: float,
        unresolved: float,
        like: OutsideForm | None = None,
    ) -> OutsideForm | None:
        """As `outside_directions`; None where some variance outside may be too small to divide by.

        `unresolved` is the variance that rounding may show; `like` a form of nearly the same rules, whose pivots will
        do.
        """
        # Loads scipy.linalg, which scoring by a stored model need not wait for.
        from scipy.linalg.lapack import dpocon, dpotrf

        found = _graph(loadings, None if like is None else like.pivots)
        if found is None and like is not None:
            found = _graph(loadings, None)
        if found is None:
            return None
        pivots, others, steep = found
        slopes = thinned(steep)
        own = np.diag(covariance)
        thin = thinned(loadings[:, ~exact])
        known, heights = weights[~exact][:, ~exact], np.zeros((0, len(others)))
        within = _part(covariance, others)
        if len(pivots):
            between = covariance[pivots].take(others, axis=1)
            inner = covariance[pivots].take(pivots, axis=1) @ slopes + blur * own[pivots, None] * steep
            # Twice what lies between, on one side: the mean of both is taken.
            within += slopes.T @ (inner - 2.0 * between)
            symmetrise(within)
        if len(known):
            along = np.asarray(thin.T @ covariance)
            heights = known.T @ (along.take(others, axis=1) - along.take(pivots, axis=1) @ slopes)
            within -= heights.T @ heights
        within[np.diag_indices(len(others))] += blur * own[others]
        within /= 1.0 + blur
        size = float(np.abs(within).sum(axis=0).max(initial=0.0))
        # The lower triangle, without a copy: it is Fortran's upper one that is read.
        factor, failed = dpotrf(within.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            return None
        share, failed = dpocon(factor, size, uplo="L")
        # A vector of the basis is no shorter than its coordinates, and no longer than this.
        if failed or share * size <= _ESTIMATE * unresolved * (1.0 + _square(steep)):
            return None
        return cls(pivots, others, slopes, thin, known, heights, factor)

    @property
    def rank(self) -> int:
        """How many directions lie outside."""
        return len(self.others)

    def squares(self, scaled: Floats, deviations: Floats) -> Floats:
        """Squared distances (n,) of scaled rows (n, p) with these deviations (n, k) from the rules that have noise."""
        from scipy.linalg.blas import dtrsm

        coordinates = scaled[:, self.others]
        if len(self.pivots):
            coordinates -= scaled[:, self.pivots] @ self.slopes
            coordinates -= (deviations @ self.weights) @ self.heights
        solved = dtrsm(1.0, self.factor, coordinates, side=1, lower=1, trans_a=1)
        np.clip(solved, -_LARGEST, _LARGEST, out=solved)
        return np.asarray(np.einsum("ij,ij->i", solved, solved))

    def directions(self) -> Floats:
        """N (p, r): the squares are those of a row's projections on them."""
        from scipy.linalg.lapack import dtrtri

        inverse = np.tril(dtrtri(self.factor, lower=1)[0]).T
        if not len(self.pivots):
            return np.asarray(inverse)
        found = np.empty((self.rank + len(self.pivots), self.rank))
        found[self.others] = inverse
        found[self.pivots] = -(self.slopes @ inverse)
        found -= self.rules @ (self.weights @ (self.heights @ inverse))
        return found


def _graph(loadings: Floats, pivots: Ints | None) -> tuple[Ints, Ints, Floats] | None:
    """Pivots (m,) of rules (p, m), where none are given, the other features (r,), and the slopes T (m, r)."""
    # Loads scipy.linalg, which scoring by a stored model need not wait for.
    from scipy.linalg.lapack import dgetrf
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    p, m = loadings.shape
    if pivots is None:
        # Of equal entries the first is taken: not by rounding.
        factors, swaps, failed = dgetrf(loadings * (1.0 - _FIRST * np.arange(p) / p)[:, None])
        if failed or np.abs(np.diag(factors)).min(initial=1.0) < _DEPENDENT:
            return None
        order = np.arange(p)
        for k, other in enumerate(swaps[:m].tolist()):
            order[[k, other]] = order[[other, k]]
        pivots = np.sort(order[:m])
    others = np.setdiff1d(np.arange(p), pivots)
    if not m:
        return pivots, others, np.zeros((0, p))
    inner, outer = loadings[pivots].T, loadings[others].T
    try:
        thin = not isinstance(thinned(loadings), np.ndarray)
        slopes = splu(csc_array(inner)).solve(outer) if thin else np.linalg.solve(inner, outer)
    except (RuntimeError, np.linalg.LinAlgError):
        return None
    # Not a number is no slope either.
    return (pivots, others, np.asarray(slopes)) if float(np.abs(slopes).max(initial=0.0)) <= _STEEP else None


def _part(matrix: Floats, features: Ints) -> Floats:
    """The rows and columns (r, r) of these features, a few rows at a time: no second matrix between."""
    part = np.empty((features.size, features.size))
    for rows in cached_slices(features.size, len(matrix)):
        np.take(matrix[features[rows]], features, axis=1, out=part[rows])
    return part


def _square(matrix: Floats) -> float:
    """A bound on the square of its norm."""
    size = np.abs(matrix)
    return float(size.sum(axis=0).max(initial=0.0) * size.sum(axis=1).max(initial=0.0))
