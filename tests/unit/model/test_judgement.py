"""The verdict on rows against its definition, recomputed one row at a time from the data alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import zoo
from aspca import ASPCA, Moments
from aspca.settings import COMPONENT_SCORES, SCORES

N, P, TIGHT = 400, 6, 3
X = zoo.well_conditioned(N, P, 5, tight=TIGHT)


@cache
def fitted(**options: Any) -> ASPCA:
    return ASPCA(**{"scaling": "standard"} | options).fit(X)


def some_rows(seed: int = 0) -> np.ndarray:
    """The table's own, some with a cell moved, some far out along what varies."""
    rng = np.random.default_rng(seed)
    rows = X[:120].copy()
    rows[np.arange(60), np.arange(60) % P] += np.geomspace(0.05, 5.0, 60)
    return np.vstack([rows, X.mean(axis=0) + 3.0 * rng.normal(size=(30, P)) @ np.cov(X.T)])


@pytest.mark.parametrize("score", COMPONENT_SCORES)
def test_scores_of_components_are_sums_of_squares(score: str) -> None:
    model, rows = fitted(score=score), some_rows()
    judgement, projections = model.model_.judge(rows), model.transform(rows)
    if score == "standardized":
        projections = projections / np.sqrt(model.explained_variance_)
    assert judgement.contributions == pytest.approx(np.square(projections), rel=1e-9, abs=1e-12)
    assert judgement.scores == pytest.approx(np.square(projections).sum(axis=1), rel=1e-9)
    assert not judgement.outside.any()


@pytest.mark.parametrize("source", ["rows", "moments"])
def test_deviations_and_limits_are_those_of_the_rules(source: str) -> None:
    rows, model = some_rows(), fitted()
    if source == "moments":
        model = ASPCA(scaling="standard").fit_moments(Moments.from_array(X))
    assert len(model.rules_) == TIGHT
    judgement, why = model.model_.judge(rows), model.explain(rows)
    for number, rule in enumerate(model.rules_):
        used = [int(name[1:]) for name in rule.features]
        deviation = rows[:, used] @ rule.coefficients - rule.centre
        assert why.deviations[:, number] == pytest.approx(deviation, abs=1e-9)
        training = X[:, used] @ rule.coefficients - rule.centre
        assert rule.spread == pytest.approx(training.std(), rel=1e-9)
        assert 2.5 * rule.spread < rule.limit < 6.0 * rule.spread
        assert judgement.broken[:, number].tolist() == (np.abs(deviation) > rule.limit).tolist()


def test_huge_rows_have_finite_scores_that_still_add_up() -> None:
    for score in SCORES:
        model = fitted(score=score)
        rows = np.vstack([X[:1] + 1e150 * np.eye(P), np.full((1, P), -1e150)])
        judgement = model.model_.judge(rows)
        assert np.isfinite(judgement.scores).all()
        assert judgement.contributions.sum(axis=1) + judgement.outside == pytest.approx(judgement.scores, rel=1e-9)
        assert judgement.anomalies is not None
        assert judgement.anomalies.all()


def test_taking_some_rows_of_a_judgement() -> None:
    judgement = fitted().model_.judge(some_rows())
    chosen = np.array([7, 3, 3])
    part = judgement.take(chosen)
    assert len(part) == 3
    assert part.scores.tolist() == judgement.scores[chosen].tolist()
    assert part.broken.tolist() == judgement.broken[chosen].tolist()
    waiting = fitted(limit="conformal").model_.judge(some_rows())
    assert waiting.anomalies is None
    assert waiting.take(chosen).anomalies is None
