"""Splitting: columns that share no rows, and blocks that only the projector shows."""

from itertools import combinations

import numpy as np
import pytest

from aspca.sparse_pca.rotation import sparse_rotation
from aspca.sparse_pca.rotation.search import find_column_groups, find_hidden_blocks, find_unit_rows
from matrices import orthonormal


def two_blocks():
    V = np.zeros((12, 5))
    V[:5, [0, 3]] = orthonormal(0, 5, 2)
    V[6:, [1, 2, 4]] = orthonormal(1, 6, 3)
    return V


def star_basis(d):
    """Rows (e_i - e_j) / sqrt(d) and one row 1 / sqrt(d): the unit vector of the last row lies in the span."""
    eye = np.eye(d)
    rows = [eye[i] - eye[j] for i, j in combinations(range(d), 2)]
    return np.vstack([*rows, np.ones(d)]) / np.sqrt(d)


def test_groups_are_the_connected_columns_without_the_zero_rows():
    (rows0, columns0), (rows1, columns1) = find_column_groups(two_blocks())
    assert columns0.tolist() == [0, 3]
    assert rows0.tolist() == [0, 1, 2, 3, 4]
    assert columns1.tolist() == [1, 2, 4]
    assert rows1.tolist() == [6, 7, 8, 9, 10, 11]


def test_a_group_is_solved_as_if_it_were_alone():
    V = two_blocks()
    whole = sparse_rotation(V)
    for rows, columns in find_column_groups(V):
        alone = sparse_rotation(V[np.ix_(rows, columns)])
        np.testing.assert_allclose(whole.rotation[np.ix_(columns, columns)], alone.rotation, atol=1e-12)
    assert np.all(whole.rotation[np.ix_([0, 3], [1, 2, 4])] == 0.0)


def test_hidden_blocks_are_found_behind_a_rotation():
    V = two_blocks() @ orthonormal(2, 5, 5)
    assert len(find_column_groups(V)) == 1
    blocks = find_hidden_blocks(V[np.any(np.abs(V) > 0, axis=1)])
    assert sorted(basis.shape[1] for _, basis in blocks) == [2, 3]
    blocked, mixed = sparse_rotation(two_blocks()), sparse_rotation(V)
    assert mixed.l1 <= blocked.l1 * (1.0 + 1e-9)


def test_unit_rows_need_more_than_a_norm_of_one():
    V = orthonormal(4, 9, 3)
    V = np.linalg.qr(np.column_stack([np.eye(10)[:, 0], np.vstack([np.zeros(3), V])]))[0] @ orthonormal(5, 4, 4)
    assert find_unit_rows(V).tolist() == [0]
    tilted = np.array([[np.cos(1e-7)], [np.sin(1e-7)]])
    assert np.linalg.norm(tilted[0]) == pytest.approx(1.0, abs=1e-12)
    assert find_unit_rows(tilted).tolist() == []


@pytest.mark.parametrize("d", [8, 10])
def test_a_unit_vector_in_the_span_need_not_be_a_column_of_the_best_basis(d):
    # The reason why hidden blocks are a start and not a theorem (see blocks.py).
    V = star_basis(d)
    np.testing.assert_allclose(V.T @ V, np.eye(d), atol=1e-14)
    assert find_unit_rows(V).tolist() == [len(V) - 1]
    with_unit_vector = np.linalg.qr(np.column_stack([np.ones(d), np.eye(d)[:, 1:]]))[0]
    split = sparse_rotation(V @ with_unit_vector * (np.abs(V @ with_unit_vector) > 1e-14))
    joint = sparse_rotation(V)
    assert joint.l1 <= d * np.sqrt(d) + 1e-9
    assert joint.l1 < split.l1 - 0.1
