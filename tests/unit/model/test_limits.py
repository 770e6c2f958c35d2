"""Limits against the distribution itself, and against obvious twins: repeated rows, exact fractions, exact shares."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from aspca.model.thresholds import (
    ASSUMES,
    Limit,
    benjamini_hochberg,
    conformal_limit,
    conformal_p_values,
    inverted_cdf_quantile,
    limit_from_scores,
    pearson_limit,
    score_variances,
)

# ---- from moments


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


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_pearson_is_as_far_off_as_it_says(spectrum: str) -> None:
    """The true rate over the nominal 1 %, by the exact tail of the weighted chi-square sum."""
    assert 0.98 <= tail(SPECTRA[spectrum], pearson_limit(SPECTRA[spectrum], 0.99)) / 0.01 <= 1.08


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_pearson_rises_with_the_level_and_carries_units(spectrum: str) -> None:
    v = SPECTRA[spectrum]
    levels = [1e-6, 0.01, 0.3, 0.6, 0.9, 0.99, 0.9999, 1 - 1e-12]
    limits = [pearson_limit(v, level) for level in levels]
    assert limits == sorted(limits)
    assert limits[0] >= 0.0
    assert np.isfinite(limits[-1])
    for unit in (2.0**-900, 2.0**900):
        found = [pearson_limit(v * unit, level) for level in levels]
        assert found == pytest.approx([x * unit for x in limits], rel=1e-12)
    # Directions without variance do not count, nor those that rounding made negative.
    assert pearson_limit(np.r_[0.0, v, -1e-18], 0.99) == pytest.approx(pearson_limit(v, 0.99), rel=1e-12)
    assert pearson_limit(np.zeros(3), 0.99) == pearson_limit(np.array([]), 0.99) == 0.0


def test_gaussian_rows_exceed_pearsons_limit_as_often_as_the_exact_law_says() -> None:
    rng = np.random.default_rng(5)
    mixing = rng.normal(size=(8, 8)) * 0.8 ** np.arange(8)
    V = np.linalg.qr(rng.normal(size=(8, 5)))[0]
    projected = V.T @ mixing @ mixing.T @ V
    for weights in (np.eye(5), np.diag(1 / np.sqrt(np.diag(projected)))):
        scores = np.square(rng.normal(size=(200_000, 8)) @ (mixing.T @ V @ weights)).sum(axis=1)
        variances = score_variances(weights, projected, np.zeros(5))
        limit = pearson_limit(variances, 0.99)
        promised = tail(variances, limit)
        assert abs((scores > limit).mean() - promised) <= 3 * np.sqrt(promised * (1 - promised) / len(scores))


def test_no_variance_is_quoted_below_what_rounding_shows() -> None:
    found = score_variances(np.eye(2), np.diag([0.0, 1.0]), np.array([1e-3, 0.0]))
    assert found == pytest.approx([1e-3, 1.0], rel=1e-12)


# ---- from scores of rows


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
    limits = [limit_from_scores(name, 0.99, rng.chisquare(4, n)).value for _ in range(2000)]
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


@pytest.mark.parametrize("draw", [heavy, correlated])
def test_conformal_keeps_its_promise_whatever_the_rows_and_the_model(draw) -> None:
    """Train, calibrate and test on rows of their own; at n = 199 two of 200 ranks lie above: just 1 %."""
    rng = np.random.default_rng(7)
    rates = []
    for _ in range(400):
        train, calibration, new = draw(rng, 100), draw(rng, 199), draw(rng, 500)
        centre = train.mean(axis=0)
        V = np.linalg.eigh(np.cov(train.T))[1][:, :4]
        known, scores = (np.square((rows - centre) @ V).sum(axis=1) for rows in (calibration, new))
        rates.append((scores > limit_from_scores("conformal", 0.99, known).value).mean())
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


# ---- in words


def test_every_limit_says_what_it_assumes() -> None:
    for name, sentence in ASSUMES.items():
        assert Limit(name, 0.95, 1.0).assumes == sentence
        assert sentence.count(".") == 1
        assert sentence.endswith(".")


SCORED = np.arange(5.0)
REFUSED = {
    r"scores must be a list of finite numbers": lambda: limit_from_scores("quantile", 0.9, np.array([1.0, np.nan])),
    r"scores must .* at least one": lambda: limit_from_scores("conformal", 0.9, np.array([])),
    r"calibration must be a list": lambda: conformal_p_values(np.array([]), SCORED),
    r"rate must be a number between 0 and 1, got 0": lambda: benjamini_hochberg(np.ones(2), 0.0),
    r"p_values must lie between 0 and 1": lambda: benjamini_hochberg(np.array([0.1, np.nan]), 0.1),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_answered_is_refused_in_one_sentence(sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        REFUSED[sentence]()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
