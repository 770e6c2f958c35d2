"""Rules are matched by direction, whatever their order, sign and the units of the features."""

from __future__ import annotations

import numpy as np
import pytest

from aspca import ASPCA
from aspca.model.model import Model
from aspca.pipeline.models import compare_models
from aspca.tables.errors import JobError


def model_of(columns: dict[str, np.ndarray], n_components: int = 2) -> Model:
    from aspca import Moments

    table = np.column_stack(list(columns.values()))
    return ASPCA(n_components).fit_moments(Moments.from_array(table), feature_names=list(columns)).model_


def columns(seed: int, n: int = 4000) -> dict[str, np.ndarray]:
    """b = 2 a and d = c, with a spread of 0.01 each; e is free."""
    rng = np.random.default_rng(seed)
    a, c, e = rng.normal(size=(3, n))
    noise = 0.01 * rng.normal(size=(2, n))
    return {"a": a, "b": 2 * a + noise[0], "c": c, "d": c + noise[1], "e": e}


def test_a_model_is_what_it_was() -> None:
    model = model_of(columns(0))
    found = compare_models(model, model)
    assert len(found.stayed) == 2
    assert [found.moved, found.lost, found.gained, found.features_lost, found.features_gained] == [()] * 5
    assert all(pair.cosine == pytest.approx(1.0) and pair.shift == 0.0 for pair in found.stayed)


def test_other_rows_and_another_order_of_columns_change_nothing() -> None:
    found = compare_models(model_of(columns(0)), model_of(dict(reversed(columns(1).items()))))
    assert len(found.stayed) == 2
    assert {pair.before.features for pair in found.stayed} == {("a", "b"), ("c", "d")}
    assert all(set(pair.before.features) == set(pair.after.features) for pair in found.stayed)


def test_units_do_not_matter_to_the_match() -> None:
    small, again = (
        {name: values * (1e6 if name in "ac" else 1.0) for name, values in columns(seed).items()} for seed in (0, 1)
    )
    assert len(compare_models(model_of(small), model_of(again)).stayed) == 2


def test_a_level_that_moved_and_a_rule_that_widened() -> None:
    after = columns(1)
    after["b"] = after["b"] + 0.2
    after["d"] = after["c"] + 5 * (after["d"] - after["c"])
    found = compare_models(model_of(columns(0)), model_of(after))
    changes = {pair.before.features: pair for pair in found.moved}
    assert set(changes) == {("a", "b"), ("c", "d")}
    moved = changes["a", "b"]
    assert len(moved.changes) == 1
    # The shift in the rule's own units: its coefficient of b times 0.2.
    assert abs(moved.shift) == pytest.approx(0.2 * abs(moved.before.coefficients[1]), rel=0.05)
    assert "level moved" in moved.changes[0]
    assert changes["c", "d"].changes == ("it is 5 times wider",)


def test_a_rule_that_went_and_one_that_came() -> None:
    after = columns(1)
    rng = np.random.default_rng(2)
    after["d"] = rng.normal(size=4000)
    after["e"] = -after["c"] + 0.01 * rng.normal(size=4000)
    found = compare_models(model_of(columns(0)), model_of(after))
    assert [pair.before.features for pair in found.stayed] == [("a", "b")]
    assert [rule.features for rule in found.lost] == [("c", "d")]
    assert [rule.features for rule in found.gained] == [("c", "e")]


def test_features_of_one_model_only() -> None:
    after = columns(1)
    after["f"] = after.pop("e")
    found = compare_models(model_of(columns(0)), model_of(after))
    assert (found.features_lost, found.features_gained) == (("e",), ("f",))
    assert len(found.stayed) == 2


def test_nothing_in_common() -> None:
    other = {name.upper(): values for name, values in columns(0).items()}
    with pytest.raises(JobError, match="no feature in common"):
        compare_models(model_of(columns(0)), model_of(other))


@pytest.mark.parametrize("factor", [1 / 1.6, 1 / 1.4, 1.4, 1.6])
def test_a_rule_is_wider_or_tighter_from_half_as_much_again_on(factor: float) -> None:
    before, after = columns(0), columns(0)
    after["d"] = after["c"] + factor * (after["d"] - after["c"])
    found = compare_models(model_of(before), model_of(after))
    pairs = {pair.before.features: pair.changes for pair in (*found.stayed, *found.moved)}
    assert pairs["a", "b"] == ()
    far = not 1 / 1.5 <= factor <= 1.5
    word = "wider" if factor > 1 else "tighter"
    assert pairs["c", "d"] == ((f"it is 1.6 times {word}",) if far else ())


@pytest.mark.parametrize(
    ("shift", "factor", "moved"),
    [
        (0.9, 1.0, False),
        (1.1, 1.0, True),
        (1.3, 1.4, False),
        (1.5, 1.4, True),
        (0.9, 1 / 1.4, False),
        (1.1, 1 / 1.4, True),
    ],
)
def test_a_level_moved_if_it_did_by_more_than_either_spread(shift: float, factor: float, moved: bool) -> None:
    """The wider of the two: what is within the one or the other is no change of level."""
    before, after = columns(0), columns(0)
    noise = after["d"] - after["c"]
    noise, before["d"] = noise - noise.mean(), before["d"] - noise.mean()
    after["d"] = after["c"] + factor * noise + shift * noise.std()
    found = compare_models(model_of(before), model_of(after))
    pair = next(pair for pair in (*found.stayed, *found.moved) if pair.before.features == ("c", "d"))
    assert pair.changes == ((f"its level moved by {shift:.2g} spreads",) if moved else ())
