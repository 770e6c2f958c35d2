"""Limits against obvious twins: repeated rows, exact fractions, and the distribution itself.

False alarms at a nominal 1 % are compared with what each limit promises: the exact share for limits that are exact
on average, the exact tail of the weighted chi-square sum (`tail`, by Ruben's series) for those that approximate it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from aspca.judging.scores import SCORES, score_variances, score_weights
from scipy.stats import chi2, f, norm

from aspca.judging.limits import (
    ASSUMES,
    FROM_MOMENTS,
    LIMITS,
    Limit,
    benjamini_hochberg,
    box_limit,
    conformal_limit,
    conformal_p_values,
    inverted_cdf_quantile,
    jackson_mudholkar_limit,
    pearson_limit,
    pot_limit,
    rule_limits,
    score_limit,
)


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


@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("variance", [1e-12, 0.3, 1e200])
def test_equal_variances_give_the_exact_quantile(d: int, variance: float) -> None:
    # The score of Gaussian rows is then v chi2(d), and matching two moments finds just that.
    for level in (0.5, 0.9, 0.975, 0.999):
        expected = variance * chi2.ppf(level, d)
        assert abs(box_limit(np.full(d, variance), level) - expected) <= 1e-12 * expected


def test_equal_variances_agree_with_a_simulation() -> None:
    draws = 0.7 * np.square(np.random.default_rng(0).normal(size=(200_000, 4))).sum(axis=1)
    # Four standard errors of a share of 2.5 % in 200 000 draws.
    assert abs((draws > box_limit(np.full(4, 0.7), 0.975)).mean() - 0.025) <= 4 * np.sqrt(0.025 * 0.975 / 200_000)


@pytest.mark.parametrize("variances", [[1.0, 0.5], [1.0, 0.1, 0.01], [3.0, 2.0, 1.0, 0.2]])
def test_unequal_variances_are_met_to_a_fifth_of_the_false_alarms(variances: list[float]) -> None:
    draws = np.square(np.random.default_rng(0).normal(size=(200_000, len(variances)))) @ np.array(variances)
    assert abs((draws > box_limit(np.array(variances), 0.975)).mean() - 0.025) <= 0.005
    # Mean and variance are matched exactly.
    v = np.array(variances)
    g, h = (v**2).sum() / v.sum(), v.sum() ** 2 / (v**2).sum()
    assert abs(box_limit(v, 0.975) - g * chi2.ppf(0.975, h)) <= 1e-12


def test_directions_without_variance_do_not_count() -> None:
    assert box_limit(np.zeros(3), 0.975) == 0.0
    assert box_limit(np.array([]), 0.975) == 0.0
    assert abs(box_limit(np.array([0.0, 2.0, 0.0]), 0.975) - 2 * chi2.ppf(0.975, 1)) <= 1e-12
    # Eigenvalues that rounding made negative are none.
    assert box_limit(np.array([-1e-17, 2.0]), 0.975) == box_limit(np.array([0.0, 2.0]), 0.975)


# ---- the oracle


def tail(variances: np.ndarray, x: float) -> float:
    """P(sum v_i z_i^2 > x), by Ruben's series (1962): a mixture of chi-squares whose shares add up to one.

    What the shares still lack is the error: the series stops when it is below 1e-12.
    """
    lowest = variances.min()
    decay = 1 - lowest / variances
    shares, sums = np.zeros(5000), np.zeros(5000)
    shares[0] = total = np.sqrt(lowest / variances).prod()
    for k in range(1, 5000):
        if total >= 1 - 1e-12:
            freedoms = variances.size + 2 * np.arange(k)
            return float(shares[:k] @ chi2.sf(x / lowest, freedoms))
        sums[k - 1] = (decay**k).sum()
        shares[k] = sums[:k] @ shares[:k][::-1] / (2 * k)
        total += shares[k]
    raise AssertionError("the variances lie too far apart for this series")


def test_the_oracle_knows_two_pairs_in_closed_form() -> None:
    # 2a Exp + 2b Exp, and the plain chi-square.
    for a, b in ((1.0, 0.3), (5.0, 0.2)):
        for x in (0.1, 3.0, 20.0):
            exact = (a * np.exp(-x / 2 / a) - b * np.exp(-x / 2 / b)) / (a - b)
            assert abs(tail(np.array([a, a, b, b]), x) - exact) <= 1e-11
            assert abs(tail(np.full(3, a), x) - chi2.sf(x / a, 3)) <= 1e-11


# ---- limits from moments

SPECTRA = {
    "one": np.ones(1),
    "equal": np.full(5, 0.3),
    "two": np.array([1.0, 0.5]),
    "decades": np.array([1.0, 0.1, 0.01]),
    "falling": 0.7 ** np.arange(10.0),
    "flat tail": np.r_[1.0, np.full(7, 0.1)],  # h0 = 0.003
    "1/k": 1.0 / np.arange(1.0, 40.0),  # h0 < 0 from here on
    "spike among 20": np.r_[1.0, np.full(20, 0.1)],
    "spike among 300": np.r_[1.0, np.full(300, 0.02)],
    "two among 300": np.r_[1.0, 1.0, np.full(300, 0.1)],
}
# The true rate over the nominal 1 %, as the docstrings state: least and most.
STATED: dict[Callable[[np.ndarray, float], float], tuple[float, float]] = {
    box_limit: (0.999, 2.8),
    jackson_mudholkar_limit: (0.48, 1.08),
    pearson_limit: (0.98, 1.08),
}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("limit", STATED)
def test_approximations_are_as_far_off_as_they_say(limit: Callable[[np.ndarray, float], float], spectrum: str) -> None:
    least, most = STATED[limit]
    assert least <= tail(SPECTRA[spectrum], limit(SPECTRA[spectrum], 0.99)) / 0.01 <= most


def test_box_is_closer_where_variances_fall_off_evenly() -> None:
    for spectrum in ("one", "equal", "two", "decades", "falling"):
        assert tail(SPECTRA[spectrum], box_limit(SPECTRA[spectrum], 0.99)) <= 0.013


@pytest.mark.parametrize("spectrum", ["equal", "two", "decades", "falling", "flat tail"])
@pytest.mark.parametrize("level", [0.9, 0.99, 0.999])
def test_jackson_mudholkar_is_the_published_formula(spectrum: str, level: float) -> None:
    v = SPECTRA[spectrum]
    t1, t2, t3 = v.sum(), (v**2).sum(), (v**3).sum()
    h0 = 1 - 2 * t1 * t3 / (3 * t2**2)
    assert h0 > 0
    c = norm.ppf(level)
    published = t1 * (c * np.sqrt(2 * t2 * h0**2) / t1 + 1 + t2 * h0 * (h0 - 1) / t1**2) ** (1 / h0)
    assert abs(jackson_mudholkar_limit(v, level) - published) <= 1e-10 * published


@pytest.mark.parametrize("limit", [box_limit, jackson_mudholkar_limit, pearson_limit])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_limits_from_moments_rise_with_the_level_and_carry_units(limit, spectrum: str) -> None:
    v = SPECTRA[spectrum]
    levels = [1e-6, 0.01, 0.3, 0.6, 0.9, 0.99, 0.9999, 1 - 1e-12]
    limits = [limit(v, level) for level in levels]
    assert limits == sorted(limits)
    assert limits[0] >= 0.0
    assert np.isfinite(limits[-1])
    for unit in (2.0**-900, 2.0**900):
        assert [limit(v * unit, level) for level in levels] == pytest.approx([x * unit for x in limits], rel=1e-12)
    # Directions without variance do not count, nor those that rounding made negative.
    assert limit(np.r_[0.0, v, -1e-18], 0.99) == pytest.approx(limit(v, 0.99), rel=1e-12)
    assert limit(np.zeros(3), 0.99) == limit(np.array([]), 0.99) == 0.0


@pytest.mark.parametrize("kind", SCORES)
def test_gaussian_rows_exceed_limits_from_moments_as_often_as_the_exact_law_says(kind: str) -> None:
    rng = np.random.default_rng(5)
    mixing = rng.normal(size=(8, 8)) * 0.8 ** np.arange(8)
    V = np.linalg.qr(rng.normal(size=(8, 5)))[0]
    projected = V.T @ mixing @ mixing.T @ V
    W = score_weights(kind, projected, np.zeros(5), 0.0)
    terms = np.square(rng.normal(size=(200_000, 8)) @ (mixing.T @ V @ W))
    variances = score_variances(W, projected, np.zeros(5))
    for name in FROM_MOMENTS:
        limit = score_limit(name, 0.99, variances=variances).value
        promised = tail(variances, limit)
        error = np.sqrt(promised * (1 - promised) / len(terms))
        assert abs((terms.sum(axis=1) > limit).mean() - promised) <= 3 * error
        # Per rule all are exact.
        rules = rule_limits(name, 0.99, variances=np.diag(W @ projected @ W))
        rates = (terms > [rule.value for rule in rules]).mean(axis=0)
        assert np.abs(rates - 0.01).max() <= 3 * np.sqrt(0.01 * 0.99 / len(terms))


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
        VW = V @ score_weights(kind, V.T @ covariance @ V, np.zeros(4), 0.0)
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


# ---- by name


def test_every_limit_says_what_it_is() -> None:
    rng = np.random.default_rng(0)
    scores, variances = rng.chisquare(2, 1000), np.array([1.0, 2.0])
    values = {
        "pearson": pearson_limit(variances, 0.95),
        "quantile": inverted_cdf_quantile(scores, None, 0.95),
        "box": box_limit(variances, 0.95),
        "jackson-mudholkar": jackson_mudholkar_limit(variances, 0.95),
        "conformal": conformal_limit(scores, 0.95),
        "pot": pot_limit(scores, None, 0.95),
    }
    assert tuple(values) == LIMITS
    for name, value in values.items():
        limit = score_limit(name, 0.95, variances=variances, scores=scores)
        assert limit == Limit(name, 0.95, value, ASSUMES[name])
        assert limit.assumes.count(".") == 1 + limit.assumes.count("0.")
        assert limit.assumes.endswith(".")
    assert score_limit(3, 0.95) == Limit("fixed", None, 3.0, "Nothing: the number was given.")


def test_rules_have_limits_of_their_own() -> None:
    rng = np.random.default_rng(0)
    contributions, variances = rng.chisquare(1, (1000, 2)) * [1.0, 9.0], np.array([1.0, 9.0])
    weights = rng.uniform(size=1000)
    for name in ("quantile", "conformal", "pot"):
        given = None if name == "conformal" else weights
        found = rule_limits(name, 0.95, contributions=contributions, weights=given)
        assert found == tuple(score_limit(name, 0.95, scores=c, weights=given) for c in contributions.T)
    for name in FROM_MOMENTS:
        values = [limit.value for limit in rule_limits(name, 0.95, variances=np.r_[variances, 0.0, -1e-20])]
        assert values == pytest.approx([chi2.ppf(0.95, 1), 9 * chi2.ppf(0.95, 1), 0.0, 0.0], rel=1e-12)
    for known in ({"variances": variances}, {"contributions": contributions}):
        assert [limit.value for limit in rule_limits(0.5, 0.95, **known)] == [0.5, 0.5]


SCORED, TWO = np.arange(5.0), np.ones(2)
REFUSED = {
    r"limit must be one of pearson, .*, or a finite number >= 0, got 'boxy'": lambda: score_limit("boxy", 0.9),
    "got -1.0": lambda: score_limit(-1.0, 0.9),
    "got nan": lambda: score_limit(float("nan"), 0.9),
    "got inf": lambda: rule_limits(float("inf"), 0.9, variances=TWO),
    "got True": lambda: score_limit(True, 0.9),
    r"level must be .* between 0 and 1, .* got 1.0": lambda: score_limit("box", 1.0, variances=TWO),
    r"level must be .* got nan": lambda: rule_limits("box", float("nan"), variances=TWO),
    r'"quantile" is taken from scores of rows, and moments alone have none: .* use pearson or box or jackson': lambda: (
        score_limit("quantile", 0.9, variances=TWO)
    ),
    r'"pot" is taken from contributions of rows': lambda: rule_limits("pot", 0.9, variances=TWO),
    r'"box" is computed from variances .* missing: give variances': lambda: score_limit("box", 0.9, scores=SCORED),
    r"needs to know the rules: give variances": lambda: rule_limits(1.0, 0.9),
    r"takes no weights: leave them out": lambda: score_limit("conformal", 0.9, scores=SCORED, weights=np.ones(5)),
    r"weights must be 5 finite numbers >= 0": lambda: score_limit("quantile", 0.9, scores=SCORED, weights=np.ones(4)),
    r"not all zero": lambda: score_limit("quantile", 0.9, scores=SCORED, weights=np.zeros(5)),
    r"scores must be a list of finite numbers": lambda: score_limit("quantile", 0.9, scores=np.array([1.0, np.nan])),
    r"scores must .* at least one": lambda: score_limit("conformal", 0.9, scores=np.array([])),
    r"calibration must be a list": lambda: conformal_p_values(np.array([]), SCORED),
    r"rate must be a number between 0 and 1, got 0": lambda: benjamini_hochberg(TWO, 0.0),
    r"p_values must lie between 0 and 1": lambda: benjamini_hochberg(np.array([0.1, np.nan]), 0.1),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_answered_is_refused_in_one_sentence(sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        REFUSED[sentence]()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
