"""Rows that are right are not accused: within rounding, against an exact relation, or as another kind of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca import ASPCA
from aspca.model.columns import find_rounding, find_steps, shrink


@pytest.mark.parametrize("unit", [1.0, 2.54, 1e-7, -3.0])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_steps_are_found_in_any_unit(unit: float, offset: float) -> None:
    rng = np.random.default_rng(0)
    whole, tenths, smooth = rng.integers(0, 60, 500), np.round(rng.normal(size=500), 1), rng.normal(size=500)
    Z = np.column_stack([whole, tenths, smooth, np.full(500, 7.0)]) * unit + offset * abs(unit)
    Z[:3, 0] = np.nan
    # A few cells between steps are errors, not another step.
    Z[3:6, 0] += 0.37 * unit
    assert find_steps(Z) == pytest.approx([abs(unit), 0.1 * abs(unit), 0.0, 0.0], rel=1e-6)


def test_what_rounding_makes_of_a_sum() -> None:
    coefficients, steps = np.array([[8.0], [-5.0], [-3.0]]), np.ones(3)
    # All half steps at once, 8; three standard deviations would be 8.6.
    assert find_rounding(coefficients, steps, np.array([3.1])).tolist() == [8.0]
    # Of many columns they never come together.
    many = find_rounding(np.ones((100, 1)), np.ones(100), np.array([10.0]))
    assert many == pytest.approx([3.0 * np.sqrt(100 / 12)])
    # Where rounding would make more than there is, the steps are none.
    assert find_rounding(coefficients, steps, np.array([0.5])).tolist() == [0.0]
    assert shrink(np.array([[-9.0, 9.0, 2.0]]), np.array([8.0, 1.0, 3.0])).tolist() == [[-1.0, 8.0, 0.0]]


def test_a_rounded_mean_accuses_nobody_and_a_slip_is_found() -> None:
    """The harmonic mean of two consumptions, all in whole numbers: a straight line is off by what rounding allows."""
    rng = np.random.default_rng(1)
    city = np.round(rng.normal(20, 4, size=1200)).clip(9, 40)
    highway = np.round(1.35 * city + rng.normal(0, 1.5, size=1200))
    combined = np.round(1.0 / (0.55 / city + 0.45 / highway))
    table = pd.DataFrame({"city": city, "highway": highway, "combined": combined, "weight": rng.normal(size=1200)})
    found = aspca.detect(table)
    assert not [finding for finding in found.findings if finding.verdict == "error"]
    assert len(found.findings) <= 0.05 * len(table)
    table.loc[77, "combined"] += 12.0
    (first, *_) = aspca.detect(table).findings
    assert (first.row, first.verdict) == (77, "error")


def test_counts_are_not_rounded() -> None:
    """Ten times a count, to a tenth: the steps of the count are no rounding, and an error of three is seen."""
    rng = np.random.default_rng(2)
    count = rng.integers(1, 12, size=800).astype(float)
    table = np.column_stack([count, np.round(10 * count + 0.3 * rng.normal(size=800), 1), rng.normal(size=800)])
    row = table[[5]].copy()
    row[0, 1] += 4.0
    assert ASPCA().fit(table).explain(row).verdicts == ["error"]


def test_a_cell_that_an_exact_relation_confirms_is_unusual_at_most() -> None:
    rng = np.random.default_rng(3)
    area, people = rng.lognormal(4, 0.3, size=400), np.round(rng.lognormal(9, 0.5, size=400))
    table = pd.DataFrame({"area": np.round(area, 1), "people": people, "free": rng.normal(size=400)})
    table["density"] = np.round(table.people / table.area, 2)
    giant = table.copy()
    giant.loc[7, "people"] = 5_000_000.0
    giant.loc[7, "density"] = np.round(5_000_000.0 / giant.area[7], 2)
    verdicts = dict(zip(range(400), ASPCA().fit(giant).explain(giant).verdicts, strict=True))
    assert verdicts[7] == "unusual"
    # Where the relation is violated, the cell is wrong.
    giant.loc[7, "density"] = table.density[7]
    assert ASPCA().fit(giant).explain(giant).verdicts[7] == "error"


def test_two_kinds_of_rows_are_learned_from() -> None:
    """Totals and growth rates in turn: half of the rows are off what the others say, which is no error of theirs."""
    rng = np.random.default_rng(4)
    size = rng.lognormal(14, 1.5, size=300)
    totals = np.column_stack([size * 1.02**year * (1 + 0.001 * rng.normal(size=300)) for year in range(6)])
    rates = 2.0 + rng.normal(size=(300, 1)) + 0.3 * rng.normal(size=(300, 6))
    table = np.empty((600, 6))
    table[::2], table[1::2] = totals, rates
    model = ASPCA().fit(table)
    assert model.moments_.n_rows > 550
    assert model.explain(table).errors.mean() <= 0.02
