"""JSPCA as an estimator: the paper's selection, what the score and its parts are, invariance to repeated rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from aspca.paper.baselines import JSPCA, PCADetector
from aspca.paper.datasets import load_breast_cancer, load_synthetic

SYNTHETIC = {"n_components": 4, "scaling": "none"}


def selection(weights: np.ndarray) -> str:
    return "".join(name for name, weight in zip("ABCDEFG", weights, strict=True) if weight > 0)


@pytest.mark.parametrize("seed", [0, 1, 2, 17, 91])
def test_the_papers_features_are_on_the_path(seed: int) -> None:
    X = load_synthetic(seed).data
    model = JSPCA(**SYNTHETIC)
    path = model.path(X, np.linspace(0.2, 0.6, 41) * 3 * model.fit(X).mu_)
    sets = {selection(point.weights) for point in path}
    assert sets & {"ABDF", "ABCDF"}, sets


def test_default_penalty_on_the_synthetic_data() -> None:
    model = JSPCA(**SYNTHETIC).fit(load_synthetic().data)
    assert selection(model.feature_weights_) == "ABCDF"
    weights = model.feature_weights_[model.selected_features_]
    assert (np.diff(weights) <= 0).all()
    assert weights.min() > 0


def test_score_and_parts_from_the_data() -> None:
    data = load_breast_cancer()
    Z = data.data - data.data.mean(axis=0)
    Z = Z / np.abs(Z).max(axis=0)
    model = JSPCA(n_components=10).fit(data.data)
    B, A = model.loadings_, model.components_.T
    np.testing.assert_allclose(A.T @ A, np.eye(10), atol=1e-12)
    scores = -model.score_samples(data.data)
    np.testing.assert_allclose(scores, np.square(Z @ B @ A.T).sum(axis=1), rtol=1e-9, atol=1e-15)
    parts = model.feature_contributions(data.data)
    assert parts.min() >= 0
    np.testing.assert_allclose(parts.sum(axis=1), scores, rtol=1e-12)
    # One set of features for all rows, in one proportion.
    unselected = np.setdiff1d(np.arange(30), model.selected_features_)
    assert unselected.size > 0
    assert not parts[:, unselected].any()
    np.testing.assert_allclose(parts / scores[:, None], np.tile(parts[0] / scores[0], (len(parts), 1)), atol=1e-12)


def test_without_a_penalty_it_is_pca() -> None:
    X = load_synthetic().data
    plain, joint = PCADetector(**SYNTHETIC).fit(X), JSPCA(mu=0.0, **SYNTHETIC).fit(X)
    np.testing.assert_allclose(joint.decision_function(X), plain.decision_function(X), rtol=1e-9, atol=1e-12)


def test_repeating_every_row_changes_nothing() -> None:
    X = load_synthetic().data
    once, thrice = JSPCA(**SYNTHETIC).fit(X), JSPCA(**SYNTHETIC).fit(np.repeat(X, 3, axis=0))
    assert thrice.mu_ == pytest.approx(once.mu_, rel=1e-9)
    np.testing.assert_allclose(thrice.feature_weights_, once.feature_weights_, atol=1e-5)


def test_path_leaves_the_object_alone_and_ends_with_nothing() -> None:
    X = load_synthetic().data
    model = JSPCA(**SYNTHETIC)
    path = model.path(X)
    assert not hasattr(model, "mean_")
    assert [point.weights.size for point in path] == [7] * 25
    assert path[24].selected.size == 0
    assert path[0].selected.size == 7
    # The lowest value of a problem grows with its penalty, and no faster than the norms at the lower one.
    objectives, mus, gaps = np.array([(point.objective, point.mu, point.gap) for point in path]).T
    growth, steps = np.diff(objectives), np.diff(mus)
    slack = gaps[:-1] + gaps[1:] + 1e-15
    assert (growth >= -slack).all()
    assert (growth <= steps * [point.weights.sum() for point in path[:-1]] + slack).all()


def test_stopping_early_is_said() -> None:
    X = load_breast_cancer().data
    with pytest.warns(ConvergenceWarning, match="stopped after 1 passes"):
        model = JSPCA(n_components=10, max_iter=1).fit(X)
    assert model.solution_.gap > 0


@pytest.mark.parametrize("mu", [-1.0, "best", np.inf, np.nan, True, None])
def test_penalties_that_make_no_sense(mu: object) -> None:
    with pytest.raises(ValueError, match='mu must be "auto" or a finite number >= 0'):
        JSPCA(mu=mu).fit(np.eye(4))


def test_paths_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="mus must be a list of finite numbers >= 0"):
        JSPCA().path(np.eye(4), [0.1, -0.1])
