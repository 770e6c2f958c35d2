"""Rules through logarithms, categories and dates, as sentences in the original columns."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca.identities.identity import write_number
from aspca.preparation import ColumnPlan, Feature, Preparation
from aspca.rules.rule import Rule
from zoo import rules_of


def rule_of(rows: np.ndarray, weights: list[float], features: tuple[Feature, ...]) -> Rule:
    """The rule with these weights, from rows (n, k) of features."""
    loadings = np.array(weights)[:, None] / np.linalg.norm(weights)
    covariance = np.cov(rows.T, bias=True).reshape(len(weights), len(weights))
    (rule,) = rules_of(loadings, rows.mean(axis=0), np.ones(len(weights)), covariance, features, len(rows))
    return rule


def normal(n: int, k: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, k))


def logs(*names: str) -> tuple[Feature, ...]:
    return tuple(Feature(name, "log") for name in names)


def test_products() -> None:
    a, b, noise = normal(500, 3).T
    rows = np.column_stack([a, b, a + b + np.log(1.2) + 0.01 * noise])
    assert re.fullmatch(
        r"cost = 1\.2 \* price \* amount \(± [\d.]+ %\)",
        str(rule_of(rows, [1, 1, -1], logs("price", "amount", "cost"))),
    )
    rows = np.column_stack([a, 2 * a])
    assert str(rule_of(rows, [2, -1], logs("side", "area"))) == "area = side^2 (exactly)"
    rows = np.column_stack([a, np.log(400) - a])
    assert str(rule_of(rows, [1, 1], logs("p", "q"))) == "p * q = 400 (exactly)"
    rows = np.column_stack([3 + 0.5 * a])
    assert str(rule_of(rows, [1], logs("p"))) == "p = 20 (within a factor of 1.6)"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 3).filter(bool), min_size=2, max_size=4), st.floats(-20, 20), st.floats(1e-6, 0.1))
def test_the_constant_of_a_product_is_within_its_rounding(powers: list[int], constant: float, noise: float) -> None:
    rows = normal(200, len(powers))
    rows[:, -1] = (constant - rows[:, :-1] @ powers[:-1]) / powers[-1] + noise * rows[:, -1]
    rule = rule_of(rows, [float(power) for power in powers], logs(*"abcd"[: len(powers)]))
    left, right = str(rule).rpartition(" (")[0].split(" = ")
    names = {name: rows[:, k].mean() for k, name in enumerate("abcd"[: len(powers)])}

    def logarithm(side: str) -> float:
        total = 0.0
        for factor in side.split(" * "):
            name, _, power = factor.partition("^")
            total += names[name] * float(power or 1) if name in names else np.log(float(name))
        return total

    # At the means both sides agree to within half the spread, as every sentence promises.
    assert abs(logarithm(left) - logarithm(right)) <= 0.5 * rule.spread * rule.equation.unit * (1 + 1e-6) + 1e-12


def one_hot(column: str, *levels: str) -> tuple[Feature, ...]:
    return ColumnPlan(column, "one-hot", levels).features


def chosen(n: int, k: int, shares: list[float]) -> np.ndarray:
    return np.eye(k)[np.random.default_rng(1).choice(k, n, p=shares)]


def test_categories_alone() -> None:
    levels = chosen(1000, 3, [0.5, 0.48, 0.02])
    features = one_hot("hue", "red", "green", "dark blue")
    assert str(rule_of(levels, [1, 1, 1], features)) == "hue is red, green or [dark blue]"
    share = 100 - float(f"{100 * levels[:, 2].mean():.2g}")
    assert str(rule_of(levels[:, 2:], [1], features[2:])) == f"hue is not [dark blue] (in {share:g} % of rows)"
    assert str(rule_of(levels[:, :2], [1, 1], features[:2])) == f"hue is red or green (in {share:g} % of rows)"
    rare = np.zeros((200_000, 1))
    assert str(rule_of(rare, [1], features[2:])) == "hue is not [dark blue] (in all rows)"
    rare[3] = 1.0
    assert str(rule_of(rare, [1], features[2:])) == "hue is not [dark blue] (in 99.9995 % of rows)"
    both = np.column_stack([levels, levels])
    assert (
        str(rule_of(both, [1, 1, 1, 1, 1, 1], features + one_hot("tone", "a", "b", "c")))
        == "hue is red, green or [dark blue] and tone is a, b or c"
    )


def test_a_number_by_category() -> None:
    levels = chosen(600, 3, [0.5, 0.3, 0.2])
    fee = levels @ [5.0, 2.0, 0.0] + 0.05 * normal(600, 1)[:, 0]
    features = (*one_hot("hue", "red", "green", "blue"), Feature("fee"))
    rule = rule_of(np.column_stack([levels, fee]), [-5, -2, 0, 1], features)
    assert re.fullmatch(r"fee = 5 if hue is red, 2 if hue is green, 0 if hue is blue \(± 0\.0\d+\)", str(rule))
    base = normal(600, 1, 3)[:, 0]
    rule = rule_of(np.column_stack([levels, fee + base, base]), [-5, -2, 0, 1, -1], (*features, Feature("base")))
    assert str(rule).startswith("fee = base + (5 if hue is red, 2 if hue is green, 0 if hue is blue) (± ")
    # Several that are left over are not named.
    levels = chosen(600, 4, [0.4, 0.2, 0.2, 0.2])
    fee = levels @ [5.0, 2.0, 0.0, 0.0] + 0.05 * normal(600, 1)[:, 0]
    four = (*one_hot("hue", "red", "green", "blue", "black"), Feature("fee"))
    rule = rule_of(np.column_stack([levels, fee]), [-5, -2, 0, 0, 1], four)
    assert str(rule).startswith("fee = 5 if hue is red, 2 if hue is green, 0 otherwise (± ")


def test_a_rare_category_counts_in_full() -> None:
    """It varies little, so its coefficient would round to anything if it were a number like others."""
    levels = np.zeros((1000, 2))
    levels[:, 0] = 1
    levels[7] = [0, 1]
    fee = levels @ [1.0, 8.25] + 0.05 * normal(1000, 1)[:, 0]
    features = (*one_hot("hue", "red", "blue"), Feature("fee"))
    rule = rule_of(np.column_stack([levels, fee]), [-1, -8.25, 1], features)
    (rare,) = re.findall(r"([\d.]+) if hue is blue", str(rule))
    assert abs(float(rare) - 8.25) < 0.1


def test_dates() -> None:
    day = 19723 + 100 * normal(400, 1)[:, 0]
    dates = (Feature("ordered", "date"), Feature("sent", "date"))
    noise = 0.1 * normal(400, 1, 2)[:, 0]
    rule = rule_of(np.column_stack([day, day + 3 + noise]), [-1, 1], dates)
    assert re.fullmatch(r"sent = ordered \+ 3 days \(± 0\.\d+ days\)", str(rule))
    assert rule.off_by(-rule.spread) == f"{rule.spread * rule.equation.unit:.3g} days"
    rule = rule_of(np.column_stack([day, 10 * day]), [10, -1], (dates[0], Feature("count")))
    assert str(rule) == "count = 10 days(ordered) (exactly)"
    alone = rule_of(np.full((5, 1), 19723.0), [1], dates[:1])
    assert str(alone) == "ordered = 2024-01-01 (constant)"


@pytest.mark.parametrize("kind", ["log1p", "sqrt", "asinh", "logit", "code"])
def test_other_functions_are_written_out(kind: str) -> None:
    rows = np.column_stack([normal(50, 1)[:, 0]] * 2)
    rule = rule_of(rows, [1, -1], (Feature("a b", kind, levels=("u", "v")), Feature("c")))
    assert str(rule) == f"{kind}([a b]) = c (exactly)"


def test_how_far_off() -> None:
    a, noise = normal(300, 2).T
    product = rule_of(np.column_stack([a, a + 0.01 * noise]), [1, -1], logs("p", "q"))
    unit = product.equation.unit
    assert product.off_by(np.log(3) / unit) == "a factor of 3"
    assert product.off_by(-0.05 / unit) == "5 %"
    single = rule_of(3 + a[:, None], [1], (Feature("x"),))
    assert single.off_by(2.0) == "2 too high"
    assert single.off_by(-2.0) == "2 too low"
    assert rule_of(chosen(90, 2, [0.5, 0.5]), [1, 1], one_hot("hue", "a", "b")).off_by(-1.0) == "another value"


def test_hostile_names_stay_on_their_line() -> None:
    plan = Preparation((ColumnPlan("a\n[b]", "one-hot", ("x\u202e", "y, z")), ColumnPlan("</b>", "log")))
    rows = np.column_stack([chosen(100, 2, [0.5, 0.5]), normal(100, 1)[:, 0]])
    text = str(rule_of(rows, [3, 1, -1], plan.features))
    assert text.isprintable()
    assert "log([</b>])" in text


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=300)
def test_numbers_in_their_fewest_digits(value: float) -> None:
    text = write_number(value)
    assert float(text) == value
    if 1e-4 <= abs(value) < 1e16:
        assert text == np.format_float_positional(value, trim="-")
