"""The likeliest Gaussian: against textbook EM, against the likelihood's own gradient, and exact rules kept exact."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from aspca.moments import IncompleteMoments, Moments, patterns
from aspca.moments.em import orthonormalise, raise_spreads, start_from_pairs, take_em_step
from aspca.moments.patterns import collect_patterns, group_by_gaps
from aspca.moments.space import unresolved_variance


def with_gaps(rows: np.ndarray, share: float, seed: int = 0) -> np.ndarray:
    return np.where(np.random.default_rng([seed, 7]).random(rows.shape) < share, np.nan, rows)


def correlated(n: int, p: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 5.0


def textbook_em(rows: np.ndarray, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The slow, obvious twin (Little and Rubin): one row at a time, its gaps filled by regression."""
    rows = rows[~np.isnan(rows).all(axis=1)]
    p, mean, covariance = rows.shape[1], np.nanmean(rows, axis=0), np.diag(np.nanvar(rows, axis=0))
    for _ in range(n_steps):
        filled, extra = np.zeros_like(rows), np.zeros((p, p))
        for i, row in enumerate(rows):
            o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
            slope = covariance[np.ix_(m, o)] @ np.linalg.pinv(covariance[np.ix_(o, o)])
            filled[i, o], filled[i, m] = row[o], mean[m] + slope @ (row[o] - mean[o])
            extra[np.ix_(m, m)] += covariance[np.ix_(m, m)] - slope @ covariance[np.ix_(o, m)]
        mean = filled.mean(axis=0)
        covariance = ((filled - mean).T @ (filled - mean) + extra) / len(rows)
    return mean, covariance


def log_likelihood(rows: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> float:
    """Of the values present, row by row, without the constant."""
    total = 0.0
    for row in rows:
        o = np.flatnonzero(~np.isnan(row))
        block, gap = covariance[np.ix_(o, o)], row[o] - mean[o]
        total -= 0.5 * (np.linalg.slogdet(block)[1] + gap @ np.linalg.solve(block, gap))
    return total


def gradient(rows: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the mean log-likelihood, by mean and covariance."""
    by_mean, by_covariance = np.zeros(mean.size), np.zeros(covariance.shape)
    for row in rows:
        o = np.flatnonzero(~np.isnan(row))
        inverse = np.linalg.inv(covariance[np.ix_(o, o)])
        pull = inverse @ (row[o] - mean[o])
        by_mean[o] += pull
        by_covariance[np.ix_(o, o)] += 0.5 * (np.outer(pull, pull) - inverse)
    return by_mean / len(rows), by_covariance / len(rows)


def standardised_patterns(rows: np.ndarray) -> list[patterns.Patterns]:
    missing = np.isnan(rows)
    ones = np.ones(len(rows))
    return collect_patterns(np.where(missing, 0.0, rows), ones, ones, missing)


# ---- the estimate


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_it_is_what_textbook_em_converges_to(share: float) -> None:
    rows = with_gaps(correlated(40, 3), share)
    mean, covariance = textbook_em(rows, 300)
    done = IncompleteMoments.from_array(rows).completed(tol=1e-11)
    assert done.converged
    np.testing.assert_allclose(done.moments.mean, mean, rtol=1e-9)
    np.testing.assert_allclose(done.moments.covariance, covariance, rtol=1e-7, atol=1e-9)


def test_the_gradient_of_the_likelihood_vanishes() -> None:
    rows = with_gaps(correlated(400, 6, seed=3), 0.25)
    rows = rows[~np.isnan(rows).all(axis=1)]
    done = IncompleteMoments.from_array(rows).completed(tol=1e-11)
    by_mean, by_covariance = gradient(rows, done.moments.mean, done.moments.covariance)
    # In the units of the estimate itself: what a step of one standard deviation, one doubling of variance would bring.
    root = np.linalg.cholesky(done.moments.covariance)
    assert np.abs(root.T @ by_mean).max() < 1e-9
    assert np.abs(root.T @ by_covariance @ root).max() < 1e-9
    # The check can fail: a little off, it does.
    moved = done.moments.covariance * (1.0 + 1e-4 * np.eye(6))
    assert np.abs(root.T @ gradient(rows, done.moments.mean, moved)[1] @ root).max() > 1e-5


def test_every_step_of_em_raises_the_likelihood_of_the_values_present() -> None:
    rows = with_gaps((correlated(80, 5, seed=4) - 5.0) / 2.0, 0.35)
    rows = rows[~np.isnan(rows).all(axis=1)]
    parts = standardised_patterns(rows)
    here, told, true = start_from_pairs(parts, 5), [], []
    for _ in range(25):
        step = take_em_step(parts, float(len(rows)), here)
        told.append(step.log_likelihood)
        true.append(log_likelihood(rows, here.mean, here.factor @ here.factor.T))
        here = step.gaussian
    np.testing.assert_allclose(told, true, rtol=1e-12)
    assert (np.diff(true) > 0.0).all()


def test_a_step_from_raw_rows_is_the_step_from_their_mean_and_scatter() -> None:
    rows = correlated(50, 3, seed=5) - 5.0
    gaps = np.broadcast_to([False, True, False], rows.shape)
    here = raise_spreads(np.array([0.3, -0.2, 0.1]), np.linalg.cholesky(np.cov(correlated(50, 3, seed=6).T)))
    values, ones = np.where(gaps, 0.0, rows), np.ones(50)
    centre = values.mean(axis=0)
    factor = np.linalg.qr(values - centre)[1]
    root = np.sqrt(50.0)
    lines = np.vstack([root * centre, factor])
    short = collect_patterns(lines, np.array([root, 0, 0, 0]), np.array([50.0, 0, 0, 0]), gaps[:4])
    one, other = (take_em_step(p, 50.0, here) for p in (collect_patterns(values, ones, ones, gaps), short))
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)
    np.testing.assert_allclose(one.factor @ one.factor.T, other.factor @ other.factor.T, rtol=1e-12)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-12)


def test_orthonormal_bases_of_nearly_parallel_vectors() -> None:
    rng = np.random.default_rng(0)
    given = 1e8 * np.ones((20, 3, 1)) * rng.normal(size=(20, 1, 6)) + rng.normal(size=(20, 3, 6))
    basis = given.copy()
    log_volume = orthonormalise(basis)
    np.testing.assert_allclose(basis @ basis.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (20, 3, 3)), atol=1e-14)
    inside = given @ basis.transpose(0, 2, 1) @ basis
    assert np.abs(inside - given).max() < 1e-14 * np.abs(given).max()
    np.testing.assert_allclose(log_volume, np.log(np.linalg.svd(given)[1]).sum(axis=1), rtol=1e-8)


# ---- exact rules


def exact_table(offset: float, seed: int = 0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Twins, a total, a constant and a rule of spread 1e-3 among free features, and the loadings of the exact ones."""
    rng = np.random.default_rng(seed)
    a, c, e, g = rng.normal(size=(4, 2000)) * np.array([[1.0], [3.0], [0.5], [100.0]])
    near = e + 1e-3 * rng.normal(size=2000)
    rows = np.stack([a, a, c, 2.0 * a + c, e, near, g, np.full(2000, 7.0)], axis=1) + offset
    rows[:, 3] = rows[:, 0] + rows[:, 1] + rows[:, 2]
    return rows, {
        "twins": np.array([1.0, -1, 0, 0, 0, 0, 0, 0]),
        "total": np.array([1.0, 1, 1, -1, 0, 0, 0, 0]),
        "constant": np.array([0.0, 0, 0, 0, 0, 0, 0, 1]),
    }


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_exact_rules_stay_exact_and_tight_ones_tight(offset: float, share: float) -> None:
    rows, rules = exact_table(offset)
    done = IncompleteMoments.from_array(with_gaps(rows, share)).completed()
    covariance = done.moments.covariance
    assert done.converged
    for loadings in rules.values():
        assert loadings @ covariance @ loadings <= unresolved_variance(np.abs(loadings), covariance)
    # Rounding may leave a negative variance where a rule is exact, but no more than that.
    deviations = np.sqrt(np.diagonal(covariance))[:-1]
    assert np.linalg.eigvalsh(covariance[:-1, :-1] / np.outer(deviations, deviations))[0] > -1e-14
    tight = np.array([0.0, 0, 0, 0, 1, -1, 0, 0])
    assert np.sqrt(tight @ covariance @ tight) == pytest.approx(1e-3, rel=0.1)
    # The means obey the rules as well, in two numbers as in one pass over complete rows.
    centre, residual = done.moments.centre, done.moments.residual
    assert abs((centre[0] - centre[1]) + (residual[0] - residual[1])) < 1e-8
    assert abs((centre[0] + centre[1] + centre[2] - centre[3]) + (residual[:3].sum() - residual[3])) < 1e-7
    assert centre[7] == 7.0 + offset
    assert residual[7] == 0.0


def test_without_a_single_complete_row() -> None:
    rng = np.random.default_rng(2)
    a, b, c = rng.normal(size=(3, 3000))
    rows = np.stack([a, b, c, a + b, b + c, a + b], axis=1)
    rows[np.arange(3000), rng.integers(6, size=3000)] = np.nan
    done = IncompleteMoments.from_array(rows).completed()
    assert IncompleteMoments.from_array(rows).common.keys().isdisjoint({b"\x00"})
    for w in ([1.0, 1, 0, -1, 0, 0], [0.0, 1, 1, 0, -1, 0], [0.0, 0, 0, 1, 0, -1]):
        loadings = np.array(w)
        variance = loadings @ done.moments.covariance @ loadings
        assert variance <= unresolved_variance(np.abs(loadings), done.moments.covariance)


def test_a_rule_of_the_complete_rows_that_others_break_is_no_rule() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 5))
    rows[:2000, 1] = rows[:2000, 0]
    rows[2000:, 3] = np.nan
    covariance = IncompleteMoments.from_array(rows).completed().moments.covariance
    # Columns 0 and 1 have no gaps: whatever is done about the others, their covariance is that of the rows.
    np.testing.assert_allclose(covariance[:2, :2], np.cov(rows[:, :2].T, bias=True), rtol=1e-10)


# ---- what no row tells


def test_columns_never_present_together_are_not_correlated_unless_others_say_so() -> None:
    rows = correlated(400, 2)
    rows[:200, 0] = rows[200:, 1] = np.nan
    alone = IncompleteMoments.from_array(rows).completed().moments
    assert alone.scatter[0, 1] == 0.0
    assert alone.covariance[0, 0] == pytest.approx(np.var(rows[200:, 0]), rel=1e-7)
    rng = np.random.default_rng(3)
    common = rng.normal(size=400)
    related = np.stack([common, common + 0.1 * rng.normal(size=400), common + 0.1 * rng.normal(size=400)], axis=1)
    related[:200, 1] = related[200:, 2] = np.nan
    covariance = IncompleteMoments.from_array(related).completed().moments.covariance
    slopes = covariance[0, 1:] / covariance[0, 0]
    # Independent given the column that both were seen with.
    assert covariance[1, 2] == pytest.approx(slopes[0] * slopes[1] * covariance[0, 0], rel=1e-6)


def test_what_no_row_tells_is_the_most_random_of_all_that_are_as_likely() -> None:
    rows = with_gaps(correlated(600, 6, seed=9), 0.15)
    rows[:300, 5] = rows[300:, 0] = rows[:200, 4] = rows[200:, 1] = np.nan
    never = [(i, j) for i in range(6) for j in range(i) if np.isnan(rows[:, i] + rows[:, j]).all()]
    assert never == [(4, 1), (5, 0), (5, 1)]
    done = IncompleteMoments.from_array(rows).completed(tol=1e-10)
    precision = np.linalg.inv(done.moments.covariance)
    scale = np.sqrt(np.diagonal(precision))
    assert done.converged
    assert max(abs(precision[i, j]) / (scale[i] * scale[j]) for i, j in never) < 1e-6
    # As likely as any: nothing of it enters the likelihood, and the gradient by all the rest vanishes.
    by_mean, by_covariance = gradient(rows, done.moments.mean, done.moments.covariance)
    root = np.linalg.cholesky(done.moments.covariance)
    assert np.abs(root.T @ by_mean).max() < 1e-7
    assert np.abs(root.T @ by_covariance @ root).max() < 1e-7


def test_rules_with_a_third_make_a_rule_of_two_that_were_never_together() -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(500, 1)) * np.ones((1, 3)) + np.array([0.0, 1e6, -3.0])
    rows[:250, 0] = rows[250:, 1] = np.nan
    covariance = IncompleteMoments.from_array(rows).completed().moments.covariance
    twins = np.array([1.0, -1.0, 0.0])
    assert twins @ covariance @ twins <= unresolved_variance(np.abs(twins), covariance)


def test_gaps_may_depend_on_what_is_present() -> None:
    """B is missing where A is high: the rows that have it are low, and only the likeliest Gaussian makes up for it."""
    rng = np.random.default_rng(6)
    a = rng.normal(size=20_000)
    rows = np.stack([a, a + 0.5 * rng.normal(size=20_000)], axis=1)
    full = Moments.from_array(rows)
    rows[a > 0.5, 1] = np.nan
    done = IncompleteMoments.from_array(rows).completed().moments
    assert np.nanmean(rows[:, 1]) < full.mean[1] - 0.4
    assert done.mean[1] == pytest.approx(full.mean[1], abs=0.03)
    np.testing.assert_allclose(done.covariance, full.covariance, rtol=0.03)


def test_patterns_are_grouped_by_number_of_gaps() -> None:
    missing = np.random.default_rng(0).random((200, 11)) < 0.2
    order, starts = group_by_gaps(missing)
    groups = [missing[order[a:b]] for a, b in pairwise(starts)]
    assert sorted(order.tolist()) == list(range(200))
    assert all((group == group[0]).all() for group in groups)
    assert len({group[0].tobytes() for group in groups}) == len(groups)
    assert (np.diff([group[0].sum() for group in groups]) >= 0).all()
    parts = collect_patterns(np.ones((200, 11)), np.ones(200), np.ones(200), missing)
    assert sum(part.weights.sum() for part in parts) == 200
    for part in parts:
        assert np.array_equal(np.bincount(part.owner), part.weights)
        assert np.array_equal(np.nonzero(part.present(11) == 0.0)[1], part.gaps.ravel())


def test_the_least_spread_is_below_what_the_model_calls_exact() -> None:
    gaussian = raise_spreads(np.zeros(3), np.diag([1.0, 1.0, 0.0]))
    assert 0.0 < gaussian.spreads[-1] ** 2 < unresolved_variance(np.ones(3) / np.sqrt(3.0), np.eye(3))
