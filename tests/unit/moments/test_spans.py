"""Whether rows span more directions than some: asked of a few features first, it is what all of them say."""

from __future__ import annotations

import numpy as np
import pytest

from aspca import Moments
from aspca.moments.space import ScaledSpace
from aspca.preparation.feature import Feature


@pytest.mark.parametrize("rank", [3, 40, 150])
def test_some_features_say_what_all_of_them_do(rank: int) -> None:
    rng = np.random.default_rng(rank)
    X = rng.normal(size=(200, rank)) @ rng.normal(size=(rank, 150))
    X[:, 7] = 1.0
    features = tuple(Feature(f"c{k}") for k in range(150))
    space = ScaledSpace.of(Moments.from_array(X), "maxabs", features)
    assert space.rank == min(rank, 149)
    for directions in (-1.0, 0, 2, 2.5, 3, 39, 40, 100, 148, 149, 500):
        assert space.spans_more_than(directions) == (space.rank > directions)
    assert space.short_of_rows == (5 * (space.rank + 1) > 200)
