"""Explanations on the paper's synthetic data: the planted rule is named, and its repair restores the planted value."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aspca import ASPCA
from aspca.findings.explanation import Explanation
from aspca.paper.datasets import load_synthetic
from aspca.settings import SCORES

DATA = load_synthetic()
TABLE = pd.DataFrame(DATA.data, columns=DATA.feature_names)
PLANTED = np.flatnonzero(DATA.labels)


@cache
def fitted(score: str = "spe", **options: object) -> ASPCA:
    given = {"n_components": 4, "alpha": 10 / len(TABLE), "scaling": "none", "level": 0.99} | options
    return ASPCA(score=score, **given).fit(TABLE)


@pytest.fixture(scope="module", params=SCORES)
def explanation(request: pytest.FixtureRequest) -> Explanation:
    return fitted(request.param).explain(TABLE)


def broken_features(kind: str) -> set[str]:
    return {letter for letter in kind if letter.isalpha()}


def test_every_planted_anomaly_names_the_rule_it_breaks(explanation: Explanation) -> None:
    assert PLANTED.size == 15
    for row in PLANTED:
        rule = int(np.argmax(explanation.rule_contributions[row]))
        assert broken_features(DATA.kinds[row]) <= set(explanation.rules[rule].features)
        text = explanation.text(int(row))
        assert text.startswith(
            f"Row {row} is an {'error (' if explanation.p_values is not None else 'anomaly: score '}"
        )
        verb = "leaves the range" if DATA.kinds[row] == "F = 0" else "breaks the rule"
        assert f"It {verb} {explanation.rules[rule]}" in text


def test_the_repair_restores_the_planted_value(explanation: Explanation) -> None:
    for row in PLANTED:
        if DATA.kinds[row] not in ("A = B", "F = 0"):
            continue
        rule = int(np.argmax(explanation.rule_contributions[row]))
        needed = explanation.needed(int(row), rule)
        spread = explanation.rules[rule].spread
        if DATA.kinds[row] == "F = 0":
            assert abs(needed["F"]) <= 3 * spread
        else:
            assert abs(needed["A"] - TABLE["B"][row]) <= 6 * spread
            assert abs(needed["B"] - TABLE["A"][row]) <= 6 * spread


def test_a_repaired_row_breaks_no_rule(explanation: Explanation) -> None:
    model = explanation.model
    again = Explanation.of(model, explanation.repaired, range(len(TABLE)))
    assert np.abs(again.judgement.deviations).max() <= 1e-12
    assert again.rule_contributions.max() <= 1e-20
    assert not again.broken.any()
    # No row that obeys the rules is nearer: what was changed is a combination of the rules.
    change = (explanation.repaired - explanation.values) / model.space.scale
    basis = np.linalg.qr(model.table.loadings)[0]
    assert np.abs(change - change @ basis @ basis.T).max() <= 1e-12


def test_with_what_is_needed_a_rule_holds_to_the_digits_that_are_told(explanation: Explanation) -> None:
    model = explanation.model
    for row in PLANTED[:5]:
        for rule in range(len(explanation.rules)):
            for name, value in explanation.needed(int(row), rule).items():
                assert isinstance(value, float)
                changed = DATA.data[[row]].copy()
                changed[0, DATA.feature_names.index(name)] = value
                # A value is told to a power of ten below a fifth of what the rule leaves open: off by half of that.
                off = abs(float(model.judge(changed).deviations[0, rule]))
                assert off <= 0.1 * np.sqrt(model.table.variances[rule]) * (1 + 1e-9)


def test_signatures_follow_the_rules_limits_or_the_papers(explanation: Explanation) -> None:
    """Beyond a rule's own limit; for scores over components, as in the paper, beyond sqrt(limit / 2)."""
    assert explanation.threshold is not None
    edge = np.sqrt(explanation.threshold / 2)
    readable = explanation.model.settings.score == "complete"
    for row in (*PLANTED, 0, 1, 2):
        expected = []
        for number, rule in enumerate(explanation.rules):
            z = explanation.judgement.deviations[row, number] * explanation.model.component_weights[number]
            if readable:
                z = explanation.deviations[row, number]
                edge = rule.limit
            if abs(z) > edge:
                expected.append(f"{number}{'L' if z < 0 else 'H'}")
        assert explanation.signatures[row] == " ".join(expected)


def test_deviations_are_in_the_rules_own_units(explanation: Explanation) -> None:
    for number, rule in enumerate(explanation.rules):
        used = [DATA.feature_names.index(name) for name in rule.features]
        by_hand = DATA.data[:, used] @ rule.coefficients - rule.centre
        assert np.abs(explanation.deviations[:, number] - by_hand).max() <= 1e-12


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_come_in_the_callers_library(library: str) -> None:
    table = {"pandas": lambda: TABLE, "polars": lambda: pl.from_pandas(TABLE), "pyarrow": lambda: pa.table(dict(TABLE))}
    given = table[library]()
    model = fitted()
    frame = model.explain(given).to_frame()
    assert type(frame).__module__.partition(".")[0] == library
    rows = frame.to_pandas() if library != "pandas" else frame
    worst = rows[rows["row"] == 512]
    assert list(worst["feature"]) == ["F"]
    assert worst["value"].item() == TABLE["F"][512]
    assert bool(worst["anomaly"].item())
    assert set(rows[rows["anomaly"]]["row"]) == set(PLANTED)


def test_hostile_names_are_text_in_html() -> None:
    table = TABLE.rename(columns={"F": "<script>alert(1)</script>"})
    model = ASPCA(n_components=4, alpha=10 / len(table), scaling="none").fit(table)
    html = model.explain(table)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m: m.explain(TABLE).text(10_000), "There is no row 10000: 515 rows were explained"),
        (lambda m: m.explain(TABLE).needed(0, 9), "There is no rule 9: the model has 4"),
        (lambda m: m.explain(TABLE.rename(columns={"A": "Z"})), "feature names should match"),
        (lambda m: m.explain(TABLE.iloc[:, :3]), "feature names should match"),
        (lambda m: m.explain(TABLE.assign(A=np.nan)), "A"),
        (lambda m: m.explain(TABLE.to_numpy()), "These rows have no column names, but the model was fitted to columns"),
    ],
)
def test_bad_input_gets_one_sentence(call: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call(fitted())  # type: ignore[operator]


def test_a_limit_that_needs_rows_says_so() -> None:
    model = ASPCA(**fitted("complete", limit="conformal").get_params()).fit(TABLE)
    with pytest.raises(ValueError, match="limit='conformal' takes its threshold from scores of rows"):
        model.predict(TABLE)
    explanation = model.explain(TABLE)
    for what in ("signatures", "anomalies"):
        with pytest.raises(ValueError, match=r"call calibrate\(X\) first"):
            getattr(explanation, what)
    # What is known already is told: the score, and the rules broken.
    assert explanation.text(512).startswith("Row 512 has a score of ")
    assert "F = 0" in explanation.text(512)
    assert set(explanation.to_frame()["anomaly"]) == {None}
    model.calibrate(TABLE.iloc[:400])
    assert model.threshold_limit_.name == "conformal"
    assert (model.predict(TABLE.iloc[PLANTED]) == -1).all()


def test_a_broken_rule_is_an_anomaly() -> None:
    """And told as such: no sentence says of a row that breaks a rule that it is normal."""
    why = fitted("complete").explain(TABLE)
    assert why.anomalies[PLANTED].all()
    assert why.anomalies[why.broken.any(axis=1)].all()
    assert why.anomalies.tolist() == (why.scores > why.threshold).tolist()
    begins = {"error": "an error (", "unusual": "unusual: p = "}
    for row in np.flatnonzero(why.anomalies):
        text = why.text(int(row))
        assert text.startswith(f"Row {row} is {begins[str(why.verdicts[row])]}")
        assert ("It breaks the rule " in text or "It leaves the range " in text) == why.broken[row].any()
        for number, rule in enumerate(why.rules):
            assert (str(rule) in text) <= bool(why.broken[row, number] or not why.broken[row].any())


@pytest.mark.parametrize("score", ["complete", "spe"])
def test_lines_come_row_by_row_the_worst_rule_first(score: str) -> None:
    """Which rules are listed, and in which order, told by hand; rules of equal part as they are numbered."""
    X = DATA.data[[0, 505, 510, 3]].copy()
    # Far off several rules at once, and on all of them.
    X[0] += [0.6, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0][: X.shape[1]]
    X = np.vstack([X, fitted(score).model_.space.mean[None]])
    why = fitted(score).explain(pd.DataFrame(X, columns=DATA.feature_names))
    lines = why.lines()
    expected = []
    for row in range(len(X)):
        broken = np.flatnonzero(why.broken[row]).tolist()
        # What keeps its rules and stands out by itself is put down to none.
        apart = score == "complete" and why.outside[row] >= 0.5 * why.scores[row]
        broken = broken or [-1 if apart else int(why.rule_contributions[row].argmax())]
        worst_first = sorted(broken, key=lambda rule: (-why.rule_contributions[row, rule], rule))
        expected += [(row, rule) for rule in worst_first]
    found = list(dict.fromkeys(zip(lines["row"], lines["rule"].tolist(), strict=True)))
    assert found == expected
    per_row = [[rule for at, rule in found if at == row] for row in range(len(X))]
    # The order is not that of the numbers somewhere, or nothing would have been seen.
    assert any(rules != sorted(rules) for rules in per_row)
    assert any(len(rules) > 2 for rules in per_row)
