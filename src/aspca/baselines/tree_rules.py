"""A decision tree as rules in the original units: each path from the root to a leaf, with exact float64 thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints

# Digits that a threshold is shown with, if so many can tell the values on its two sides apart.
_DIGITS = 3


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
    """One leaf.

    Attributes
    ----------
    conditions : tuple of Condition
        The path, from the root; of several conditions on one side of a feature the tightest, where the first stood.
    n_rows, n_flagged : int
        Training rows that meet them, and those of them that the detector flags.
    """

    conditions: tuple[Condition, ...]
    n_rows: int
    n_flagged: int

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


def ranks(X: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Each column's values as 0, 1, 2, ... in their order (n, p).

    scikit-learn grows trees in float32, where values that differ in the eighth digit are one and those beyond 1e38
    infinite. A tree depends on the order of the values only, and small integers are exact in float32.
    """
    out = np.empty(X.shape, dtype=np.float32, order="F")
    for j in range(X.shape[1]):
        out[:, j] = np.unique(X[:, j], return_inverse=True)[1].reshape(-1)
    return out


def exact_thresholds(tree: Any, codes: Any, X: Any) -> Floats:
    """For each node of a scikit-learn `tree_` grown on `codes` (n, p), the ranks of the rows X, the threshold on X.

    It lies in the middle between the values on its two sides among the rows of the node, rounded to few digits.
    """
    thresholds = np.zeros(tree.node_count)
    stack: list[tuple[int, Ints]] = [(0, np.arange(X.shape[0]))]
    while stack:
        node, rows = stack.pop()
        if tree.children_left[node] < 0:
            continue
        below = codes[rows, tree.feature[node]] <= tree.threshold[node]
        values = np.asarray(X[rows, tree.feature[node]], dtype=np.float64)
        thresholds[node] = _between(float(values[below].max()), float(values[~below].min()))
        stack.append((int(tree.children_left[node]), rows[below]))
        stack.append((int(tree.children_right[node]), rows[~below]))
    return thresholds


def rules_of_tree(tree: Any, codes: Any, X: Any, flagged: Bools, names: Sequence[str]) -> tuple[TreeRule, ...]:
    """The leaves of a scikit-learn `tree_` grown on `codes` (n, p), the ranks of the rows X, as rules about X.

    Those with the largest share of flagged rows come first, of these the one with most rows.
    """
    thresholds = exact_thresholds(tree, codes, X)
    rules = []
    stack: list[tuple[int, Ints, tuple[Condition, ...]]] = [(0, np.arange(X.shape[0]), ())]
    while stack:
        node, rows, path = stack.pop()
        if tree.children_left[node] < 0:
            rules.append(TreeRule(_tightest(path), rows.size, int(flagged[rows].sum())))
            continue
        feature = int(tree.feature[node])
        for above, child in ((True, tree.children_right[node]), (False, tree.children_left[node])):
            condition = Condition(feature, str(names[feature]), above, float(thresholds[node]))
            stack.append((int(child), rows[condition.holds(X[rows])], (*path, condition)))
    return tuple(sorted(rules, key=lambda rule: (-rule.share_flagged, -rule.n_rows)))


def rule_met(rules: Sequence[TreeRule], X: Any) -> Ints:
    """Position (n,) of the rule that each row (n, p) meets; the leaves of a tree leave no row out."""
    met = np.zeros(X.shape[0], dtype=np.intp)
    for k, rule in enumerate(rules):
        met[rule.holds(X)] = k
    return met


def _between(low: float, high: float) -> float:
    """A number t, low <= t < high, close to the middle and with few digits."""
    middle = low + 0.5 * (high - low)
    for digits in range(_DIGITS, 18):
        rounded = float(f"{middle:.{digits}g}")
        if low <= rounded < high:
            return rounded
    return low


def _tightest(path: Sequence[Condition]) -> tuple[Condition, ...]:
    # Further down a path, a threshold on the same side of the same feature is always tighter.
    return tuple({(condition.feature, condition.above): condition for condition in path}.values())
