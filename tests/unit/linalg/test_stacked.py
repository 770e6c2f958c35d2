"""Stacks of small matrices, against LAPACK one by one."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.linalg.small import inverses, triangular_whiteners


@pytest.mark.parametrize("size", range(1, 12))
def test_whiteners_and_inverses_are_those_of_each_matrix(size: int) -> None:
    rng = np.random.default_rng(size)
    roots = rng.normal(size=(7, size, size + 2))
    matrices = roots @ roots.transpose(0, 2, 1)
    whiteners = triangular_whiteners(matrices.transpose(1, 2, 0))
    found = inverses(whiteners).transpose(2, 0, 1)
    for matrix, whitener, inverse in zip(matrices, whiteners.transpose(2, 0, 1), found, strict=True):
        np.testing.assert_allclose(whitener, np.linalg.inv(np.linalg.cholesky(matrix)), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-9, atol=1e-12)
        assert (whitener[np.triu_indices(size, 1)] == 0.0).all()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_what_is_not_definite_is_not_finite(size: int) -> None:
    matrix = np.eye(size)
    matrix[-1, -1] = -1.0
    with np.errstate(all="ignore"):
        whiteners = triangular_whiteners(np.stack([matrix, np.eye(size)], axis=2))
    assert not np.isfinite(whiteners[:, :, 0]).all()
    np.testing.assert_array_equal(whiteners[:, :, 1], np.eye(size))
