"""A decision tree that imitates a detector: what its labels look like, feature by feature, as rules.

Rules are in the original units, with exact float64 thresholds. Cutting back is the one-standard-error rule of Breiman,
Friedman, Olshen and Stone (1984, 3.4). scikit-learn would grow a tree anew for every penalty and fold. Here each fold's
tree is grown once: the penalty at which each of its nodes becomes a leaf says what every subtree of it predicts for the
rows left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from aspca.estimators.aspca import ASPCA
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.paper.baselines.subspace import ThresholdDetector, check_rows, get_names
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


# ---- trees as rules


@dataclass(frozen=True)
class Condition:
    """``feature > threshold`` (above) or ``feature <= threshold``."""

    feature: int
    name: str
    above: bool
    threshold: float

    def __str__(self) -> str:
        short = f"{self.threshold:.15g}"
        shown = short if float(short) == self.threshold else repr(self.threshold)
        return f"{self.name} {'>' if self.above else '<='} {shown}"

    def holds(self, X: Any) -> Bools:
        """For each row (n, p)."""
        column = np.asarray(X[:, self.feature], dtype=np.float64)
        return np.asarray(column > self.threshold if self.above else column <= self.threshold)


@dataclass(frozen=True)
class TreeRule:
    """One leaf."""

    # The path, from the root; of several conditions on one side of a feature the tightest, where the first stood.
    conditions: tuple[Condition, ...]
    n_rows: int  # training rows that meet them,
    n_flagged: int  # and those of them that the detector flags

    @property
    def path(self) -> str:
        """``radius_mean > 0.31 and concavity_mean <= 0.12``."""
        return " and ".join(map(str, self.conditions)) or "every row"

    @property
    def share_flagged(self) -> float:
        return self.n_flagged / self.n_rows

    @property
    def flagged(self) -> bool:
        """Whether most of its rows are."""
        return 2 * self.n_flagged > self.n_rows

    def holds(self, X: Any) -> Bools:
        """For each row (n, p), whether it meets every condition."""
        met = np.ones(X.shape[0], dtype=np.bool_)
        for condition in self.conditions:
            met &= condition.holds(X)
        return met

    def __str__(self) -> str:
        return f"{self.path}: {self.n_flagged} of {self.n_rows} rows flagged"


def rank_values(X: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Each column's values as 0, 1, 2, ... in their order (n, p).

    scikit-learn grows trees in float32, where values that differ in the eighth digit are one and those beyond 1e38
    infinite. A tree depends on the order of the values only, and small integers are exact in float32.
    """
    out = np.empty(X.shape, dtype=np.float32, order="F")
    for j in range(X.shape[1]):
        out[:, j] = np.unique(X[:, j], return_inverse=True)[1].reshape(-1)
    return out


def find_thresholds(tree: Any, codes: Any, X: Any) -> Floats:
    """For each node of a scikit-learn `tree_` grown on `codes` (n, p), the ranks of the rows X, the threshold on X.

    It lies in the middle between the values on its two sides among the rows of the node, rounded to few digits.
    """
    thresholds = np.zeros(tree.node_count)
    members = tree.decision_path(codes).tocsc()
    for node in np.flatnonzero(tree.children_left >= 0):
        rows = members.indices[members.indptr[node] : members.indptr[node + 1]]
        below = codes[rows, tree.feature[node]] <= tree.threshold[node]
        values = np.asarray(X[rows, tree.feature[node]], dtype=np.float64)
        thresholds[node] = _round_between(float(values[below].max()), float(values[~below].min()))
    return thresholds


def extract_rules(tree: Any, codes: Any, X: Any, flagged: Bools, names: Sequence[str]) -> tuple[TreeRule, ...]:
    """The leaves of a scikit-learn `tree_` grown on `codes` (n, p), the ranks of the rows X, as rules about X.

    Those with the largest share of flagged rows come first, of these the one with most rows.
    """
    thresholds = find_thresholds(tree, codes, X)
    leaves = tree.apply(codes)
    n_rows, n_flagged = (np.bincount(part, minlength=tree.node_count) for part in (leaves, leaves[flagged]))
    rules = []
    stack: list[tuple[int, tuple[Condition, ...]]] = [(0, ())]
    while stack:
        node, path = stack.pop()
        if tree.children_left[node] < 0:
            # Further down a path, a threshold on the same side of the same feature is always tighter.
            tightest = {(condition.feature, condition.above): condition for condition in path}
            rules.append(TreeRule(tuple(tightest.values()), int(n_rows[node]), int(n_flagged[node])))
            continue
        feature = int(tree.feature[node])
        for above, child in ((True, tree.children_right[node]), (False, tree.children_left[node])):
            condition = Condition(feature, str(names[feature]), above, float(thresholds[node]))
            stack.append((int(child), (*path, condition)))
    return tuple(sorted(rules, key=lambda rule: (-rule.share_flagged, -rule.n_rows)))


def _round_between(low: float, high: float) -> float:
    """A number t, low <= t < high, close to the middle and with few digits."""
    middle = low + 0.5 * (high - low)
    # Three digits are read at a glance; 17 hold every float64.
    for digits in range(3, 18):
        rounded = float(f"{middle:.{digits}g}")
        if low <= rounded < high:
            return rounded
    return low


def choose_penalty(X: Any, codes: Any, flagged: Bools, folds: int, seed: int, standard_errors: float) -> float:
    """The cost-complexity penalty of the smallest tree that is as good as any, by cross-validation.

    Each subtree of the weakest-link path is stood for by the geometric mean of the two penalties between which it is
    best. Its error is the share of rows that trees grown without them mislabel; the largest penalty is taken whose
    error is within so many standard errors, sqrt(r (1 - r) / n) each, of the lowest error r.

    Trees are grown on `codes`, the ranks of the rows X (n, p); rows left out are compared with thresholds on X: a rank
    knows no middle between two values. Folds are stratified, and no more than there are rows of the rarer label; with a
    single such row nothing is cut. `standard_errors` of 1 is the book's rule; 0 takes the smallest of the best trees.
    """
    rarer = int(min(flagged.sum(), (~flagged).sum()))
    if rarer < 2:
        return 0.0
    path = DecisionTreeClassifier(random_state=seed).cost_complexity_pruning_path(codes, flagged)
    penalties = np.unique(np.maximum(path.ccp_alphas, 0.0))
    candidates = np.sqrt(penalties * np.append(penalties[1:], penalties[-1]))
    wrong = np.zeros(candidates.size)
    splitter = StratifiedKFold(min(folds, rarer), shuffle=True, random_state=seed)
    for train, test in splitter.split(codes, flagged):
        tree = DecisionTreeClassifier(random_state=seed).fit(codes[train], flagged[train]).tree_
        wrong += count_held_out_errors(
            tree, find_thresholds(tree, codes[train], X[train]), X[test], flagged[test], candidates
        )
    errors = wrong / flagged.size
    lowest = float(errors.min())
    allowed = lowest + standard_errors * np.sqrt(lowest * (1.0 - lowest) / flagged.size)
    return float(candidates[np.flatnonzero(errors <= allowed)[-1]])


def count_held_out_errors(tree: Any, thresholds: Floats, X: Any, flagged: Bools, candidates: Floats) -> Floats:
    """How many rows X (m, p) a full tree, cut back by each of the ascending penalties (k,), mislabels (k,)."""
    majority = tree.value[:, 0, 1] > tree.value[:, 0, 0]
    # From this candidate on, a node is a leaf or gone; never later than its parent.
    first = np.searchsorted(candidates, find_collapse_penalties(tree))
    wrong = np.zeros(candidates.size)
    stack: list[tuple[int, Ints, int]] = [(0, np.arange(X.shape[0]), candidates.size)]
    while stack:
        node, rows, gone = stack.pop()
        wrong[first[node] : gone] += int((flagged[rows] != majority[node]).sum())
        if tree.children_left[node] >= 0 and first[node] > 0 and rows.size:
            below = X[rows, tree.feature[node]] <= thresholds[node]
            stack.append((int(tree.children_left[node]), rows[below], int(first[node])))
            stack.append((int(tree.children_right[node]), rows[~below], int(first[node])))
    return wrong


def find_collapse_penalties(tree: Any) -> Floats:
    """The penalty (nodes,) from which on weakest-link pruning has cut each node's subtree off; 0 for leaves.

    The weakest link is the inner node whose subtree lowers the impurity least per leaf. It becomes a leaf, what lies
    below goes with it, and so on up to the root: penalties never fall on the way.
    """
    left, right = tree.children_left, tree.children_right
    inner = np.flatnonzero(left >= 0)
    parent = np.full(left.size, -1)
    parent[left[inner]] = parent[right[inner]] = inner
    risk = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    below, leaves = risk.copy(), np.ones(left.size)
    # Parents come before their children.
    for node in inner[::-1]:
        below[node] = below[left[node]] + below[right[node]]
        leaves[node] = leaves[left[node]] + leaves[right[node]]
    strength = np.full(left.size, np.inf)
    strength[inner] = (risk[inner] - below[inner]) / (leaves[inner] - 1)
    collapse = np.zeros(left.size)
    penalty = 0.0
    while strength[0] < np.inf:
        weakest = int(strength.argmin())
        penalty = max(penalty, float(strength[weakest]))
        cut = [weakest]
        while cut:
            node = cut.pop()
            if strength[node] < np.inf:
                strength[node], collapse[node] = np.inf, penalty
                cut += [int(left[node]), int(right[node])]
        gain, lost = risk[weakest] - below[weakest], leaves[weakest] - 1
        above = int(parent[weakest])
        while above >= 0:
            below[above] += gain
            leaves[above] -= lost
            strength[above] = (risk[above] - below[above]) / (leaves[above] - 1)
            above = int(parent[above])
    return collapse
