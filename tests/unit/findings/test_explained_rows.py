"""The face of an explanation: printed in a few lines, its rows found by label or by position, never the wrong one."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA, Explanation
from aspca.paper.datasets import load_synthetic

DATA = load_synthetic()
TABLE = pd.DataFrame(DATA.data, columns=DATA.feature_names)
LABELS = [f"p{row}" for row in range(len(TABLE))]


@cache
def model() -> ASPCA:
    return ASPCA().fit(TABLE)


@cache
def plain() -> Explanation:
    return model().explain(TABLE)


def explained(index: Any) -> Explanation:
    return model().explain(TABLE.set_axis(index))


def test_printed_it_is_a_few_short_lines() -> None:
    lines = repr(plain()).split("\n")
    assert lines[0] == "Explanation of 515 rows by 2 rules, 27 anomalies"
    assert lines[1].startswith("  highest scores: 508 (")
    assert lines[2] == "  rules: " + "; ".join(map(str, plain().rules))
    hostile = TABLE.rename(columns={"A": "\x1b[31m" + "a" * 10_000}).set_axis(["\x1b[2J" + "r" * 10_000, *LABELS[1:]])
    printed = repr(ASPCA().fit(hostile).explain(hostile[:1]))
    assert printed.count("\n") == 2
    assert len(printed) < 1000
    assert "\x1b" not in printed


def test_labels_that_are_hostile_stay_on_their_line() -> None:
    assert explained(["\x1b[2J\n", *LABELS[1:]])[0].text.startswith(r"Row \x1b[2J\n is ")


@pytest.mark.parametrize(
    "index",
    [
        LABELS,
        np.arange(515)[::-1],
        np.arange(515) + 0.5,
        pd.date_range("2024-01-01", periods=515, freq="h"),
        pd.MultiIndex.from_product([["a", "b", "c", "d", "e"], range(103)]),
    ],
    ids=["texts", "numbers in another order", "fractions", "dates", "pairs"],
)
def test_labels_win_over_positions(index: Any) -> None:
    why = explained(index)
    for position in (3, 508):
        label = list(pd.Index(index))[position]
        assert why.text(label) == why[position].text
        assert why.text(label).replace(f"Row {label}", "") == plain()[position].text.replace(f"Row {position}", "")
        assert why.needed(label, 0) == plain().needed(position, 0) == why[position].needed(0)
        assert why[position].label == label


def test_dates_may_be_written() -> None:
    why = explained(pd.date_range("2024-01-01", periods=515, freq="h"))
    assert why.text("2024-01-01 05:00") == why[5].text
    with pytest.raises(ValueError, match=r"'2024-01-02' names 24 rows, at the positions 24, 25, 26, 27, 28, \.\.\."):
        why.text("2024-01-02")


@pytest.mark.parametrize("given", [17.99, "17", True, None, 515, -516])
def test_what_is_no_position_gets_a_sentence(given: Any) -> None:
    with pytest.raises(ValueError, match=r"There is no row|A row is taken by its position, a whole number"):
        plain().text(given)
    with pytest.raises(IndexError, match=r"There is no row|A row is taken by its position, a whole number"):
        plain()[given]


@pytest.mark.parametrize("given", [3, 3.5, "p", "p515", True])
def test_what_is_no_label_gets_a_sentence(given: Any) -> None:
    with pytest.raises(ValueError, match=r"No row is called .*: rows are called by their labels, the first being 'p0'"):
        explained(LABELS).text(given)


def test_a_label_of_two_rows_gets_a_sentence() -> None:
    why = explained(["twin", *LABELS[1:77], "twin", *LABELS[78:]])
    with pytest.raises(ValueError, match=r"'twin' names 2 rows, at the positions 0, 77: .*explanation\[0\]"):
        why.text("twin")
    assert why[77].text.startswith("Row twin is ")


@pytest.mark.parametrize(
    "key",
    [slice(500, None), slice(None, None, -50), [508, 3], np.arange(515) % 7 == 0, TABLE.A > 0.0, ()],
    ids=["slice", "backwards", "positions", "mask", "series", "nothing"],
)
def test_some_rows_are_a_smaller_explanation(key: Any) -> None:
    why = explained(LABELS)
    some = why[key]
    chosen = np.arange(515)[list(key) if isinstance(key, tuple) else key] if len(some) else np.arange(0)
    assert isinstance(some, Explanation)
    assert len(some) == len(chosen)
    assert list(some.index) == [LABELS[row] for row in chosen]
    for name in ("scores", "anomalies", "values", "rule_contributions", "feature_contributions", "broken", "repaired"):
        np.testing.assert_array_equal(getattr(some, name), getattr(why, name)[chosen])
    assert some.signatures == tuple(why.signatures[row] for row in chosen)
    assert list(some.to_frame()["row"].unique()) == [LABELS[row] for row in chosen]
    assert [row.text for row in some] == [why[int(row)].text for row in chosen]


@pytest.mark.parametrize("key", [[True, False], [0.5], "p3", [[1, 2]], [600]])
def test_what_chooses_no_rows_gets_a_sentence(key: Any) -> None:
    with pytest.raises((ValueError, IndexError), match=r"mask has 2 entries|[Rr]ows? (is|are) taken by|no row 600"):
        plain()[key]


def test_a_row_holds_what_is_said_of_it() -> None:
    row = plain()[502]
    assert (row.label, row.position, row.anomaly) == (502, 502, True)
    assert row.score == plain().scores[502]
    assert row.values == {name: TABLE[name][502] for name in TABLE}
    assert [str(rule) for rule in row.broken] == ["A = B (± 0.099)"]
    assert str(row) == repr(row) == row.text == plain().text(502)
    # A column that is far out by itself breaks no rule.
    assert plain()[512].broken == ()
    assert plain()[512].text.startswith(
        "Row 512 is an error (very likely): F is 1.11903…, about -0.003 would fit. It keeps its"
    )
    assert [one.position for one in plain()] == list(range(515))


def test_an_anomaly_without_a_broken_rule_is_told_by_how_far_it_is_off() -> None:
    """Shares of the score contradict deviations where rules go together, so none is told of a rule that holds."""
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 1500))
    common, *own = 0.1 * rng.normal(size=(4, 1500))
    columns = {"a": a, "a2": a + common, "b": b, "b2": b + common + own[0], "c": c, "c2": c + own[1] - common}
    table = pd.DataFrame(columns)
    fitted = ASPCA(n_components=3).fit(table)
    why = fitted.explain(table)
    spreads = np.abs(why.deviations) / [rule.spread for rule in why.rules]
    told = 0
    for row in why[why.anomalies & ~why.broken.any(axis=1)]:
        if "No rule is broken by itself" in row.text:
            told += 1
            position = int(str(row.label))
            said = [k for k, rule in enumerate(why.rules) if f"off {rule} by " in row.text]
            assert 1 <= len(said) <= 2
            for k in said:
                assert f"off {why.rules[k]} by {spreads[position, k]:.2g} times its spread" in row.text
            assert int(np.argmax(why.shares[position])) in said
            assert "its sides differ" not in row.text
            assert ("normal rows are not off by such amounts at once" in row.text) <= (len(said) == 2)
        else:
            assert "It keeps its rules, but stands out: " in row.text
    assert told >= 3


def test_groups_print_in_short() -> None:
    lines = repr(plain().groups()).split("\n")
    assert lines[0] == f"{len(plain().groups())} groups of 27 anomalies"
    assert lines[1].strip() == plain().groups()[0].text


@pytest.mark.parametrize("rule", [3, -1, 0.5, "D", None])
def test_what_is_no_rule_gets_a_sentence(rule: Any) -> None:
    with pytest.raises(ValueError, match=r"There is no rule .*: the model has 2, numbered from 0"):
        plain()[3].needed(rule)


def test_rules_are_told_until_most_of_the_score_is() -> None:
    """A rule that adds next to nothing is only named; of two that share the score both are told."""
    rng = np.random.default_rng(3)
    a, b, c, d = rng.normal(size=(4, 400))
    noise = 0.05 * rng.normal(size=(2, 400))
    table = pd.DataFrame({"a": a, "b": b, "ab": a + b + noise[0], "c": c, "d": d, "cd": c + d + noise[1]})
    model = ASPCA(n_components=2).fit(table)
    rows = table.iloc[[0, 0]].copy()
    rows["ab"] = rows["a"] + rows["b"] + 10.0
    rows["cd"] = rows["c"] + rows["d"] + [0.5, 10.0]
    why = model.explain(rows.reset_index(drop=True))
    assert why.broken.all()
    assert why.shares[0].max() > 0.9
    assert "It also breaks" in why.text(0)
    assert why.shares[1].max() < 0.8
    assert "It also breaks" not in why.text(1)
