"""The surrogate tree: its rules are the whole model, exact in the original units, and what the paper says of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from aspca.paper.baselines import Condition, PCADetector, SurrogateTree, TreeRule


class Above(OutlierMixin, BaseEstimator):
    """Flags rows by the sum of their ranks: a detector that no monotone change of a column alters."""

    def __init__(self, share: float = 0.2) -> None:
        self.share = share

    def fit(self, X: object, y: object = None) -> Above:
        return self

    def predict(self, X: object) -> np.ndarray:
        ranks = np.argsort(np.argsort(np.asarray(X), axis=0), axis=0)[:, :2].sum(axis=1)
        return np.where(ranks > np.quantile(ranks, 1 - self.share), -1, 1)


def integers(n: int = 150, seed: int = 0) -> np.ndarray:
    """Even integers below 500: every middle of two has three digits, so nothing is rounded."""
    return 2.0 * np.random.default_rng(seed).permuted(np.tile(np.arange(250), (4, 1)), axis=1)[:, :n].T


@pytest.mark.parametrize("penalty", [0.0, 0.01, "auto"])
def test_rules_cover_every_row_once_and_count_what_they_say(penalty: float | str) -> None:
    X = integers()
    tree = SurrogateTree(Above(), ccp_alpha=penalty).fit(X)
    flagged = Above().predict(X) == -1
    holds = np.array([rule.holds(X) for rule in tree.rules_])
    assert (holds.sum(axis=0) == 1).all()
    assert [(rule.n_rows, rule.n_flagged) for rule in tree.rules_] == [
        (int(h.sum()), int((h & flagged).sum())) for h in holds
    ]
    fresh = np.vstack([integers(seed=9), [[-1e9] * 4, [1e9] * 4]])
    met = np.array([rule.holds(fresh) for rule in tree.rules_])
    assert (met.sum(axis=0) == 1).all()
    np.testing.assert_array_equal(tree.rule_of(fresh), met.argmax(axis=0))
    shares = np.array([rule.share_flagged for rule in tree.rules_])
    np.testing.assert_array_equal(-tree.score_samples(fresh), shares[met.argmax(axis=0)])
    np.testing.assert_array_equal(tree.predict(fresh) == -1, shares[met.argmax(axis=0)] > 0.5)
    assert tree.fidelity_ == ((tree.predict(X) == -1) == flagged).mean()
    if penalty == 0.0:
        assert tree.fidelity_ == 1.0


@pytest.mark.parametrize("penalty", [0.0, 0.005, 0.02])
def test_it_is_scikit_learns_tree(penalty: float) -> None:
    X, fresh = integers(), integers(seed=5) + 1
    flagged = Above().predict(X) == -1
    twin = DecisionTreeClassifier(ccp_alpha=penalty, random_state=0).fit(X, flagged)
    ours = SurrogateTree(Above(), ccp_alpha=penalty).fit(X)
    assert len(ours.rules_) == twin.get_n_leaves()
    thresholds = {(c.feature, c.threshold) for rule in ours.rules_ for c in rule.conditions}
    inner = twin.tree_.feature >= 0
    assert thresholds <= set(zip(twin.tree_.feature[inner].tolist(), twin.tree_.threshold[inner].tolist(), strict=True))
    np.testing.assert_array_equal(ours.predict(fresh) == -1, twin.predict(fresh))


@pytest.mark.parametrize("change", [lambda x: x * 1e140, lambda x: x + 2.0**50, lambda x: np.exp(x / 2) - 1, np.cbrt])
def test_monotone_changes_of_the_columns_change_no_leaf(change: object) -> None:
    X = integers()
    before = SurrogateTree(Above(), ccp_alpha=0.005).fit(X)
    after = SurrogateTree(Above(), ccp_alpha=0.005).fit(change(X))
    np.testing.assert_array_equal(before.rule_of(X), after.rule_of(change(X)))


def test_the_one_standard_error_rule_by_hand() -> None:
    X = integers()
    flagged = Above().predict(X) == -1
    tree = SurrogateTree(Above(), cv=5, random_state=3).fit(X)
    path = DecisionTreeClassifier(random_state=3).cost_complexity_pruning_path(X, flagged).ccp_alphas
    path = np.unique(np.maximum(path, 0.0))
    between = np.sqrt(path * np.append(path[1:], path[-1]))
    wrong = []
    for penalty in between:
        folds = StratifiedKFold(5, shuffle=True, random_state=3).split(X, flagged)
        grow = DecisionTreeClassifier(ccp_alpha=penalty, random_state=3)
        wrong.append(sum((grow.fit(X[a], flagged[a]).predict(X[b]) != flagged[b]).sum() for a, b in folds))
    rate = min(wrong) / len(X)
    allowed = rate + np.sqrt(rate * (1 - rate) / len(X))
    assert tree.ccp_alpha_ == max(a for a, w in zip(between, wrong, strict=True) if w / len(X) <= allowed)
    lowest = SurrogateTree(Above(), cv=5, standard_errors=0.0, random_state=3).fit(X)
    assert lowest.ccp_alpha_ == max(a for a, w in zip(between, wrong, strict=True) if w == min(wrong))
    assert len(lowest.rules_) >= len(tree.rules_)


@pytest.mark.parametrize("limit", [0.0, 1e9])
def test_labels_of_one_kind_leave_one_rule(limit: float) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    tree = SurrogateTree(PCADetector(limit=limit)).fit(X)
    assert len(tree.rules_) == 1
    assert tree.rules_[0].path == "every row"
    assert tree.rules_[0].share_flagged == (limit == 0.0)
    assert (tree.predict(X) == (-1 if limit == 0.0 else 1)).all()


def test_text_is_exact() -> None:
    X = 1e10 + integers() / 2048
    tree = SurrogateTree(Above(), ccp_alpha=0.0).fit(X)
    for rule in tree.rules_:
        met = np.ones(len(X), dtype=bool)
        for words in rule.path.split(" and "):
            name, sign, number = words.split()
            column = X[:, int(name[1:])]
            met &= column > float(number) if sign == ">" else column <= float(number)
        np.testing.assert_array_equal(met, rule.holds(X))
    rule = TreeRule((Condition(0, "radius", True, 0.31), Condition(2, "area", False, 12.0)), 8, 6)
    assert str(rule) == "radius > 0.31 and area <= 12: 6 of 8 rows flagged"
    # Half is no majority, as in the threshold of one half.
    assert [TreeRule((), 4, k).flagged for k in (1, 2, 3)] == [False, False, True]


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"ccp_alpha": -1}, ValueError, 'ccp_alpha must be "auto" or a finite number >= 0, got -1'),
        ({"ccp_alpha": "best"}, ValueError, "ccp_alpha must be"),
        ({"cv": 1}, ValueError, "cv must be an integer of at least 2, got 1"),
        ({"random_state": None}, ValueError, "random_state must be an integer of at least 0"),
        ({"standard_errors": -0.5}, ValueError, "standard_errors must be a finite number >= 0"),
        ({"detector": "ASPCA"}, TypeError, "detector must be an outlier detector"),
    ],
)
def test_refusals(parameters: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        SurrogateTree(**parameters).fit(integers())
