"""How much wider a rule is on new rows: what is expected of moments, and where chance begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aspca.rules.chance import EXCLUDED, chance_probability
from aspca.rules.widening import expected_widening, held_out_widening
from zoo import rules_of


@pytest.mark.parametrize(("widening", "chance"), [(None, False), (1.0, False), (2.0, False), (2.001, True)])
def test_a_rule_looks_like_chance_from_twice_its_width_on(widening: float | None, chance: bool) -> None:
    (rule,) = rules_of(np.array([[0.6], [-0.8]]), np.zeros(2), np.ones(2), np.eye(2), ("a", "b"))
    assert replace(rule, widening=widening).looks_like_chance == chance


def test_the_terms_of_a_rule_are_its_coefficients_squared_times_variances() -> None:
    """Few rows and many columns: if chance may have made the rule, new rows show its terms, each with its variance."""
    covariance = np.diag([4.0, 9.0, 1.0, 1.0, 1.0, 1.0])
    covariance[0, 1] = covariance[1, 0] = 4.5
    loading = np.array([[0.8], [-0.6], [0.0], [0.0], [0.0], [0.0]])
    (rule,) = rules_of(loading, np.zeros(6), np.full(6, 2.0), covariance, tuple("abcdef"), n_rows=8)
    parts = np.array([0.64 * 4.0, 0.36 * 9.0])
    variance = parts.sum() - 2 * 0.48 * 4.5
    assert chance_probability(variance / parts.max(), 8, 2, 6) > EXCLUDED
    assert rule.widening == pytest.approx(np.sqrt(parts.sum() / variance), rel=1e-12)
    assert rule.widening == pytest.approx(expected_widening(variance, parts, 8, 6), rel=1e-12)


@pytest.mark.parametrize("n_rows", [3, 4, 5, 10, 100])
def test_fitted_coefficients_widen_a_rule_by_the_formula(n_rows: int) -> None:
    """Three terms of one certain rule: m = 2 fitted coefficients."""
    found = expected_widening(1e-9, np.ones(3), n_rows, 3, probability=0.0)
    if n_rows <= 4:
        assert found == np.inf
    else:
        n, m = n_rows, 2
        assert found == pytest.approx(np.sqrt((n + 1) * (n - 2) / ((n - m - 1) * (n - m - 2))), rel=1e-14)


def test_held_out_rows_are_measured_by_their_root_mean_square() -> None:
    deviations = np.array([[3.0, 0.0, 1e300, np.nan], [4.0, 0.0, 0.0, 2.0]])
    found = held_out_widening(deviations, np.array([0.5, 0.0, 0.0, 1.0]))
    assert found.tolist() == pytest.approx([np.sqrt(12.5) / 0.5, 1.0, np.inf, 2.0])
