"""The scikit-learn face of abnormal subspace sparse PCA."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from aspca.estimators.tables import refuse_odd_tables
from aspca.linalg.arrays import Floats
from aspca.model.defaults import default_alpha, default_n_components
from aspca.model.extraction import ROUNDINGS, VARIANTS, sparse_subspace
from aspca.model.limits import box_limit, inverted_cdf_quantile
from aspca.model.rules import Rule, rules_of, unresolved_variance
from aspca.model.scaling import SCALINGS, column_scale, scaled_covariance
from aspca.model.scoring import Projector
from aspca.model.subspace import Certificate, SparseSubspace
from aspca.moments import Moments
from aspca.moments.validation import value_error, values_allowed, weights_of
from aspca.solvers.threads import blas_threads_for

# Share of normal rows that contamination="auto" lets pass, were the data Gaussian: one false alarm in forty.
_AUTO_LEVEL = 0.975


class _ParameterOnly:
    """A constructor parameter that is no attribute.

    scikit-learn takes an attribute named `score` for a method. The parameter is read through `get_params`.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, instance: object, value: object) -> None:
        vars(instance)[self.name] = value

    def __get__(self, instance: object, owner: type | None = None) -> object:
        raise AttributeError(f"{self.name!r} is a parameter, not a method: read it with get_params().")


class ASPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OutlierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Anomaly detection by sparse rules that normal rows obey.

    The abnormal (low-variance) subspace of the scaled data gets a basis of sparse, orthonormal directions. Each is a
    rule such as ``A - B = 0``; a row's score is the sum of its squared deviations from the rules.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of rules: directions of the *abnormal* subspace.
    alpha : float >= 0 or "auto", default="auto"
        Weight of sparsity, on the scale of the scaled covariance (the paper's lambda divided by n).
    variant : {"F", "B", "FG", "BG", "G"}, default="BG"
        See `aspca.sparse_subspace`.
    rounding : {"sparse", "dominant"}, default="sparse"
        See `aspca.sparse_subspace`.
    scaling : {"maxabs", "standard", "none"}, default="maxabs"
        What centred columns are divided by: their largest absolute value (the paper's), their standard deviation, or
        nothing.
    score : {"spe"}, default="spe"
        The squared prediction error: the sum of squared projections.
    contamination : float in (0, 0.5] or "auto", default="auto"
        The threshold: "auto" takes Box's limit at 97.5 % from the moments alone; a number takes the quantile of the
        training scores that so large a share of the rows exceeds.
    tol : float, default=1e-6
        Relative gap at which a component counts as solved.
    max_iter : int, default=5000
        Limit of the solver's first-order iterations per component.
    time_budget : float or None, default=None
        Seconds after which the solver takes what it has; the certificates then say how far that may be from the best.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Sparse orthonormal directions in the scaled space.
    certificates_ : tuple of Certificate
        What is proved about each step of the sequence that spans the subspace (`n_components` of them). A rotated
        variant's components span the same subspace but are not its steps: entry i is not about component i.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the training rows along each component.
    mean_, scale_ : ndarray of shape (n_features,)
    threshold_ : float
        Score above which a row is an anomaly.
    offset_ : float
        ``-threshold_``: ``decision_function = score_samples - offset_``.
    rules_ : tuple of Rule
        The components as sentences in the original units.
    moments_ : Moments
        All that was kept of the data.
    subspace_ : SparseSubspace
        The solver's full result; ``subspace_.verify(covariance_)`` checks it.
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance of the scaled columns: what the solver saw.
    n_components_, alpha_ : int, float
        The values used.
    n_iter_ : int
        Passes of the solver for its hardest component, the first guess counted as one.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from aspca import ASPCA
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=200)
    >>> X = np.column_stack([a, a + 0.01 * rng.normal(size=200), rng.normal(size=200)])
    >>> model = ASPCA(n_components=1).fit(X)
    >>> np.round(model.components_, 2)
    array([[ 0.71, -0.71,  0.  ]])
    >>> model.predict([[1.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    array([ 1, -1])
    """

    score = _ParameterOnly()

    def __init__(
        self,
        n_components: int | str = "auto",
        alpha: float | str = "auto",
        variant: str = "BG",
        rounding: str = "sparse",
        *,
        scaling: str = "maxabs",
        score: str = "spe",
        contamination: float | str = "auto",
        tol: float = 1e-6,
        max_iter: int = 5000,
        time_budget: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.variant = variant
        self.rounding = rounding
        self.scaling = scaling
        self.score = score
        self.contamination = contamination
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters, as in scikit-learn."""
        return {name: vars(self)[name] for name in self._get_param_names()}

    # ---- fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows (n, p), n >= 2; `y` is ignored, `sample_weight` (n,) counts rows."""
        self._check_parameters()
        X = self._rows(X, reset=True, least=2)
        weights = None if sample_weight is None else weights_of(sample_weight, X.shape[0])
        with blas_threads_for(X.shape[1]):
            self._fit(Moments.from_array(X, weights, names=self._names()))
            if self.contamination != "auto":
                self._calibrate(X, weights)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows and refit from all moments so far, starting from the model at hand.

        To gather many batches before fitting once, use `Moments.update` and `fit_moments`.
        """
        self._check_parameters()
        first = not hasattr(self, "moments_")
        X = self._rows(X, reset=first, least=1)
        weights = None if sample_weight is None else weights_of(sample_weight, X.shape[0])
        with blas_threads_for(X.shape[1]):
            batch = Moments.from_array(X, weights, names=self._names())
            if first:
                self._fit(batch)
            else:
                self._fit(self.moments_.merge(batch), warm_start=self.subspace_)
        return self

    def fit_moments(self, moments: Moments, feature_names: Any = None) -> Self:
        """Fit from moments alone: any source of data that yields the same `Moments` gives the same model."""
        self._check_parameters()
        if not isinstance(moments, Moments):
            raise TypeError(f"fit_moments takes aspca.Moments, got {type(moments).__name__}; see Moments.from_array.")
        names = None if feature_names is None else np.asarray(feature_names, dtype=object)
        if names is not None and names.shape != (moments.n_features,):
            raise ValueError(f"feature_names has {names.size} entries, but there are {moments.n_features} features.")
        self._fit(moments)
        self.n_features_in_ = moments.n_features
        self._named_by_hand = names is not None
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def calibrate(self, X: Any, sample_weight: Any = None) -> Self:
        """Set the threshold from the scores of rows (n, p): for a numeric `contamination` after `fit_moments` or
        `partial_fit`, which do not keep the rows."""
        check_is_fitted(self, "components_")
        self._check_parameters()
        if self.contamination == "auto":
            raise ValueError('contamination="auto" takes its threshold from the moments; set a number to calibrate.')
        X = self._rows(X, reset=False, least=1)
        self._calibrate(X, None if sample_weight is None else weights_of(sample_weight, X.shape[0]))
        return self

    def _fit(self, moments: Moments, warm_start: SparseSubspace | None = None) -> None:
        if moments.n_rows == 0:
            raise ValueError("The weight of every row is zero, so there is nothing to fit; give some rows a weight.")
        if moments.n_rows < 2:
            raise ValueError(
                f"ASPCA needs at least 2 rows of positive weight, got n_samples = {moments.n_rows}; add rows."
            )
        scale = column_scale(moments, self.scaling)
        covariance = scaled_covariance(moments, scale)
        p = moments.n_features
        if self.n_components != "auto" and int(self.n_components) > p:
            raise ValueError(
                f"n_components must lie between 1 and {p} (the number of features), got {self.n_components}."
            )
        d = default_n_components(covariance) if self.n_components == "auto" else int(self.n_components)
        alpha = default_alpha(covariance) if self.alpha == "auto" else float(self.alpha)
        subspace = sparse_subspace(
            covariance,
            d,
            alpha,
            self.variant,
            self.rounding,
            tol=self.tol,
            max_iter=self.max_iter,
            time_budget=self.time_budget,
            warm_start=warm_start,
        )
        self.moments_ = moments
        self.mean_ = moments.mean
        self.scale_ = scale
        self.covariance_ = covariance
        self.subspace_ = subspace
        self.n_components_ = d
        self.alpha_ = alpha
        self.n_iter_ = 1 + max(step.iterations for step in subspace.certificates)
        self.components_ = np.array(subspace.loadings.T)
        projected = subspace.loadings.T @ covariance @ subspace.loadings
        self.explained_variance_ = np.maximum(np.diag(projected), 0.0)
        self._set_threshold(None)
        if self.contamination == "auto":
            variances = np.asarray(np.linalg.eigvalsh(0.5 * (projected + projected.T)))
            unresolved = max(unresolved_variance(np.abs(row), covariance) for row in self.components_)
            limit = box_limit(np.maximum(variances, unresolved), _AUTO_LEVEL)
            self._set_threshold(max(limit, self._rounding_floor()))

    def _calibrate(self, X: Any, weights: Floats | None) -> None:
        scores = self._projector().score(X)
        quantile = inverted_cdf_quantile(scores, weights, 1.0 - float(self.contamination))
        # A training row lies exactly on the quantile, and BLAS sums a row alone in another order than among others.
        self._set_threshold(max(quantile * (1.0 + 1e-12), self._rounding_floor()))

    def _set_threshold(self, threshold: float | None) -> None:
        if threshold is None:
            for name in ("threshold_", "offset_"):
                if hasattr(self, name):
                    delattr(self, name)
            return
        self.threshold_ = threshold
        self.offset_ = -threshold

    def _rounding_floor(self) -> float:
        """Score that rounding of the values alone can produce where a rule holds exactly."""
        largest = np.maximum(np.abs(self.moments_.minimum), np.abs(self.moments_.maximum))
        per_feature = 8.0 * np.finfo(np.float64).eps * (largest / self.scale_)
        return float(((np.abs(self.components_) @ per_feature) ** 2).sum())

    # ---- using the model

    def transform(self, X: Any) -> Floats:
        """Projections (n, n_components): each row's signed deviation from each rule, in the scaled space."""
        check_is_fitted(self, "components_")
        return self._projector().project(self._rows(X, reset=False, least=1))

    def score_samples(self, X: Any) -> Floats:
        """Minus the score (n,): the higher, the more normal."""
        check_is_fitted(self, "components_")
        return -self._projector().score(self._rows(X, reset=False, least=1))

    def decision_function(self, X: Any) -> Floats:
        """`score_samples` minus `offset_` (n,): negative for anomalies."""
        check_is_fitted(self, "components_")
        if not hasattr(self, "offset_"):
            raise ValueError(
                f"contamination={self.contamination} takes its threshold from scores of rows, which fit_moments and "
                'partial_fit do not keep: call calibrate(X), or use contamination="auto".'
            )
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """+1 for normal rows, -1 for anomalies (n,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    @property
    def certificates_(self) -> tuple[Certificate, ...]:
        return self.subspace_.certificates[-self.n_components_ :]

    @property
    def rules_(self) -> tuple[Rule, ...]:
        names = self._names() or tuple(f"x{j}" for j in range(self.n_features_in_))
        return rules_of(self.components_.T, self.mean_, self.scale_, self.covariance_, names)

    # ---- small print

    def _projector(self) -> Projector:
        m = self.moments_
        return Projector(m.centre, m.residual, self.scale_, self.components_.T)

    def _rows(self, X: Any, *, reset: bool, least: int) -> Any:
        refuse_odd_tables(X)
        if reset:
            self._named_by_hand = False
        elif self._named_by_hand and not hasattr(X, "columns"):
            return self._nameless_rows(X)
        X = validate_data(
            self,
            X,
            reset=reset,
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=least,
            accept_sparse=False,
        )
        return X if reset else self._allowed(X)

    def _nameless_rows(self, X: Any) -> Any:
        """Rows without names for a model whose names were handed to fit_moments: their order is taken on trust."""
        X = check_array(X, dtype="numeric", ensure_all_finite=False)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but ASPCA is expecting {self.n_features_in_} features.")
        return self._allowed(X)

    def _allowed(self, X: Any) -> Any:
        """Moments check the rows they take in; rows to be scored are checked here."""
        if X.dtype.kind == "f" and not values_allowed(X.min(axis=0), X.max(axis=0)):
            raise value_error([X.T], self._names())
        return X

    def _names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(str(name) for name in names)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _check_parameters(self) -> None:
        n, alpha, contamination = self.n_components, self.alpha, self.contamination
        if n != "auto" and not (_is_real(n) and np.isfinite(float(n)) and float(n) == int(n) >= 1):
            raise ValueError(f'n_components must be "auto" or an integer of at least 1, got {n!r}.')
        if alpha != "auto" and not (_is_real(alpha) and 0 <= float(alpha) < np.inf):
            raise ValueError(f'alpha must be "auto" or a finite number >= 0, got {alpha!r}.')
        if contamination != "auto" and not (_is_real(contamination) and 0 < float(contamination) <= 0.5):
            raise ValueError(f'contamination must be "auto" or a number in (0, 0.5], got {contamination!r}.')
        if not (_is_real(self.tol) and 0 < self.tol < 1):
            raise ValueError(f"tol must be a number between 0 and 1, got {self.tol!r}.")
        if not (_is_real(self.max_iter) and float(self.max_iter).is_integer() and self.max_iter >= 1):
            raise ValueError(f"max_iter must be an integer of at least 1, got {self.max_iter!r}.")
        if self.time_budget is not None and not (_is_real(self.time_budget) and self.time_budget >= 0):
            raise ValueError(f"time_budget must be None or seconds >= 0, got {self.time_budget!r}.")
        for name, allowed in (
            ("variant", VARIANTS),
            ("rounding", ROUNDINGS),
            ("scaling", SCALINGS),
            ("score", ("spe",)),
        ):
            if vars(self)[name] not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {vars(self)[name]!r}.")


def _is_real(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
