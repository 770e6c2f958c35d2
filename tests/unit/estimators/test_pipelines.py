"""A pipeline that ends in a model is explained in the columns and units of what goes in."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import aspca
from aspca import ASPCA, PerCategory, Preprocessor
from aspca.plots.canvas import explanation_of

RNG = np.random.default_rng(1)
FLOW = RNG.normal(50.0, 5.0, size=300).round(2)
TABLE = pd.DataFrame({"flow": FLOW, "still": 7.0, "free": RNG.normal(1e4, 30.0, size=300).round(1)})
TABLE["power"] = (3 * FLOW + 20 + 0.5 * RNG.normal(size=300)).round(2)
TABLE["total"] = (TABLE.flow + TABLE.power).round(2)
BAD = TABLE.copy()
BAD.loc[7, "power"] += 30.0
TOTAL = "total = flow + power (exactly, all rows)"
GAPS = TABLE.copy()
GAPS.loc[[3, 9], "flow"] = np.nan


def relations(why: Any) -> set[str]:
    return {str(rule) for rule in why.rules if rule.kind in ("identity", "relation")}


DIRECT = ASPCA().fit(TABLE)
SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    RobustScaler(),
    RobustScaler(with_centering=False, with_scaling=False),
    MinMaxScaler(feature_range=(-3.0, 5.0)),
    MaxAbsScaler(),
    "passthrough",
    VarianceThreshold(),
    SimpleImputer(),
    FunctionTransformer(),
    make_pipeline(RobustScaler(), make_pipeline(MinMaxScaler(), StandardScaler())),
    ColumnTransformer(
        [("a", StandardScaler(), ["flow", "power"]), ("b", MinMaxScaler(), [4])], remainder="passthrough"
    ),
]


@pytest.mark.parametrize(
    ("step", "output"),
    [*((step, "default") for step in SCALERS), *((step, "pandas") for step in SCALERS[-4:])],
    ids=lambda given: repr(given)[:40].replace("\n", ""),
)
def test_steps_by_column_leave_columns_and_units(step: Any, output: str) -> None:
    pipeline = make_pipeline(step, ASPCA()).set_output(transform=output).fit(TABLE)
    why = aspca.explain(pipeline, BAD)
    np.testing.assert_array_equal(why.scores, -pipeline.score_samples(BAD))
    np.testing.assert_array_equal(why.anomalies, pipeline.predict(BAD) == -1)
    np.testing.assert_allclose(why.feature_contributions.sum(axis=1), why.scores)
    assert relations(why) == relations(DIRECT.explain(TABLE)) == {TOTAL, *relations(why)}
    for name in why.names:
        np.testing.assert_array_equal(why.values[:, why.names.index(name)], BAD[name])
    # What is said to be needed mends the row, judged by the pipeline as it is.
    exact = next(k for k, rule in enumerate(why.rules) if rule.kind == "identity")
    needed = why[7].needed(exact)
    assert needed["power"] == pytest.approx(TABLE.power[7])
    mended = aspca.explain(pipeline, BAD.assign(power=BAD.power.where(BAD.index != 7, needed["power"])))
    assert not mended.broken[7, exact]
    assert why[7].values == pytest.approx({name: BAD[name][7] for name in why.names})


@pytest.mark.parametrize("imputer", [SimpleImputer(strategy="median"), SimpleImputer(add_indicator=True), KNNImputer()])
def test_what_an_imputer_filled_in_is_missing(imputer: Any) -> None:
    pipeline = Pipeline([("fill", imputer), ("scale", RobustScaler()), ("model", ASPCA())]).fit(GAPS)
    why = aspca.explain(pipeline, GAPS)
    assert why[3].values["flow"] is None
    assert why[4].values["flow"] == GAPS.flow[4]
    assert why[[3]].values[0, 0] == pytest.approx(pipeline[0].transform(GAPS)[3, 0])
    assert list(why.names[5:]) == ["missingindicator_flow"] * imputer.add_indicator
    lines = why[[3]].to_frame().set_index("feature")
    assert np.isnan(lines.loc[lines.index == "flow", "value"]).all()


def test_codes_for_missing_values_are_missing_too() -> None:
    table = TABLE.copy()
    table.loc[3, "flow"] = -999.0
    pipeline = make_pipeline(SimpleImputer(missing_values=-999.0), StandardScaler(), ASPCA()).fit(table)
    assert aspca.explain(pipeline, table)[3].values["flow"] is None


def test_logarithms_and_categories_are_told_in_their_columns() -> None:
    table = pd.DataFrame({"price": RNG.lognormal(size=300), "amount": RNG.lognormal(size=300)})
    table["cost"] = 1.2 * table.price * table.amount
    logs = make_pipeline(FunctionTransformer(np.log), StandardScaler(), ASPCA()).fit(table)
    assert str(aspca.explain(logs, table).rules[0]) == "cost = 1.2 * price * amount (exactly, all rows)"
    table["kind"] = ["red", "green", "blue"] * 100
    prepared = Preprocessor(transforms=dict.fromkeys(["price", "amount", "cost"], "log"))
    why = aspca.explain(make_pipeline(prepared, StandardScaler(), ASPCA()).fit(table), table)
    assert {
        "cost = 1.2 * price * amount (exactly, all rows)",
        "kind is blue, green or red (exactly, all rows)",
    } <= set(map(str, why.rules))
    assert [row.values["kind"] for row in why[:3]] == ["red", "green", "blue"]


@pytest.mark.parametrize(
    ("step", "names"),
    [
        (PCA(3), ["pca0", "pca1", "pca2"]),
        (PolynomialFeatures(2, include_bias=False), ["step(flow)", "flow^2"]),
        (PowerTransformer(), ["step(flow)", "step(total)"]),
        (MinMaxScaler(clip=True), ["step(flow)", "step(total)"]),
        (FunctionTransformer(np.square), ["step0", "step2"]),
    ],
    ids=lambda step: type(step).__name__,
)
def test_what_another_step_makes_is_said_and_called_as_it_calls_it(step: Any, names: list[str]) -> None:
    varying = TABLE[["flow", "power", "total"]]
    pipeline = Pipeline([("before", StandardScaler()), ("step", step), ("after", StandardScaler()), ("model", ASPCA())])
    pipeline.fit(varying)
    with pytest.warns(UserWarning, match=r"The step 'step' does more than scale, impute or choose columns: '"):
        why = aspca.explain(pipeline, varying)
    assert set(names) <= set(why.names)
    made = pipeline[:2].transform(varying)
    np.testing.assert_allclose(why.values, made, atol=1e-9 * np.abs(made).max())
    np.testing.assert_array_equal(why.scores, -pipeline.score_samples(varying))


def test_columns_side_by_side() -> None:
    table = TABLE.assign(kind=["a", "b", "c"] * 100)
    steps = [
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["power", "flow"]),
        ("again", MaxAbsScaler(), ["flow"]),
        ("kinds", OneHotEncoder(sparse_output=False), ["kind"]),
        ("no", "drop", ["still"]),
    ]
    pipeline = make_pipeline(ColumnTransformer(steps, remainder=MinMaxScaler()), ASPCA()).fit(table)
    with pytest.warns(UserWarning, match="The step 'columntransformer'.*'again__flow', 'kinds__kind_a'"):
        why = aspca.explain(pipeline, table)
    kinds = ("kinds__kind_a", "kinds__kind_b", "kinds__kind_c")
    assert why.names == ("power", "flow", "again__flow", *kinds, "free", "total")
    # Columns are found by name, as by the pipeline itself.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        turned = aspca.explain(pipeline, table[table.columns[::-1]])
    np.testing.assert_array_equal(turned.values, why.values)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()])
def test_errors_are_put_down_to_columns_as_by_the_model_itself(scaler: Any) -> None:
    """Also to skewed ones and to a constant; and what would fit is told in the units of the table."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"flow": rng.normal(50.0, 5.0, size=300), "size": 900.0 + rng.lognormal(size=300)})
    table["power"] = 3.0 * table.flow + 20.0 + rng.normal(size=300)
    table.loc[7, "size"] = 4000.0
    pipeline = make_pipeline(scaler, ASPCA()).fit(table)
    why, own = aspca.explain(pipeline, table), pipeline[-1].explain(pipeline[:-1].transform(table))
    np.testing.assert_allclose(why.feature_contributions, own.feature_contributions, rtol=1e-6, atol=1e-9)
    assert why.errors[7]
    feature, value = why.likely_wrong[7]
    assert why.names[feature] == "size"
    assert 900.0 < value < 905.0


def test_refusals() -> None:
    pipeline = make_pipeline(StandardScaler(), ASPCA()).fit(TABLE)
    with pytest.raises(ValueError, match=r"same order as they were in fit\.\nX\[model\.feature_names_in_\]"):
        aspca.explain(pipeline, TABLE[TABLE.columns[::-1]])
    with pytest.raises(ValueError, match="These rows have no column names"):
        aspca.explain(pipeline, TABLE.to_numpy())
    for other in (StandardScaler(), PerCategory(), make_pipeline(StandardScaler()), 3):
        with pytest.raises(TypeError, match="explain takes a fitted ASPCA, or a pipeline that ends in one, got "):
            aspca.explain(other, TABLE)
    inside = make_pipeline(StandardScaler(), ASPCA(preprocessor=Preprocessor(transforms={0: "asinh"}))).fit(TABLE)
    with pytest.raises(ValueError, match="put its Preprocessor first in the pipeline"):
        aspca.explain(inside, TABLE)


def test_models_and_plots_take_the_same_way() -> None:
    np.testing.assert_array_equal(aspca.explain(DIRECT, BAD).scores, DIRECT.explain(BAD).scores)
    pipeline = make_pipeline(StandardScaler(), ASPCA()).fit(TABLE)
    assert explanation_of(pipeline, BAD, "plot").names == tuple(TABLE.columns)
