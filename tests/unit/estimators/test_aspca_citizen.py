"""ASPCA as a citizen of scikit-learn: parameters, clones, copies, pipelines, searches, and data left alone."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aspca import ASPCA
from zoo import plant as table
from zoo import plant_frame as frame

pytestmark = pytest.mark.usefixtures("one_thread")


def test_parameters_and_clones() -> None:
    options = {
        "n_components": 2,
        "alpha": 0.01,
        "variant": "F",
        "rounding": "dominant",
        "scaling": "standard",
        "lift": "auto",
        "score": "standardized",
        "false_discovery_rate": 0.2,
        "contamination": 0.1,
        "limit": "quantile",
        "level": 0.9,
        "max_features": None,
        "rotation": "all",
        "robust": "off",
        "rules": [],
        "tol": 1e-5,
        "max_iter": 77,
        "time_budget": 60.0,
        "preprocessor": None,
    }
    model = ASPCA(**options)
    assert model.get_params() == options
    twin = clone(model.fit(table()))
    assert twin.get_params() == options
    assert not hasattr(twin, "components_")
    assert twin.set_params(alpha=0.02, score="spe").get_params()["alpha"] == 0.02
    with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
        twin.set_params(beta=1)


def test_score_is_a_parameter_and_no_method() -> None:
    model = ASPCA()
    assert not hasattr(model, "score")
    assert model.get_params()["score"] == "complete"
    assert not hasattr(model.fit(table()), "score")
    assert model.set_params(score="other").get_params()["score"] == "other"
    assert "score='other'" in repr(model)
    assert repr(ASPCA(alpha=0.5)) == "ASPCA(alpha=0.5)"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])  # noqa: S301
def test_copies_score_alike_and_keep_their_proof(copied) -> None:
    model = ASPCA(n_components=2, contamination=0.1).fit(frame())
    twin = copied(model)
    assert twin is not model
    assert twin.score_samples(frame()).tolist() == model.score_samples(frame()).tolist()
    assert twin.threshold_ == model.threshold_
    assert twin.get_params() == model.get_params()
    assert twin.subspace_.verify(twin.covariance_)
    assert [str(rule) for rule in twin.rules_] == [str(rule) for rule in model.rules_]


def test_pipelines_pass_everything_through() -> None:
    X = table()
    pipeline = make_pipeline(StandardScaler(), ASPCA(n_components=2, scaling="none")).fit(X)
    alone = ASPCA(n_components=2, scaling="standard").fit(X)
    np.testing.assert_allclose(pipeline.score_samples(X), alone.score_samples(X), rtol=1e-10)
    assert pipeline.predict(X).tolist() == alone.predict(X).tolist()
    assert np.abs(pipeline.decision_function(X) - alone.decision_function(X)).max() <= 1e-11 * alone.threshold_
    assert np.abs(pipeline.transform(X) - alone.transform(X)).max() <= 1e-12
    assert list(pipeline.get_feature_names_out()) == ["aspca0", "aspca1"]


def test_a_search_over_parameters_needs_a_scorer_only() -> None:
    X = table()

    def scorer(model: ASPCA, rows: np.ndarray, y: object = None) -> float:
        return -abs(model.n_components_ - 2) + float(model.alpha_ < 0.1)

    search = GridSearchCV(ASPCA(), {"n_components": [1, 2, 3], "alpha": [0.01, 1.0]}, scoring=scorer, cv=2).fit(X)
    assert search.best_params_ == {"n_components": 2, "alpha": 0.01}
    assert search.best_estimator_.n_components_ == 2
