"""Hotelling's T2: how far a row lies from the middle of the *normal* subspace, where the rules do not look."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aspca.judging.limits import Limit, check_level
from aspca.judging.projector import Projector, Rows
from aspca.judging.quantiles import chi2_quantile, f_quantile
from aspca.linalg.arrays import Floats, frozen

_ASSUMES = (
    "Rows are Gaussian, and those to come are independent of the rows the covariance was computed from, all of which "
    "count the same."
)


@dataclass(frozen=True, eq=False)
class Hotelling:
    """T2 of a row is the Mahalanobis distance of its part in the normal subspace: the sum of its squared projections on
    `directions`.

    A row may obey every rule and still be far out, as a server ten times as busy as ever. Its rules are silent; T2
    is not.

    Attributes
    ----------
    directions : ndarray of shape (p, rank)
        Orthogonal to the rules; the training rows' projections on them are uncorrelated with variance one. Where they
        do not vary at all, what float64 resolves of a covariance is the unit.
    n_rows : float
        How many training rows the covariance rests on.
    """

    directions: Floats
    n_rows: float

    @property
    def rank(self) -> int:
        """Number of directions T2 looks in: what it is on average over the training rows."""
        return int(self.directions.shape[1])

    def score(self, rows: Rows) -> Floats:
        """T2 (n,) of centred and scaled rows (n, p), block by block.

        For rows as they come, a `Projector` on `directions` has the same scores, and centres and scales in passing.
        """
        p = self.directions.shape[0]
        return Projector(np.zeros(p), np.zeros(p), np.ones(p), self.directions).score(rows)

    def limit(self, level: float) -> Limit:
        """What a new row stays below with probability `level`: T2 ~ r (n + 1) / (n - r) F(r, n - r).

        r is the rank and n the number of rows; the covariance is a mean over n, not n - 1. As n grows this becomes
        chi2(r). Infinite for n <= r + 1: so few rows span no more than they are. The subspace is taken as given; that
        it was found in the same rows is not accounted for.
        """
        return t2_limit(self.rank, self.n_rows, level)


def t2_limit(rank: int, n_rows: float, level: float) -> Limit:
    """`Hotelling.limit` in so many directions."""
    check_level(level)
    r, n = rank, n_rows
    if r == 0:
        value = 0.0
    elif n <= r + 1:
        value = math.inf
    elif math.isinf(n):
        value = chi2_quantile(level, r)
    else:
        value = r * (n + 1.0) / (n - r) * f_quantile(level, r, n - r)
    return Limit("hotelling", level, value, _ASSUMES)


def hotelling(loadings: Floats, covariance: Floats, n_rows: float, *, still: bool = True) -> Hotelling:
    """T2 in the orthogonal complement of the rules.

    Parameters
    ----------
    loadings : (p, d)
        Orthonormal rules, d = 0 and d = p included.
    covariance : (p, p)
        Of the scaled rows, a mean over `n_rows`.
    n_rows : float >= 2
        May be infinite for a covariance that is known.
    still : bool
        Whether directions without variance count, in units of what float64 resolves; for few rows they are nothing but
        the lack of rows.
    """
    # Loads scipy.linalg, which scoring by a stored model need not wait for.
    from aspca.linalg.eigen import left_null_space

    p = covariance.shape[0]
    if loadings.ndim != 2 or loadings.shape[0] != p:
        raise ValueError(f"loadings must have one row per feature, {p}, got shape {loadings.shape}.")
    if not n_rows >= 2:
        raise ValueError(f"n_rows must be at least 2, got {n_rows!r}; T2 needs a covariance of rows.")
    if loadings.shape[1] >= p:
        return Hotelling(frozen(np.zeros((p, 0))), float(n_rows))
    complement = left_null_space(loadings)
    basis = np.eye(p) if complement is None else complement
    within = basis.T @ (covariance @ basis)
    values, vectors = np.linalg.eigh(0.5 * (within + within.T))
    # Rounding of the covariance moves no unit vector's variance by more than this.
    unresolved = 4.0 * p * np.finfo(np.float64).eps * float(np.abs(covariance).sum(axis=1).max(initial=0.0))
    if not still:
        values, vectors = values[values > unresolved], vectors[:, values > unresolved]
    floored = np.maximum(values, unresolved)
    directions = basis @ (vectors / np.sqrt(np.where(floored > 0.0, floored, 1.0)))
    return Hotelling(frozen(directions), float(n_rows))
