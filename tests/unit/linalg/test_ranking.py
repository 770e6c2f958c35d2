"""The sign rule and the order rule, by hand and under rounding."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.linalg.arrays import ascending, sign_of


@pytest.mark.parametrize(
    ("v", "sign"),
    [
        ([0.6, -0.8], -1.0),
        ([0.8, -0.6], 1.0),
        ([-0.5, 0.5], -1.0),
        ([0.5, -0.5], 1.0),
        ([0.0, -0.5, 0.5], -1.0),
        # To 1e-9 these are equal, so the first decides, whichever way rounding went.
        ([0.5, -0.5 * (1 + 1e-10)], 1.0),
        ([0.5, -0.5 * (1 + 1e-8)], -1.0),
        ([-1.0], -1.0),
        ([0.0, 0.0], 1.0),
    ],
)
def test_the_first_largest_entry_becomes_positive(v: list[float], sign: float) -> None:
    assert sign_of(np.array(v)) == sign


def test_ties_go_by_the_first_feature_whichever_way_rounding_went() -> None:
    columns = np.eye(4)[:, [2, 0, 3, 1]]
    for noise in ([0, 0, 0, 0], [1e-12, 0, -1e-12, 1e-11], [-1e-11, 1e-12, 0, 0]):
        keys = np.array([1.0, 1.0, 1.0, 0.5]) + noise
        assert ascending(keys, columns, unit=1.0).tolist() == [3, 1, 0, 2]
    # The measure of a tie is the unit, not the key.
    assert ascending(np.array([1e-12, 0.0]), np.eye(2), unit=1.0).tolist() == [0, 1]
    assert ascending(np.array([1e-12, 0.0]), np.eye(2), unit=1e-12).tolist() == [1, 0]
