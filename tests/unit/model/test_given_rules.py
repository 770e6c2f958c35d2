"""Rules that the user gave: judged by what was written, first among the rules, and kept through every kind of fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import aspca
from aspca import ASPCA, Moments, PerCategory, Preprocessor

SUM = "total = a + b"


def table(n: int = 400, noise: float = 0.3, seed: int = 0) -> pd.DataFrame:
    """total = a + b, and d = c, with columns that are free."""
    rng = np.random.default_rng(seed)
    a, b, c, free = rng.normal([10.0, 5.0, 0.0, 3.0], [2.0, 3.0, 1.0, 4.0], size=(n, 4)).T
    total = a + b + noise * rng.normal(size=n)
    return pd.DataFrame({"total": total, "a": a, "b": b, "c": c, "d": c + 0.1 * rng.normal(size=n), "free": free})


def texts(model: ASPCA) -> list[str]:
    return [str(rule) for rule in model.rules_]


def silently(function: Any, *args: Any, **given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **given)


# ---- what is found beside them


def test_they_come_first_and_are_not_found_again() -> None:
    rows = table()
    model = ASPCA(rules=["2 total = 2 a + 2 b"]).fit(rows)
    assert [rule.given for rule in model.rules_] == [True, False]
    assert texts(model)[0].startswith("2 total = 2 a + 2 b (± 0.")
    assert texts(model)[0].endswith("; given)")
    assert texts(model)[1].startswith("c = d (")
    found = ASPCA().fit(rows)
    assert len(found.rules_) == 2
    # The paper's part does not change.
    assert np.array_equal(model.components_, found.components_)
    assert np.array_equal(model.covariance_, found.covariance_)
    assert model.subspace_.verify(model.covariance_)
    # Beside d = c in other words, the simpler of what is found is new.
    model = ASPCA(rules=["total = a + b + c - d"]).fit(rows)
    assert len(model.rules_) == 2
    assert set(model.rules_[1].features) == {"c", "d"}


def test_one_that_is_too_loose_to_be_found_judges_and_explains() -> None:
    rows, new = table(noise=4.0), table(noise=4.0, seed=1)
    without, model = ASPCA().fit(rows), ASPCA(rules=[SUM]).fit(rows)
    assert not any("total" in rule.features for rule in without.rules_)
    assert model.rules_[0].spread * np.sqrt(3.0) == pytest.approx(4.0, rel=0.1)
    # Rows that are four spreads off: nearly all are seen, and more than without.
    broken = new.assign(total=new.total + 16.0)
    seen, unseen = ((one.predict(broken) == -1).mean() for one in (model, without))
    assert seen > 0.85
    # The distance of whole rows sees most of them without the rule.
    assert 1.0 - seen < 0.75 * (1.0 - unseen)
    assert (model.predict(new) == -1).mean() < 0.06
    why = model.explain(broken)
    row = int(np.argmax(why.scores))
    assert "It breaks the rule total = a + b (± 4.2; given): its sides differ by" in why.text(row)
    assert np.allclose(why.rule_contributions.sum(axis=1) + why.outside, why.scores)


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_no_number_of_rules_leaves_them_out(n_components: int) -> None:
    model = ASPCA(n_components=n_components, rules=[SUM, "free = 3", "c = 0"]).fit(table())
    assert [rule.given for rule in model.rules_] == [True, True, True]
    assert model.components_.shape[0] == n_components
    four = ASPCA(n_components=4, rules=[SUM, "free = 3"]).fit(table())
    assert len(four.rules_) == 4
    assert sum(rule.given for rule in four.rules_) == 2


# ---- their own constant


@pytest.mark.parametrize("share", [0.02, 0.15, 0.4])
def test_rows_are_judged_by_what_was_written_not_by_their_average(share: float) -> None:
    rows = table()
    wrong = np.random.default_rng(1).permutation(len(rows))[: int(share * len(rows))]
    rows.loc[wrong, "total"] += 5.0
    found = aspca.detect(rows, rules=[SUM])
    model = found.outcomes[None].model
    assert model.rules[0].standing is not None
    assert model.rules[0].standing.holds
    assert model.rules[0].spread * np.sqrt(3.0) == pytest.approx(0.3, rel=0.15)
    assert model.rules[0].centre == pytest.approx(0.0, abs=1e-9)
    flagged = model.judge(rows.to_numpy()).anomalies
    assert flagged is not None
    assert flagged[wrong].all()
    assert np.delete(flagged, wrong).mean() < 0.06
    kept = 100 * (1.0 - share)
    assert any(f"The rule you gave, {SUM}, holds in {kept:.0f}"[:-1] in remark for remark in found.remarks)


def test_an_offset_of_every_row_is_said_once_and_rows_are_judged_by_the_level_they_have() -> None:
    rows = table()
    rows["total"] += 5.0
    rows.loc[7, "total"] += 3.0
    with pytest.warns(
        UserWarning, match=r"total = a \+ b, does not hold in the rows learned from: they are off by 4.9"
    ):
        model = ASPCA(rules=[SUM]).fit(rows)
    rule = model.rules_[0]
    assert rule.standing is not None
    assert not rule.standing.holds
    assert rule.standing.offset == pytest.approx(5.0, abs=0.05)
    assert rule.standing.kept == 0.0
    assert str(rule).startswith("total = a + b + 4.9")
    assert str(rule).endswith("; given as total = a + b)")
    flagged = model.predict(rows) == -1
    assert flagged[7]
    assert flagged.mean() < 0.05
    found = aspca.detect(rows, rules=[SUM])
    assert "100 % of them by more than its limit" in found.remarks[0]
    # Where it holds, an offset below its spread stays one: rows at what was written are in the middle.
    rows = table()
    rows["total"] += 0.2
    model = ASPCA(rules=[SUM]).fit(rows)
    deviations = model.explain(rows[:1].assign(total=rows.a + rows.b)).deviations
    assert deviations[0, 0] == pytest.approx(0.0, abs=1e-9)
    # The other rules are where they were.
    plain = ASPCA(rules=[SUM]).fit(table())
    assert np.allclose(model.model_.table.loadings[:, 1:], plain.model_.table.loadings[:, 1:], atol=1e-3)


def test_one_that_says_nothing_is_told() -> None:
    with pytest.warns(UserWarning, match="free = 2 a - 17, says nothing of the rows learned from"):
        model = ASPCA(rules=["free = 2 a - 17"]).fit(table())
    assert model.rules_[0].given


# ---- every kind of fit


def test_it_is_the_same_through_refits(tmp_path: Any) -> None:
    rows, given = table(), [SUM, "c = 0"]
    model = ASPCA(rules=given).fit(rows)
    scores = model.score_samples(rows)
    again = clone(model).fit(rows)
    assert again.rules == given
    assert np.array_equal(again.score_samples(rows), scores)
    assert np.array_equal(ASPCA(rules=tuple(given)).fit(rows).score_samples(rows), scores)
    from_moments = ASPCA(rules=given).fit_moments(Moments.from_array(rows), feature_names=rows.columns)
    assert texts(from_moments) == texts(model)
    assert np.allclose(
        from_moments.model_.judge(rows.to_numpy()).deviations, model.model_.judge(rows.to_numpy()).deviations
    )
    parts = ASPCA(rules=given).partial_fit(rows[:100]).partial_fit(rows[100:])
    assert texts(parts) == texts(model)
    robust = ASPCA(rules=given, robust="on").fit(rows)
    assert [rule.given for rule in robust.rules_[:2]] == [True, True]
    for limit in ("auto", "quantile"):
        other = ASPCA(rules=given, limit=limit).fit(rows)
        assert [rule.given for rule in other.rules_[:2]] == [True, True]
    # A row alone is judged as among all.
    assert np.array_equal(model.score_samples(rows[9:10]), scores[9:10])


def test_in_each_category_and_with_gaps() -> None:
    rows = table()
    kinds = rows.assign(kind=np.where(np.arange(len(rows)) % 2, "u", "v"))
    model = PerCategory("kind", ASPCA(rules=[SUM])).fit(kinds)
    assert all(rules[0].given for rules in model.rules_.values())
    found = aspca.detect(kinds, by="kind", rules=[SUM])
    assert [remark[:2] for remark in found.remarks[:2]] == ["u:", "v:"]
    gaps = rows.copy()
    gaps.iloc[::7, 1] = np.nan
    gaps.loc[1, "total"] += 6.0
    model = ASPCA(rules=[SUM], preprocessor=Preprocessor(missing="allow")).fit(gaps)
    assert model.rules_[0].standing is not None
    assert model.rules_[0].standing.kept is not None
    assert "breaks the rule total = a + b" in model.explain(gaps).text(1)
    assert "judged by 1 of 2 rules, since a is missing" in model.explain(gaps).text(0)


def test_exact_rules_constants_and_large_offsets() -> None:
    rows = table().round(2)
    rows["total"] = (rows.a + rows.b).round(2)
    rows["k"] = 5.0
    model = ASPCA(rules=[SUM, "k = 5"]).fit(rows)
    assert texts(model)[:2] == ["total = a + b (exactly, all rows; given)", "k = 5 (constant; given)"]
    wrong = rows[:3].copy()
    wrong.loc[1, "total"] += 0.01
    assert model.predict(wrong).tolist() == [1, -1, 1]
    said = "violates total = a + b (exactly, all rows; given): its sides differ by 0.01."
    assert said in model.explain(wrong).text(1)
    with pytest.warns(UserWarning, match="k = 4, does not hold in the rows learned from: they are 1 too high"):
        model = ASPCA(rules=["k = 4"]).fit(rows)
    assert texts(model)[0] == "total = a + b (exactly, all rows)"
    # The first of those that are no identities.
    assert str(model.model_.relations[0]) == "k = 5 (constant; given as k = 4)"
    assert (model.predict(rows) == 1).mean() > 0.95
    far = table() + 1e9
    far["total"] = far.a + far.b + 0.3 * np.random.default_rng(3).normal(size=len(far))
    model = ASPCA(rules=[SUM]).fit(far)
    assert model.rules_[0].standing is not None
    assert abs(model.rules_[0].standing.offset) < 0.05


def test_a_column_of_zeros_may_be_given() -> None:
    rows = table(n=100).assign(z=0.0)
    model = aspca.detect(rows, rules=["z = 0", "total = a + b + 7 z"]).outcomes[None].model
    assert str(model.rules[0]) == "z = 0 (constant; given)"
    assert model.rules[1].given
    # It holds with noise: zeros tell nothing of the steps that a column is written in.
    assert model.n_identities == 0
    wrong = model.judge(rows[:1].assign(z=1.0).to_numpy())
    assert wrong.broken is not None
    assert wrong.broken[0, 0]


def test_sums_of_rounded_columns_are_no_errors() -> None:
    """Of columns rounded each by itself a third of the sums is off by a step: that is rounding, not many errors."""
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(50.0, 9.0, size=(3, 500))
    rows = pd.DataFrame({"total": (a + b + c).round(2), "a": a.round(2), "b": b.round(2), "c": c.round(2)})
    off = (rows.total - rows.a - rows.b - rows.c).round(2) != 0.0
    assert 0.2 < off.mean() < 0.5
    rows.loc[3, "total"] += 0.5
    found = aspca.detect(rows, rules=["total = a + b + c"])
    flagged = found.outcomes[None].model.judge(rows.to_numpy()).anomalies
    assert flagged is not None
    assert flagged[3]
    assert flagged.mean() < 0.06


def test_products_of_logarithms() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"price": rng.lognormal(size=300), "amount": rng.lognormal(size=300)})
    rows["cost"] = 1.19 * rows.price * rows.amount * np.exp(0.2 * rng.normal(size=300))
    logs = Preprocessor(transforms=dict.fromkeys(rows.columns, "log"))
    model = ASPCA(rules=["cost = 1.19 * price * amount"], preprocessor=logs).fit(rows)
    # The number is the user's, however loose the rule.
    assert texts(model)[0].startswith("cost = 1.19 * price * amount (")


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="score must be complete where rules are given, got 'spe'"):
        ASPCA.paper(rules=[SUM]).fit(table())
    with pytest.raises(ValueError, match="did you mean total"):
        ASPCA(rules=["totl = a"]).fit(table())
    with pytest.raises(ValueError, match="x0, x1"):
        ASPCA(rules=[SUM]).fit(table().to_numpy())
    assert ASPCA(rules=["x0 = x1 + x2"]).fit(table().to_numpy()).rules_[0].given
    with pytest.raises(ValueError, match="rules must be None or a list of equations, got 'total = a"):
        ASPCA(rules=SUM).fit(table())
    few = silently(ASPCA(rules=[SUM]).fit, table()[:5])
    assert few.rules_[0].given
