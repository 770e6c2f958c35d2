"""Peers in their usual form, on standardised columns with gaps filled by medians; constant columns take no part.

Mahalanobis       the whole covariance, pseudo-inverted; flagged above the 0.975 quantile of chi-square with as many
                  degrees of freedom as the covariance has ranks; columns by reconstruction-based contributions
                  (Alcala and Qin 2009): by how much the distance falls if this column may be replaced
FastMCD           scikit-learn's MinCovDet, the same threshold
isolation forest  scikit-learn's defaults and its own prediction
ECOD              PyOD's defaults and its own labels, which are a tenth of the rows by definition
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import chi2

from .loading import Floats
from .verdicts import Bools, Verdicts

LEVEL = 0.975
_Found = tuple[Floats, Bools, Floats | None]


def judge_by(peer: str, X: Floats, seed: int) -> Verdicts:
    """What a peer that learned from the rows (n, p) says of them."""
    filled = np.where(np.isfinite(X), X, np.nanmedian(X, axis=0))
    spread = filled.std(axis=0)
    used = np.flatnonzero(spread > 1e-12 * np.abs(filled).max(axis=0))
    Z = (filled[:, used] - filled[:, used].mean(axis=0)) / spread[used]
    start = time.perf_counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        scores, flags, contributions = PEERS[peer](Z, seed)
    seconds = time.perf_counter() - start
    if contributions is not None:
        everywhere = np.zeros(X.shape)
        everywhere[:, used] = contributions
        contributions = everywhere
    return Verdicts(scores, flags, flags, contributions, seconds, 0.0)


def _judge_by_mahalanobis(Z: Floats, seed: int) -> _Found:
    covariance = np.atleast_2d(np.cov(Z, rowvar=False))
    precision = np.linalg.pinv(covariance, hermitian=True)
    pulled = Z @ precision
    scores = np.einsum("ij,ij->i", pulled, Z)
    limit = chi2.ppf(LEVEL, np.linalg.matrix_rank(covariance, hermitian=True))
    own = np.diag(precision)
    contributions = np.divide(pulled**2, own, out=np.zeros_like(Z), where=np.broadcast_to(own > 0, Z.shape))
    return scores, scores > limit, contributions


def _judge_by_mcd(Z: Floats, seed: int) -> _Found:
    from sklearn.covariance import MinCovDet

    model = MinCovDet(random_state=seed).fit(Z)
    scores = np.asarray(model.mahalanobis(Z))
    return scores, scores > chi2.ppf(LEVEL, np.linalg.matrix_rank(model.covariance_, hermitian=True)), None


def _judge_by_forest(Z: Floats, seed: int) -> _Found:
    from sklearn.ensemble import IsolationForest

    forest = IsolationForest(random_state=seed).fit(Z)
    scores = -np.asarray(forest.score_samples(Z))
    return scores, scores > -forest.offset_, None


def _judge_by_ecod(Z: Floats, seed: int) -> _Found:
    from pyod.models.ecod import ECOD

    model = ECOD().fit(Z)
    return np.asarray(model.decision_scores_), np.asarray(model.labels_) == 1, None


MAHALANOBIS = "Mahalanobis"
PEERS: dict[str, Callable[[Floats, int], _Found]] = {
    MAHALANOBIS: _judge_by_mahalanobis,
    "FastMCD": _judge_by_mcd,
    "isolation forest": _judge_by_forest,
    "ECOD": _judge_by_ecod,
}
