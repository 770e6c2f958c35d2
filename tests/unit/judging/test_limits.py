"""Limits from moments against the distribution itself, and all limits by name.

False alarms at a nominal 1 % are compared with the exact tail of the weighted chi-square sum (`tail`, by Ruben's
series).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2, norm

from aspca.judging.limits import (
    ASSUMES,
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
from aspca.judging.metric import score_variances, score_weights
from aspca.settings import AUTO, FROM_MOMENTS, LIMITS, SCORES


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
    W = score_weights(kind, projected, np.diag(projected), np.zeros(5))
    terms = np.square(rng.normal(size=(200_000, 8)) @ (mixing.T @ V @ W))
    variances = score_variances(W, projected, np.zeros(5))
    for name in FROM_MOMENTS:
        limit = score_limit(name, 0.99, variances=variances).value
        promised = tail(variances, limit)
        error = np.sqrt(promised * (1 - promised) / len(terms))
        assert abs((terms.sum(axis=1) > limit).mean() - promised) <= 3 * error
        # Per rule all are exact.
        rules = rule_limits(name, 0.99, variances=np.diag(W.T @ projected @ W))
        rates = (terms > [rule.value for rule in rules]).mean(axis=0)
        assert np.abs(rates - 0.01).max() <= 3 * np.sqrt(0.01 * 0.99 / len(terms))


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
    # An automatic limit is no law of its own: which one it is, is settled before.
    assert set(values) == set(LIMITS) - {AUTO}
    assert LIMITS[: 1 + len(FROM_MOMENTS)] == (AUTO, *FROM_MOMENTS)
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
    "got 'auto'": lambda: rule_limits(AUTO, 0.9, variances=TWO),
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


def test_the_unit_of_weights_does_not_matter() -> None:
    """Shares that sum to less than one are weights like any others."""
    weights = np.array([0.05, 0.0, 0.1, 0.2, 0.15])
    whole = score_limit("quantile", 0.6, scores=SCORED, weights=np.round(100 * weights)).value
    assert score_limit("quantile", 0.6, scores=SCORED, weights=weights).value == whole
