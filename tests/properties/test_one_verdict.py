"""Whatever names anomalies names the same ones, over random tables and settings; and a row's verdict is its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zoo
from aspca import ASPCA, PerCategory, Preprocessor, load, save

SOME = settings(max_examples=25, deadline=None)


def fitted(X: np.ndarray, options: dict[str, Any], *, gaps: bool = False) -> ASPCA:
    prepared = Preprocessor(missing="allow") if gaps else None
    return ASPCA(**options, preprocessor=prepared).fit(frame(X))


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def tolerance(model: ASPCA) -> float:
    """Relative; where rules hold to rounding or nearly say the same, less of a sum is known."""
    table = model.model_.table
    kappa = np.linalg.cond(table.covariance) if len(table) else 1.0
    return 1e-9 if kappa < 1e10 and not table.exact.any() else 1e-6


@pytest.mark.promise
@SOME
@given(st.data(), zoo.tables(), zoo.SETTINGS)
def test_all_outputs_name_the_same_anomalies(data: st.DataObject, X: np.ndarray, options: dict[str, Any]) -> None:
    model = fitted(X, options)
    rows = frame(data.draw(zoo.rows_like(X)))
    why = model.explain(rows)
    expected = why.anomalies.tolist()
    assert (why.scores > model.threshold_).tolist() == expected
    assert (model.predict(rows) == -1).tolist() == expected
    assert (model.decision_function(rows) < 0).tolist() == expected
    assert np.array_equal(model.decision_function(rows), model.score_samples(rows) - model.offset_)
    assert np.array_equal(-model.score_samples(rows), why.scores)
    flagged = np.flatnonzero(expected).tolist()
    for found in (why.groups(), why.incidents(), why.groups(smallest=1)):
        assert sorted(row for one in found for row in one.rows) == flagged
    if why.rules:
        told = why.to_frame()
        assert sorted(set(told["row"])) == list(range(len(rows)))
        assert set(told["row"][told["anomaly"]]) == set(flagged)
    for row in range(min(len(rows), 5)):
        text = why.text(row)
        told = (" is an anomaly: ", " is an error (", " is unusual: ")
        assert any(words in text for words in told) == expected[row]
        assert (" is an error (" in text) == (why.verdicts[row] == "error")


@SOME
@given(st.data(), zoo.tables(), zoo.SETTINGS)
def test_stored_models_and_one_category_say_the_same(
    data: st.DataObject, X: np.ndarray, options: dict[str, Any]
) -> None:
    model = fitted(X, options)
    rows = frame(data.draw(zoo.rows_like(X)))
    expected, scores = model.predict(rows), model.score_samples(rows)
    # Without any limit there are no multiples of it, see below.
    if model.threshold_ > 0.0:
        each = PerCategory(by="kind", estimator=ASPCA(**options)).fit(frame(X).assign(kind="one"))
        assert np.array_equal(each.predict(rows.assign(kind="one")), expected)
    with tempfile.TemporaryDirectory() as folder:
        # A private file tells quantiles of columns in coarse steps, so tail models are nearly the same there.
        exact = model.model_.evidence is None
        for private, moments in ((False, True), (False, False), *(((True, True), (True, False)) if exact else ())):
            save(model, Path(folder) / "model.json", private=private, moments=moments)
            again = load(Path(folder) / "model.json")
            assert np.array_equal(again.score_samples(rows), scores)
            assert np.array_equal(again.predict(rows), expected)
            assert np.array_equal(again.explain(rows).broken, model.explain(rows).broken)


@SOME
@given(st.data(), zoo.tables(), zoo.SETTINGS, st.booleans())
def test_scores_are_the_sums_of_their_parts(
    data: st.DataObject, X: np.ndarray, options: dict[str, Any], gaps: bool
) -> None:
    model = fitted(X, options, gaps=gaps)
    rows = data.draw(zoo.rows_like(X))
    if gaps:
        rows = zoo.with_gaps(rows, data.draw(st.sampled_from([0.05, 0.3, 0.8])), data.draw(zoo.SEEDS))
    why = model.explain(frame(rows))
    assert (why.rule_contributions >= 0.0).all()
    assert (why.outside >= 0.0).all()
    assert (why.feature_contributions >= 0.0).all()
    for parts in (why.rule_contributions.sum(axis=1) + why.outside, why.feature_contributions.sum(axis=1)):
        np.testing.assert_allclose(parts, why.scores, rtol=tolerance(model), atol=1e-280)
    shares = why.shares.sum(axis=1) + why.outside / np.where(why.scores > 0.0, why.scores, 1.0)
    np.testing.assert_allclose(shares[why.scores > 0.0], 1.0, rtol=tolerance(model))


@pytest.mark.promise
@SOME
@given(st.data(), zoo.tables(), zoo.SETTINGS, st.booleans())
def test_a_row_has_one_verdict_in_any_company(
    data: st.DataObject, X: np.ndarray, options: dict[str, Any], gaps: bool
) -> None:
    """Bit by bit: alone, in any batch, in any order, at any position, in any memory layout."""
    model = fitted(X, options, gaps=gaps)
    rows = data.draw(zoo.rows_like(X))
    if gaps:
        rows = zoo.with_gaps(rows, data.draw(st.sampled_from([0.05, 0.3, 0.8])), data.draw(zoo.SEEDS))
    whole = model.model_.judge(rows)
    rng = np.random.default_rng(data.draw(zoo.SEEDS))

    def same(judgement: Any, chosen: np.ndarray) -> None:
        expected = whole.take(chosen)
        for name in ("scores", "contributions", "outside", "deviations", "broken", "anomalies"):
            assert np.array_equal(getattr(judgement, name), getattr(expected, name), equal_nan=name == "deviations")

    order = rng.permutation(len(rows))
    same(model.model_.judge(rows[order]), order)
    same(model.model_.judge(np.asfortranarray(rows)), np.arange(len(rows)))
    for row in rng.integers(len(rows), size=3):
        same(model.model_.judge(rows[[row]]), np.array([row]))
    cut = int(rng.integers(len(rows) + 1))
    for part in (np.arange(cut), np.arange(cut, len(rows))):
        if part.size:
            same(model.model_.judge(rows[part]), part)
    # Far down a long table.
    padding = int(rng.integers(1, 700))
    long = np.vstack([np.repeat(rows[:1], padding, axis=0), rows])
    assert np.array_equal(model.model_.judge(long).scores[padding:], whole.scores)
    assert np.array_equal(-model.score_samples(frame(rows)), whole.scores)


def test_a_category_whose_columns_are_all_zero_has_verdicts_too() -> None:
    """Nothing varies and nothing can be rounded: whatever moves is unusual, from as many rows on as tell that."""
    still = frame(np.zeros((60, 1)))
    rows = frame(np.array([[0.0], [3.9], [0.0]]))
    assert ASPCA().fit(still).predict(rows).tolist() == [1, -1, 1]
    each = PerCategory(by="kind", estimator=ASPCA()).fit(still.assign(kind="one"))
    assert each.predict(rows.assign(kind="one")).tolist() == [1, -1, 1]


def test_more_rows_than_are_judged_at_once_are_judged_alike() -> None:
    X = zoo.sums(1000, 3)
    model = ASPCA().fit(X)
    long = zoo.moved(zoo.sums(20_000, 4), 0.1)[0]
    scores = -model.score_samples(long)
    for start in (0, 8191, 8192, 16_384, 19_999):
        assert -model.score_samples(long[[start]])[0] == scores[start]
    assert np.array_equal(model.predict(long) == -1, model.explain(long).anomalies)


@pytest.mark.parametrize("limit", ["conformal", "quantile"])
def test_limits_from_rows_name_the_same_too(limit: str) -> None:
    X = zoo.sums(1500, 3)
    model = ASPCA(limit=limit).fit(X)
    if limit == "conformal":
        model.calibrate(zoo.sums(1500, 5))
    rows = zoo.moved(zoo.sums(500, 6), 0.2)[0]
    why = model.explain(rows)
    assert np.array_equal(model.predict(rows) == -1, why.anomalies)
    assert np.array_equal(why.scores > model.threshold_, why.anomalies)
    assert sorted(row for group in why.groups() for row in group.rows) == np.flatnonzero(why.anomalies).tolist()
