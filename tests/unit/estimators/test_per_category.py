"""One model per category."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aspca import ASPCA, PerCategory, Preprocessor


def plants(n: int = 300) -> pd.DataFrame:
    """Two sites in mixed order: power is twice the flow in one, three times in the other."""
    rng = np.random.default_rng(2)
    site = rng.choice(["east", "west"], n)
    flow = rng.normal(size=n)
    power = np.where(site == "east", 2.0, 3.0) * flow + 0.01 * rng.normal(size=n)
    return pd.DataFrame({"flow": flow, "site": site, "power": power}, index=[f"r{k}" for k in range(n)])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy"])
def test_each_category_has_the_model_of_its_rows(library: str) -> None:
    table = plants()
    given: Any = {
        "pandas": lambda t: t,
        "polars": pl.from_pandas,
        "pyarrow": lambda t: pa.Table.from_pandas(t, preserve_index=False),
        "numpy": lambda t: t.to_numpy(dtype=object),
    }[library](table)
    by = 1 if library == "numpy" else "site"
    models = PerCategory(by, ASPCA(n_components=1)).fit(given)
    assert list(models.models_) == ["east", "west"]
    expected = np.empty(len(table))
    for site, part in table.groupby("site"):
        alone = ASPCA(n_components=1).fit(part[["flow", "power"]])
        rows = np.flatnonzero(table.site == site)
        expected[rows] = alone.score_samples(part[["flow", "power"]]) / alone.threshold_
    np.testing.assert_allclose(models.score_samples(given), expected, rtol=1e-9)
    np.testing.assert_array_equal(models.predict(given) == -1, expected < -1)
    why = models.explain(given)
    rows = np.flatnonzero(table.site == "west")
    assert list(why["west"].index) == [(f"r{k}" if library == "pandas" else k) for k in rows]
    np.testing.assert_allclose(why["west"].scores / why["west"].threshold, -expected[rows], rtol=1e-9)


def test_with_a_preprocessor_beside() -> None:
    table = plants()
    table["kind"] = np.where(np.arange(len(table)) % 2, "a", "b")
    models = PerCategory("site", ASPCA(preprocessor=Preprocessor())).fit(table)
    assert "kind is a or b (exactly, all rows)" in [str(rule) for rule in models.rules_["east"]]


@pytest.mark.parametrize(
    ("table", "by", "sentence"),
    [
        (plants(), "town", "by: there is no column 'town'; the columns are flow, site, power"),
        (plants().assign(site=None), "site", r"Column 'site' has no category in row 0 \(300 rows lack one\)"),
        (
            plants().assign(site=["one", *["other"] * 299]),
            "site",
            r"Category 'one' of column 'site' has 1 row \(row 0\)",
        ),
        (plants().assign(power="x"), "site", r"^Column 'power' holds text \('x' in row 0\)"),
        (np.ones((3, 2)), 5, "by must be a position from 0 to 1 for an array, got 5"),
        (np.ones(3), 0, "Reshape your data"),
    ],
)
def test_refusals(table: Any, by: str | int, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        PerCategory(by).fit(table)


def test_a_category_without_a_model() -> None:
    models = PerCategory("site").fit(plants())
    rows = plants()[:3].assign(site=["east", "north", "north"])
    with pytest.raises(
        ValueError, match=r"Row 1 has the category 'north' in column 'site', for which there is no model"
    ):
        models.predict(rows)
    with pytest.raises(TypeError, match="estimator must be None or an ASPCA, got dict"):
        PerCategory("site", {}).fit(plants())  # type: ignore[arg-type]


def test_the_verdict_is_that_of_the_category() -> None:
    """Scores beyond one, anomalies, and what the models say by themselves are the same rows."""
    table = plants()
    table.loc["r7", "power"] += 5.0
    table.loc["r9", "flow"] = 40.0
    models = PerCategory("site", ASPCA()).fit(plants())
    found = models.predict(table) == -1
    assert found[7]
    np.testing.assert_array_equal(found, models.score_samples(table) < models.offset_)
    np.testing.assert_array_equal(found, models.decision_function(table) < 0)
    for site, why in models.explain(table).items():
        rows = np.flatnonzero(table.site == site)
        np.testing.assert_array_equal(why.anomalies, found[rows])
        np.testing.assert_array_equal(
            models.models_[site].predict(table.iloc[rows][["flow", "power"]]) == -1, found[rows]
        )
