"""What is gross in a table with gaps is found among its whole rows, under the numbers that the table gives them."""

from __future__ import annotations

import numpy as np

import aspca
from aspca.jobs.fitting import fit_table
from aspca.jobs.preparing import plan_of
from aspca.jobs.progress import Silent
from aspca.jobs.requests import settings_of
from aspca.jobs.tables import array_table
from aspca.judging.model import Model

NAMES = ("a", "b", "c", "d")
GROSS = (40, 200, 333)


def rows(n: int = 400, gaps: float = 0.02) -> np.ndarray:
    """c = a + b, but for three rows; of other rows some lack values."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, 4)).round(3)
    values[:, 2] = values[:, 0] + values[:, 1]
    values[GROSS, 2] += 30.0
    missing = rng.random(values.shape) < gaps
    missing[[*GROSS]] = False
    values[missing] = np.nan
    return values


def fitted(values: np.ndarray, *, judges_itself: bool = True) -> Model:
    table = array_table("t.csv", NAMES, values)
    return fit_table(table, plan_of(table, NAMES, gaps=True), settings_of({}), Silent(), judges_itself=judges_itself)


def test_gross_rows_have_the_numbers_of_the_table() -> None:
    values = rows()
    model = fitted(values)
    assert model.aside is not None
    assert model.aside.rows.tolist() == list(GROSS)
    assert model.gaps is not None
    assert model.gaps.left_out == int(np.isnan(values).any(axis=1).sum())
    whole = fitted(values[~np.isnan(values).any(axis=1)])
    np.testing.assert_array_equal(model.space.covariance, whole.space.covariance)
    assert "c = a + b (exactly)" in [str(rule) for rule in model.rules]
    found = aspca.detect(aspca_frame(values))
    assert {finding.row for finding in found.findings} >= set(GROSS)
    assert any("rows with gaps were not learned from, since gross" in remark for remark in found.remarks)


def aspca_frame(values: np.ndarray) -> object:
    import pandas as pd

    return pd.DataFrame(values, columns=list(NAMES))


def test_every_value_is_used_where_nothing_is_gross() -> None:
    values = rows()
    values[GROSS, 2] -= 30.0
    model, plain = fitted(values), fitted(values, judges_itself=False)
    np.testing.assert_array_equal(model.space.covariance, plain.space.covariance)
    assert model.aside is not None
    assert model.aside.nothing


def test_too_few_whole_rows() -> None:
    model = fitted(rows(gaps=0.3))
    assert model.aside is None
    found = aspca.detect(aspca_frame(rows(gaps=0.3)))
    assert "Nothing was set aside as gross, since too few rows have no gaps." in found.remarks
