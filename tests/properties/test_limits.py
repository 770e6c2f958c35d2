"""What holds for all limits and p-values of scores."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aspca.model.thresholds import benjamini_hochberg, conformal_limit, conformal_p_values, limit_from_scores

MANY = settings(max_examples=100, deadline=None, derandomize=True)
LEVELS = st.floats(0.001, 0.999)
VALUES = arrays(np.float64, st.integers(1, 60), elements=st.floats(0.0, 1e6).map(lambda x: round(x, 1)))


@MANY
@given(VALUES, LEVELS, LEVELS)
def test_limits_from_scores_rise_with_the_level_and_are_scores(scores, one, other) -> None:
    low, high = min(one, other), max(one, other)
    for name in ("quantile", "conformal"):
        below, above = (limit_from_scores(name, level, scores).value for level in (low, high))
        assert below <= above
        assert below in [*scores.tolist(), np.inf]
        # Conformal is never below the quantile.
        assert (scores > above).mean() <= 1 - high + 1e-9
    conformal, quantile = (limit_from_scores(name, low, scores).value for name in ("conformal", "quantile"))
    assert conformal >= quantile


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
