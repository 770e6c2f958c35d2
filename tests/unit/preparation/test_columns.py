"""What a column becomes, and back again."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspca.preparation import CATEGORIES, KINDS, ColumnPlan, Feature, Preparation
from aspca.preparation.columns import cell_text, plan_categories
from aspca.preparation.feature import TRANSFORMS, format_date

INSIDE = {
    "log": st.floats(1e-12, 1e12),
    "log1p": st.floats(-0.999, 1e12),
    "sqrt": st.floats(0, 1e12),
    "asinh": st.floats(-1e12, 1e12),
    "logit": st.floats(1e-6, 1 - 1e-6),
}


@given(st.data())
@pytest.mark.parametrize("kind", TRANSFORMS)
def test_transforms_are_undone(kind: str, data: st.DataObject) -> None:
    values = np.sort(data.draw(st.lists(INSIDE[kind], min_size=1, max_size=20)))
    plan = ColumnPlan("c", kind)
    encoded = plan.encode(values)[:, 0]
    assert (np.diff(encoded) >= 0).all()
    back = [plan.features[0].original(value) for value in encoded]
    # A float64 of log(x) holds x to about |log(x)| rounding errors.
    np.testing.assert_allclose(back, values, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        ("log", 0.0, "value 0 in column 'c', but log needs values above 0.*or use log1p"),
        (
            "log",
            -3.5,
            "value -3.5 in column 'c', but log needs values above 0: leave out the log, or correct the value.$",
        ),
        ("log1p", -1.0, "value -1 in column 'c', but log1p needs values above -1"),
        ("sqrt", -0.1, "value -0.1 in column 'c', but sqrt needs values of 0 and above"),
        ("logit", 1.0, "value 1 in column 'c', but logit needs values between 0 and 1"),
    ],
)
def test_values_outside_are_refused_by_row(kind: str, value: float, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^Row 2 has the {sentence}"):
        ColumnPlan("c", kind).encode([0.5, np.nan, value])


def test_missing_stays_missing() -> None:
    for kind in KINDS:
        levels = ("a", "b") if kind in CATEGORIES else ()
        cells = ["a", None, "b"] if levels else [0.25, np.nan, 0.75]
        encoded = ColumnPlan("c", kind, levels).encode(cells)
        assert np.isnan(encoded).all(axis=1).tolist() == [False, True, False]
        assert not np.isnan(encoded[[0, 2]]).any()


def test_categories() -> None:
    plan = plan_categories("hue", "one-hot", {"red", "blue", "10"})
    assert plan.levels == ("10", "blue", "red")
    assert [feature.name for feature in plan.features] == ["hue is 10", "hue is blue", "hue is red"]
    assert plan.encode(["red", 10, 10.0, "violet"]).tolist() == [[0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 0, 0]]
    codes = plan_categories("size", "codes", {"10", "9", "2"})
    assert codes.levels == ("2", "9", "10")
    assert codes.encode([9, "10", "2"])[:, 0].tolist() == [1, 2, 0]
    assert codes.features[0].original(1.2) == "9"
    with pytest.raises(ValueError, match=r"^Row 1 has the category '11' in column 'size', which was not there when"):
        codes.encode(["10", "11"])
    with pytest.raises(ValueError, match="Column 'c' has 101 different values, but at most 100 categories"):
        plan_categories("c", "one-hot", {str(k) for k in range(101)})
    with pytest.raises(ValueError, match="has no values at all"):
        plan_categories("c", "codes", set())


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        *[(3, "3"), (3.0, "3"), ("3", "3"), (np.int8(3), "3"), (3.5, "3.5"), (True, "true"), (np.False_, "false")],
        *[(None, None), (float("nan"), None), (np.datetime64("NaT"), None), ("", "")],
    ],
)
def test_cells_as_categories(cell: object, text: str | None) -> None:
    assert cell_text(cell) == text


@given(st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)))
def test_dates_are_undone(moment: datetime.datetime) -> None:
    moment = moment.replace(microsecond=0)
    seconds = (moment - datetime.datetime(1970, 1, 1)).total_seconds()
    feature = ColumnPlan("when", "date").features[0]
    shown = feature.original(float(ColumnPlan("when", "date").encode([seconds])[0, 0]))
    assert isinstance(shown, str)
    assert datetime.datetime.fromisoformat(shown) == moment


def test_no_date_beyond_the_calendar() -> None:
    assert format_date(1e9) is None
    assert format_date(-1e9) is None
    assert format_date(0.5) == "1970-01-01 12:00:00"


def test_a_table() -> None:
    plan = Preparation((ColumnPlan("a"), ColumnPlan("b", "log"), ColumnPlan("c", "one-hot", ("x", "y"))))
    assert plan.names == ("a", "log(b)", "c is x", "c is y")
    assert plan.encode([np.array([2.0]), np.array([1.0]), ["y"]]).tolist() == [[2, 0, 0, 1]]
    with pytest.raises(ValueError, match=r"^Values are missing \(NaN\) in columns 'a' \(2\), 'c' \(1\): fill them"):
        plan.encode([np.array([np.nan, np.nan]), np.ones(2), ["x", None]])
    allowed = Preparation(plan.columns, "allow")
    assert np.isnan(allowed.encode([np.array([np.nan]), np.ones(1), ["x"]])).tolist() == [[True, False, False, False]]
    with pytest.raises(ValueError, match="both make a feature called 'log\\(b\\)'"):
        Preparation((ColumnPlan("log(b)"), ColumnPlan("b", "log")))


def test_names_in_sentences() -> None:
    assert Feature("disk % used", "log").text == "log([disk % used])"
    assert Feature("a]b").text == "[a]]b]"
    assert Feature("hue", "level", "dark red").text == "[hue is [dark red]]"
    assert Feature("sent", "date").text == "days(sent)"
    assert Feature("x\n").text == r"[x\n]"
