"""Limits from rows that were not fitted: beside a slow twin, on fresh rows of several laws, and in any batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspca import ASPCA, Moments
from aspca.judging.crossfit import crossfitted
from aspca.judging.held_out import HELD_OUT, not_errors, tails_of, upper_quantile
from aspca.judging.law import ScoreLaw
from aspca.judging.metric import metric_of
from aspca.moments.lots import Lots
from aspca.moments.rows import Rows
from aspca.rules.table import RuleTable
from aspca.subspace.space import ScaledSpace


def _rows(law: str, n: int, p: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, n, p])
    if law == "log-normal":
        return rng.lognormal(size=(n, p))
    rows = rng.normal(size=(n + 100, p))
    if law == "AR(1)":
        for i in range(1, len(rows)):
            rows[i] = 0.9 * rows[i - 1] + np.sqrt(1.0 - 0.81) * rows[i]
    return rows[100:]


def _flagged(law: str, n: int, p: int, seeds: int, **params: object) -> float:
    shares = []
    for seed in range(seeds):
        model = ASPCA(alpha=0.0, **params).fit(_rows(law, n, p, seed))
        shares.append((model.predict(_rows(law, 3000, p, 1000 + seed)) == -1).mean())
    return float(np.mean(shares))


@pytest.mark.parametrize("n_components", ["auto", 3])
@pytest.mark.parametrize("law", ["Gauss", "log-normal"])
def test_fresh_rows_are_flagged_as_often_as_the_level_says(law: str, n_components: int | str) -> None:
    flagged = _flagged(law, 400, 8, 6, n_components=n_components)
    assert 0.025 / 1.4 <= flagged <= 0.025 * 1.4
    # The law from moments alone does not know of tails.
    if law == "log-normal":
        assert _flagged(law, 400, 8, 6, n_components=n_components, limit="pearson", rule_limit="pearson") > 0.06


def test_rows_that_follow_each_other_are_held_out_in_contiguous_blocks() -> None:
    assert 0.025 / 2.0 <= _flagged("AR(1)", 1000, 8, 4) <= 0.025 * 2.0


@pytest.mark.parametrize(("n", "p"), [(40, 60), (60, 60), (60, 40), (100, 60)])
@pytest.mark.parametrize("n_components", ["auto", 5, "p"])
def test_few_rows_never_make_an_anomaly_of_most_fresh_rows(n: int, p: int, n_components: int | str) -> None:
    asked = p if n_components == "p" else n_components
    assert _flagged("Gauss", n, p, 2, n_components=asked) < 3 * 0.025


def _slow_threshold(model: ASPCA, X: np.ndarray, level: float) -> float:
    """The limit of a model without rules, fold by fold from the rows themselves."""
    n, space = len(X), model.model_.space
    lots = Lots.between(X.min(axis=0), X.max(axis=0))
    block = np.floor(lots.drawn(X, np.arange(n)).shares(0) * 5).astype(int)
    nothing = np.zeros((X.shape[1], 0))

    def law(space: ScaledSpace) -> float:
        table = RuleTable.of(space, nothing, np.zeros(0, dtype=bool))
        metric = metric_of("complete", space, table, level)
        return ScoreLaw.of(metric, 0, float(space.n_rows), space.n_varying).quantile(level)

    scores = np.empty(n)
    for k in range(5):
        others = X[block != k]
        inner = ScaledSpace.scaled(Moments.from_array(others), space.scale, space.features, space.succession)
        off = X[block == k] - others.mean(axis=0)
        inverse = np.linalg.inv(np.cov(others.T, bias=True))
        # Without rules the score is the Mahalanobis distance.
        scores[block == k] = (off @ inverse * off).sum(axis=1) * law(space) / law(inner)
    return upper_quantile(scores, None, level, float(n))


def test_the_threshold_is_that_of_models_fitted_without_each_block() -> None:
    X = _rows("Gauss", 120, 5, 7)
    model = ASPCA(alpha=0.0).fit(X)
    assert not model.rules_
    assert model.threshold_limit_.name == HELD_OUT
    assert model.threshold_ == pytest.approx(_slow_threshold(model, X, 0.975), rel=1e-9)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_batches_do_not_matter(size: int) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 6))
    X[:, 5] = X[:, 0] + X[:, 1] + 0.05 * rng.normal(size=300)
    model = ASPCA().fit(X)
    lots = Lots.between(X.min(axis=0), X.max(axis=0))
    again = crossfitted(model.model_, Rows.here(lambda: (X[i : i + size] for i in range(0, 300, size))), 300, lots)
    assert again.alarms.the_total() == pytest.approx(model.threshold_, rel=1e-9)
    np.testing.assert_allclose(again.alarms.the_rules(), model.rule_limits_, rtol=1e-9)


def test_rules_and_score_together_spend_the_level_once() -> None:
    rng = np.random.default_rng(5)
    Z = rng.standard_t(4, size=(20_000, 4))
    X = np.column_stack([Z, Z[:, 0] + Z[:, 1] + 0.1 * rng.standard_t(4, size=len(Z)), Z[:, 2] + 0.1 * Z[:, 3]])
    model = ASPCA().fit(X[:4000])
    judged = model.model_.judge(X[4000:])
    # What is exact spends nothing of it.
    assert model.model_.n_identities == 1
    assert len(model.model_.relations) >= 1
    assert not judged.broken[:, 0].any()
    by_rules, both = judged.broken.any(axis=1).mean(), judged.anomalies.mean()
    assert 0.5 * 0.0125 <= by_rules <= 1.5 * 0.0125
    assert 0.025 / 1.3 <= both <= 0.025 * 1.3


def test_a_rule_with_a_heavy_tail_has_a_wider_limit_than_one_without() -> None:
    rng = np.random.default_rng(6)
    Z = rng.normal(size=(3000, 2))
    X = np.column_stack([Z, Z[:, 0] + 0.01 * rng.normal(size=3000), Z[:, 1] + 0.01 * rng.standard_t(3, size=3000)])
    model = ASPCA().fit(X)
    by_features = {frozenset(rule.features): rule.limit / rule.spread for rule in model.rules_}
    assert by_features[frozenset({"x1", "x3"})] > 1.2 * by_features[frozenset({"x0", "x2"})]


def test_exact_rules_are_broken_by_more_than_rounding_only() -> None:
    rng = np.random.default_rng(8)
    parts = rng.integers(0, 1000, size=(400, 3)).astype(float)
    X = np.column_stack([parts, parts.sum(axis=1)])
    model = ASPCA().fit(X)
    wrong = X[:1].copy()
    wrong[0, 3] += 1.0
    assert model.rules_[0].exact
    assert model.predict(wrong)[0] == -1
    assert (model.predict(X) == -1).mean() < 0.05


def test_other_units_move_no_verdict() -> None:
    rng = np.random.default_rng(9)
    Z = rng.normal(size=(250, 3))
    X = np.column_stack([Z, Z[:, 0] - Z[:, 1] + 0.1 * rng.normal(size=250)])
    units = np.array([1e-6, 3.0, 1e4, 0.5])
    np.testing.assert_array_equal(ASPCA().fit(X).predict(X), ASPCA().fit(X * units).predict(X * units))


def test_moments_alone_have_limits_by_law_until_rows_are_given() -> None:
    X = _rows("log-normal", 900, 5, 2)
    model = ASPCA(alpha=0.0).fit_moments(Moments.from_array(X[:300]))
    assert model.threshold_limit_.name == "pearson"
    fresh = _rows("log-normal", 4000, 5, 3)
    before = (model.predict(fresh) == -1).mean()
    model.calibrate(X[300:])
    assert model.threshold_limit_.name == HELD_OUT
    assert before > 0.06
    assert 0.015 <= (model.predict(fresh) == -1).mean() <= 0.04


def test_of_rules_together_as_few_rows_are_broken_as_of_one() -> None:
    """Half of the level is for rules, all of them: a row is measured by the worst of its deviations."""
    rng = np.random.default_rng(4)

    def rows(n: int) -> np.ndarray:
        Z = rng.normal(size=(n, 4))
        return np.column_stack([Z, Z[:, 1:] + Z[:, :1] + 0.1 * rng.normal(size=(n, 3))])

    model = ASPCA(n_components=3).fit_moments(Moments.from_array(rows(500)))
    model.calibrate(rows(20_000))
    assert len(model.rules_) >= 3
    broken = model.explain(rows(20_000)).broken.any(axis=1).mean()
    # Four standard errors of two such shares, the limit being one of them.
    assert broken == pytest.approx(0.0125, abs=4 * np.sqrt(2 * 0.0125 / 20_000))


def test_of_rows_that_follow_each_other_a_gap_says_less() -> None:
    """Fifteen of 500 that score three times as much are errors; not if they may be one or two that went on."""
    scores = np.r_[np.linspace(1.0, 4.0, 485), np.full(15, 12.0)]
    assert np.array_equal(not_errors(scores, 500.0), scores < 12.0)
    assert np.array_equal(not_errors(scores, 5000.0), scores < 12.0)
    assert not_errors(scores, 50.0).all()


# ---- quantiles


@given(st.integers(20, 250), st.floats(0.5, 0.995))
def test_a_new_value_exceeds_the_quantile_as_often_as_it_should(n: int, level: float) -> None:
    """Of uniform ranks: the expected exceedance is the rank's, exactly, as long as it lies within the values."""
    values = np.arange(1, n + 1) / (n + 1.0)
    found = upper_quantile(values, None, level, float(n))
    if level * (n + 1) <= n:
        assert found == pytest.approx(level, abs=1e-9)
    else:
        assert found >= values[-1]


@given(st.lists(st.integers(1, 4), min_size=20, max_size=40), st.floats(0.6, 0.99))
def test_a_weight_counts_as_so_many_equal_rows(weights: list[int], level: float) -> None:
    values = np.random.default_rng(len(weights)).gamma(2.0, size=len(weights))
    counts = np.array(weights, dtype=float)
    repeated = np.repeat(values, weights)
    if level * (counts.sum() + 1.0) <= counts.sum():
        ours = upper_quantile(values, counts, level, counts.sum())
        assert ours == pytest.approx(upper_quantile(repeated, None, level, counts.sum()), rel=1e-12)


def test_values_that_follow_each_other_reach_further_than_they_show() -> None:
    values = np.sort(np.random.default_rng(0).gamma(2.0, size=60))
    found = [upper_quantile(values, None, 0.975, worth) for worth in (60.0, 30.0, 10.0, 3.0)]
    assert found == sorted(found)
    assert found[-1] > values[-1]


def test_tails_are_one_for_gaussian_deviations_and_wider_for_heavier() -> None:
    rng = np.random.default_rng(1)
    squares = np.column_stack([rng.normal(size=50_000), rng.standard_t(3, size=50_000) / np.sqrt(3.0)]) ** 2
    gauss, heavy = tails_of(squares, np.ones(2), None)
    assert gauss == pytest.approx(1.0, rel=0.05)
    assert heavy > 1.3
