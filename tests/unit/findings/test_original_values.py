"""Cells as the table has them: a category by its name, one that is missing or was never seen as such."""

from __future__ import annotations

import numpy as np

from aspca.findings.original_values import UNKNOWN, Original
from aspca.preparation.columns import ColumnPlan


def test_a_category_is_read_from_its_features() -> None:
    """Three features of one column, of which each row has one, or none, or nothing is known."""
    features = (*ColumnPlan("colour", "one-hot", ("blue", "green", "red")).features, *ColumnPlan("size").features)
    nan = np.nan
    values = np.array([[1.0, 0, 0, 7], [0, 1, 0, 7], [0, 0, 1, 7], [0, 0, 0, 7], [nan, nan, nan, nan]])
    original = Original(features, values)
    for feature in range(3):
        found = [original.value(row, feature) for row in range(5)]
        assert found == ["blue", "green", "red", UNKNOWN, None]
    assert original.value(0, 3) == 7.0
    assert original.distinct([2, 3, 0]).tolist() == [2, 3]
    filled = Original(features, values, np.arange(20).reshape(5, 4) == 3)
    assert (filled.value(0, 3), filled.value(1, 3)) == (None, 7.0)
