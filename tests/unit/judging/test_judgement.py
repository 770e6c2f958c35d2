"""The verdict on rows against its definition, recomputed one row at a time from the data alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import f as f_law

import twins
import zoo
from aspca import ASPCA, Moments

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


def own(model: ASPCA, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of the scaled training rows and the scaled rows, by numpy alone."""
    return twins.covariance_of((X - X.mean(axis=0)) / model.scale_), (rows - X.mean(axis=0)) / model.scale_


@pytest.mark.parametrize("scaling", ["standard", "maxabs", "none"])
def test_the_whitened_score_is_the_distance_inside_the_span_of_the_rules(scaling: str) -> None:
    model, rows = fitted(score="whitened", alarm="total", scaling=scaling), some_rows()
    C, Z = own(model, rows)
    R = model.model_.table.loadings
    assert R.shape == (P, TIGHT)
    scores = -model.score_samples(rows)
    assert scores == pytest.approx(twins.mahalanobis(Z @ R, R.T @ C @ R), rel=1e-9)
    # Any other basis of the same span gives the same.
    other = np.linalg.qr(R)[0] @ np.random.default_rng(0).normal(size=(TIGHT, TIGHT))
    assert scores == pytest.approx(twins.mahalanobis(Z @ other, other.T @ C @ other), rel=1e-7)


@pytest.mark.parametrize("level", [0.8, 0.975])
def test_the_complete_score_has_a_tempered_part_outside_the_rules(level: float) -> None:
    model, rows = fitted(alarm="total", level=level, limit="pearson"), some_rows()
    C, Z = own(model, rows)
    judgement = model.model_.judge(rows)
    parts = [twins.score_of_whole_row(z, C, model.model_.table.loadings, N, level) for z in Z]
    inside, outside = np.array(parts).T
    assert np.square(judgement.weighted).sum(axis=1) == pytest.approx(inside, rel=1e-8)
    assert judgement.scores == pytest.approx(inside + outside, rel=1e-8)
    assert judgement.contributions.sum(axis=1) + judgement.outside == pytest.approx(judgement.scores, rel=1e-12)
    # Some lie beyond the limit outside, where each unit counts in full, and most within.
    usual = (P - TIGHT) / P * twins.f_limit(level, P - TIGHT, N, N - (P - TIGHT))
    beyond = np.maximum(outside - usual, 0.0)
    assert 5 < (beyond > 0.0).sum() < 100
    # Where a rule is broken, what is usual outside is no reason, and counted with the rules.
    assert judgement.broken is not None
    broken = judgement.broken.any(axis=1)
    assert 10 < broken.sum() < 140
    assert judgement.outside == pytest.approx(np.where(broken, beyond, outside), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("score", ["complete", "whitened"])
def test_rules_share_by_what_stands_out(score: str) -> None:
    model, rows = fitted(score=score, limit="pearson"), some_rows()
    judgement = model.model_.judge(rows)
    squares = np.square(judgement.weighted)
    assert judgement.broken is not None
    broken = judgement.broken.any(axis=1)
    for row in np.flatnonzero(~broken):
        expected = squares[row].sum() * twins.rule_shares(squares[row])
        assert judgement.contributions[row] == pytest.approx(expected, rel=1e-9)
    # In a row with one broken rule, nobody else has the largest part.
    for row in np.flatnonzero(judgement.broken.sum(axis=1) == 1):
        (culprit,) = np.flatnonzero(judgement.broken[row])
        assert judgement.contributions[row, culprit] >= 0.5 * judgement.contributions[row].max()
    # For the paper's scores a rule's part is its square, as in the paper.
    plain = fitted(score="spe", alarm="total").model_.judge(rows)
    assert plain.contributions.tolist() == np.square(plain.weighted).tolist()
    assert plain.weighted == pytest.approx(fitted(score="spe", alarm="total").transform(rows), rel=1e-9, abs=1e-12)


def test_deviations_and_limits_are_those_of_the_rules() -> None:
    rows = some_rows()
    for alarm, spent in (("total", 0.025), ("any", 0.0125)):
        model = fitted(alarm=alarm, rule_limit="pearson")
        judgement, why = model.model_.judge(rows), model.explain(rows)
        for number, rule in enumerate(model.rules_):
            used = [int(name[1:]) for name in rule.features]
            deviation = rows[:, used] @ rule.coefficients - rule.centre
            assert why.deviations[:, number] == pytest.approx(deviation, abs=1e-9)
            training = X[:, used] @ rule.coefficients - rule.centre
            assert rule.spread == pytest.approx(training.std(), rel=1e-9)
            # Few rows make a rule look tighter than it is: F(1, n - p) times (n + 1) / (n - p).
            level = 1.0 - spent / len(model.rules_)
            squared = (N + 1) / (N - P) * float(f_law.ppf(level, 1, N - P))
            assert rule.limit == pytest.approx(rule.spread * np.sqrt(squared), rel=1e-9)
            assert judgement.broken is not None
            assert judgement.broken[:, number].tolist() == (np.abs(deviation) > rule.limit).tolist()


@pytest.mark.parametrize("score", ["complete", "whitened", "standardized", "spe"])
@pytest.mark.parametrize("limit", ["pearson", "box", "jackson-mudholkar", 3.0, 1e4])
def test_a_broken_rule_lifts_the_score_above_the_threshold(score: str, limit: str | float) -> None:
    rows = some_rows()
    options = {"scaling": "standard", "score": score, "limit": limit}
    # From moments: rows are judged by the metric.
    plain, any_ = (
        ASPCA(alarm=alarm, **options).fit_moments(Moments.from_array(X), feature_names=[f"x{j}" for j in range(P)])
        for alarm in ("total", "any")
    )
    before, after = plain.model_.judge(rows), any_.model_.judge(rows)
    limits, threshold = any_.rule_limits_, any_.threshold_
    assert after.broken is not None
    assert after.anomalies is not None
    assert (np.square(after.deviations) > limits).tolist() == after.broken.tolist()
    expected = [
        twins.lifted(float(total), y, limits, threshold)
        for total, y in zip(before.scores, after.deviations, strict=True)
    ]
    assert after.scores == pytest.approx(expected, rel=1e-8)
    by_rules, by_total = after.broken.any(axis=1), before.scores > threshold
    assert (after.scores > threshold).tolist() == (by_rules | by_total).tolist()
    assert after.anomalies.tolist() == (by_rules | by_total).tolist()
    # What is added belongs to the rules, and the parts still add up.
    assert (after.contributions >= 0.0).all()
    assert before.broken is not None
    alike = before.broken.any(axis=1) == by_rules
    assert after.outside[alike].tolist() == before.outside[alike].tolist()
    assert after.contributions.sum(axis=1) + after.outside == pytest.approx(after.scores, rel=1e-12)
    assert 10 < by_rules.sum() < len(rows) - 10


def test_exact_rules_stand_alone() -> None:
    """One that held exactly takes no part in what others are decorrelated by, and is counted in what is resolved."""
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, 500))
    table = np.column_stack([a, b, a + b, c, c + 0.1 * rng.normal(size=500)])
    # As moments tell it, without rows that could be counted.
    model = ASPCA(score="whitened", alarm="total", scaling="standard").fit_moments(Moments.from_array(table))
    found = {frozenset(rule.features): number for number, rule in enumerate(model.rules_)}
    exact, loose = found[frozenset({"x0", "x1", "x2"})], found[frozenset({"x3", "x4"})]
    assert [model.rules_[k].exact for k in (exact, loose)] == [True, False]
    inner = model.model_
    assert inner.metric.weights[exact, loose] == inner.metric.weights[loose, exact] == 0.0
    row = table[[0]].copy()
    row[0, 2] += 1e-3
    squares, before = (np.square(inner.judge(one).weighted[0]) for one in (row, table[[0]]))
    size = 1e-3 / model.scale_[2] * abs(inner.table.loadings[2, exact])
    assert squares[exact] == pytest.approx(size**2 / inner.table.unresolved[exact], rel=1e-6)
    assert squares[loose] == pytest.approx(before[loose], rel=1e-9)


def test_huge_rows_have_finite_scores_that_still_add_up() -> None:
    for score in ("complete", "whitened", "standardized", "spe"):
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
    assert part.broken is not None
    assert judgement.broken is not None
    assert part.broken.tolist() == judgement.broken[chosen].tolist()
    waiting = fitted(limit="conformal", rule_limit="conformal").model_.judge(some_rows())
    assert (waiting.broken, waiting.anomalies) == (None, None)
    assert (waiting.take(chosen).broken, waiting.take(chosen).anomalies) == (None, None)
