"""Tables as users have them: each is taken as it is meant, or refused in one sentence that says what to do."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import aspca
from aspca import ASPCA, PerCategory, Preprocessor

RNG = np.random.default_rng(0)
A = RNG.normal(size=60).round(3)
TABLE = pd.DataFrame({"a": A, "b": (2 * A + 0.01 * RNG.normal(size=60)).round(3), "c": RNG.normal(size=60).round(3)})
RULE = "b = 2 a (± 0.01)"
IN_POLARS = pl.from_pandas(TABLE)

TAKEN: dict[str, Any] = {
    "polars": IN_POLARS,
    "pyarrow": pa.table(dict(TABLE)),
    "nullable": TABLE.convert_dtypes(),
    "pyarrow in pandas": TABLE.convert_dtypes(dtype_backend="pyarrow"),
    "objects": TABLE.astype(object),
    "decimals": TABLE.assign(c=[Decimal(str(value)) for value in TABLE.c]),
    "decimals of polars": IN_POLARS.with_columns(pl.col("a").cast(pl.Decimal(10, 3))),
    "fractions": TABLE.assign(c=[Fraction(round(1000 * value), 1000) for value in TABLE.c]),
    "categories of numbers": TABLE.assign(c=pd.Categorical([1, 2, 5] * 20)),
    "truth": TABLE.assign(c=[True, False, True] * 20),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_taken(kind: str) -> None:
    assert RULE in map(str, ASPCA().fit(TAKEN[kind]).rules_)


@pytest.mark.parametrize("given", [TABLE.to_numpy().tolist(), np.ma.array(TABLE.to_numpy())], ids=["lists", "masked"])
def test_taken_without_names(given: Any) -> None:
    assert "x1 = 2 x0 (± 0.01)" in map(str, ASPCA().fit(given).rules_)


DATES = "Column 'c' holds dates or durations"
TEXT = "Column 'c' holds text "
REFUSED: dict[str, tuple[Any, str]] = {
    "lazy": (IN_POLARS.lazy(), r"A lazy table of polars was passed.*X\.collect\(\)"),
    "relation": (duckdb.sql("select 1 as a, 2 as b"), r"A lazy table of duckdb was passed.*X\.df\(\)"),
    "batch": (pa.RecordBatch.from_pandas(TABLE), r"pyarrow\.Table\.from_batches\(\[X\]\)"),
    "masked cells": (np.ma.masked_greater(TABLE.to_numpy(), 1.0), r"masked cells.*filled\(np\.nan\)"),
    "missing": (TABLE.convert_dtypes().mask(TABLE.a > 1.0), "Column 'a' has .* NaN"),
    "missing in whole numbers": (pl.DataFrame({"a": [1, None, 3], "b": [1, 2, 4]}), "Column 'a' has 1 value .*NaN"),
    "nothing known": (IN_POLARS.with_columns(pl.lit(None).alias("s")), "Column 's' has 60 values .*NaN"),
    "text": (TABLE.assign(c="x"), TEXT),
    "bytes": (TABLE.assign(c=b"x"), TEXT),
    "categories": (TABLE.assign(c=pd.Categorical(["x", "y"] * 30)), TEXT),
    "dates": (TABLE.assign(c=pd.date_range("2020", periods=60)), DATES),
    "dates with a zone": (TABLE.assign(c=pd.date_range("2020", periods=60, tz="Asia/Tokyo")), DATES),
    "days": (TABLE.assign(c=[datetime.date(2020, 1, 1)] * 60), DATES),
    "durations": (TABLE.assign(c=pd.to_timedelta(range(60), unit="s")), DATES),
    "lists in cells": (TABLE.assign(c=[[1.0]] * 60), "Column 'c' has a list in row 0"),
    "long integers": (TABLE.assign(c=[2**53, 2**53 + 1] * 30), "'c' has the integer 9007199254740993 in row 1"),
    "series": (TABLE.a, r"it is a series; use X\.to_frame\(\)"),
    "a row": (TABLE.iloc[0], r"X\.to_frame\(\)\.T for one row"),
    "ragged": ([[1.0, 2.0], [3.0]], "Row 0 has 2 cells, but row 1 has 1"),
    "no rows": (TABLE[:0], r"0 sample\(s\)"),
    "no columns": (TABLE[[]], r"0 feature\(s\) \(shape=\(60, 0\)\)"),
    "nothing": (pd.DataFrame(), r"0 feature\(s\)"),
    "names twice": (TABLE.set_axis(["a", "a", "c"], axis=1), "The column name 'a' occurs 2 times"),
    "mapping": ({"a": [1, 2]}, r"of type dict; pandas\.DataFrame\(X\) makes it one"),
    "path": ("table.csv", r"of type str; aspca\.detect reads files"),
    "none": (None, "of type NoneType"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str) -> None:
    given, sentence = REFUSED[kind]
    with pytest.raises((ValueError, TypeError), match=sentence):
        ASPCA().fit(given)


@pytest.mark.parametrize("kind", ["lazy", "relation", "batch", "masked cells", "series", "ragged", "mapping", "path"])
@pytest.mark.parametrize("estimator", [Preprocessor(), PerCategory("a")], ids=["Preprocessor", "PerCategory"])
def test_refused_by_the_others_in_the_same_words(estimator: Any, kind: str) -> None:
    given, sentence = REFUSED[kind]
    with pytest.raises((ValueError, TypeError), match=sentence):
        estimator.fit(given)


def test_long_integers_are_fine_where_nothing_is_rounded() -> None:
    assert len(ASPCA().fit(TABLE.assign(c=np.arange(60) * 2**55)).rules_) >= 1
    names = TABLE.assign(c=[2**53, 2**53 + 1] * 30)
    with pytest.raises(ValueError, match="'c' has the integer 9007199254740993 in row 1"):
        Preprocessor().fit(names)
    # As categories they are kept whole.
    assert Preprocessor(categorical=["c"]).fit_transform(names)[:, 2:].sum(axis=0).tolist() == [30, 30]


def test_several_values_in_a_cell_name_the_column() -> None:
    with pytest.raises(ValueError, match="Column 's' has several values in a cell"):
        Preprocessor().fit(IN_POLARS.with_columns(pl.struct("a", "b").alias("s")))


SITES = TABLE.assign(site=["east", "west"] * 30)
FITTED: dict[str, tuple[Any, pd.DataFrame]] = {
    "ASPCA": (ASPCA().fit(TABLE), TABLE),
    "prepared": (ASPCA(preprocessor=Preprocessor()).fit(TABLE), TABLE),
    "PerCategory": (PerCategory("site").fit(SITES), SITES),
    "Preprocessor": (Preprocessor().fit(TABLE), TABLE),
}
CHANGED: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "reordered": (lambda t: t[t.columns[::-1]], "same order as they were in fit"),
    "extra": (lambda t: t.assign(z=1.0), "unseen at fit time:\n- z"),
    "missing": (lambda t: t.drop(columns="c"), "yet now missing:\n- c"),
    "renamed": (lambda t: t.rename(columns={"a": "z"}), "yet now missing:\n- a"),
}


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("name", FITTED)
def test_other_columns_are_refused_alike_with_a_remedy(name: str, change: str) -> None:
    model, table = FITTED[name]
    changed, what = CHANGED[change]
    said = set()
    for method in ("predict", "score_samples", "decision_function", "transform", "explain"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match=what) as caught:
                getattr(model, method)(changed(table))
            said.add(str(caught.value))
    assert len(said) == 1
    sentence = said.pop()
    assert sentence.count("feature_names_in_") == (change in ("reordered", "extra"))
    if change in ("reordered", "extra"):
        put_right = changed(table)[model.feature_names_in_]
        pd.testing.assert_frame_equal(put_right, table)
    else:
        assert sentence.endswith("add or rename them, or fit again.")


def test_lazy_tables_of_the_whole_job() -> None:
    """A job reads it in batches, as often as need be; an estimator wants the rows."""
    assert [str(rule) for rule in aspca.detect(IN_POLARS.lazy()).model.rules] == [
        str(rule) for rule in aspca.detect(IN_POLARS).model.rules
    ]
    with pytest.raises(TypeError, match="A lazy table of polars was passed"):
        aspca.select(IN_POLARS.lazy())


def test_a_series_is_told_apart_from_rows_without_names() -> None:
    model, _ = FITTED["ASPCA"]
    with pytest.raises(ValueError, match=r"X\.to_frame\(\)\.T for one row"):
        model.explain(TABLE.iloc[0])
    assert len(model.explain(TABLE.iloc[0].to_frame().T)) == 1
