"""Limits as the estimator uses them: of the score and of each rule, by name and number, from moments and from rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from aspca import ASPCA, Moments, benjamini_hochberg
from aspca.settings import COMPONENT_SCORES, SCORES


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


@pytest.mark.parametrize("score", COMPONENT_SCORES)
def test_limits_from_moments_keep_their_rate_on_gaussian_rows(score: str) -> None:
    model = ASPCA(n_components=2, scaling="standard", score=score, level=0.99).fit(gaussian(20_000, 1))
    why = model.explain(gaussian(20_000, 2))
    assert binom.cdf(int(why.anomalies.sum()), 20_000, 0.0085) >= 0.001
    assert binom.sf(int(why.anomalies.sum()), 20_000, 0.0105) >= 0.001
    # Bonferroni: each of two components lets 99.5 % pass.
    for count in why.broken.sum(axis=0):
        assert within_three_standard_errors(int(count), 20_000, 0.005)


def test_moments_alone_flag_no_more_gaussian_rows_than_the_level_says() -> None:
    """Kinds of evidence that depend on each other exceed a threshold less often than independent ones."""
    for level, least in ((0.975, 0.005), (0.99, 0.002)):
        model = ASPCA(scaling="standard", level=level).fit_moments(Moments.from_array(gaussian(20_000, 1)))
        why = model.explain(gaussian(20_000, 2))
        assert least <= why.anomalies.mean() <= 1.0 - level
        assert not why.errors.any()
        # And p-values are no smaller than they should be.
        p = model.p_values(gaussian(20_000, 3))
        assert all((p <= t).mean() <= 1.1 * t for t in (0.2, 0.1, 0.05, 0.01, 0.001))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("limit", ["auto", "quantile", "conformal"])
def test_the_level_is_kept_on_fresh_rows(score: str, limit: str) -> None:
    model = ASPCA(n_components=2, scaling="standard", score=score, limit=limit, level=0.98).fit(gaussian(20_000, 1))
    if limit == "conformal":
        model.calibrate(gaussian(20_000, 3))
    # To its own draws and those of the rows.
    assert abs(int((model.predict(gaussian(20_000, 2)) == -1).sum()) - 400) <= 4 * np.sqrt(2 * 400)


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
    model = ASPCA(n_components=2, score="spe", limit=0.5).fit(X)
    assert model.threshold_ == 0.5
    X[:5, 1] += [0.1, 1.0, 3.0, 10.0, 30.0]
    expected = np.square(model.transform(X)).sum(axis=1) > 0.5
    assert 2 < expected.sum() < 100
    assert ((model.predict(X) == -1) == expected).all()
    assert ((-model.score_samples(X) > 0.5) == expected).all()


def test_p_values_need_rows_to_compare_with() -> None:
    X = gaussian(500, 7)
    for model in (ASPCA(n_components=2).fit(X), ASPCA(n_components=2).fit_moments(Moments.from_array(X))):
        assert ((model.p_values(X) > 0.0) & (model.p_values(X) <= 1.0)).all()
    for model in (ASPCA.paper().fit(X), ASPCA(limit="conformal").fit(X)):
        with pytest.raises(ValueError, match=r'p-values compare .* set limit="conformal" and call calibrate\(X\)'):
            model.p_values(X)


@pytest.mark.parametrize("score", SCORES)
def test_a_rule_carries_its_limit_in_its_own_units(score: str) -> None:
    X = gaussian(2000, 11)
    model = ASPCA(n_components=2, scaling="standard", score=score, level=0.9)
    explained = model.fit(X).explain(X)
    for i, rule in enumerate(model.rules_):
        columns = [int(name[1:]) for name in rule.features]
        deviation = X[:, columns] @ rule.coefficients - rule.centre
        assert ((np.abs(deviation) > rule.limit) == explained.broken[:, i]).all()
        assert explained.broken[:, i].any()
        assert 1.8 < rule.limit / rule.spread < 3.0


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
