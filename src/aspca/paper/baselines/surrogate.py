"""A decision tree that imitates a detector: what its labels look like, feature by feature."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from aspca.estimators.aspca import ASPCA
from aspca.linalg.arrays import Floats, Ints
from aspca.paper.baselines.subspace import ThresholdDetector, check_rows, get_names
from aspca.paper.baselines.trees import choose_penalty, extract_rules, rank_values
from aspca.settings import Setting

_SETTINGS = (
    Setting("ccp_alpha", "auto", '"auto" or a finite number >= 0', "Cost-complexity penalty.", ("auto",), 0.0),
    Setting("standard_errors", 1.0, "a finite number >= 0", "What a smaller tree may cost.", least=0.0),
)


class SurrogateTree(ThresholdDetector):
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
    >>> from aspca.paper.baselines import PCADetector, SurrogateTree
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
        rows = check_rows(self, X, reset=True, least=2)
        self.detector_ = (ASPCA() if self.detector is None else clone(self.detector)).fit(X)
        flagged = np.asarray(self.detector_.predict(X)) == -1
        codes = rank_values(rows)
        if self.ccp_alpha == "auto":
            self.ccp_alpha_ = choose_penalty(rows, codes, flagged, self.cv, self.random_state, self.standard_errors)
        else:
            self.ccp_alpha_ = float(self.ccp_alpha)
        tree = DecisionTreeClassifier(ccp_alpha=self.ccp_alpha_, random_state=self.random_state).fit(codes, flagged)
        names = get_names(self) or [f"x{j}" for j in range(rows.shape[1])]
        self.rules_ = extract_rules(tree.tree_, codes, rows, flagged, names)
        used = {condition.feature for rule in self.rules_ for condition in rule.conditions}
        self.features_used_ = np.array(sorted(used), dtype=np.intp)
        self.threshold_ = 0.5
        self.offset_ = -self.threshold_
        self.fidelity_ = float(((self.predict(X) == -1) == flagged).mean())
        return self

    def rule_of(self, X: Any) -> Ints:
        """Position in `rules_` of the rule that each row (n, p) meets."""
        check_is_fitted(self, "rules_")
        rows = check_rows(self, X, reset=False)
        met = np.zeros(rows.shape[0], dtype=np.intp)
        # The leaves of a tree leave no row out.
        for k, rule in enumerate(self.rules_):
            met[rule.holds(rows)] = k
        return met

    def score_samples(self, X: Any) -> Floats:
        """Minus the share of flagged training rows (n,) in each row's leaf."""
        leaves = self.rule_of(X)
        return -np.array([rule.share_flagged for rule in self.rules_])[leaves]

    def _check_parameters(self) -> None:
        for setting in _SETTINGS:
            setting.check(getattr(self, setting.name))
        for name, least in (("cv", 2), ("random_state", 0)):
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least):
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
        if self.detector is not None and not (hasattr(self.detector, "fit") and hasattr(self.detector, "predict")):
            raise TypeError(
                f"detector must be an outlier detector with fit and predict, or None for ASPCA(), got "
                f"{type(self.detector).__name__}."
            )
