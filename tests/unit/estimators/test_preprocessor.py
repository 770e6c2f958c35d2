"""Tables as users have them, in every library, and the estimator that takes them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import aspca
from aspca import ASPCA, Preprocessor

N = 240


def orders(n: int = N) -> pd.DataFrame:
    """Costs are prices times amounts, a fee per kind, and sent three days after ordered."""
    rng = np.random.default_rng(3)
    kind = rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2])
    table = pd.DataFrame(
        {
            "price": rng.lognormal(size=n),
            "amount": rng.lognormal(size=n),
            "kind": kind,
            "express": rng.random(n) < 0.5,
            "ordered": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )
    table["cost"] = 1.2 * table.price * table.amount * np.exp(0.01 * rng.normal(size=n))
    table["fee"] = np.select([kind == "red", kind == "green"], [5.0, 2.0], 0.0) + 0.05 * rng.normal(size=n)
    table["sent"] = table.ordered + pd.to_timedelta(3 + 0.1 * rng.normal(size=n), unit="D")
    return table


LOGS = {"price": "log", "amount": "log", "cost": "log"}


def by_hand(table: pd.DataFrame) -> np.ndarray:
    """The features of `orders`, written out."""
    columns = [np.log(table.price), np.log(table.amount)]
    columns += [table.kind == level for level in ("blue", "green", "red")]
    columns += [table.express, (table.ordered - pd.Timestamp(0)) / pd.Timedelta(days=1)]
    columns += [np.log(table.cost), table.fee, (table.sent - pd.Timestamp(0)) / pd.Timedelta(days=1)]
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_same_features_in_every_library(library: str) -> None:
    table = orders()
    given: Any = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[library](table)
    made = Preprocessor(transforms=LOGS)
    np.testing.assert_allclose(made.fit_transform(given), by_hand(table), rtol=1e-14, atol=1e-9)
    names = ["log(price)", "log(amount)", "kind is blue", "kind is green", "kind is red", "express"]
    assert made.get_feature_names_out().tolist() == [*names, "days(ordered)", "log(cost)", "fee", "days(sent)"]


def test_odd_cells() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    cells = {
        "decimal": [Decimal("1.5"), None, Decimal(2)],
        "nullable": pd.array([1, None, 3], dtype="Int64"),
        "truth": pd.array([True, None, False], dtype="boolean"),
        "mixed numbers": [1, 2.5, np.float32(0.5)],
        "date": [datetime.date(1970, 1, 2), None, datetime.date(1970, 1, 3)],
        "zoned": [datetime.datetime(1970, 1, 2, 2, tzinfo=zone), None, datetime.datetime(1970, 1, 3, 2, tzinfo=zone)],
        "category": pd.Categorical(["b", None, "a"]),
        "empty": [None, None, None],
    }
    made = Preprocessor(missing="allow").fit(pd.DataFrame(cells))
    kinds = {plan.name: plan.kind for plan in made.plan_.columns}
    assert kinds == {
        "decimal": "number",
        "nullable": "number",
        "truth": "boolean",
        "mixed numbers": "number",
        "date": "date",
        "zoned": "date",
        "category": "one-hot",
        "empty": "number",
    }
    nan = np.nan
    expected = [
        [1.5, 1, 1, 1, 1, 1, 0, 1, nan],
        [nan, nan, nan, 2.5, nan, nan, nan, nan, nan],
        [2, 3, 0, 0.5, 2, 2, 1, 0, nan],
    ]
    np.testing.assert_array_equal(made.transform(pd.DataFrame(cells)), expected)


def test_columns_of_an_array_go_by_position() -> None:
    table = np.array([[1, "a", 10.0], [2, "b", 100.0], [3, "a", 1.0]], dtype=object)
    made = Preprocessor(categorical=[1], transforms={2: "log"}).fit(table)
    assert made.get_feature_names_out().tolist() == ["x0", "x1 is a", "x1 is b", "log(x2)"]
    np.testing.assert_allclose(made.transform(table)[:, 3], np.log([10, 100, 1]))


@pytest.mark.parametrize(
    ("options", "table", "sentence"),
    [
        (
            {"categorical": []},
            {"a": ["x", "y"]},
            r"Column 'a' holds text \('x'\), but rules are made of numbers: name it",
        ),
        ({"categorical": "one-hot"}, {"a": [1, 2]}, 'categorical must be "auto", a list of columns, or a mapping'),
        ({"categorical": {"a": "hot"}}, {"a": [1, 2]}, "column 'a' must be one of one-hot, codes, got 'hot'"),
        ({"categorical": ["b"]}, {"a": [1, 2]}, "categorical: there is no column 'b'; the columns are a"),
        (
            {"transforms": {"a": "ln"}},
            {"a": [1, 2]},
            "column 'a' must be one of log, log1p, sqrt, asinh, logit, got 'ln'",
        ),
        ({"transforms": {"a": "log"}, "categorical": ["a"]}, {"a": [1, 2]}, "'a' stands in both"),
        ({"transforms": {"a": "log"}}, {"a": ["1", "x"]}, "log takes numbers, but column 'a' holds texts"),
        ({"transforms": {"a": "log"}}, {"a": [True, False]}, "log takes numbers, but column 'a' holds truth values"),
        ({"missing": "fill"}, {"a": [1, 2]}, "missing must be one of error, allow, got 'fill'"),
        ({}, {"a": [1.0, np.nan], "b": ["x", None]}, r"missing \(NaN\) in columns 'a' \(1\), 'b' \(1\): fill them"),
        ({}, {"a": [f"order {k}" for k in range(40)]}, "Every value of column 'a' differs.*names rows"),
        ({}, {"a": [1j, 2]}, "Complex data not supported: column 'a'"),
        ({}, {"a": [10**200, None]}, "Column 'a' has an integer too large in size in row 0"),
    ],
)
def test_refusals(options: dict[str, Any], table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Preprocessor(**options).fit(pd.DataFrame(table))


def test_durations_are_seconds() -> None:
    table = pd.DataFrame({"a": pd.to_timedelta(["1 day", None, "-1.5 s"])})
    found = Preprocessor(missing="allow").fit_transform(table)
    np.testing.assert_array_equal(found, [[86400.0], [np.nan], [-1.5]])


def test_a_column_must_stay_what_it_was() -> None:
    made = Preprocessor().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match=r"Column 'a' holds texts \('x'\), but held numbers when this was fitted"):
        made.transform(pd.DataFrame({"a": ["x", "y"]}))
    with pytest.raises(ValueError, match="feature names should match"):
        made.transform(pd.DataFrame({"b": [1.0]}))


# ---- inside the estimator


def test_rules_scores_and_shares_are_those_of_the_features() -> None:
    table = orders()
    model = ASPCA(preprocessor=Preprocessor(transforms=LOGS)).fit(table)
    twin = ASPCA().fit(by_hand(table))
    # Days by hand differ in the last digit, which the rule that held exactly enlarges.
    np.testing.assert_allclose(model.score_samples(table), twin.score_samples(by_hand(table)), rtol=1e-7)
    assert model.threshold_ == pytest.approx(twin.threshold_, rel=1e-7)
    why = model.explain(table)
    parts = why.rule_contributions.sum(axis=1) + why.judgement.outside
    np.testing.assert_allclose(parts, -model.score_samples(table), rtol=1e-9)
    np.testing.assert_allclose(why.feature_contributions.sum(axis=1), why.scores, rtol=1e-9)
    assert model.n_features_in_ == 8
    assert model.components_.shape[1] == 10
    texts = [str(rule) for rule in model.rules_]
    assert "kind is blue, green or red (exactly, all rows)" in texts
    assert any(text.startswith("cost = 1.2 * price * amount (± ") for text in texts)
    assert any(text.startswith("fee = 0 if kind is blue, 2 if kind is green, 5 if kind is red (± ") for text in texts)
    assert any(text.startswith("sent = ordered + 3 days (± ") for text in texts)


def test_repairs_are_in_the_terms_of_the_table() -> None:
    table = orders()
    model = ASPCA(preprocessor=Preprocessor(transforms=LOGS)).fit(table)
    bad = table[:3].copy()
    bad.loc[0, "kind"] = "violet"
    bad.loc[1, "sent"] += pd.Timedelta(days=40)
    why = model.explain(bad)
    assert why.anomalies.tolist()[:2] == [True, True]
    texts = [str(rule) for rule in model.rules_]
    needed = why.needed(1, next(k for k, text in enumerate(texts) if text.startswith("sent = ordered")))
    assert isinstance(needed["sent"], str)
    usual = pd.Timestamp(needed["sent"]) - table.ordered[1]
    assert abs(usual - pd.Timedelta(days=3)) < pd.Timedelta(hours=1)
    category = texts.index("kind is blue, green or red (exactly, all rows)")
    assert why.needed(0, category) == {"kind": None}
    frame = why.to_frame()
    assert set(frame.feature) <= set(table.columns)
    assert set(frame[(frame.row == 0) & (frame.feature == "kind")].value) == {"(not seen before)"}
    assert set(frame[(frame.row == 1) & (frame.feature == "sent")].value) == {
        str(bad.sent[1].round("s")).replace("T", " ")
    }
    assert "kind is blue, green or red (exactly, all rows): it has another value" in why.text(0)
    # What it should be nobody knows.
    assert "kind should be" not in why.text(0)
    # The other date may be wrong as well: neither is off all that was seen.
    assert "sent should be" in why.text(1) or "breaks the rule sent = ordered" in why.text(1)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_numbers_beside_texts(library: str) -> None:
    table = orders().drop(columns="express")
    given: Any = {"polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[library](table)
    model = ASPCA(preprocessor=Preprocessor(transforms=LOGS)).fit(given)
    why = model.explain(given)
    column = why.to_frame()["value"]
    shown = column.to_pylist() if library == "pyarrow" else column.to_list()
    assert shown == [None if value is None else str(value) for value in why.lines()["value"]]
    assert {"red", "green", "blue"} & set(shown)


def test_needed_values_mend_their_rule() -> None:
    """Put into the table as they are, through logarithms: then the rule holds, to the digits that it knows."""
    table = orders()
    numbers = table[["price", "amount", "cost"]]
    model = ASPCA(n_components=1, preprocessor=Preprocessor(transforms=LOGS)).fit(numbers)
    bad = numbers[:1].copy()
    bad["cost"] *= 3
    why = model.explain(bad)
    spread = float(np.sqrt(model.model_.table.variances[0]))
    for column, value in why.needed(0, 0).items():
        mended = bad.copy()
        mended[column] = value
        mended_why = model.explain(mended)
        assert abs(mended_why.judgement.deviations[0, 0]) < 0.2 * spread
        assert not mended_why.anomalies.any()
    repaired = np.exp(why.repaired)
    again = model.explain(pd.DataFrame(repaired, columns=numbers.columns))
    assert abs(again.judgement.deviations[0, 0]) < 1e-12


@pytest.mark.parametrize("moments", [True, False])
@pytest.mark.parametrize("private", [True, False])
def test_files(tmp_path: Path, private: bool, moments: bool) -> None:
    table = orders()
    model = ASPCA(preprocessor=Preprocessor(transforms=LOGS, categorical={"kind": "one-hot"})).fit(table)
    aspca.save(model, tmp_path / "model.json", private=private, moments=moments)
    again = aspca.load(tmp_path / "model.json")
    scores, loaded = -model.score_samples(table), -again.score_samples(table)
    if private:
        # Its quantiles of columns are in coarse steps.
        assert np.abs(np.log1p(loaded) - np.log1p(scores)).max() <= 0.3
        assert (again.predict(table) != model.predict(table)).mean() <= 0.01
    else:
        np.testing.assert_array_equal(loaded, scores)
        assert again.explain(table[:4]).text(2) == model.explain(table[:4]).text(2)
    assert [str(rule) for rule in again.rules_] == [str(rule) for rule in model.rules_]
    assert again.preprocessor.get_params() == model.preprocessor.get_params()
    assert again.feature_names_in_.tolist() == list(table.columns)
    np.testing.assert_array_equal(clone(again).fit(table).score_samples(table), model.score_samples(table))
    again.set_params(preprocessor=None)
    with pytest.raises(ValueError, match="parameters preprocessor were changed"):
        aspca.save(again, tmp_path / "other.json")


def test_in_a_pipeline_too() -> None:
    table = orders()
    pipeline = make_pipeline(Preprocessor(transforms=LOGS).set_output(transform="pandas"), ASPCA()).fit(table)
    model = ASPCA(preprocessor=Preprocessor(transforms=LOGS)).fit(table)
    np.testing.assert_allclose(pipeline.score_samples(table), model.score_samples(table), rtol=1e-12)
    assert pipeline[-1].feature_names_in_.tolist() == list(model.model_.names)


def test_parameters_of_the_preprocessor_are_parameters() -> None:
    model = ASPCA(preprocessor=Preprocessor())
    assert model.get_params()["preprocessor__missing"] == "error"
    assert clone(model).set_params(preprocessor__missing="allow").preprocessor.missing == "allow"
    with pytest.raises(TypeError, match=r"preprocessor must be None or an aspca\.Preprocessor, got 'log'"):
        ASPCA(preprocessor="log").fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="leave out the preprocessor"):
        model.fit_moments(aspca.Moments.from_array([[1.0], [2.0]]))


def test_partial_fit_goes_on_with_the_same_features() -> None:
    table = orders()
    model = ASPCA(preprocessor=Preprocessor(transforms=LOGS))
    model.partial_fit(table[:100]).partial_fit(table[100:])
    whole = ASPCA(preprocessor=Preprocessor(transforms=LOGS)).fit(table)
    np.testing.assert_allclose(model.covariance_, whole.covariance_, rtol=1e-9, atol=1e-12)


# ---- tables of every library


def lazy_tables() -> list[Any]:
    duckdb = pytest.importorskip("duckdb")
    return [pl.from_pandas(orders()[["price", "cost"]]).lazy(), duckdb.sql("SELECT 1 AS price, 2 AS cost")]


@pytest.mark.parametrize("which", [0, 1], ids=["polars", "duckdb"])
@pytest.mark.parametrize(
    "estimator", [ASPCA(), Preprocessor(), aspca.PerCategory("price")], ids=lambda e: type(e).__name__
)
def test_a_lazy_table_gets_a_sentence(estimator: Any, which: int) -> None:
    call = ["polars was passed, .* here by X.collect()", "duckdb was passed, .* here by X.df()"][which]
    with pytest.raises(TypeError, match=rf"A lazy table of {call.replace('()', '')}\(\)\."):
        clone(estimator).fit(lazy_tables()[which])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_in_another_order(library: str) -> None:
    table = orders()[["price", "amount", "cost"]]
    make: Any = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[library]
    model = ASPCA(n_components=1).fit(make(table))
    turned = make(table[["cost", "price", "amount"]])
    for judge in (model.predict, model.score_samples, model.decision_function, model.transform, model.explain):
        with pytest.raises(ValueError, match=r"must be in the same order.*\nX.*model\.feature_names_in_"):
            judge(turned)
    # What the sentence says to do.
    names = model.feature_names_in_
    put_right = turned[names] if library == "pandas" else turned.select(list(names))
    np.testing.assert_array_equal(model.explain(put_right).scores, model.explain(make(table)).scores)


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_names_that_occur_twice(library: str) -> None:
    """polars refuses them by itself."""
    table = pd.DataFrame(np.ones((3, 2)), columns=["a", "a"])
    given: Any = table if library == "pandas" else pa.table([[1.0, 2.0], [3.0, 4.0]], names=["a", "a"])
    for estimator in (ASPCA(), Preprocessor(), aspca.PerCategory("a")):
        with pytest.raises(ValueError, match="The column name 'a' occurs 2 times"):
            estimator.fit(given)


def test_texts_in_a_table_of_pyarrow_are_named() -> None:
    with pytest.raises(ValueError, match=r"Column 'kind' holds text \('.*' in row 0\)"):
        ASPCA().fit(pa.Table.from_pandas(orders()[["price", "kind"]]))


def test_numbers_as_names_of_columns() -> None:
    table = orders()[["price", "amount", "cost"]]
    table.columns = range(3)
    made = Preprocessor(transforms={0: "log"}).fit(table)
    assert made.get_feature_names_out().tolist() == ["log(0)", "1", "2"]
    table[3] = np.arange(N) % 2
    models = aspca.PerCategory(3).fit(table)
    assert list(models.models_) == ["0", "1"]
    np.testing.assert_array_equal(
        models.models_["1"].score_samples(table[[0, 1, 2]][1::2]) / models.models_["1"].threshold_,
        models.score_samples(table)[1::2],
    )
