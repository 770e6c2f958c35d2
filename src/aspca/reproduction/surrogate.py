"""Decision trees that imitate ASPCA-BG, node by node: how the paper's rival explains its flags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from aspca.baselines.tree_rules import exact_thresholds, ranks
from aspca.linalg.arrays import Ints
from aspca.reproduction.study import Study

# The paper trimmed its trees by hand; these stop at so many leaves, the most telling splits first.
MOST_LEAVES = 8
_KINDS = 3


@dataclass(frozen=True)
class Node:
    """One node of a tree.

    Attributes
    ----------
    found, false_alarms, passed : int
        Rows in it: flagged anomalies, flagged normal rows, and rows that are not flagged.
    kinds : tuple of (str, int)
        Which anomalies the flagged ones are, the most frequent.
    feature : str
        What it splits on; empty for a leaf.
    threshold : float
        Rows up to it go to the left.
    left, right : Node or None
    """

    found: int
    false_alarms: int
    passed: int
    kinds: tuple[tuple[str, int], ...]
    feature: str = ""
    threshold: float = 0.0
    left: Node | None = None
    right: Node | None = None

    def nodes(self) -> Iterator[Node]:
        """Itself and all below."""
        yield self
        for child in (self.left, self.right):
            if child is not None:
                yield from child.nodes()

    @property
    def features(self) -> tuple[str, ...]:
        """What it and the nodes below split on, each once, from the top."""
        level, seen = [self], dict[str, None]()
        while level:
            seen.update(dict.fromkeys(node.feature for node in level if node.feature))
            level = [child for node in level for child in (node.left, node.right) if child is not None]
        return tuple(seen)


def surrogate(study: Study) -> Node:
    """The tree that was taught which rows ASPCA-BG flags."""
    rows = study.data.data
    codes = ranks(rows)
    tree = DecisionTreeClassifier(max_leaf_nodes=MOST_LEAVES, random_state=0).fit(codes, study.flagged).tree_
    thresholds = exact_thresholds(tree, codes, rows)
    kinds = np.array(study.data.kinds)

    def node(number: int, members: Ints) -> Node:
        flagged, anomalous = study.flagged[members], study.anomalous[members]
        found = Counter(kinds[members[flagged & anomalous]].tolist())
        counts = (sum(found.values()), int((flagged & ~anomalous).sum()), int((~flagged).sum()))
        most = tuple(found.most_common(_KINDS))
        if tree.children_left[number] < 0:
            return Node(*counts, most)
        feature = int(tree.feature[number])
        below = rows[members, feature] <= thresholds[number]
        return Node(
            *counts,
            most,
            study.names[feature],
            float(thresholds[number]),
            node(int(tree.children_left[number]), members[below]),
            node(int(tree.children_right[number]), members[~below]),
        )

    return node(0, np.arange(rows.shape[0]))
