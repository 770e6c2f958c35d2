"""What holds for all scores and limits: signs, sums, units, order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aspca.judging.limits import (
    benjamini_hochberg,
    conformal_limit,
    conformal_p_values,
    pot_limit,
    rule_limits,
    score_limit,
)
from aspca.judging.metric import score_variances, score_weights
from aspca.settings import SCORES

MANY = settings(max_examples=100, deadline=None, derandomize=True)
SEEDS = st.integers(0, 2**32 - 1)
KINDS = st.sampled_from(SCORES)
LEVELS = st.floats(0.001, 0.999)
VALUES = arrays(np.float64, st.integers(1, 60), elements=st.floats(0.0, 1e6).map(lambda x: round(x, 1)))


@st.composite
def projections(draw) -> np.ndarray:
    """Projections (n, d) of rows whose spreads differ by a factor of 200 at most."""
    d, n = draw(st.integers(1, 5)), draw(st.integers(20, 60))
    rng = np.random.default_rng(draw(SEEDS))
    Y = rng.normal(size=(n, d)) @ (np.eye(d) + 0.4 * rng.normal(size=(d, d))) * rng.uniform(0.1, 1.0, size=d)
    Y -= Y.mean(axis=0)
    assume(np.linalg.cond(Y) < 200)
    return Y


def weights_of(kind: str, projected: np.ndarray, unresolved: float = 0.0) -> np.ndarray:
    least = np.full(len(projected), unresolved)
    return score_weights(kind, projected, np.maximum(np.diag(projected), least), least)


def scores_of(kind: str, Y: np.ndarray) -> np.ndarray:
    return np.square(Y @ weights_of(kind, Y.T @ Y / len(Y))).sum(axis=1)


@MANY
@given(KINDS, st.integers(1, 5), SEEDS, st.sampled_from([0.0, 1e-12, 1.0]))
def test_weights_are_finite_and_scores_never_negative(kind, d, seed, unresolved) -> None:
    """Even for exact rules, duplicated rules and spreads that differ by any factor."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(d, d)) * 10.0 ** rng.integers(-9, 3, size=d)
    mixing[:, rng.integers(d)] *= rng.integers(2)
    mixing[:, 0] = mixing[:, -1]
    projected, floor = mixing.T @ mixing, np.full(d, unresolved)
    W = weights_of(kind, projected, unresolved)
    assert np.isfinite(W).all()
    terms = np.square(rng.normal(size=(20, d)) @ W)
    assert (terms >= 0).all()
    assert np.isfinite(terms).all()
    variances, own = score_variances(W, projected, floor), np.maximum(np.diag(W.T @ projected @ W), 0.0)
    assert (np.r_[variances, own] >= 0).all()
    # On average over training rows a rule counts one unit, or less where its spread is below the floor.
    if kind != "spe":
        assert own.max() <= 1 + 1e-6
        assert unresolved > 0 or variances.sum() <= d + 1e-6
    for name in ("pearson", "box", "jackson-mudholkar"):
        assert np.isfinite(score_limit(name, 0.99, variances=variances).value)
        assert np.isfinite([rule.value for rule in rule_limits(name, 0.99, variances=own)]).all()


@MANY
@given(projections(), SEEDS)
def test_rescaling_a_rule_changes_no_standardized_score(Y, seed) -> None:
    units = np.exp(np.random.default_rng(seed).uniform(-2, 2, size=Y.shape[1]))
    assert scores_of("standardized", Y * units) == pytest.approx(scores_of("standardized", Y), rel=1e-9)
    # Nor does its sign, and the score is the sum of squared z-values.
    assert scores_of("standardized", -Y) == pytest.approx(np.square(Y / Y.std(axis=0)).sum(axis=1), rel=1e-9)


@MANY
@given(projections(), SEEDS)
def test_mixing_rules_changes_no_whitened_score(Y, seed) -> None:
    d = Y.shape[1]
    mixing = np.eye(d) + 0.5 * np.random.default_rng(seed).normal(size=(d, d))
    assume(np.linalg.cond(Y @ mixing) < 200)
    mahalanobis = np.einsum("ij,ij->i", Y, np.linalg.solve(Y.T @ Y / len(Y), Y.T).T)
    assert scores_of("whitened", Y) == pytest.approx(mahalanobis, rel=1e-8, abs=1e-10)
    assert scores_of("whitened", Y @ mixing) == pytest.approx(mahalanobis, rel=1e-8, abs=1e-10)


@MANY
@given(projections(), SEEDS)
def test_rotating_rules_changes_no_squared_prediction_error(Y, seed) -> None:
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(Y.shape[1],) * 2))[0]
    for kind in ("spe", "whitened", "complete"):
        assert scores_of(kind, Y @ rotation) == pytest.approx(scores_of(kind, Y), rel=1e-8, abs=1e-10)


@MANY
@given(projections(), KINDS, SEEDS)
def test_the_order_of_rules_does_not_matter(Y, kind, seed) -> None:
    order = np.random.default_rng(seed).permutation(Y.shape[1])
    projected = Y.T @ Y / len(Y)
    W, moved = weights_of(kind, projected), weights_of(kind, projected[np.ix_(order, order)])
    assert moved == pytest.approx(W[np.ix_(order, order)], rel=1e-8, abs=1e-9)
    # Each rule keeps its own contribution.
    assert np.square(Y[:, order] @ moved) == pytest.approx(np.square(Y @ W)[:, order], rel=1e-7, abs=1e-9)


@MANY
@given(VALUES, LEVELS, LEVELS)
def test_limits_from_scores_rise_with_the_level_and_are_scores(scores, one, other) -> None:
    low, high = min(one, other), max(one, other)
    for name in ("quantile", "conformal"):
        below, above = (score_limit(name, level, scores=scores).value for level in (low, high))
        assert below <= above
        assert below in [*scores.tolist(), np.inf]
        # Conformal is never below the quantile.
        assert (scores > above).mean() <= 1 - high + 1e-9
    assert score_limit("conformal", low, scores=scores).value >= score_limit("quantile", low, scores=scores).value


@MANY
@given(SEEDS, st.floats(0.91, 0.9999), st.floats(1e-6, 1e6))
def test_peaks_over_threshold_carry_units_and_offsets(seed, level, unit) -> None:
    rng = np.random.default_rng(seed)
    scores = np.abs(rng.standard_t(rng.choice([1.0, 3.0, 30.0]), size=400)) ** rng.choice([0.5, 2.0])
    limit = pot_limit(scores, None, level)
    assert limit >= np.quantile(scores, 0.9, method="inverted_cdf")
    assert pot_limit(scores * unit, None, level) == pytest.approx(limit * unit, rel=1e-8)
    assert pot_limit(rng.permutation(scores), None, level) == pytest.approx(limit, rel=1e-8)


@MANY
@given(VALUES, VALUES, LEVELS)
def test_p_values_are_shares_that_fall_with_the_score(calibration, scores, level) -> None:
    p = conformal_p_values(calibration, scores)
    assert ((p >= 1 / (calibration.size + 1)) & (p <= 1)).all()
    order = np.argsort(scores)
    assert (np.diff(p[order]) <= 0).all()
    above = scores > conformal_limit(calibration, level)
    # The same decision, but for levels that meet a rank within rounding.
    assert (p[above] <= 1 - level + 1e-9).all()
    assert (p[~above] >= 1 - level - 1e-9).all()


@MANY
@given(arrays(np.float64, st.integers(0, 40), elements=st.floats(0, 1)), st.floats(0.01, 0.5), st.floats(0.01, 0.5))
def test_discoveries_are_the_smallest_p_values_and_grow_with_the_rate(p_values, one, other) -> None:
    few, many = (benjamini_hochberg(p_values, rate) for rate in sorted((one, other)))
    assert (many | ~few).all()
    assert p_values[many].max(initial=0.0) <= p_values[~many].min(initial=1.0)
    # At least Bonferroni's finds, at most all below the rate itself.
    assert many[p_values <= max(one, other) / max(p_values.size, 1)].all()
    assert (p_values[many] <= max(one, other) * (1 + 1e-11)).all()
