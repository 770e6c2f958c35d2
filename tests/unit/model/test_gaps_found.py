"""What is missing hides little: anomalies in rows with gaps are ranked as by the distance of their observed cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import zoo
from aspca import ASPCA, Preprocessor


def observed_distance(X: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """The Mahalanobis distance of the cells that are there, less what it is on average for so many."""
    out = np.zeros(len(X))
    for i, x in enumerate(X):
        there = np.flatnonzero(~np.isnan(x))
        if there.size:
            off = x[there] - mean[there]
            out[i] = off @ np.linalg.inv(covariance[np.ix_(there, there)]) @ off / there.size
    return out


def judged(X: np.ndarray, train: np.ndarray, anomalies: np.ndarray) -> tuple[float, float]:
    """AUC of ours and of the naive distance, both learned from whole rows."""
    names = [f"x{j}" for j in range(train.shape[1])]
    model = ASPCA(preprocessor=Preprocessor(missing="allow")).fit(pd.DataFrame(train, columns=names))
    ours = roc_auc_score(anomalies, -model.score_samples(pd.DataFrame(X, columns=names)))
    scale = train.std(axis=0)
    naive = observed_distance(X / scale, train.mean(axis=0) / scale, np.cov((train / scale).T, bias=True))
    return ours, roc_auc_score(anomalies, naive)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_sums_with_gaps_are_ranked_as_by_the_cells_that_are_there(share: float, seed: int) -> None:
    """Six sums of gamma columns six decades apart, one cell of an anomaly moved by half a deviation."""
    whole, anomalies = zoo.moved(zoo.sums(3000, 20 + seed), 0.2, 30 + seed, by=0.5)
    ours, naive = judged(zoo.with_gaps(whole, share, 40 + seed), zoo.sums(1500, 10 + seed), anomalies)
    assert ours >= naive - 0.02
    assert share > 0.0 or ours >= naive - 0.005


@pytest.mark.parametrize(("share", "least"), [(0.0, 0.97), (0.01, 0.95), (0.05, 0.93), (0.2, 0.89)])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_totals_that_share_parts_tell_of_each_other(share: float, least: float, seed: int) -> None:
    """FINDINGS 5: one cell of an anomaly has the value of another row; it stays, as what is gone cannot be wrong."""
    rng = np.random.default_rng(seed)
    X = zoo.shared_sums(3000, 20 + seed)
    anomalies = rng.random(3000) < 0.2
    cells = np.zeros(X.shape, dtype=bool)
    cells[np.arange(3000), rng.integers(X.shape[1], size=3000)] = True
    cells &= anomalies[:, None]
    others = X[rng.permutation(3000)]
    made = np.where(cells, others, X)
    made = np.where(cells, made, zoo.with_gaps(made, share, 40 + seed))
    ours, naive = judged(made, zoo.shared_sums(1500, 10 + seed), anomalies)
    assert ours >= naive - 0.02
    assert ours >= least
