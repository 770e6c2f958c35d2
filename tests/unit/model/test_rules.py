"""Rules in the original units, against the rows, and as text."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.model.rules import Rule, rules_of

NAMES = ("A", "B", "C", "D")


def rule(features: str, coefficients: list[float], centre: float, spread: float, deviations: list[float] | None = None):
    deviations = [1.0] * len(coefficients) if deviations is None else deviations
    c = np.array(coefficients)
    return Rule(tuple(features), c, centre * c / (c @ c), np.array(deviations), spread)


def test_rules_are_projections_in_other_units() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) * [1.0, 10.0, 0.1, 5.0] + [3.0, -40.0, 0.0, 1e4]
    mean, scale = X.mean(axis=0), np.array([2.0, 30.0, 0.5, 7.0])
    Y = (X - mean) / scale
    loadings = np.zeros((4, 2))
    loadings[[0, 2], 0] = 0.6, -0.8
    loadings[:, 1] = 0.5
    rules = rules_of(loadings, mean, scale, Y.T @ Y / 200, NAMES)
    assert [one.features for one in rules] == [("A", "C"), NAMES]
    for one, v in zip(rules, loadings.T, strict=True):
        used = np.flatnonzero(v)
        values = X[:, used] @ one.coefficients
        assert abs(np.linalg.norm(one.coefficients) - 1) <= 1e-15
        assert abs(values.mean() - one.centre) <= 1e-9
        assert abs(values.std() - one.spread) <= 1e-9
        assert np.abs(one.deviations - X[:, used].std(axis=0)).max() <= 1e-9
        # The same line of zeros: a multiple of the projection, shifted by the centre.
        ratio = (values - one.centre) / (Y @ v)
        assert np.abs(ratio / ratio[0] - 1).max() <= 1e-6
        with pytest.raises(ValueError, match="read-only"):
            one.coefficients[0] = 1.0


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-160, 1e-100, 1e100, 1e149])
def test_extreme_units_give_finite_rules_of_unit_length(unit: float) -> None:
    loadings = np.array([[0.6, 0.0], [-0.8, 0.0], [0.0, 1.0], [0.0, 0.0]])
    scale = np.array([unit, 2 * unit, unit, 1.0])
    for one in rules_of(loadings, np.array([unit, unit, unit, 0.0]), scale, np.eye(4), NAMES):
        assert np.isfinite([*one.coefficients, one.centre, one.spread]).all()
        assert abs(np.linalg.norm(one.coefficients) - 1) <= 1e-12
        assert one.spread > 0


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (rule("F", [1.0], 0.0, 0.1), "F = 0 (± 0.1)"),
        (rule("F", [1.0], 7.0, 0.0), "F = 7 (± 0)"),
        (rule("F", [1.0], -7.25, 0.5), "F = -7.2 (± 0.5)"),
        (rule("F", [-1.0], 7.0, 0.5), "F = -7 (± 0.5)"),
        (rule("AB", [0.7071, -0.7071], 0.001, 0.1), "0.71 A = 0.71 B (± 0.1)"),
        (rule("AB", [-0.7071, 0.7071], 0.001, 0.1), "0.71 B = 0.71 A (± 0.1)"),
        (rule("AB", [0.6, -0.8], 5.0, 0.1), "0.6 A = 0.8 B + 5 (± 0.1)"),
        (rule("AB", [0.6, -0.8], -5.0, 0.1), "0.6 A = 0.8 B - 5 (± 0.1)"),
        (rule("AB", [0.6, 0.8], -5.0, 0.1), "0.6 A + 0.8 B = -5 (± 0.1)"),
        (rule("AB", [-0.6, -0.8], -5.0, 0.1), "0.6 A + 0.8 B = 5 (± 0.1)"),
        (rule("ACD", [0.5, 0.5, -0.7071], 0.0, 0.04), "0.5 A + 0.5 C = 0.71 D (± 0.04)"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_the_text_of_a_rule(given: Rule, text: str) -> None:
    assert str(given) == text


def test_terms_that_hardly_move_a_rule_are_left_out_of_its_text_only() -> None:
    one = rule("ABC", [0.7071, -0.7071, 0.001], 0.0, 0.1, [1.0, 1.0, 1.0])
    assert str(one) == "0.71 A = 0.71 B (± 0.1)"
    assert one.features == ("A", "B", "C")
    # A small coefficient of a wide feature is no small term.
    assert "C" in str(rule("ABC", [0.7071, -0.7071, 0.001], 0.0, 0.1, [1.0, 1.0, 1000.0]))


def test_what_is_left_out_of_the_text_does_not_shift_it() -> None:
    """A = B + C / 1000, C about 5000 and nearly constant: without C the text must say A = B + 5, or name C."""
    rng = np.random.default_rng(1)
    b, c = rng.normal(size=500), 5000 + rng.normal(size=500)
    X = np.column_stack([b + c / 1000 + 0.1 * rng.normal(size=500), b, c])
    v = np.array([1.0, -1.0, -0.001]) / np.linalg.norm([1.0, -1.0, -0.001])
    (one,) = rules_of(v[:, None], X.mean(axis=0), np.ones(3), np.cov(X.T, bias=True), ("A", "B", "C"))
    assert abs(one.centre) < 0.1
    assert "C" in str(one) or "0.707 A = 0.707 B + 3.5" in str(one)
