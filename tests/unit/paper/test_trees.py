"""Cutting a tree back: one walk says what scikit-learn's refitted trees say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from aspca.paper.baselines.surrogate import (
    choose_penalty,
    count_held_out_errors,
    find_collapse_penalties,
    find_thresholds,
    rank_values,
)


def labelled(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Even integers, so that the middle of two is one of three digits, and noisy labels."""
    rng = np.random.default_rng(seed)
    X = 2.0 * rng.integers(0, 250, size=(n, 5))
    return X, (X[:, 0] + X[:, 1] + 60 * rng.normal(size=n)) > 700


@pytest.mark.parametrize("seed", range(4))
def test_penalties_at_which_nodes_collapse(seed: int) -> None:
    X, flagged = labelled(seed)
    full = DecisionTreeClassifier(random_state=0).fit(X, flagged)
    collapse = find_collapse_penalties(full.tree_)
    path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, flagged)
    inner = full.tree_.children_left >= 0
    np.testing.assert_allclose(collapse[0], path.ccp_alphas[-1])
    for node in np.flatnonzero(inner):
        for child in (full.tree_.children_left[node], full.tree_.children_right[node]):
            assert collapse[child] <= collapse[node]
    for low, high in zip(path.ccp_alphas[:-1], path.ccp_alphas[1:], strict=True):
        if high - low > 1e-9:
            middle = 0.5 * (low + high)
            cut = DecisionTreeClassifier(random_state=0, ccp_alpha=middle).fit(X, flagged)
            assert (cut.tree_.children_left >= 0).sum() == (collapse > middle).sum()


@pytest.mark.parametrize("seed", range(4))
def test_one_walk_counts_the_errors_of_every_subtree(seed: int) -> None:
    X, flagged = labelled(seed)
    fresh, wanted = labelled(seed + 100)
    candidates = np.append(np.geomspace(1e-4, 0.3, 40), 1.0)
    tree = DecisionTreeClassifier(random_state=0).fit(rank_values(X), flagged).tree_
    wrong = count_held_out_errors(tree, find_thresholds(tree, rank_values(X), X), fresh, wanted, candidates)
    for penalty, count in zip(candidates, wrong, strict=True):
        refitted = DecisionTreeClassifier(random_state=0, ccp_alpha=penalty).fit(X, flagged)
        assert count == (refitted.predict(fresh) != wanted).sum()
    assert wrong[-1] == (wanted != (flagged.mean() > 0.5)).sum()


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_labels_to_compare_cut_nothing(count: int) -> None:
    X, _ = labelled(0)
    flagged = np.arange(200) < count
    assert choose_penalty(X, rank_values(X), flagged, folds=10, seed=0, standard_errors=1.0) == 0.0
