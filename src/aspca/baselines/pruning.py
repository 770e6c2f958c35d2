"""How far to cut a tree back: the one-standard-error rule of Breiman, Friedman, Olshen and Stone (1984, 3.4).

scikit-learn would grow a tree anew for every penalty and fold. Here each fold's tree is grown once: the penalty at
which each of its nodes becomes a leaf tells what every subtree of it says about the rows left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from aspca.baselines.tree_rules import exact_thresholds
from aspca.linalg.arrays import Bools, Floats, Ints


def cross_validated_penalty(
    X: Any, codes: Any, flagged: Bools, *, folds: int, seed: int, standard_errors: float
) -> float:
    """The cost-complexity penalty of the smallest tree that is as good as any, by cross-validation.

    Each subtree of the weakest-link path is stood for by the geometric mean of the two penalties between which it is
    best. Its error is the share of rows that trees grown without them mislabel; the largest penalty is taken whose
    error is within so many standard errors, sqrt(r (1 - r) / n) each, of the lowest error r.

    Parameters
    ----------
    X, codes : (n, p)
        Rows, and their ranks, on which trees are grown. Rows left out are compared with thresholds on X: a rank knows
        no middle between two values.
    flagged : (n,)
        Labels.
    folds : int
        Stratified folds; as many as there are rows of the rarer label, if these are fewer. With a single such row there
        is nothing to compare, and nothing is cut.
    seed : int
        Of the folds, and of ties between splits.
    standard_errors : float
        1 is the book's rule; 0 takes the smallest of the trees with the lowest error.
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
        wrong += held_out_errors(
            tree, exact_thresholds(tree, codes[train], X[train]), X[test], flagged[test], candidates
        )
    errors = wrong / flagged.size
    lowest = float(errors.min())
    allowed = lowest + standard_errors * np.sqrt(lowest * (1.0 - lowest) / flagged.size)
    return float(candidates[np.flatnonzero(errors <= allowed)[-1]])


def held_out_errors(tree: Any, thresholds: Floats, X: Any, flagged: Bools, candidates: Floats) -> Floats:
    """How many rows X (m, p) a full tree, cut back by each of the ascending penalties (k,), mislabels (k,)."""
    majority = tree.value[:, 0, 1] > tree.value[:, 0, 0]
    # From this candidate on, a node is a leaf or gone; never later than its parent.
    first = np.searchsorted(candidates, collapse_penalties(tree))
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


def collapse_penalties(tree: Any) -> Floats:
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
    worth = np.full(left.size, np.inf)
    worth[inner] = (risk[inner] - below[inner]) / (leaves[inner] - 1)
    collapse = np.zeros(left.size)
    penalty = 0.0
    while worth[0] < np.inf:
        weakest = int(worth.argmin())
        penalty = max(penalty, float(worth[weakest]))
        cut = [weakest]
        while cut:
            node = cut.pop()
            if worth[node] < np.inf:
                worth[node], collapse[node] = np.inf, penalty
                cut += [int(left[node]), int(right[node])]
        gain, lost = risk[weakest] - below[weakest], leaves[weakest] - 1
        above = int(parent[weakest])
        while above >= 0:
            below[above] += gain
            leaves[above] -= lost
            worth[above] = (risk[above] - below[above]) / (leaves[above] - 1)
            above = int(parent[above])
    return collapse
