"""The left null space: orthonormal, orthogonal, and of the right dimension."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.linalg.eigen import left_null_space


@pytest.mark.parametrize(
    ("m", "k", "rank"), [(1, 1, 1), (4, 1, 1), (5, 3, 3), (5, 3, 1), (4, 6, 4), (6, 6, 2), (3, 2, 0)]
)
def test_basis(m: int, k: int, rank: int) -> None:
    rng = np.random.default_rng(m * 10 + k)
    rows = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, k))
    basis = left_null_space(rows)
    if rank == 0:
        # Nothing to be orthogonal to: all of R^m, which needs no matrix.
        assert basis is None
        return
    assert basis is not None
    assert basis.shape == (m, m - rank)
    assert np.abs(basis.T @ basis - np.eye(m - rank)).max(initial=0.0) <= 1e-14
    assert np.abs(rows.T @ basis).max(initial=0.0) <= 1e-13
    # Together with the rows' span it is everything.
    assert np.linalg.matrix_rank(np.column_stack([basis, rows])) == m


def test_no_columns_and_columns_of_zeros_leave_everything() -> None:
    assert left_null_space(np.zeros((4, 0))) is None
    assert left_null_space(np.zeros((4, 2))) is None
    assert left_null_space(np.full((4, 2), 1e-14)) is None


def test_columns_that_live_elsewhere_do_not_blur_the_rank() -> None:
    # Rows cut out of an orthonormal matrix: one column has its weight there, the other only rounding.
    rows = np.array([[0.6, 1e-17], [0.8, -1e-17], [0.0, 3e-17]])
    basis = left_null_space(rows)
    assert basis is not None
    assert basis.shape == (3, 2)
    assert np.abs(basis.T @ [0.6, 0.8, 0.0]).max() <= 1e-15


def test_the_projector_does_not_depend_on_the_order_of_columns() -> None:
    rows = np.random.default_rng(1).normal(size=(6, 3))
    one, other = left_null_space(rows), left_null_space(rows[:, ::-1] * [2.0, -1.0, 0.5])
    assert one is not None
    assert other is not None
    assert np.abs(one @ one.T - other @ other.T).max() <= 1e-13
