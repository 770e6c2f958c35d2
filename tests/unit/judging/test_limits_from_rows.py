"""Limits from rows against obvious twins: repeated rows, exact fractions, and the exact share each one promises."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, f

from aspca.judging.limits import (
    benjamini_hochberg,
    conformal_limit,
    conformal_p_values,
    inverted_cdf_quantile,
    pot_limit,
    rule_limits,
    score_limit,
)
from aspca.judging.metric import score_weights
from aspca.settings import SCORES


def twin(scores: np.ndarray, weights: np.ndarray, level: Fraction) -> float:
    """The definition, in exact arithmetic: the smallest score whose share of rows not above it reaches `level`."""
    for score in sorted(scores):
        if weights[scores <= score].sum() >= level * int(weights.sum()):
            return float(score)
    raise AssertionError


@pytest.mark.parametrize("n", [1, 2, 3, 10, 37, 400])
def test_without_weights_it_is_numpys_inverted_cdf(n: int) -> None:
    rng = np.random.default_rng(n)
    scores = rng.normal(size=n)
    # Levels at which n * level is nobody's whole number: there rounding decides, and is tested below.
    for level in rng.uniform(0.01, 0.99, size=50):
        assert inverted_cdf_quantile(scores, None, level) == np.quantile(scores, level, method="inverted_cdf")


@pytest.mark.parametrize("percent", [50, 70, 75, 80, 90, 95, 97, 99])
def test_at_whole_numbers_of_rows_the_share_is_exact(percent: int) -> None:
    for n in (20, 100, 300, 1000):
        scores = np.random.default_rng(n).permutation(n).astype(float)
        # As the estimator asks: 1 - 0.3 is a little less than 0.7, and 100 * 0.7 a little more than 70.
        level = 1.0 - (100 - percent) / 100
        found = inverted_cdf_quantile(scores, None, level)
        assert found == twin(scores, np.ones(n, dtype=int), Fraction(percent, 100))
        assert (scores > found).sum() == int(Fraction(100 - percent, 100) * n)


@pytest.mark.parametrize("seed", range(20))
def test_whole_weights_are_repetitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=30), 1)  # ties
    weights = rng.integers(0, 5, size=30)
    weights[seed] += 1
    for percent in (1, 10, 33, 50, 90, 99):
        found = inverted_cdf_quantile(scores, weights.astype(float), percent / 100)
        assert found == twin(scores, weights, Fraction(percent, 100))
        assert found == inverted_cdf_quantile(np.repeat(scores, weights), None, percent / 100)
        # A row without weight is as if absent, and a common factor does not matter.
        assert found in scores[weights > 0].tolist()
        assert found == inverted_cdf_quantile(scores, weights * 0.125, percent / 100)


def test_the_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    scores, weights = rng.normal(size=50), rng.uniform(size=50)
    order = rng.permutation(50)
    for level in (0.1, 0.5, 0.9):
        assert inverted_cdf_quantile(scores[order], weights[order], level) == inverted_cdf_quantile(
            scores, weights, level
        )


# ---- limits from scores


def mean_rate(rates: list[float]) -> tuple[float, float]:
    """Mean and its standard error over independent repetitions."""
    return float(np.mean(rates)), float(np.std(rates, ddof=1) / np.sqrt(len(rates)))


@pytest.mark.parametrize(("name", "n"), [("quantile", 100), ("quantile", 1000), ("conformal", 99), ("conformal", 1000)])
def test_order_statistics_keep_their_exact_promise_on_gaussian_rows(name: str, n: int) -> None:
    """A new row exceeds the k-th smallest of n with probability (n + 1 - k) / (n + 1), for any continuous law."""
    rng = np.random.default_rng(n)
    limits = [score_limit(name, 0.99, scores=rng.chisquare(4, n)).value for _ in range(2000)]
    mean, error = mean_rate(chi2.sf(limits, 4).tolist())
    k = -(-99 * (n + (name == "conformal")) // 100)
    promised = (n + 1 - k) / (n + 1)
    assert abs(mean - promised) <= 3 * error
    assert (promised <= 0.01) == (name == "conformal")


def heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    """Multivariate t with two degrees of freedom: infinite variance, features correlated."""
    return correlated(rng, n) / np.sqrt(rng.chisquare(2, size=(n, 1)) / 2)


def correlated(rng: np.random.Generator, n: int) -> np.ndarray:
    common = rng.normal(size=(n, 1))
    return common + 0.1 * rng.normal(size=(n, 6)) + np.square(common) * [0.0, 0.3, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("draw", [heavy, correlated])
def test_conformal_keeps_its_promise_whatever_the_rows_and_the_model(draw, kind: str) -> None:
    """Train, calibrate and test on rows of their own; at n = 199 two of 200 ranks lie above: just 1 %."""
    rng = np.random.default_rng(7)
    overall, per_rule = [], []
    for _ in range(400):
        train, calibration, new = draw(rng, 100), draw(rng, 199), draw(rng, 500)
        centre, covariance = train.mean(axis=0), np.cov(train.T)
        V = np.linalg.eigh(covariance)[1][:, :4]
        inside = V.T @ covariance @ V
        VW = V @ score_weights(kind, inside, np.diag(inside), np.zeros(4))
        known, terms = np.square((calibration - centre) @ VW), np.square((new - centre) @ VW)
        limit = score_limit("conformal", 0.99, scores=known.sum(axis=1)).value
        overall.append((terms.sum(axis=1) > limit).mean())
        rules = rule_limits("conformal", 0.99, contributions=known)
        per_rule.append((terms > [rule.value for rule in rules]).mean())
    for rates in (overall, per_rule):
        mean, error = mean_rate(rates)
        assert abs(mean - 0.01) <= 3 * error


def test_conformal_is_on_the_safe_side_with_ties() -> None:
    rng = np.random.default_rng(8)
    rates = [
        (rng.poisson(2.0, 500) > conformal_limit(rng.poisson(2.0, 199).astype(float), 0.9)).mean() for _ in range(500)
    ]
    mean, error = mean_rate(rates)
    assert mean <= 0.1 + 3 * error


def test_too_few_calibration_rows_promise_nothing() -> None:
    assert conformal_limit(np.arange(98.0), 0.99) == np.inf
    assert conformal_limit(np.arange(99.0), 0.99) == 98.0
    # The rank is exact where (n + 1) level is whole, though 1 - 0.3 is not 0.7.
    for percent in range(1, 100):
        for n in (99, 199, 999):
            shuffled = np.random.default_rng(n).permutation(n).astype(float)
            rank = -(-percent * (n + 1) // 100)
            assert conformal_limit(shuffled, 1 - (100 - percent) / 100) == rank - 1


# chi2(2), the score of two equal rules, has an exactly exponential tail: the law "pot" fits is the true one. Elsewhere
# it holds only far out, and what is missing within the last tenth of rows is stated here: 3 % of the nominal rate.
@pytest.mark.parametrize(("d", "bias"), [(2, 0.0), (1, 0.0003), (5, 0.0003)])
def test_peaks_over_threshold_on_gaussian_rows(d: int, bias: float) -> None:
    rng = np.random.default_rng(d)
    mean, error = mean_rate([float(chi2.sf(pot_limit(rng.chisquare(d, 10_000), None, 0.99), d)) for _ in range(200)])
    assert abs(mean - 0.01) <= 3 * error + bias


@pytest.mark.parametrize("freedom", [1.5, 3.0])
def test_peaks_over_threshold_on_heavy_tails_beyond_the_data(freedom: float) -> None:
    """One false alarm in 2000 asked of 1000 rows: no quantile of theirs knows, the law does within a factor."""
    rng = np.random.default_rng(0)
    rates, largest = [], []
    for _ in range(200):
        scores = np.square(rng.standard_t(freedom, 1000))
        rates.append(float(f.sf(pot_limit(scores, None, 0.9995), 1, freedom)))
        largest.append(float(f.sf(scores.max(), 1, freedom)))
    assert 0.5 <= np.median(rates) / 0.0005 <= 2.0
    assert np.mean(rates) < np.mean(largest)


def test_peaks_over_threshold_knows_weights() -> None:
    rng = np.random.default_rng(1)
    scores = rng.chisquare(3, 2000)
    plain = pot_limit(scores, None, 0.995)
    for factor in (0.125, 1.0, 8.0):
        assert pot_limit(scores, np.full(2000, factor), 0.995) == pytest.approx(plain, rel=1e-12)
    # Rows without weight are as if absent, however large.
    wide = np.r_[scores, np.full(500, 1e9)]
    assert pot_limit(wide, np.r_[np.ones(2000), np.zeros(500)], 0.995) == pytest.approx(plain, rel=1e-12)
    # Twice the weight on the upper half: that much of the tail as rows drawn so would have.
    weights = np.where(scores > np.median(scores), 2.0, 1.0)
    drawn = rng.choice(scores, size=200_000, p=weights / weights.sum())
    assert pot_limit(scores, weights, 0.995) == pytest.approx(np.quantile(drawn, 0.995), rel=0.1)


def test_peaks_over_threshold_on_odd_scores() -> None:
    rng = np.random.default_rng(2)
    scores = rng.chisquare(3, 1000)
    # Below the tail it is the quantile; units carry over.
    assert pot_limit(scores, None, 0.8) == inverted_cdf_quantile(scores, None, 0.8)
    assert pot_limit(scores * 1e300, None, 0.99) == pytest.approx(1e300 * pot_limit(scores, None, 0.99), rel=1e-9)
    limits = [pot_limit(scores, None, level) for level in (0.9, 0.95, 0.99, 0.999, 1 - 1e-9)]
    assert limits == sorted(limits)
    # Exceedances all alike, for every size of the grid; rows from tiny to the largest number there is.
    for n in range(300, 5000, 100):
        assert 1.0 <= pot_limit(np.repeat([0.0, 1.0], [n - n // 10, n // 10]), None, 0.99) <= 1.1
    assert np.isfinite(pot_limit(np.exp(np.linspace(-700, 709, 1000)), None, 0.99))
    assert np.isfinite(pot_limit(np.r_[np.zeros(600), np.geomspace(1e-300, 1.7e308, 400)], None, 0.9999))
    for hopeless in (np.zeros(1000), scores[:200], np.repeat([0.0, 1.0], [985, 15])):
        with pytest.raises(ValueError, match=r'needs at least 30 of them, got \d+: give .* or use "quantile"'):
            pot_limit(hopeless, None, 0.99)


# ---- p-values


def test_p_values_against_counting() -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 17, 200):
        calibration, scores = np.round(rng.chisquare(2, n), 1), np.round(rng.chisquare(2, 300), 1)  # ties
        counted = [(1 + sum(c >= s for c in calibration)) / (n + 1) for s in scores]
        assert conformal_p_values(calibration, scores).tolist() == counted
    assert conformal_p_values(calibration, np.array([])).tolist() == []


@pytest.mark.parametrize("percent", [50, 70, 90, 95, 99])
def test_a_small_p_value_is_a_score_above_the_limit(percent: int) -> None:
    rng = np.random.default_rng(percent)
    for n in (50, 98, 99, 150, 999):
        calibration, scores = np.round(rng.chisquare(2, n), 1), np.round(rng.chisquare(2, 500), 1)
        ranks = np.round(conformal_p_values(calibration, scores) * (n + 1)).astype(int)
        small = 100 * ranks <= (100 - percent) * (n + 1)
        assert small.tolist() == (scores > conformal_limit(calibration, percent / 100)).tolist()


def slow_benjamini_hochberg(p_values: list[Fraction], rate: Fraction) -> list[bool]:
    m = len(p_values)
    passed = [p for p in p_values if p <= sum(q <= p for q in p_values) * rate / m]
    return [p <= max(passed, default=Fraction(-1)) for p in p_values]


@pytest.mark.parametrize("seed", range(30))
def test_benjamini_hochberg_against_exact_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.choice([9, 19, 99, 199])), int(rng.integers(1, 40))
    # Conformal p-values with ties, which meet the steps k rate / m exactly now and then.
    ranks = np.minimum(rng.integers(1, n + 2, size=m), rng.integers(1, n + 2, size=m))
    for rate in ("0.05", "0.1", "0.2", "0.5"):
        expected = slow_benjamini_hochberg([Fraction(int(r), n + 1) for r in ranks], Fraction(rate))
        assert benjamini_hochberg(ranks / (n + 1), float(rate)).tolist() == expected


def test_benjamini_hochberg_by_hand() -> None:
    # The third meets its step 3 * 0.05 / 5 exactly, and takes the second along, which missed its own.
    p_values = np.array([0.9, 0.025, 0.03, 0.001, 0.2])
    assert benjamini_hochberg(p_values, 0.05).tolist() == [False, True, True, True, False]
    assert benjamini_hochberg(np.array([]), 0.05).tolist() == []
    assert not benjamini_hochberg(np.full(4, 0.06), 0.05).any()
    # All at the rate itself meet the last step, m (rate / m), which rounding may put a little below.
    for m in range(1, 200):
        assert benjamini_hochberg(np.full(m, 0.1), 0.1).all()


def test_false_discoveries_stay_below_the_rate() -> None:
    """160 normal rows and 40 anomalies share 500 calibration rows: at most 0.2 * 160 / 200 of the finds are false."""
    rng = np.random.default_rng(5)
    shares, finds = [], []
    for _ in range(500):
        scores = np.r_[rng.chisquare(3, 160), rng.chisquare(3, 40) + 15]
        found = benjamini_hochberg(conformal_p_values(rng.chisquare(3, 500), scores), 0.2)
        shares.append(found[:160].sum() / max(found.sum(), 1))
        finds.append(found[160:].mean())
    mean, error = mean_rate(shares)
    assert mean <= 0.16 + 3 * error
    assert np.mean(finds) >= 0.9
