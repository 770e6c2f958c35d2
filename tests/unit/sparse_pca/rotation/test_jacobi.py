"""Plane rotations against a fine grid of angles, and the order of the pairs."""

import numpy as np
import pytest

from aspca.sparse_pca.rotation.descent import jacobi, pair_columns, rotate_pairs
from matrices import orthonormal


def grid_minimum(a, b):
    """The obvious twin: try every angle of a grid, then every angle at which some entry vanishes."""
    angles = np.concatenate([np.linspace(0.0, np.pi, 2001), np.arctan2(b, a), np.arctan2(-a, b)])
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    return float((np.abs(c * a + s * b) + np.abs(c * b - s * a)).sum(axis=1).min())


@pytest.mark.parametrize("d", [1, 2, 3, 6, 7, 12])
def test_every_pair_meets_once_and_rounds_are_disjoint(d):
    pairs = []
    for first, second in pair_columns(d):
        assert np.all(first < second)
        seated = np.concatenate([first, second])
        assert len(np.unique(seated)) == len(seated)
        pairs += list(zip(first.tolist(), second.tolist(), strict=True))
    assert sorted(pairs) == [(a, b) for a in range(d) for b in range(a + 1, d)]


@pytest.mark.parametrize("seed", range(20))
def test_plane_minimum_is_exact(seed):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((2, 9)) * rng.integers(0, 2, (2, 9))
    before = columns.copy()
    gain = rotate_pairs(columns, np.array([0]), np.array([1]))
    assert np.abs(columns).sum() == pytest.approx(grid_minimum(before[0], before[1]), rel=1e-12)
    assert gain == pytest.approx(np.abs(before).sum() - np.abs(columns).sum(), abs=1e-12)
    np.testing.assert_allclose((columns**2).sum(axis=0), (before**2).sum(axis=0), atol=1e-14)
    if gain > 0.0:
        assert np.any((columns == 0.0) & (before != 0.0))


@pytest.mark.parametrize(("p", "d"), [(5, 3), (8, 8), (30, 7), (41, 12)])
def test_sweeps_descend_to_a_point_no_plane_improves(p, d):
    V = orthonormal(p + d, p, d)
    L = jacobi(V, max_sweeps=500, tol=1e-13)
    assert np.abs(L).sum() < np.abs(V).sum()
    np.testing.assert_allclose(L @ L.T, V @ V.T, atol=1e-12)
    for a in range(d):
        for b in range(a + 1, d):
            here = np.abs(L[:, [a, b]]).sum()
            assert grid_minimum(L[:, a], L[:, b]) >= here * (1.0 - 1e-9)


def test_columns_stay_the_heirs_of_the_given_ones():
    V = np.eye(12)[:, :3] + 0.01 * np.random.default_rng(0).standard_normal((12, 3))
    V = np.linalg.qr(V)[0] * [-1.0, -1.0, -1.0]
    rotation = V.T @ jacobi(V)
    assert np.all(np.diag(rotation) > 0.9)
