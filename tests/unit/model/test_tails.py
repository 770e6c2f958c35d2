"""Tail models: p-values by counting in the bulk, by a Pareto law beyond, never more than few rows support."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from aspca.model.tails import Tail

LAWS = {
    "normal": stats.norm(),
    "t5": stats.t(5),
    "lognormal": stats.lognorm(1.0),
    "exponential": stats.expon(),
    "uniform": stats.uniform(),
}


@pytest.mark.parametrize("name", LAWS)
def test_p_values_of_fresh_values_are_uniform_where_counted_and_cautious_beyond(name: str) -> None:
    rng = np.random.default_rng(1)
    tail = Tail.two_sided(LAWS[name].rvs(5000, random_state=rng))
    p = np.exp(tail.log_p_values(LAWS[name].rvs(200_000, random_state=rng)))
    for level in (0.5, 0.1):
        assert (p <= level).mean() == pytest.approx(level, rel=0.2)
    # Beyond what is counted they may be cautious, since no end point is claimed, but never bold.
    for level in (0.01, 1e-3, 1e-4):
        assert (p <= level).mean() <= 1.5 * level + 1e-4


def test_left_and_right_are_judged_by_their_own_tail() -> None:
    wages = np.random.default_rng(0).lognormal(2.0, 1.0, 2000)
    low, high = Tail.two_sided(wages).log_p_values(np.array([-20.0, 30.0]))
    assert low < np.log(1e-3) < high  # -20 is nearer to the median than many wages are, and no wage.


@pytest.mark.parametrize("n", [20, 50, 80])
def test_few_rows_claim_little(n: int) -> None:
    values = np.random.default_rng(2).normal(size=n)
    p = float(np.exp(Tail.two_sided(values).log_p_values(np.array([8.0]))[0]))
    assert p > 1e-9
    many = np.random.default_rng(2).normal(size=50_000)
    assert float(np.exp(Tail.two_sided(many).log_p_values(np.array([8.0]))[0])) < p / 100


def test_gross_values_enter_as_a_count() -> None:
    clean = np.random.default_rng(3).normal(size=2000)
    spoiled = clean.copy()
    spoiled[:20] = np.geomspace(1e3, 1e9, 20)
    at = np.array([6.0])
    before, after = (Tail.two_sided(values).log_p_values(at)[0] for values in (clean, spoiled))
    assert after < np.log(0.03)
    assert after - before < np.log(100)
    assert (Tail.two_sided(spoiled).log_p_values(spoiled[:20]) < np.log(0.03)).all()


def test_p_falls_outwards_and_goes_on_beyond_the_last_knot() -> None:
    tail = Tail.two_sided(np.random.default_rng(4).normal(size=300))
    for side in (-1.0, 1.0):
        p = tail.log_p_values(tail.middle + side * np.geomspace(0.01, 1e200, 400))
        assert (np.diff(p) <= 1e-12).all()
        assert p[-1] < p[200]


def test_a_counted_statistic_is_never_extrapolated() -> None:
    values = np.random.default_rng(5).chisquare(4, 400)
    p = np.exp(Tail.counted(values).log_p_values(np.array([values.max(), 1e6, 1e12])))
    assert p[0] == pytest.approx(1.5 / 400.5)
    just_beyond = np.exp(Tail.counted(values).log_p_values(np.array([1.001 * values.max()])))
    assert just_beyond == pytest.approx(0.5 / 400.5, rel=1e-3)
    # Farther out comes first, but says no more than twice as much, however far.
    assert just_beyond > p[1] > p[2] >= 0.25 / 400.5
    assert Tail.counted(values).log_p_values(np.array([1e200])) == pytest.approx(np.log(0.25 / 400.5))


@pytest.mark.parametrize("p", [0.2, 0.01, 1e-5])
def test_quantiles_undo_p_values(p: float) -> None:
    tail = Tail.two_sided(np.random.default_rng(6).normal(size=1000))
    low, high = tail.quantiles(float(np.log(p)))
    assert low < tail.middle < high
    np.testing.assert_allclose(tail.log_p_values(np.array([low, high])), np.log(p), rtol=1e-6)


def test_sizes_are_judged_alike_on_both_sides() -> None:
    tail = Tail.of_sizes(np.random.default_rng(7).normal(size=500))
    values = np.array([0.1, 1.0, 3.0, 10.0])
    np.testing.assert_array_equal(tail.log_p_values(values), tail.log_p_values(-values))


@pytest.mark.parametrize("values", [np.zeros(50), np.zeros(1), np.r_[np.zeros(60), 1.0], np.repeat([1.0, 2.0], 30)])
def test_ties_and_constants_do_no_harm(values: np.ndarray) -> None:
    for make in (Tail.two_sided, Tail.of_sizes, Tail.counted):
        p = make(values).log_p_values(np.array([*np.unique(values), np.nan, 5.0]))
        assert np.isfinite(p).all()
        assert (p <= 0.0).all()


def test_a_missing_value_is_no_evidence() -> None:
    tail = Tail.two_sided(np.arange(100.0))
    assert tail.log_p_values(np.array([np.nan]))[0] == 0.0


@pytest.mark.parametrize("factor", [-3.0, 1e-6, 1e9])
def test_units_and_signs_do_not_matter(factor: float) -> None:
    rng = np.random.default_rng(8)
    values, others = rng.lognormal(size=700), rng.lognormal(size=50)
    plain, scaled = Tail.two_sided(values), Tail.two_sided(factor * values)
    np.testing.assert_allclose(scaled.log_p_values(factor * others), plain.log_p_values(others), rtol=1e-9, atol=1e-9)
