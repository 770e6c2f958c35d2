"""A decision tree that imitates a detector: what its labels look like, feature by feature."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from aspca.baselines.pruning import cross_validated_penalty
from aspca.baselines.rows import checked_rows, shown_names
from aspca.baselines.tree_rules import ranks, rule_met, rules_of_tree
from aspca.estimators.aspca import ASPCA
from aspca.linalg.arrays import Bools, Floats, Ints


class SurrogateTree(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Rules of a classification tree (CART) that was taught the labels of a detector, after Xu et al. (2009).

    The rules say which rows the detector flags, not why: the tree may split on a feature that the detector does not
    look at, because it happens to go along with one that it does.

    A row's score is the share of flagged training rows in its leaf, and the threshold one half: the label is that of
    the majority. What counts as an anomaly is the detector's affair, so there is no `contamination` here: set the
    detector's. Nor are there contributions of features, since a path is not a sum.

    Parameters
    ----------
    detector : estimator with fit and predict, or None, default=None
        What to imitate; it is cloned and fitted to the same rows. None stands for ``ASPCA()``.
    ccp_alpha : float >= 0 or "auto", default="auto"
        Cost-complexity penalty by which the full tree is cut back. "auto" takes the smallest tree whose
        cross-validated error is within `standard_errors` of the lowest.
    cv : int >= 2, default=10
        Folds for "auto", stratified.
    standard_errors : float >= 0, default=1.0
        How many standard errors "auto" may lose for a smaller tree. Where a detector flags few rows of a kind, one may
        be all there is to gain, and no tree is left; 0 keeps whatever lowers the error.
    random_state : int, default=0
        Seed of the folds and of ties between splits.

    Attributes
    ----------
    detector_ : the fitted detector
    rules_ : tuple of TreeRule
        One per leaf: `path`, `n_rows`, `share_flagged`; the surest first. Every row meets exactly one, and the label
        and the score are read off it, so the rules are the whole model.
    features_used_ : ndarray of int
        Features that some rule asks for, in ascending order.
    fidelity_ : float
        Share of training rows that get the detector's label.
    ccp_alpha_ : float
        The penalty used.
    threshold_, offset_ : float
        0.5 and -0.5.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from aspca.baselines import PCADetector, SurrogateTree
    >>> X = np.column_stack([np.arange(100.0), np.zeros(100)])
    >>> X[::10, 1] = 5.0
    >>> tree = SurrogateTree(PCADetector(n_components=1, scaling="none", limit=9.0)).fit(X)
    >>> print(tree.rules_[0])
    x1 > 2.5: 10 of 10 rows flagged
    """

    def __init__(
        self,
        detector: Any = None,
        *,
        ccp_alpha: float | str = "auto",
        cv: int = 10,
        standard_errors: float = 1.0,
        random_state: int = 0,
    ) -> None:
        self.detector = detector
        self.ccp_alpha = ccp_alpha
        self.cv = cv
        self.standard_errors = standard_errors
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the detector, then the tree, to rows (n, p), n >= 2; `y` is ignored."""
        self._check_parameters()
        rows = checked_rows(self, X, reset=True, least=2)
        self.detector_ = (ASPCA() if self.detector is None else clone(self.detector)).fit(X)
        flagged = np.asarray(self.detector_.predict(X)) == -1
        codes = ranks(rows)
        self.ccp_alpha_ = self._penalty(rows, codes, flagged)
        tree = DecisionTreeClassifier(ccp_alpha=self.ccp_alpha_, random_state=self.random_state).fit(codes, flagged)
        self.rules_ = rules_of_tree(tree.tree_, codes, rows, flagged, shown_names(self))
        used = {condition.feature for rule in self.rules_ for condition in rule.conditions}
        self.features_used_ = np.array(sorted(used), dtype=np.intp)
        self.threshold_ = 0.5
        self.offset_ = -self.threshold_
        self.fidelity_ = float(((self.predict(X) == -1) == flagged).mean())
        return self

    def rule_of(self, X: Any) -> Ints:
        """Position in `rules_` of the rule that each row (n, p) meets."""
        check_is_fitted(self, "rules_")
        return rule_met(self.rules_, checked_rows(self, X, reset=False))

    def score_samples(self, X: Any) -> Floats:
        """Minus the share of flagged training rows (n,) in each row's leaf."""
        leaves = self.rule_of(X)
        return -np.array([rule.share_flagged for rule in self.rules_])[leaves]

    def decision_function(self, X: Any) -> Floats:
        """Negative for anomalies (n,): `score_samples` minus `offset_`."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """+1 for normal rows, -1 for anomalies (n,), as the tree has it."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _penalty(self, rows: Any, codes: Any, flagged: Bools) -> float:
        if self.ccp_alpha != "auto":
            return float(self.ccp_alpha)
        return cross_validated_penalty(
            rows, codes, flagged, folds=self.cv, seed=self.random_state, standard_errors=self.standard_errors
        )

    def _check_parameters(self) -> None:
        penalty: Any = self.ccp_alpha
        if not (penalty == "auto" if isinstance(penalty, str) else _is_number(penalty) and 0 <= penalty < np.inf):
            raise ValueError(f'ccp_alpha must be "auto" or a finite number >= 0, got {penalty!r}.')
        allowance: Any = self.standard_errors
        if not (_is_number(allowance) and 0 <= allowance < np.inf):
            raise ValueError(f"standard_errors must be a finite number >= 0, got {allowance!r}.")
        for name, least in (("cv", 2), ("random_state", 0)):
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least):
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
        if self.detector is not None and not (hasattr(self.detector, "fit") and hasattr(self.detector, "predict")):
            raise TypeError(
                f"detector must be an outlier detector with fit and predict, or None for ASPCA(), got "
                f"{type(self.detector).__name__}."
            )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
