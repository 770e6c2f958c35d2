"""Cells as the table has them, and what they would have to be: in their own steps, such that the rule then holds."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import zoo
from aspca import ASPCA, Preprocessor
from aspca.findings.values import UNKNOWN, Original, Proposals
from aspca.preparation import Feature
from aspca.preparation.columns import ColumnPlan
from aspca.rules.table import RuleTable

NAMES = ["small", "medium", "large", "total", "seven", "price", "twice"]


def invoices(n: int = 1000) -> pd.DataFrame:
    return pd.DataFrame(zoo.invoices(n), columns=NAMES)


@pytest.fixture(scope="module")
def model() -> ASPCA:
    return ASPCA().fit(invoices())


def rule_with(model: ASPCA, *features: str) -> int:
    (found,) = [k for k, rule in enumerate(model.rules_) if set(rule.features) == set(features)]
    return found


def changed(row: int, **cells: float) -> pd.DataFrame:
    return invoices().iloc[[row]].assign(**cells)


def test_steps_are_kept(model: ASPCA) -> None:
    table = invoices()
    total = rule_with(model, "small", "medium", "large", "total")
    needed = model.explain(changed(5, total=table.total[5] + 8.0))[0].needed(total)
    assert needed == {
        "small": table.small[5] + 8.0,
        "medium": table.medium[5] + 8.0,
        "large": table.large[5] + 8.0,
        "total": table.total[5],
    }
    double = rule_with(model, "price", "twice")
    needed = model.explain(changed(5, twice=round(table.twice[5] + 0.5, 2)))[0].needed(double)
    assert needed == {"price": round(table.price[5] + 0.25, 2), "twice": table.twice[5]}


def test_what_is_far_beyond_all_that_was_seen_is_not_proposed(model: ASPCA) -> None:
    """Of 100,000 too many in the total, no part can be the reason; but a part may stay where it is already."""
    table = invoices()
    total = rule_with(model, "small", "medium", "large", "total")
    needed = model.explain(changed(5, total=table.total[5] + 1e5))[0].needed(total)
    assert needed == {"small": None, "medium": None, "large": None, "total": table.total[5]}
    moved = changed(5, large=table.large[5] + 1e5, total=table.total[5] + 1e5 - 8.0)
    needed = model.explain(moved)[0].needed(total)
    assert needed["large"] == table.large[5] + 1e5 - 8.0


def test_where_no_step_would_do_nothing_is_proposed(model: ASPCA) -> None:
    """Half a cent is no price: with twice a cent too high, no price makes it the double."""
    table = invoices()
    double = rule_with(model, "price", "twice")
    why = model.explain(changed(5, twice=round(table.twice[5] + 0.01, 2)))
    assert why[0].needed(double) == {"price": None, "twice": table.twice[5]}
    said = f"): twice should be {table.twice[5]:g} (not {round(table.twice[5] + 0.01, 2):g}). It violates"
    assert said in why[0].text
    assert "price should be" not in why[0].text
    cells = why.to_frame().set_index("feature").needed
    assert np.isnan(cells["price"])
    assert cells["twice"] == table.twice[5]


def test_a_count_is_never_proposed_to_be_negative(model: ASPCA) -> None:
    total = rule_with(model, "small", "medium", "large", "total")
    row = changed(5, small=3.0, medium=40.0, large=300.0, total=280.0)
    needed = model.explain(row)[0].needed(total)
    # 63 too many: only the largest can be that much less.
    assert needed == {"small": None, "medium": None, "large": 237.0, "total": 343.0}
    text = model.explain(row)[0].text
    assert "small should be" not in text
    assert "medium should be" not in text


def test_zero_is_proposed_where_it_is_near_enough() -> None:
    """b = a within 0.5, never negative: at a = 0.1 less than nothing is asked of b, and zero will do."""
    rng = np.random.default_rng(0)
    a = rng.gamma(2.0, 5.0, size=2000)
    X = np.column_stack([a, np.abs(a + 0.5 * rng.normal(size=2000)), rng.normal(size=2000)])
    model = ASPCA(scaling="standard").fit(X)
    rule = rule_with(model, "x0", "x1")
    limit = model.rules_[rule].limit
    assert limit is not None
    low = model.rules_[rule].centre / model.rules_[rule].coefficients[0]
    needed = model.explain(np.array([[max(low, 0.0), 9.0, 0.0]]))[0].needed(rule)
    assert needed["x1"] is not None
    assert needed["x1"] >= 0.0
    # The centred rule asks for a little below zero where the other is at zero.
    near = model.explain(np.array([[0.0, 9.0, 0.0]]))[0].needed(rule)["x1"]
    assert near is not None
    assert near >= 0.0


@example(seed=0, size=-0.296875, column=0, whole=False)
@settings(max_examples=60, deadline=None)
@given(zoo.SEEDS, st.floats(-3, 3), st.integers(0, 6), st.booleans())
def test_whatever_is_proposed_makes_the_rule_hold(seed: int, size: float, column: int, whole: bool) -> None:
    """In steps, not negative where the column never is, and within the rule's own limit: recomputed by judging it."""
    rng = np.random.default_rng(seed)
    model = MODEL
    row = invoices().iloc[[int(rng.integers(1000))]].copy()
    by = 10.0**size * rng.choice([-1.0, 1.0])
    row.iloc[0, column] += round(by, 0 if whole else 2)
    why = model.explain(row)
    for rule in range(len(why.rules)):
        for name, value in why[0].needed(rule).items():
            if value is None:
                continue
            assert isinstance(value, float)
            assert value >= 0.0
            step = Decimal(1) if name not in ("price", "twice") else Decimal("0.01")
            assert Decimal(repr(value)) % step == 0
            again = model.explain(row.assign(**{name: value}))
            assert not again.broken[0, rule]


MODEL = ASPCA().fit(invoices())


@settings(max_examples=80, deadline=None)
@given(zoo.SEEDS, st.floats(-5, 5))
def test_numbers_have_the_digits_that_the_rule_knows(seed: int, size: float) -> None:
    """Of continuous columns a power of ten at most a fifth of what the rule leaves open, and no more digits."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3, size=2)
    spread = 10.0 ** rng.uniform(-6, -1)
    covariance = np.array([[1.0, 1.0], [1.0, 1.0 + spread**2]])
    space = zoo.space_of(rng.normal(size=2), scale, covariance, (Feature("a"), Feature("b")))
    # However far a proposal is.
    space = replace(space, peaks=np.full(2, 1e24))
    table = RuleTable.of(space, np.array([[np.sqrt(0.5)], [-np.sqrt(0.5)]]))
    proposals = Proposals(space, table, np.full(1, np.inf))
    value, deviation = float(rng.normal() * scale[0] * 10.0**size), float(rng.normal() * 10.0**size)
    wanted = float(proposals.wanted(0, 0, np.array([value]), np.array([deviation]))[0])
    exact = value - deviation * scale[0] / np.sqrt(0.5)
    open_ = float(np.sqrt(table.variances[0])) * scale[0] / np.sqrt(0.5)
    assert abs(wanted - exact) <= 0.1 * open_ + 1e-15 * abs(exact)
    # One digit fewer would be too coarse: what is told is a decimal of a step in (0.02, 0.2] of what is left open.
    decimals = -int(np.floor(np.log10(0.2 * open_)))
    assert wanted == round(exact, decimals)


def test_logarithms_are_taken_back_and_rounded_and_categories_have_no_proposal() -> None:
    rng = np.random.default_rng(3)
    price = rng.lognormal(3.0, size=800)
    kind = rng.choice(["red", "blue"], 800)
    table = pd.DataFrame({"price": price, "cost": 1.2 * price * np.exp(0.01 * rng.normal(size=800)), "kind": kind})
    table["fee"] = np.where(kind == "red", 5.0, 2.0) + 0.02 * rng.normal(size=800)
    prepared = Preprocessor(categorical={"kind": "one-hot"}, transforms={"price": "log", "cost": "log"})
    model = ASPCA(preprocessor=prepared).fit(table)
    row = table.iloc[[4]].assign(cost=3.0 * table.cost[4], fee=9.0)
    why = model.explain(row)
    for number in range(len(why.rules)):
        needed = why[0].needed(number)
        if set(needed) == {"price", "cost"}:
            assert needed["cost"] == pytest.approx(1.2 * table.price[4], rel=0.005)
            assert needed["price"] == pytest.approx(3.0 * table.cost[4] / 1.2, rel=0.005)
            # To a fifth of one per cent, which is what the rule leaves open: four digits at most.
            assert len(Decimal(repr(needed["cost"])).normalize().as_tuple().digits) <= 4
        if "kind" in needed:
            assert needed["kind"] is None
    assert any({"price", "cost"} == {origin.column for origin in rule.origins} for rule in why.rules)


def test_a_gap_asks_for_nothing() -> None:
    X = zoo.plant(300)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = ASPCA(preprocessor=Preprocessor(missing="allow")).fit(frame)
    row = frame.iloc[[0]].assign(a=np.nan)
    why = model.explain(row)
    lost = np.flatnonzero(np.isnan(why.deviations[0]))
    assert lost.size == 2
    for rule in lost:
        assert set(why[0].needed(int(rule)).values()) == {None}


def test_a_category_is_read_from_its_features() -> None:
    """Three features of one column, of which each row has one, or none, or nothing is known."""
    features = (*ColumnPlan("colour", "one-hot", ("blue", "green", "red")).features, *ColumnPlan("size").features)
    nan = np.nan
    values = np.array([[1.0, 0, 0, 7], [0, 1, 0, 7], [0, 0, 1, 7], [0, 0, 0, 7], [nan, nan, nan, nan]])
    original = Original(features, values)
    for feature in range(3):
        found = [original.value(row, feature) for row in range(5)]
        assert found == ["blue", "green", "red", UNKNOWN, None]
    assert original.value(0, 3) == 7.0
    assert original.distinct([2, 3, 0]).tolist() == [2, 3]
    filled = Original(features, values, np.arange(20).reshape(5, 4) == 3)
    assert (filled.value(0, 3), filled.value(1, 3)) == (None, 7.0)
