"""The scikit-learn face of abnormal subspace sparse PCA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator as Base
from sklearn.base import ClassNamePrefixFeaturesOutMixin as NamedOutputs
from sklearn.base import OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from aspca.estimators.attributes import FittedAttributes
from aspca.estimators.frames import get_library, get_row_labels, refuse_nameless
from aspca.estimators.inputs import TableInput, rows_in_parts
from aspca.estimators.preprocessor import Preprocessor
from aspca.findings.explanation import Explanation
from aspca.findings.words import warn_of_given
from aspca.linalg.arrays import Floats
from aspca.linalg.threads import blas_threads_for
from aspca.model.fit import fit_from_moments
from aspca.model.fit_rows import calibrate_by, in_common_unit, learn_model, with_kept_shares
from aspca.model.model import Model, complete_moments
from aspca.moments import IncompleteMoments, Moments
from aspca.moments.validation import check_weights
from aspca.preparation import Preparation
from aspca.preparation.lifting import refuse_contradictions
from aspca.rules.rule import AnyRule
from aspca.rules.user_rules import parse_formulas
from aspca.settings import AUTO, DEFAULTS, PAPER, Settings, check_parameters, parameters_text


class _ParameterOnly:
    """A constructor parameter that is no attribute, read through `get_params`: scikit-learn would take an attribute
    named `score` for a method."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, instance: object, value: object) -> None:
        vars(instance)[self.name] = value

    def __get__(self, instance: object, owner: type | None = None) -> object:
        raise AttributeError(f"{self.name!r} is a parameter, not a method: read it with get_params().")


class ASPCA(FittedAttributes, TableInput, NamedOutputs, TransformerMixin, OutlierMixin, Base):  # type: ignore[misc]  # scikit-learn has no types
    """Anomaly detection by sparse rules that normal rows obey.

    The abnormal (low-variance) subspace of the scaled data holds relations such as ``A = B``; the sparsest of them are
    the rules. A row's score is the sum of their parts and of what lies outside of them.

    Parameters
    ----------
    {parameters}
    preprocessor : Preprocessor or None, default=None
        For tables with categories, dates, gaps, or columns to take logarithms of; None: all columns are numbers.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Sparse orthonormal directions in the scaled space, of the features ``model_.names``: with `lift`, or where a
        preprocessor makes more of them, there are more features than columns.
    certificates_ : tuple of Certificate
        What is proved about each step of the sequence that spans the subspace (`n_components` of them). A rotated
        variant's components span the same subspace but are not its steps: entry i is not about component i.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the training rows along each component.
    mean_, scale_ : ndarray of shape (n_features,)
    threshold_ : float
        Score above which a row is an anomaly.
    threshold_limit_ : Limit
        The threshold's name, level and what it assumes.
    rule_limits_ : ndarray of shape (n_rules,)
        Squared deviation above which a row breaks a rule: of identities in multiples of the tolerance, of relations in
        the scaled space.
    model_ : Model
        All of the above in one frozen object.
    offset_ : float
        ``-threshold_``: ``decision_function = score_samples - offset_``.
    rules_ : tuple of Rule
        The readable rules that judge: identities, then relations, of each those given first, then the tightest, in the
        original names and units; for the paper's scores the components.
    moments_ : Moments
        All that was kept of the data.
    subspace_ : SparseSubspace
        The solver's full result; ``subspace_.verify(covariance_)`` checks it.
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance of the scaled columns: what the solver saw.
    n_components_, alpha_ : int, float
        The values used.
    n_iter_ : int
        Passes of the solver for its hardest component, the first guess counted as one. What speaks of the components
        is solved when it is first asked for: readable rules judge without.
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
    # What partial_fit goes on from where values may be missing.
    _incomplete: IncompleteMoments | None = None

    def __init__(
        self,
        n_components: int | str = DEFAULTS["n_components"],
        alpha: float | str = DEFAULTS["alpha"],
        variant: str = DEFAULTS["variant"],
        rounding: str = DEFAULTS["rounding"],
        *,
        scaling: str = DEFAULTS["scaling"],
        lift: str | None = DEFAULTS["lift"],
        score: str = DEFAULTS["score"],
        robust: str | bool = DEFAULTS["robust"],
        rules: Sequence[str] | None = DEFAULTS["rules"],
        false_discovery_rate: float = DEFAULTS["false_discovery_rate"],
        contamination: float | str = DEFAULTS["contamination"],
        limit: str | float = DEFAULTS["limit"],
        level: float = DEFAULTS["level"],
        max_features: int | None = DEFAULTS["max_features"],
        rotation: str = DEFAULTS["rotation"],
        tol: float = DEFAULTS["tol"],
        max_iter: int = DEFAULTS["max_iter"],
        time_budget: float | None = DEFAULTS["time_budget"],
        preprocessor: Preprocessor | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.variant = variant
        self.rounding = rounding
        self.scaling = scaling
        self.lift = lift
        self.score = score
        self.robust = robust
        self.rules = rules
        self.false_discovery_rate = false_discovery_rate
        self.contamination = contamination
        self.limit = limit
        self.level = level
        self.max_features = max_features
        self.rotation = rotation
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.preprocessor = preprocessor

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """The paper's own settings: the plain sum of squares and the dominant rounding; `parameters` as in `ASPCA`.

        The paper chose `n_components` and its lambda (`alpha` times the number of rows) by hand.
        """
        return cls(**{**PAPER, **parameters})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters, as in scikit-learn."""
        own = {name: vars(self)[name] for name in self._get_param_names()}
        inner = self.preprocessor.get_params() if deep and isinstance(self.preprocessor, Preprocessor) else {}
        return own | {f"preprocessor__{name}": value for name, value in inner.items()}

    # ---- fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows (n, p), n >= 2; `y` is ignored, `sample_weight` (n,) counts rows."""
        check_parameters(self.get_params())
        X = self._rows(X, reset=True, least=2, sample_weight=sample_weight)
        preparation = self._preparation
        given = parse_formulas(self.rules or (), preparation.features)
        weights = None if sample_weight is None else in_common_unit(check_weights(sample_weight, X.shape[0]))
        with blas_threads_for(X.shape[1]):
            known = self._known(X, weights, fresh=True)
            if isinstance(known, Moments):
                known = known.rounded()
            rows, settings = rows_in_parts(X), Settings.of(self.get_params())
            self._take(learn_model(rows, known, settings, preparation, given, weights))
            if settings.needs_training_rows:
                self._take(self.model_.calibrated(X, weights))
                self._take(with_kept_shares(self.model_, rows, weights))
        warn_of_given(self.model_)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows and refit from all moments so far, starting from the model at hand.

        To gather many batches before fitting once, use `Moments.update` and `fit_moments`. With `lift`, the first batch
        decides what columns are lifted to, and a later value that has no logarithm is refused.
        """
        check_parameters(self.get_params())
        first = not hasattr(self, "model_")
        if not first and self.model_.moments is None:
            raise ValueError(
                "This model was saved without all of its moments (moments=False or private=True), which fitting it "
                "further needs: save it with them where it was fitted, or fit again."
            )
        X = self._rows(X, reset=first, least=1, sample_weight=sample_weight)
        refuse_contradictions(self._preparation, X)
        weights = None if sample_weight is None else check_weights(sample_weight, X.shape[0])
        with blas_threads_for(X.shape[1]):
            if not first and self._allows_gaps and self._incomplete is None:
                raise ValueError(
                    "This model was read from a file, which does not keep what partial_fit needs where values may be "
                    "missing; fit again with all rows."
                )
            moments, gaps = complete_moments(self._known(X, weights, fresh=first))
            if not first and gaps is None:
                moments = self.moments_.merge(moments)
            solved = None if first else self.model_.components.solved
            self._take(fit_from_moments(moments, Settings.of(self.get_params()), self._preparation, solved, gaps))
        warn_of_given(self.model_)
        return self

    def _known(self, X: Any, weights: Floats | None, *, fresh: bool) -> Moments | IncompleteMoments:
        """The moments of rows (n, p); where values may be missing, of these rows and, unless `fresh`, all before."""
        if not self._allows_gaps:
            return Moments.from_array(X, weights, names=self._feature_names())
        batch = IncompleteMoments.from_array(X, weights, names=self._feature_names())
        self._incomplete = batch if fresh or self._incomplete is None else self._incomplete.merge(batch)
        return self._incomplete

    def fit_moments(self, moments: Moments, feature_names: Any = None) -> Self:
        """Fit from moments alone: any source of data that yields the same `Moments` gives the same model."""
        check_parameters(self.get_params())
        if self.preprocessor is not None:
            raise ValueError("fit_moments takes moments of features as they are; leave out the preprocessor.")
        if self.lift is not None:
            raise ValueError(
                "fit_moments takes moments, of which columns cannot be lifted: fit rows, or leave out lift."
            )
        if not isinstance(moments, Moments):
            raise TypeError(f"fit_moments takes aspca.Moments, got {type(moments).__name__}; see Moments.from_array.")
        names = None if feature_names is None else np.asarray(feature_names, dtype=object)
        if names is not None and names.shape != (moments.n_features,):
            raise ValueError(f"feature_names has {names.size} entries, but there are {moments.n_features} features.")
        shown = [f"x{j}" for j in range(moments.n_features)] if names is None else [str(name) for name in names]
        self._take(fit_from_moments(moments, Settings.of(self.get_params()), Preparation.identity(shown)))
        self.n_features_in_ = moments.n_features
        self._named_by_hand, self._lifted = names is not None, None
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        warn_of_given(self.model_)
        return self

    def calibrate(self, X: Any, sample_weight: Any = None) -> Self:
        """Set the threshold from rows (n, p), for a limit that rests on rows; for "auto" those of the rules too.

        For "auto" and "conformal", rows that took no part in the fit; for "quantile" and a numeric `contamination`
        after `fit_moments` or `partial_fit`, which do not keep the rows.
        """
        check_is_fitted(self, "model_")
        settings = self.model_.settings
        if not (settings.needs_rows or settings.total[0] == AUTO):
            raise ValueError(
                f"limit={self.limit!r} needs no rows for its threshold; to calibrate on rows, set contamination to a "
                "number or limit to auto, quantile or conformal."
            )
        X = self._rows(X, reset=False, least=1)
        weights = None if sample_weight is None else check_weights(sample_weight, len(X))
        model = calibrate_by(self.model_, X, weights) if settings.total[0] == AUTO else self.model_
        # Who keeps a rule was counted by other limits.
        self._take(replace(model.calibrated(X, weights), kept=None))
        return self

    def check_rules(self, X: Any) -> tuple[AnyRule, ...]:
        """The rules, checked on rows (n, p) that took no part in the fit: `rules_` with each `widening` as measured.

        Without such rows, `widening` is what to expect from the number of rows fitted.
        """
        rows = self._rows_to_judge(X)
        self._take(self.model_.checked(rows))
        return self.rules_

    def _take(self, model: Model) -> None:
        """The model in use from now on: every fitted attribute is a view of it."""
        self.model_ = model
        self.mean_ = model.space.plain.mean
        self.scale_ = model.space.scale
        self.n_components_ = model.components.n_components
        # A limit that waits for rows has no attribute yet; nor has what a model file left out.
        for name in ("threshold_", "offset_", "threshold_limit_", "moments_"):
            if hasattr(self, name):
                delattr(self, name)
        if model.moments is not None:
            self.moments_ = model.moments
        self.rule_limits_ = model.rule_limits
        if model.thresholds.total is not None:
            self.threshold_limit_ = model.thresholds.total
            self.threshold_ = model.thresholds.total.value
            self.offset_ = -self.threshold_

    # ---- using the model

    def transform(self, X: Any) -> Floats:
        """Projections (n, n_components): each row's signed deviation from each rule, in the scaled space."""
        rows = self._rows_to_judge(X)
        return self.model_.project(rows)

    def score_samples(self, X: Any) -> Floats:
        """Minus the score (n,): the higher, the more normal."""
        rows = self._rows_to_judge(X)
        return -self.model_.score(rows)

    def decision_function(self, X: Any) -> Floats:
        """Negative for anomalies (n,): `score_samples` minus `offset_`."""
        rows = self._rows_to_judge(X)
        return self.model_.decision(rows)

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """+1 for normal rows, -1 for anomalies (n,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def explain(self, X: Any) -> Explanation:
        """Why rows (n, p), seen or new, score what they score, and what would be normal.

        Rows without names are refused where the fit had them: an explanation must not call a column by another's name.
        """
        check_is_fitted(self, "model_")
        if not self._named_by_hand:
            refuse_nameless(X, self._names())
        rows = self._rows_to_judge(X)
        return Explanation.of(self.model_, rows, get_row_labels(X, rows.shape[0]), get_library(X))

    def p_values(self, X: Any) -> Floats:
        """P-values (n,): of rows like those learned from, a share of about t has p <= t.

        After ``limit="conformal"`` and `calibrate` they are conformal: at most t, whatever the distribution.
        `aspca.benjamini_hochberg` turns p-values into a list of anomalies with a bounded share of false ones.
        """
        rows = self._rows_to_judge(X)
        return self.model_.p_values(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = isinstance(self.preprocessor, Preprocessor) and self.preprocessor.missing == "allow"
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


# The parameters are said once, in `aspca.settings`.
ASPCA.__doc__ = (ASPCA.__doc__ or "").replace("{parameters}", parameters_text("    "))
