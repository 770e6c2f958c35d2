"""Rules that held exactly, broken by as little as their columns can: found, named and repaired by default."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import zoo
from aspca import ASPCA

NAMES = ["small", "medium", "large", "total", "seven", "price", "twice"]


def invoices(n: int = 1000) -> pd.DataFrame:
    return pd.DataFrame(zoo.invoices(n), columns=NAMES)


@pytest.fixture(scope="module")
def model() -> ASPCA:
    return ASPCA().fit(invoices())


def test_the_identities_are_found_and_said_to_be_exact(model: ASPCA) -> None:
    texts = {str(rule) for rule in model.rules_}
    assert {
        "total = small + medium + large (exactly, all rows)",
        "seven = 7 (constant)",
        "twice = 2 price (exactly, all rows)",
    } <= texts


@pytest.mark.parametrize("score", ["complete"])
@pytest.mark.parametrize("scaling", ["maxabs", "standard", "none"])
@pytest.mark.parametrize(
    ("column", "by", "said"),
    [
        ("total", 1.0, "It violates total = small + medium + large (exactly, all rows): its sides differ by 1."),
        ("large", -1.0, "It violates total = small + medium + large (exactly, all rows): its sides differ by 1."),
        ("twice", 0.01, "It violates twice = 2 price (exactly, all rows): its sides differ by 0.01."),
        ("price", -0.01, "It violates twice = 2 price (exactly, all rows): its sides differ by 0.02."),
        ("seven", 1.0, "It breaks the rule seven = 7 (constant): it is 1 too high,"),
    ],
)
def test_one_step_off_is_an_anomaly_and_named(score: str, scaling: str, column: str, by: float, said: str) -> None:
    table = invoices()
    model = ASPCA(score=score, scaling=scaling).fit(table)
    row = table.iloc[[17]].copy()
    row[column] = np.round(row[column] + by, 2)
    why = model.explain(row)
    assert model.predict(row).tolist() == [-1]
    if column == "seven":
        # One step off, in the first of a thousand rows.
        assert why[0].text.startswith(
            "Row 17 is unusual: p = " if score == "complete" else "Row 17 is an anomaly: score "
        )
    else:
        # The least there is to violate it by.
        assert why[0].text.startswith(("Row 17 is an error (certain): ", "Row 17 is an error (very likely): "))
        # What was there is among what it should be.
        assert f"{column} should be {table[column][17]:g} (not {row[column][17]:g})" in why[0].text
        j = NAMES.index(column)
        options = [(why.repairs[0].cells, why.repairs[0].values), *why.repairs[0].ties]
        assert ((j,), (table[column][17],)) in options
    assert said in why[0].text
    # The rule that is broken holds the column, and what would do is what was there.
    (broken,) = np.flatnonzero(why.broken[0])
    # A column that was constant is judged by its own range as well.
    assert why.shares[0, broken] >= (0.8 if column == "seven" and score == "complete" else 0.99)
    assert why[0].needed(int(broken))[column] == table[column][17]
    assert set(why.feature_contributions[0].nonzero()[0]) != set()
    top = why.names[int(why.feature_contributions[0].argmax())]
    assert top in why.rules[int(broken)].features


def test_broken_in_the_table_that_is_learned_from_it_is_found_too() -> None:
    """One total of a thousand is off by one: the rule is exact in the others, and the row stands out most."""
    table = invoices()
    table.loc[400, "total"] += 1.0
    model = ASPCA().fit(table)
    why = model.explain(table)
    assert why.anomalies[400]
    assert int(np.argmax(why.scores)) == 400
    rule = why.rules[int(why.rule_contributions[400].argmax())]
    assert set(rule.features) == {"small", "medium", "large", "total"}
    assert str(rule) == "total = small + medium + large (exactly, 99.9 % of the rows)"
    assert np.flatnonzero(why.broken[:, why.rules.index(rule)]).tolist() == [400]
    assert f"total should be {invoices().total[400]:g} (not {table.total[400]:g})" in why[400].text


def test_lawful_rows_far_out_do_not_break_what_is_exact(model: ASPCA) -> None:
    """Ten thousand times as large, and lawful: unusual, but no rule is broken by the ninth digit."""
    far = pd.DataFrame(
        [[50_000, 400_000, 3_000_000, 3_450_000, 7.0, 9_999_999.99, 19_999_999.98], [0, 0, 0, 0, 7.0, 0.01, 0.02]],
        columns=NAMES,
    )
    why = model.explain(far)
    exact = [k for k, rule in enumerate(why.rules) if rule.exact]
    assert len(exact) == 3
    assert not why.broken[:, exact].any()
    # And the training rows keep theirs.
    assert not model.explain(invoices()).broken[:, exact].any()


@pytest.mark.parametrize(("decades", "off"), [(0, 1.0), (3, 1.0), (6, 100.0)])
def test_columns_decades_apart(decades: int, off: float) -> None:
    """a in grams, b in tonnes, their total in grams: broken by one gram, or by 1e-7 of it: more no covariance tells."""
    rng = np.random.default_rng(0)
    unit = 10.0**decades
    grams, tonnes = rng.integers(1, 1000, size=1000), rng.integers(1, 1000, size=1000)
    noise = rng.normal(size=(1000, 2))
    table = pd.DataFrame({"g": grams, "t": tonnes, "all": grams + unit * tonnes, "x": noise[:, 0], "y": noise[:, 1]})
    table = table.astype(float)
    model = ASPCA().fit(table)
    (number,) = [k for k, rule in enumerate(model.rules_) if rule.exact]
    assert set(model.rules_[number].features) == {"g", "t", "all"}
    row = table.iloc[[3]].copy()
    row["all"] += off
    why = model.explain(row)
    assert why.anomalies.tolist() == [True]
    assert why.broken[0, number]
    assert why[0].needed(number)["all"] == table["all"][3]
    assert not model.explain(table).broken[:, number].any()


@pytest.mark.parametrize(("value", "step"), [(0.0, 1.0), (3.0, 1.0), (-1e6, 1.0), (0.1, 0.1), (1 / 3, 1e-9)])
def test_a_constant_that_moves(value: float, step: float) -> None:
    """By one step of its column: whole numbers, tenths, or anything."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(500, 3)), np.full(500, value)])
    model = ASPCA().fit(X)
    (number,) = [k for k, rule in enumerate(model.rules_) if rule.features == ("x3",)]
    assert model.rules_[number].constant
    rows = X[:2].copy()
    rows[0, 3] = value + step
    why = model.explain(rows)
    assert why.anomalies.tolist() == [True, False]
    assert why.broken[:, number].tolist() == [True, False]
    assert why[0].needed(number) == {"x3": value}


@pytest.mark.parametrize(("n", "p"), [(20, 20), (20, 40), (40, 60), (10, 12)])
def test_rules_that_the_lack_of_rows_explains_are_left_out(n: int, p: int) -> None:
    """n rows of p unrelated features obey p - n + 1 exact rules, whatever they mean: fresh rows are not all flagged."""
    rng = np.random.default_rng(n)
    model = ASPCA().fit(rng.normal(size=(n, p)))
    assert model.rules_ == ()
    fresh = rng.normal(size=(500, p))
    assert (model.predict(fresh) == -1).mean() <= 0.25


def test_short_identities_are_kept_even_with_few_rows() -> None:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 50, size=(25, 30)).astype(float)
    X[:, 2] = X[:, 0] + X[:, 1]
    X[:, 5] = 2.0 * X[:, 4]
    model = ASPCA().fit(X)
    texts = {str(rule) for rule in model.rules_ if rule.exact}
    assert texts == {"x2 = x0 + x1 (exactly, all rows)", "x5 = 2 x4 (exactly, all rows)"}
    row = rng.integers(0, 50, size=(1, 30)).astype(float)
    row[0, 2], row[0, 5] = row[0, 0] + row[0, 1] + 1.0, 2.0 * row[0, 4]
    why = model.explain(row)
    assert why.anomalies[0]
    assert "It violates x2 = x0 + x1 (exactly, all rows): its sides differ by 1." in why[0].text
