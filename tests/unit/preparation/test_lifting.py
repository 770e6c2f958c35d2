"""Which columns are lifted to what, and what becomes of values that a lift is not defined for."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.preparation import ColumnPlan, Feature, Preparation, lifting
from aspca.preparation.feature import LIFTS, TRANSFORMS
from aspca.preparation.lifting import FEW_VALUES, STRAIGHT, add_transforms, refuse_contradictions


def lifts_of(values: np.ndarray) -> tuple[str, ...]:
    return lifting.find_lifts(values, np.ones(len(values)))


def test_logarithms_are_of_positive_columns_and_squares_of_many_values() -> None:
    many = np.arange(1.0, 20.0)
    assert lifts_of(many) == ("log", "square")
    assert lifts_of(many - 1.0) == ("square",)
    assert lifts_of(-many) == ("square",)
    assert lifts_of(np.tile([1.0, 2.0, 4.0, 8.0, 16.0], 9)) == ("log",)
    assert np.unique(np.tile([1.0, 2.0, 4.0, 8.0, 16.0], 9)).size == FEW_VALUES
    assert lifts_of(np.tile([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], 9)) == ("log", "square")


def test_weights_count_rows() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.uniform(1.0, rng.uniform(1.2, 4.0), size=(12, 1))
        values[:2, 0] = -1.0, 0.0
        counts = np.append([0, 0], rng.integers(1, 4, 10))
        plan = Preparation.identity(("a",))
        assert add_transforms(plan, values, counts.astype(float)) == add_transforms(
            plan, np.repeat(values, counts, axis=0)
        )


def test_missing_values_decide_nothing() -> None:
    assert lifts_of(np.append(np.arange(1.0, 20.0), np.nan)) == ("log", "square")
    assert lifts_of(np.full(5, np.nan)) == ()


@pytest.mark.parametrize("values", [np.full(30, 3.0), np.zeros(30), np.tile([1.0, 2.0], 15), 2000.0 + np.arange(30.0)])
def test_what_is_a_straight_line_of_the_column_is_left_out(values: np.ndarray) -> None:
    """Constants, two values, a year: a component of the column and its lift would hold for every row."""
    assert lifts_of(values) == ()


def test_straight_is_a_share_of_the_variance() -> None:
    x = np.linspace(0.0, 1.0, 301)
    for offset in np.linspace(0.5, 8.0, 16):
        values = x + offset
        for name, lift in LIFTS.items():
            y = lift.forward(values)
            left = 1.0 - np.corrcoef(values, y)[0, 1] ** 2
            assert (name in lifts_of(values)) == (left > STRAIGHT)


@pytest.mark.parametrize("size", [1e-140, 1e-70, 1.0, 1e70])
def test_units_do_not_decide(size: float) -> None:
    assert lifts_of(size * np.arange(1.0, 20.0)) == ("log", "square")


def test_squares_stay_within_what_values_may_be() -> None:
    assert lifts_of(1e80 * np.arange(1.0, 20.0)) == ("log",)


def test_a_plan_names_and_makes_lifted_features() -> None:
    rows = np.column_stack([np.arange(1.0, 11.0), np.arange(10.0) - 4.0, np.tile([0.0, 1.0], 5)])
    plan = add_transforms(Preparation((ColumnPlan("wage"), ColumnPlan("hours worked"), ColumnPlan("kind"))), rows)
    assert plan.names == ("wage", "log(wage)", "wage^2", "hours worked", "hours worked^2", "kind")
    assert plan.lifted
    assert not plan.plain
    assert plan.unlifted.plain
    assert not plan.unlifted.lifted
    assert plan.features[4].text == "[hours worked]^2"
    made = plan.encode(list(rows.T))
    expected = [rows[:, 0], np.log(rows[:, 0]), rows[:, 0] ** 2, rows[:, 1], rows[:, 1] ** 2, rows[:, 2]]
    assert np.array_equal(made, np.column_stack(expected))


def test_only_numbers_are_lifted() -> None:
    kinds = ("number", "boolean", "date", "log", "one-hot", "codes")
    plans = tuple(
        ColumnPlan(f"c{k}", kind, ("a", "b") if kind in ("one-hot", "codes") else ()) for k, kind in enumerate(kinds)
    )
    features = np.tile(np.arange(1.0, 31.0)[:, None], (1, 7))
    lifted = add_transforms(Preparation(plans), features)
    assert [plan.lifts for plan in lifted.columns] == [("log", "square"), (), (), (), (), ()]


def test_a_feature_goes_back_to_its_column() -> None:
    assert Feature("a", "square").name == "a^2"
    assert Feature("a", "square").original(9.0) == 3.0
    assert Feature("a", "square").original(-1.0) is None
    assert Feature("a", "log").original(0.0) == 1.0


def test_any_value_has_lifts_that_are_numbers_within_bounds() -> None:
    values = np.array([-1e150, -1.0, -0.0, 0.0, 5e-324, 1.0, 1e150, np.nan])
    for lift in LIFTS.values():
        made = lift.forward(values)
        assert np.isnan(made[-1])
        assert (np.abs(made[:-1]) <= 1e150).all()
    least = LIFTS["log"].forward(values)
    assert (least[:4] == least[4]).all()
    positive = np.linspace(0.1, 5.0, 50)
    assert np.array_equal(LIFTS["log"].forward(positive), TRANSFORMS["log"].forward(positive))
    assert "square" not in TRANSFORMS


def test_a_later_value_without_the_lift_is_told_with_its_row() -> None:
    rows = np.tile(np.arange(1.0, 20.0)[:, None], (1, 2))
    plan = add_transforms(Preparation.identity(("a", "b")), rows)
    refuse_contradictions(plan, plan.encode(list(rows.T)))
    rows[3, 1] = 0.0
    with pytest.raises(ValueError, match=r"^Row 3 has the value 0 in column 'b', .* needs values above 0: fit all"):
        refuse_contradictions(plan, plan.encode(list(rows.T)))
    rows[3, 1], rows[5, 0] = 1.0, 1e80
    with pytest.raises(ValueError, match=r"^Row 5 has the value 1e\+80 in column 'a', .* square is a feature"):
        refuse_contradictions(plan, plan.encode(list(rows.T)))
