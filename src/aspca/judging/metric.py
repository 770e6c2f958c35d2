"""What a row's score is made of: its deviations from the rules in one of several units, and what lies outside of them.

Notation: y (m,) a row's deviations from the rules in the scaled space, z = y W, n = x N its whitened coordinates
outside the rules. The score is sum_k z_k^2 + rho(|n|^2): every term is non-negative, term k is rule k's part, and
together they are the score, exactly.

For the complete and the whitened score W = diag(1/s) K^(-1/2): deviations in units of their spreads s, decorrelated by
the symmetric root of their correlation K. Then sum z^2 is the Mahalanobis distance inside the abnormal subspace, which
does not depend on the basis, and of all roots this one leaves each z_k as close to y_k / s_k as can be (Kessy, Lewin
and Strimmer 2018). Exact rules have no noise to correlate: they stand alone, in units of what float64 resolves.

Outside the rules a row may be anywhere that normal rows are: what varies there is not a rule, and much of it shifts
lawfully from day to day. So up to its own limit L it counts by the share of directions that lie there only, and beyond
L in full: rho(b) = share * min(b, L) + max(b - L, 0). Without rules this is the Mahalanobis distance; with many, what
keeps its rules has to be truly far out to be seen. Chosen by benchmarks/causes.py, tennessee.py and independent
columns, see docs/choices.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.judging.hotelling import t2_limit
from aspca.judging.outside import outside_directions
from aspca.linalg.arrays import Floats, frozen
from aspca.rules.table import RuleTable
from aspca.settings import SCORES
from aspca.subspace.space import ScaledSpace

# Scores that are split over the readable rules; the others are the paper's, over orthonormal components.
READABLE = ("complete", "whitened")
# Rules that say nearly the same are not told apart any further: no eigenvalue of their correlation counts as smaller.
_ALIKE = 1e-6
# Of fewer rules eigenvectors take no longer than calls do.
_MANY = 64


@dataclass(frozen=True, eq=False)
class Metric:
    """The units of a score.

    Attributes
    ----------
    kind : str
        One of `SCORES`.
    weights : ndarray of shape (m, m)
        W.
    outside : ndarray of shape (p, r)
        N: directions outside the rules along which training rows have variance one; r = 0 but for "complete".
    outside_limit : float
        L, the limit of |n|^2; infinite where there are too few rows to know.
    outside_share : float
        The share of directions that lie outside the rules.
    """

    kind: str
    weights: Floats
    outside: Floats
    outside_limit: float
    outside_share: float

    def outside_parts(self, squares: Floats) -> tuple[Floats, Floats]:
        """rho of |n|^2 (n,): its parts up to the limit and beyond."""
        limit = self.outside_limit
        return self.outside_share * np.minimum(squares, limit), np.maximum(squares - limit, 0.0)


def tempered(squares: Floats, limit: float, share: float) -> Floats:
    """What lies outside the rules as a part of the score: by its share up to its limit, in full beyond."""
    return np.asarray(share * np.minimum(squares, limit) + np.maximum(squares - limit, 0.0))


def metric_of(kind: str, space: ScaledSpace, table: RuleTable, level: float) -> Metric:
    """The metric of a score; `level` is the share of normal rows that are meant to lie within `outside_limit`."""
    weights = score_weights(kind, table.covariance, table.variances, table.unresolved)
    p, m = table.loadings.shape
    if kind != "complete" or m >= p:
        return Metric(kind, frozen(weights), frozen(np.zeros((p, 0))), 0.0, 0.0)
    outside = outside_directions(
        space.covariance, table.loadings, weights, table.exact, still=not space.short_of_rows, blur=space.blur
    )
    r = int(outside.shape[1])
    limit = t2_limit(r, space.fitted_to, level).value
    return Metric(kind, frozen(weights), frozen(outside), limit, share_outside(r, m))


def share_outside(rank: int, n_rules: int) -> float:
    """The share of directions that lie outside the rules."""
    return rank / max(rank + n_rules, 1)


def score_weights(
    kind: str, covariance: Floats, variances: Floats, unresolved: Floats, *, symmetric: bool = True
) -> Floats:
    """The matrix W (m, m) with which a row of deviations y scores sum_k ((y W)_k)^2.

    Parameters
    ----------
    kind : {"complete", "whitened", "standardized", "spe"}
    covariance : (m, m)
        Of the deviations.
    variances : (m,)
        Their variances, never below what is resolved.
    unresolved : (m,)
        The variance of each that rounding alone may show.
    symmetric : bool
        Whether parts of the score are to be told apart; if not, any root of the correlation will do.
    """
    if kind not in SCORES:
        raise ValueError(f"score must be one of {', '.join(SCORES)}, got {kind!r}.")
    m = len(variances)
    if kind == "spe":
        return np.eye(m)
    # Where nothing varies at all there are no units to be found.
    inverse = 1.0 / np.sqrt(np.where(variances > 0.0, variances, 1.0))
    if kind == "standardized":
        return np.diag(inverse)
    correlation = covariance * inverse[:, None] * inverse
    alone = np.diag(covariance) <= unresolved
    correlation[alone], correlation[:, alone] = 0.0, 0.0
    np.fill_diagonal(correlation, 1.0)
    root = None if symmetric else _triangular_root(correlation)
    if root is None:
        # Those that stand alone are their own root.
        others = np.ix_(~alone, ~alone)
        part = correlation[others]
        values, vectors = np.linalg.eigh(0.5 * (part + part.T))
        part = (vectors / np.sqrt(np.maximum(values, _ALIKE))) @ vectors.T
        root = np.eye(m)
        root[others] = 0.5 * (part + part.T)
    return np.asarray(inverse[:, None] * root, dtype=np.float64)


def _triangular_root(correlation: Floats) -> Floats | None:
    """L^-T of LL' = correlation, a tenth of the cost of eigenvectors; None where rules may say nearly the same."""
    if len(correlation) < _MANY:
        return None
    # Loads scipy.linalg, which scoring by a stored model need not wait for.
    from scipy.linalg.lapack import dpotrf, dtrtri

    factor, failed = dpotrf(correlation, lower=1)
    inverse, undone = dtrtri(factor, lower=1)
    # No eigenvalue lies below one over the squared norm of the inverse root.
    if failed or undone or _ALIKE * float(np.square(inverse).sum()) >= 1.0:
        return None
    return np.asarray(inverse.T)


def score_variances(weights: Floats, covariance: Floats, unresolved: Floats) -> Floats:
    """Eigenvalues (m,), ascending, of the covariance of y W: the score of a Gaussian row is their weighted sum of
    chi-squares.

    None is quoted below what float64 resolves of it.
    """
    inside = weights.T @ (covariance @ weights)
    values = np.linalg.eigvalsh(0.5 * (inside + inside.T))
    # The root first: weights of rules in tiny units are huge, and their squares would overflow.
    least = np.square(np.sqrt(unresolved)[:, None] * weights).sum(axis=0).max(initial=0.0)
    return np.asarray(np.maximum(values, least))
