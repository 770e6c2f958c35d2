"""Plain PCA: the squared prediction error, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from aspca.baselines.detector import SubspaceDetector
from aspca.baselines.rows import checked_rows
from aspca.linalg.arrays import Floats


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
    limit : {"pearson", "quantile"} or float >= 0, default="pearson"
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
    >>> from aspca.baselines import PCADetector
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
        limit: str | float = "pearson",
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
        projections = self._projector.project(checked_rows(self, X, reset=False))
        # Squares may overflow, as scores may.
        with np.errstate(over="ignore"):
            squares = np.square(projections @ self.components_)
        return np.asarray(np.minimum(squares, np.finfo(np.float64).max / squares.shape[1]))
