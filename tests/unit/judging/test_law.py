"""The law of a normal row's score, against draws of it and against rows of a known covariance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import twins
import zoo
from aspca import ASPCA
from aspca.judging.law import ScoreLaw, few_rows_quantile, freedom_of
from aspca.judging.metric import tempered

LEVELS = (0.5, 0.9, 0.975, 0.99)


def law(inside: int, outside: int, n: float, level: float = 0.975, fitted: int | None = None) -> ScoreLaw:
    limit = twins.f_limit(level, outside, n, n - outside) if outside else 0.0
    return ScoreLaw(inside, outside, n, limit, outside / max(inside + outside, 1), fitted or inside + outside)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("many", "n"), [(1, 20), (4, 60), (30, 200), (5, 1e7)])
def test_where_nothing_lies_outside_it_is_the_f_law(many: int, n: float, level: float) -> None:
    assert law(many, 0, n).quantile(level) == pytest.approx(twins.f_limit(level, many, n, n - many), rel=1e-9)
    # What else was fitted to the same rows costs freedom too.
    more = law(many, 0, n, fitted=many + 6).quantile(level)
    assert more == pytest.approx(twins.f_limit(level, many, n, n - many - 6), rel=1e-9)
    assert n > 1e6 or more > law(many, 0, n).quantile(level)
    if n > 1e6:
        assert more == pytest.approx(chi2.ppf(level, many), rel=1e-4)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("many", "n"), [(1, 20), (4, 60), (30, 200)])
def test_where_there_are_no_rules_it_is_the_tempered_f_law(many: int, n: float, level: float) -> None:
    one = law(0, many, n, 0.975)
    # All directions lie outside: their share is one, and the part is the distance itself.
    assert one.quantile(level) == pytest.approx(twins.f_limit(level, many, n, n - many), rel=1e-9)
    half = ScoreLaw(0, many, n, one.limit, 0.5, many)
    expected = twins.outside_part(twins.f_limit(level, many, n, n - many), one.limit, 0.5)
    assert half.quantile(level) == pytest.approx(expected, rel=1e-9)


def test_nothing_to_look_at() -> None:
    assert law(0, 0, 50).quantile(0.99) == 0.0


@pytest.mark.parametrize(("inside", "outside", "n"), [(1, 1, 40), (2, 6, 100), (6, 2, 100), (10, 30, 300), (3, 4, 1e9)])
def test_both_parts_together_against_draws_of_their_laws(inside: int, outside: int, n: float) -> None:
    rng, many = np.random.default_rng(inside), 400_000
    one = law(inside, outside, n)
    draws = np.zeros(many)
    for directions, part in ((inside, lambda x: x), (outside, lambda x: tempered(x, one.limit, one.share))):
        scale = directions * (n + 1) / one.freedom
        draws += part(scale * rng.f(directions, one.freedom, size=many))
    for level in LEVELS:
        rate = (draws > one.quantile(level)).mean()
        error = np.sqrt(level * (1 - level) / many)
        assert abs(rate - (1 - level)) <= 4 * error + 2e-4


@pytest.mark.parametrize(("p", "tight"), [(6, 2), (12, 8), (5, 0)])
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_gaussian_rows_of_a_known_covariance_exceed_it_as_often_as_it_says(p: int, tight: int, level: float) -> None:
    X = zoo.well_conditioned(60_000, p, p, tight=tight)
    model = ASPCA(n_components=max(tight, 1), level=level, alarm="total", scaling="standard", limit="pearson").fit(
        X[:30_000]
    )
    rate = (-model.score_samples(X[30_000:]) > model.threshold_).mean()
    # Four standard errors, twice: of the rows drawn and of those fitted.
    assert abs(rate - (1 - level)) <= 4 * np.sqrt(2 * level * (1 - level) / 30_000)


@pytest.mark.parametrize(
    ("n", "p", "tight"), [(60, 6, 2), (100, 20, 5), pytest.param(200, 40, 10, marks=pytest.mark.long)]
)
def test_few_rows_flag_hardly_more_new_ones_than_asked_for(n: int, p: int, tight: int) -> None:
    """The tightest directions of few rows look tighter than they are: on average over tables, up to a quarter more."""
    rates = []
    for seed in range(25):
        X = zoo.well_conditioned(n + 1000, p, seed, tight=tight)
        by_law = {"limit": "pearson", "rule_limit": "pearson"}
        model = ASPCA(n_components=tight, level=0.95, scaling="standard", alpha=0.0, **by_law).fit(X[:n])
        rates.append((model.predict(X[n:]) == -1).mean())
    assert np.mean(rates) <= 0.0625 + 3 * np.std(rates) / np.sqrt(25)
    assert np.mean(rates) >= 0.025 - 3 * np.std(rates) / np.sqrt(25)


def test_limits_rise_with_the_level_and_fall_with_the_rows() -> None:
    limits = [law(3, 4, 100).quantile(level) for level in (0.1, 0.5, 0.9, 0.99, 0.999, 1 - 1e-9)]
    assert limits == sorted(limits)
    fewer = [law(3, 4, n).quantile(0.99) for n in (10, 20, 100, 1000, 1e6)]
    assert fewer == sorted(fewer, reverse=True)
    # With no freedom left there are two degrees, so that next to nothing is flagged.
    assert freedom_of(5, 9) == 2.0
    assert np.isfinite(law(3, 4, 5, fitted=20).quantile(0.99))
    assert few_rows_quantile(0.99, 50, 8) == pytest.approx(twins.f_limit(0.99, 1, 50, 42), rel=1e-12)
