"""What the two subspace baselines share: from rows to moments to loadings, a score, a threshold, a label."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from aspca.baselines.rows import checked_rows, given_names
from aspca.estimators.aspca import ASPCA
from aspca.judging.alarms import ABOVE_ROUNDING
from aspca.judging.limits import Limit, score_limit
from aspca.judging.metric import score_variances
from aspca.judging.projector import Projector
from aspca.linalg.arrays import Floats
from aspca.linalg.eigen import lowest_pairs
from aspca.linalg.ranking import sign_of
from aspca.moments import Moments
from aspca.moments.validation import weights_of
from aspca.preparation.feature import features_of_numbers
from aspca.settings import FROM_MOMENTS, check_parameters
from aspca.sparse_pca.defaults import default_n_components
from aspca.subspace.scaling import column_scale, scaled_covariance
from aspca.subspace.space import ScaledSpace, unresolved_variance

# Limits that a fit can give; "conformal" needs rows kept out of it.
_LIMITS = (*FROM_MOMENTS, "quantile", "pot")


class SubspaceDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A row's score is the squared length of its projection, scaled and centred, on loadings L (p, d): ||y L||^2.

    Subclasses say what the loadings are. Parameters and thresholds mean what they mean in `ASPCA`.
    """

    n_components: int | str
    scaling: str
    contamination: float | str
    limit: str | float
    level: float

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows (n, p), n >= 2; `y` is ignored, `sample_weight` (n,) counts rows."""
        self._check_parameters()
        rows = checked_rows(self, X, reset=True, least=2)
        weights = None if sample_weight is None else weights_of(sample_weight, rows.shape[0])
        moments = Moments.from_array(rows, weights, names=given_names(self))
        self._fit_subspace(moments)
        loadings = self._fit_loadings()
        self._projector = Projector(moments.centre, moments.residual, self.scale_, loadings)
        space = ScaledSpace.scaled(moments, self.scale_, features_of_numbers(tuple(map(str, range(len(self.scale_))))))
        floor = float(np.square(np.abs(loadings.T) @ space.rounding).sum())
        limit, level = ("quantile", 1.0 - float(self.contamination)) if self._by_share else (self.limit, self.level)
        found = self._limit_of(limit, level, loadings, rows, weights)
        self.threshold_limit_ = replace(found, value=max(found.value, floor))
        self.threshold_ = self.threshold_limit_.value
        self.offset_ = -self.threshold_
        return self

    @abstractmethod
    def _fit_loadings(self) -> Floats:
        """The loadings (p, d), from `covariance_` and `components_`."""

    def score_samples(self, X: Any) -> Floats:
        """Minus the score (n,): the higher, the more normal."""
        check_is_fitted(self, "components_")
        return -self._projector.score(checked_rows(self, X, reset=False))

    def decision_function(self, X: Any) -> Floats:
        """Negative for anomalies (n,): `score_samples` minus `offset_`."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """+1 for normal rows, -1 for anomalies (n,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    # ---- fitting

    def _check_parameters(self) -> None:
        given = self.get_params(deep=False)
        known = ASPCA().get_params()
        check_parameters(known | {name: value for name, value in given.items() if name in known})
        if isinstance(self.limit, str) and self.limit not in _LIMITS:
            raise ValueError(f"limit must be one of {', '.join(_LIMITS)}, or a finite number >= 0, got {self.limit!r}.")

    def _fit_subspace(self, moments: Moments) -> None:
        """Scales, covariance, and PCA's last directions."""
        if moments.n_rows == 0:
            raise ValueError("The weight of every row is zero, so there is nothing to fit; give some rows a weight.")
        if moments.n_rows < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 rows of positive weight, got {moments.n_rows}; add rows or "
                "give more of them a weight."
            )
        p = moments.n_features
        if self.n_components != "auto" and int(self.n_components) > p:
            raise ValueError(
                f"n_components must lie between 1 and {p} (the number of features), got {self.n_components}."
            )
        self.mean_ = moments.mean
        self.scale_ = column_scale(moments, self.scaling)
        self.covariance_ = scaled_covariance(moments, self.scale_)
        auto = self.n_components == "auto"
        self.n_components_ = default_n_components(self.covariance_) if auto else int(self.n_components)
        values, vectors = lowest_pairs(self.covariance_, self.n_components_)
        self.components_ = np.array([sign_of(vector) * vector for vector in vectors.T])
        self.explained_variance_ = np.maximum(values, 0.0)

    @property
    def _by_share(self) -> bool:
        return self.contamination != "auto"

    def _limit_of(self, limit: str | float, level: float, loadings: Floats, rows: Any, weights: Floats | None) -> Limit:
        if isinstance(limit, str) and limit not in FROM_MOMENTS:
            found = score_limit(limit, level, scores=self._projector.score(rows), weights=weights)
            return replace(found, value=found.value * ABOVE_ROUNDING)
        projected = loadings.T @ self.covariance_ @ loadings
        unresolved = np.array([unresolved_variance(np.abs(column), self.covariance_) for column in loadings.T])
        variances = score_variances(np.eye(self.n_components_), projected, unresolved)
        return score_limit(limit, level, variances=variances)
