"""Rough rotations are the careful ones to within degrees."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.sparse_pca.rotation import rough_rotation, sparse_rotation


def _sparse_basis(seed: int, p: int = 24, d: int = 8) -> Floats:
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(p, d)) * (rng.random((p, d)) < 0.2)
    V[np.arange(d), np.arange(d)] += 2.0
    return np.asarray(np.linalg.qr(V)[0])


def test_what_a_neighbour_gives_is_found_again() -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        V = _sparse_basis(seed)
        whole = sparse_rotation(V, quick=True).loadings
        moved = np.linalg.qr(V + 0.02 * rng.normal(size=V.shape))[0]
        turned = moved @ np.linalg.qr(rng.normal(size=(8, 8)))[0]
        rough, careful = rough_rotation(turned, whole), sparse_rotation(turned, quick=True).loadings
        np.testing.assert_allclose(rough.T @ rough, np.eye(8), atol=1e-10)
        np.testing.assert_allclose(rough @ rough.T, turned @ turned.T, atol=1e-10)
        # As sparse, but for what exact zeros would take off.
        assert np.abs(rough).sum() <= 1.01 * np.abs(careful).sum()
        assert (np.abs(rough.T @ careful).max(axis=1) > 0.99).all()


def test_what_cannot_be_lowered_stays() -> None:
    units = np.eye(6)[:, :3]
    assert np.array_equal(rough_rotation(units, units), units)
    # Columns that share no feature are not mixed.
    apart = np.zeros((8, 4))
    rng = np.random.default_rng(0)
    apart[:4, :2], apart[4:, 2:] = (np.linalg.qr(rng.normal(size=(4, 2)))[0] for _ in range(2))
    found = rough_rotation(apart, apart)
    assert np.array_equal(found[:4, 2:], np.zeros((4, 2)))
    assert np.abs(found).sum() <= np.abs(apart).sum()
