"""Small answers beside numpy's general ones."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.linalg.small import above_diagonal, length, upper_triangle


@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (3, 5)])
def test_length(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    assert length(x) == pytest.approx(float(np.linalg.norm(x)), rel=1e-14)


@pytest.mark.parametrize("p", [1, 2, 6])
def test_triangles(p: int) -> None:
    for ours, theirs in ((above_diagonal(p), np.triu_indices(p, 1)), (upper_triangle(p), np.triu_indices(p))):
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, other)
            # They are shared.
            assert not mine.flags.writeable
