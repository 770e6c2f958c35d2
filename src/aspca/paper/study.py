"""One of the paper's data sets with its settings, and every fit that a table or a figure needs, made once."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from aspca.estimators.aspca import ASPCA
from aspca.findings.explanation import Explanation
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.model.judgement import Judgement
from aspca.model.model import Model
from aspca.moments import Moments
from aspca.paper.baselines.subspace import PCADetector
from aspca.paper.baselines.surrogate import find_thresholds, rank_values
from aspca.paper.datasets import Dataset
from aspca.paper.published import MatchedComponents, get_printed, get_rows, match_components
from aspca.pipeline.fit import Learning
from aspca.pipeline.options import make_request
from aspca.pipeline.passes import Silent
from aspca.tables.memory import make_array_table

PLAIN = "PCA"
METHODS = (PLAIN, "ASPCA-F", "ASPCA-B", "ASPCA-FG", "ASPCA-BG")
BEST = "ASPCA-BG"
# The paper counts larger loadings as not zero.
NONZERO = 0.01
# The paper trimmed its trees by hand; ours stop at so many leaves, the splits that gain most first.
MOST_LEAVES = 8


@dataclass(frozen=True, eq=False)
class Fit:
    """An abnormal subspace of the scaled rows."""

    method: str
    loadings: Floats  # (p, d)
    variance: float  # sum of the squared projections of all rows: the paper's
    scores: Floats  # (n,) squared prediction errors
    auc: float
    sequence: Floats  # (p, k) what it was taken from, the most abnormal direction first

    @property
    def l1(self) -> float:
        return float(np.abs(self.loadings).sum())

    @property
    def measures(self) -> dict[str, float]:
        """The columns of the paper's tables; "card 0.1" is how many loadings are larger than that."""
        size = np.abs(self.loadings)
        cards = {f"card {least}": int((size > least).sum()) for least in (0.1, 0.01)}
        return {"L1": self.l1, **cards, "variance": self.variance, "AUC": self.auc}


@dataclass(frozen=True)
class Node:
    """One node of a decision tree that imitates ASPCA-BG, the rival of the paper's explanations."""

    found: int  # rows in it: flagged anomalies,
    false_alarms: int  # flagged normal rows,
    passed: int  # and rows that are not flagged
    kinds: tuple[tuple[str, int], ...]  # which anomalies the flagged ones are, the three most frequent
    feature: str = ""  # what it splits on; empty for a leaf
    threshold: float = 0.0  # rows up to it go to the first child
    children: tuple[Node, ...] = ()  # two, or none

    @property
    def features(self) -> tuple[str, ...]:
        """What it and the nodes below split on, each once, from the top."""
        level, seen = [self], dict[str, None]()
        while level:
            seen.update(dict.fromkeys(node.feature for node in level if node.feature))
            level = [child for node in level for child in node.children]
        return tuple(seen)


class Study:
    """A data set, "synthetic", "breast-cancer" or "kdd99", and the paper's settings for it."""

    def __init__(self, name: str, data: Dataset) -> None:
        settings = get_printed("parameters", name)
        self.name, self.data, self.names = name, data, data.feature_names
        # Which rows (n,) are anomalies.
        self.anomalous: Bools = np.asarray(data.labels == 1)
        self.n_components, self.penalty = int(settings["abnormal PCs"]), float(settings["lambda"])
        self.threshold = float(get_printed("thresholds", name, "SPE"))
        # The published loadings of the synthetic data fit D = C + A in raw units.
        self.scaling = "none" if name == "synthetic" else "maxabs"
        self._fits: dict[tuple[str, float], Fit] = {}
        self._aucs: dict[str, Floats] = {}
        # By group of rows, what joint sparse PCA selects, and at which penalty; a table and a figure ask for it.
        self.selections: dict[str, tuple[list[str], float]] = {}

    @cached_property
    def moments(self) -> Moments:
        return Moments.from_array(self.data.data)

    @cached_property
    def pca(self) -> PCADetector:
        """All principal directions, the least first."""
        return PCADetector(n_components=len(self.names), scaling=self.scaling).fit(self.data.data)

    @cached_property
    def rows(self) -> Floats:
        """The paper's D (n, p): centred and scaled."""
        return np.asarray((self.data.data - self.pca.mean_) / self.pca.scale_)

    def fit(self, method: str = BEST, penalty: float | None = None) -> Fit:
        """One method at one lambda, the paper's by default; at 0 all are plain PCA, not rotated."""
        wanted = self.penalty if penalty is None else penalty
        method = PLAIN if wanted == 0 else method
        key = (method, 0.0 if method == PLAIN else wanted)
        if key not in self._fits:
            self._fits[key] = self._fit(*key)
        return self._fits[key]

    def compute_auc(self, scores: Floats) -> float:
        """Not a number where there is nothing to find."""
        return float(roc_auc_score(self.data.labels, scores)) if self.anomalous.any() else float("nan")

    @cached_property
    def matched(self) -> MatchedComponents:
        """Components of ASPCA-BG under the paper's numbers."""
        return match_components(self.fit().loadings, self.names, get_rows("components", self.name))

    @cached_property
    def projections(self) -> Floats:
        """Of the anomalies (m, d) on the components under the paper's numbers."""
        return np.asarray(self.rows[self.anomalous] @ self.matched.loadings)

    @cached_property
    def flagged(self) -> Bools:
        """Rows (n,) above the paper's threshold by its best method."""
        return np.asarray(self.fit().scores >= self.threshold)

    @cached_property
    def backward(self) -> Floats:
        """ASPCA-B's sequence (p, p) to its end: its own fit stops at its number of directions."""
        return self.fit_paper_model("ASPCA-B", self.penalty, len(self.names)).subspace_.sequence

    def build_basis(self, method: str) -> Floats:
        """A basis (p, p) of the whole space, the most significant direction first, the abnormal ones last."""
        fit = self.fit(method)
        sequence = self.backward if method.startswith("ASPCA-B") else fit.sequence
        normal = sequence[:, self.n_components :]
        # A rotated basis ascends in variance; F and B keep their order.
        abnormal = fit.loadings if method.endswith("G") else sequence[:, : self.n_components]
        return np.concatenate([abnormal, normal], axis=1)[:, ::-1]

    @cached_property
    def tree(self) -> Node:
        """The tree that was taught which rows ASPCA-BG flags."""
        rows, codes = self.data.data, rank_values(self.data.data)
        tree = DecisionTreeClassifier(max_leaf_nodes=MOST_LEAVES, random_state=0).fit(codes, self.flagged).tree_
        thresholds = find_thresholds(tree, codes, rows)
        kinds = np.array(self.data.kinds)

        def make_node(number: int, members: Ints) -> Node:
            flagged, anomalous = self.flagged[members], self.anomalous[members]
            found = Counter(kinds[members[flagged & anomalous]].tolist())
            counts = (found.total(), int((flagged & ~anomalous).sum()), int((~flagged).sum()))
            most = tuple(found.most_common(3))
            if tree.children_left[number] < 0:
                return Node(*counts, most)
            feature, threshold = int(tree.feature[number]), float(thresholds[number])
            below = rows[members, feature] <= threshold
            children = (
                make_node(int(tree.children_left[number]), members[below]),
                make_node(int(tree.children_right[number]), members[~below]),
            )
            return Node(*counts, most, self.names[feature], threshold, children)

        return make_node(0, np.arange(rows.shape[0]))

    @cached_property
    def product(self) -> tuple[Model, Judgement]:
        """What `aspca detect` learns of the rows with its defaults, and how it judges them."""
        table = make_array_table(self.data.description, self.names, self.data.data)
        with ExitStack() as stack:
            model = Learning.of(make_request(table), stack, Silent(), judges_itself=True).model()
        return model, model.judge(self._order_columns(model))

    @cached_property
    def product_shares(self) -> Floats:
        """The anomalies' scores by `product` (m, p), split over features."""
        model, _ = self.product
        rows = self._order_columns(model)[self.anomalous]
        return Explanation.of(model, rows, range(rows.shape[0])).feature_contributions

    def _order_columns(self, model: Model) -> Floats:
        return np.ascontiguousarray(self.data.data[:, [self.names.index(name) for name in model.names]])

    def compute_aucs_by_number(self, method: str) -> Floats:
        """AUC with 1, 2, ..., p - 1 abnormal directions: sequences are nested, so one is enough."""
        if method not in self._aucs:
            sequence = self.backward if method == "ASPCA-B" else self.fit(method).sequence
            totals = np.cumsum(np.square(self.rows @ sequence), axis=1)
            self._aucs[method] = np.array([self.compute_auc(column) for column in totals.T[:-1]])
        return self._aucs[method]

    def _fit(self, method: str, penalty: float) -> Fit:
        if method == PLAIN:
            sequence = np.ascontiguousarray(self.pca.components_.T)
            loadings = sequence[:, : self.n_components]
        else:
            subspace = self.fit_paper_model(method, penalty, self.n_components).subspace_
            forward = method.startswith("ASPCA-F")
            sequence, loadings = subspace.sequence[:, ::-1] if forward else subspace.sequence, subspace.loadings
        scores = np.square(self.rows @ loadings).sum(axis=1)
        return Fit(method, loadings, float(scores.sum()), scores, self.compute_auc(scores), sequence)

    def fit_paper_model(self, method: str, penalty: float, n_components: int) -> ASPCA:
        """The estimator with the paper's settings."""
        # The paper's lambda belongs to D'D, the public alpha to D'D / n.
        model = ASPCA.paper(
            n_components=n_components,
            alpha=penalty / self.data.data.shape[0],
            variant=method.removeprefix("ASPCA-"),
            scaling=self.scaling,
        )
        return model.fit_moments(self.moments, self.names)
