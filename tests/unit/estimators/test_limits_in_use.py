"""Limits as the estimator uses them: of the score and of each rule, by name and number, from moments and from rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2, f

import twins
from aspca import ASPCA, Moments, benjamini_hochberg
from aspca.settings import SCORES

READABLE = ("complete", "whitened")


def gaussian(n: int, seed: int) -> np.ndarray:
    """Two tight relations among five features that otherwise roam."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, n))
    return np.column_stack([a, a + 0.01 * rng.normal(size=n), b, a + b + 0.02 * rng.normal(size=n), 100.0 * c])


def heavy(n: int, seed: int) -> np.ndarray:
    """The same with tails of Student's t at 3 degrees of freedom, all features of a row swelling together."""
    rng = np.random.default_rng(seed)
    return gaussian(n, seed + 1) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)


def within_three_standard_errors(count: int, n: int, rate: float) -> bool:
    return bool(abs(count - n * rate) <= 3 * np.sqrt(n * rate * (1 - rate)))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("limit", ["pearson", "jackson-mudholkar", "box"])
def test_limits_from_moments_keep_their_rate_on_gaussian_rows(score: str, limit: str) -> None:
    model = ASPCA(n_components=2, scaling="standard", score=score, limit=limit, level=0.99, alarm="total")
    model.fit(gaussian(20_000, 1))
    flagged = int((model.predict(gaussian(20_000, 2)) == -1).sum())
    # Box matches two moments of the score only: of two rules of unlike spread up to 1.3 % lie above it. The law of
    # decorrelated rules is known, whatever the name.
    low, high = (0.0085, 0.0105) if limit != "box" or score in READABLE else (0.0095, 0.013)
    assert binom.cdf(flagged, 20_000, low) >= 0.001
    assert binom.sf(flagged, 20_000, high) >= 0.001


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("limit", ["pearson", "quantile", "pot", "conformal"])
def test_the_level_is_spent_once_over_score_and_rules(score: str, limit: str) -> None:
    """Two per cent asked for: half of it the score's, half the rules'; both flag many rows together."""
    model = ASPCA(n_components=2, scaling="standard", score=score, limit=limit, level=0.98)
    model.fit(gaussian(20_000, 1))
    if limit == "conformal":
        model.calibrate(gaussian(20_000, 3))
    why = model.explain(gaussian(20_000, 2))
    by_rules = why.broken.any(axis=1)
    flagged = int(why.anomalies.sum())
    if score == "complete" and limit != "pearson":
        # Of tail models each kind of evidence has its share, of which rules are one of four.
        assert by_rules.sum() <= 0.005 * 20_000
    else:
        assert within_three_standard_errors(int(by_rules.sum()), 20_000, 0.01)
    if limit == "pearson":
        # No more than was asked for, no less than each half by itself.
        assert why.anomalies[by_rules].all()
        assert binom.sf(flagged, 20_000, 0.02) >= 0.001
        assert binom.cdf(flagged, 20_000, 0.0095) >= 0.001
    else:
        # A threshold from rows is that of lifted scores: what was asked for, to its own draws and those of the rows.
        assert abs(flagged - 400) <= 3 * np.sqrt(2 * 400)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("name", ["pearson", "quantile", "conformal", "pot"])
def test_each_rule_keeps_its_own_rate_by_any_name(score: str, name: str) -> None:
    model = ASPCA(
        n_components=2, scaling="standard", score=score, limit=name, rule_limit=name, level=0.98, alarm="total"
    )
    model.fit(gaussian(20_000, 3))
    if name == "conformal":
        model.calibrate(gaussian(20_000, 4))
    broken = model.explain(gaussian(20_000, 5)).broken
    # Bonferroni: each of two rules lets 99 % pass. Limits from rows err by their own draws as well, hence twice.
    for count in broken.sum(axis=0):
        assert within_three_standard_errors(int(count), 20_000, 0.01) or (
            name != "pearson" and abs(count - 200) <= 3 * np.sqrt(2 * 200)
        )
    assert broken.any(axis=1).mean() <= 0.025


@pytest.mark.parametrize("rows", [gaussian, heavy])
def test_p_values_keep_their_promise_whatever_the_tails(rows) -> None:
    model = ASPCA(n_components=2, scaling="standard", limit="conformal", level=0.99).fit(rows(3000, 10))
    share = []
    for seed in range(20, 40):
        model.calibrate(rows(999, seed))
        p = model.p_values(rows(1000, seed + 1000))
        assert ((p <= 0.01 + 1e-12) == (model.predict(rows(1000, seed + 1000)) == -1)).all()
        share.append([(p <= t).mean() for t in (0.01, 0.1, 0.5)])
    # Given its calibration rows a share is Beta(1000 t, 1000 (1 - t)); then 1000 rows are drawn.
    for t, found in zip((0.01, 0.1, 0.5), np.mean(share, axis=0), strict=True):
        assert abs(found - t) <= 3 * np.sqrt(2 * t * (1 - t) / 1000 / 20)


def test_false_discoveries_are_bounded() -> None:
    model = ASPCA(n_components=2, scaling="standard", limit="conformal").fit(heavy(3000, 50))
    false_share, found = [], []
    for seed in range(60, 90):
        model.calibrate(heavy(4000, seed))
        X = heavy(500, seed + 500)
        X[:50, 1] += 40.0
        rejected = benjamini_hochberg(model.p_values(X), 0.2)
        false_share.append(rejected[50:].sum() / max(rejected.sum(), 1))
        found.append(rejected[:50].mean())
    assert np.mean(false_share) <= 0.2 * 0.9 + 3 * np.std(false_share) / np.sqrt(30)
    assert np.mean(found) >= 0.9


def test_a_number_is_a_limit_too() -> None:
    X = gaussian(500, 6)
    model = ASPCA(n_components=2, score="spe", limit=0.5, rule_limit=0.25, alarm="any").fit(X)
    assert model.threshold_ == 0.5
    assert model.rule_limits_.tolist() == [0.25, 0.25]
    X[:5, 1] += [0.1, 1.0, 3.0, 10.0, 30.0]
    squares = np.square(model.transform(X))
    expected = (squares.sum(axis=1) > 0.5) | (squares > 0.25).any(axis=1)
    assert 2 < expected.sum() < 100
    assert ((model.predict(X) == -1) == expected).all()
    assert ((-model.score_samples(X) > 0.5) == expected).all()


def test_limits_of_rules_that_wait_for_rows_say_so() -> None:
    X = gaussian(500, 7)
    model = ASPCA(n_components=2, rule_limit="conformal").fit(X)
    assert not hasattr(model, "rule_limits_")
    assert all(rule.limit is None for rule in model.rules_)
    why = model.explain(X)
    for act in (lambda: model.predict(X), lambda: model.decision_function(X), lambda: why.broken, why.to_frame):
        with pytest.raises(ValueError, match=r"rule_limit='conformal' takes .* does not hold: call calibrate\(X\)"):
            act()
    # A verdict that rules share in is none without them; the score alone has one.
    with pytest.raises(ValueError, match=r"call calibrate\(X\) first"):
        _ = why.anomalies
    alone = ASPCA(n_components=2, rule_limit="conformal", alarm="total").fit(X)
    assert set(alone.predict(X)) == {-1, 1}
    model.calibrate(gaussian(2000, 8))
    assert 0.01 <= (model.predict(gaussian(2000, 9)) == -1).mean() <= 0.04
    # p-values compare with training rows that were not fitted: moments have none.
    assert ((model.p_values(X) > 0.0) & (model.p_values(X) <= 1.0)).all()
    with pytest.raises(ValueError, match=r'p-values compare .* set limit="conformal" and call calibrate\(X\)'):
        ASPCA(n_components=2).fit_moments(Moments.from_array(X)).p_values(X)


@pytest.mark.parametrize("score", SCORES)
def test_a_rule_carries_its_limit_in_its_own_units(score: str) -> None:
    X = gaussian(2000, 11)
    model = ASPCA(n_components=2, scaling="standard", score=score, rule_limit="pearson", level=0.98, alarm="total")
    explained = model.fit(X).explain(X)
    for i, rule in enumerate(model.rules_):
        columns = [int(name[1:]) for name in rule.features]
        deviation = X[:, columns] @ rule.coefficients - rule.centre
        assert ((np.abs(deviation) > rule.limit) == explained.broken[:, i]).all()
        assert explained.broken[:, i].any()
        # From moments, in units of the rule's spread: Student's quantile, for five features fitted to 2000 rows.
        students = np.sqrt(twins.f_limit(0.99, 1, 2000, 2000 - 5))
        assert rule.limit / rule.spread == pytest.approx(students, rel=1e-9)
        assert students == pytest.approx(np.sqrt(chi2.ppf(0.99, 1)), rel=5e-3)


def test_components_that_judge_carry_the_certificate_of_their_subspace() -> None:
    assert all(rule.certificate == () for rule in ASPCA(n_components=2).fit(gaussian(500, 12)).rules_)
    model = ASPCA(n_components=2, scaling="standard", score="standardized").fit(gaussian(500, 12))
    for rule in model.rules_:
        assert rule.certificate == model.certificates_
        assert len(rule.certificate) == 2
        assert max(step.gap for step in rule.certificate) <= 1e-6


def test_rules_are_checked_on_rows_kept_out() -> None:
    rng = np.random.default_rng(0)
    few = rng.normal(size=(14, 12))
    many = rng.normal(size=(4000, 12))
    model = ASPCA(n_components=4, scaling="standard", alpha=0.01).fit(few)
    rules = model.check_rules(many)
    assert rules == model.rules_
    for i, rule in enumerate(rules):
        columns = [int(name[1:]) for name in rule.features]
        deviation = many[:, columns] @ rule.coefficients - rule.centre
        assert rule.widening == pytest.approx(np.sqrt((deviation**2).mean()) / rule.spread, rel=1e-9), i
        assert rule.looks_like_chance
    # A true rule is as wide on new rows as on those it was fitted to.
    true = ASPCA(n_components=2, scaling="standard").fit(gaussian(500, 1)).check_rules(gaussian(4000, 2))
    assert all(0.9 <= rule.widening <= 1.1 for rule in true)
    assert not any(rule.looks_like_chance for rule in true)


def test_limits_survive_moments_names_and_libraries() -> None:
    X = gaussian(400, 13)
    names = ["load", "load_copy", "in", "out", "noise"]
    by_law = {"limit": "pearson", "rule_limit": "pearson"}
    frame = ASPCA(n_components=2, **by_law).fit(pd.DataFrame(X, columns=names))
    alone = ASPCA(n_components=2, **by_law).fit_moments(Moments.from_array(X), feature_names=names)
    assert frame.threshold_ == alone.threshold_
    assert [str(rule) for rule in frame.rules_] == [str(rule) for rule in alone.rules_]
    assert (frame.rule_limits_ == alone.rule_limits_).all()
    # Automatic limits of rows are those of the same rows without names; of moments alone they are by law.
    held_out = ASPCA(n_components=2).fit(pd.DataFrame(X, columns=names))
    nameless = ASPCA(n_components=2).fit(X)
    assert held_out.threshold_limit_ == nameless.threshold_limit_
    assert held_out.threshold_limit_.name == "held-out"
    assert held_out.rule_limits_.tolist() == nameless.rule_limits_.tolist()
    moments = ASPCA(n_components=2).fit_moments(Moments.from_array(X), feature_names=names)
    assert moments.threshold_limit_ == alone.threshold_limit_
    assert moments.rule_limits_.tolist() == alone.rule_limits_.tolist()


@pytest.mark.parametrize(("n", "d"), [(60, 10), (200, 10), pytest.param(200, 30, marks=pytest.mark.long)])
def test_the_whitened_limit_allows_for_a_covariance_from_few_rows(n: int, d: int) -> None:
    """d (n + 1) / (n - d) F(d, n - d) is exact for a new Gaussian row; chi2(d) would flag up to a third of them."""
    flagged = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        options = {"n_components": d, "alpha": 1.0, "scaling": "none", "score": "whitened"}
        model = ASPCA(**options, limit="pearson", level=0.99, alarm="total")
        model.fit(rng.normal(size=(n, d)))
        new = rng.normal(size=(500, d))
        flagged.append((model.predict(new) == -1).mean())
        expected = d * (n + 1) / (n - d) * f.ppf(0.99, d, n - d)
        assert model.threshold_ == pytest.approx(expected, rel=1e-9)
    assert abs(np.mean(flagged) - 0.01) <= 3 * np.std(flagged) / np.sqrt(40)
    assert (-model.score_samples(new) > chi2.ppf(0.99, d)).mean() > 0.015
