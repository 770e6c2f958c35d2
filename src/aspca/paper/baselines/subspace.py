"""Detectors by a squared projection on an abnormal subspace: what the baselines share, and plain PCA."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from aspca.estimators.aspca import ASPCA
from aspca.estimators.frames import refuse_odd_tables
from aspca.linalg.arrays import Floats, sign_of
from aspca.linalg.eigen import find_lowest_pairs
from aspca.model.projector import Projector
from aspca.model.thresholds import ABOVE_ROUNDING, Limit, limit_from_scores, pearson_limit, score_variances
from aspca.moments import Moments
from aspca.moments.space import ScaledSpace, column_scale, scaled_covariance, unresolved_variance
from aspca.moments.validation import check_weights, make_value_error, values_allowed
from aspca.preparation.feature import make_features
from aspca.settings import AUTO, check_parameters
from aspca.sparse_pca.defaults import choose_n_components

# Limits that a fit can give; "conformal" needs rows kept out of it.
_LIMITS = (AUTO, "quantile")


def check_rows(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> Any:
    """Rows (n, p), n >= `least`, finite and within the range that moments allow; names are kept or compared.

    Takes the same tables as `ASPCA`, and refuses the same.
    """
    refuse_odd_tables(X)
    rows = validate_data(estimator, X, reset=reset, dtype="numeric", ensure_all_finite=False, ensure_min_samples=least)
    if rows.dtype.kind == "f" and not values_allowed(rows.min(axis=0), rows.max(axis=0)):
        raise make_value_error([rows.T], get_names(estimator))
    return rows


def get_names(estimator: Any) -> tuple[str, ...] | None:
    """Column names of the table fitted to, if it had any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


class ThresholdDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Labels by a score and a threshold, `offset_`."""

    offset_: float

    @abstractmethod
    def score_samples(self, X: Any) -> Floats:
        """Minus the score (n,): the higher, the more normal."""

    def decision_function(self, X: Any) -> Floats:
        """Negative for anomalies (n,): `score_samples` minus `offset_`."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """+1 for normal rows, -1 for anomalies (n,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)


class SubspaceDetector(ThresholdDetector):
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
        rows, weights, moments = self._fit_subspace(X, sample_weight)
        loadings = self._fit_loadings()
        self._projector = Projector(moments.centre, moments.residual, self.scale_, loadings)
        space = ScaledSpace.scaled(moments, self.scale_, make_features(tuple(map(str, range(len(self.scale_))))))
        floor = float(np.square(np.abs(loadings.T) @ space.rounding).sum())
        limit, level = (self.limit, self.level)
        if self.contamination != "auto":
            limit, level = "quantile", 1.0 - float(self.contamination)
        found = self._find_limit(limit, level, loadings, rows, weights)
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
        return -self._projector.score(check_rows(self, X, reset=False))

    # ---- fitting

    def _check_parameters(self) -> None:
        given = self.get_params(deep=False)
        known = ASPCA().get_params()
        check_parameters(known | {name: value for name, value in given.items() if name in known})
        if isinstance(self.limit, str) and self.limit not in _LIMITS:
            raise ValueError(f"limit must be one of {', '.join(_LIMITS)}, or a finite number >= 0, got {self.limit!r}.")

    def _fit_subspace(self, X: Any, sample_weight: Any) -> tuple[Any, Floats | None, Moments]:
        """Scales, covariance, and PCA's last directions; gives checked rows, weights and moments."""
        self._check_parameters()
        rows = check_rows(self, X, reset=True, least=2)
        weights = None if sample_weight is None else check_weights(sample_weight, rows.shape[0])
        moments = Moments.from_array(rows, weights, names=get_names(self))
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
        self.n_components_ = choose_n_components(self.covariance_) if auto else int(self.n_components)
        values, vectors = find_lowest_pairs(self.covariance_, self.n_components_)
        self.components_ = np.array([sign_of(vector) * vector for vector in vectors.T])
        self.explained_variance_ = np.maximum(values, 0.0)
        return rows, weights, moments

    def _find_limit(
        self, limit: str | float, level: float, loadings: Floats, rows: Any, weights: Floats | None
    ) -> Limit:
        if not isinstance(limit, str):
            return Limit("fixed", None, float(limit))
        if limit != AUTO:
            found = limit_from_scores(limit, level, self._projector.score(rows), weights)
            return replace(found, value=found.value * ABOVE_ROUNDING)
        projected = loadings.T @ self.covariance_ @ loadings
        unresolved = np.array([unresolved_variance(np.abs(column), self.covariance_) for column in loadings.T])
        variances = score_variances(np.eye(self.n_components_), projected, unresolved)
        return Limit("pearson", level, pearson_limit(variances, level))


class PCADetector(SubspaceDetector):
    """Anomaly detection by the squared prediction error of principal component analysis.

    A row's score is the squared length of what its scaled, centred values y leave outside the high-variance subspace:
    ``||V'y||^2``, V the last `n_components` principal directions. At ``alpha=0`` and without rotation, `ASPCA` has the
    same score.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of directions of the *abnormal* subspace; "auto" as in `ASPCA`.
    scaling : {"maxabs", "standard", "none"}, default="maxabs"
        What centred columns are divided by.
    contamination : float in (0, 0.5] or "auto", default="auto"
        A number takes as threshold the quantile of the training scores that so large a share of the rows exceeds;
        "auto" leaves the threshold to `limit` and `level`.
    limit : {"auto", "quantile"} or float >= 0, default="auto"
        Where the threshold comes from: the moments alone (the first three), the scores of the training rows, or a
        number.
    level : float in (0, 1), default=0.975
        Share of normal rows that the limit is meant to let pass.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The last principal directions in the scaled space, by ascending variance. Where variances tie, the basis of
        their span is arbitrary; no score and no contribution depends on it.
    explained_variance_ : ndarray of shape (n_components,)
    n_components_ : int
    mean_, scale_ : ndarray of shape (n_features,)
    covariance_ : ndarray of shape (n_features, n_features)
        Of the scaled columns.
    threshold_, offset_ : float
        Score above which a row is an anomaly, and minus it.
    threshold_limit_ : Limit
        The threshold's name, level and what it assumes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from aspca.paper.baselines import PCADetector
    >>> a = np.random.default_rng(0).normal(size=200)
    >>> X = np.column_stack([a, a + 0.01 * np.sin(9 * a)])
    >>> PCADetector(n_components=1).fit(X).predict([[1.0, 1.0], [1.0, 2.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        scaling: str = "maxabs",
        contamination: float | str = "auto",
        limit: str | float = "auto",
        level: float = 0.975,
    ) -> None:
        self.n_components = n_components
        self.scaling = scaling
        self.contamination = contamination
        self.limit = limit
        self.level = level

    def _fit_loadings(self) -> Floats:
        return np.ascontiguousarray(self.components_.T)

    def feature_contributions(self, X: Any) -> Floats:
        """Each feature's share (n, p) of the score: the square of its residual, what it is off the normal subspace.

        Never negative, and together the score.
        """
        check_is_fitted(self, "components_")
        projections = self._projector.project(check_rows(self, X, reset=False))
        # Squares may overflow, as scores may.
        with np.errstate(over="ignore"):
            squares = np.square(projections @ self.components_)
        return np.asarray(np.minimum(squares, np.finfo(np.float64).max / squares.shape[1]))
