"""Thresholds against obvious twins: repeated rows, exact fractions, and the distribution itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from aspca.model.limits import box_limit, inverted_cdf_quantile


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
