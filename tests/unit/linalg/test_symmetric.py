"""Symmetry in place, against the sum with the transpose."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.linalg.small import symmetrise


@pytest.mark.parametrize("p", [1, 2, 127, 128, 129, 300])
def test_it_is_the_mean_with_the_transpose(p: int) -> None:
    rng = np.random.default_rng(p)
    A = rng.normal(size=(p, p))
    B = A.copy()
    assert symmetrise(B) == np.abs(A - A.T).max()
    assert np.array_equal(B, 0.5 * (A + A.T))
    assert symmetrise(B) == 0.0
    assert np.array_equal(B, 0.5 * (A + A.T))


def test_a_single_entry_is_found() -> None:
    for i, j in ((299, 0), (0, 299), (130, 129), (5, 4)):
        A = np.eye(300)
        A[i, j] = 0.5
        assert symmetrise(A) == 0.5
        assert A[i, j] == A[j, i] == 0.25
