"""The guarantees of the searches on a zoo of bases, each recomputed from V and the result alone."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from aspca.linalg.arrays import Floats
from aspca.sparse_pca.rotation import paper_rotation, rough_rotation, sparse_rotation
from matrices import integer_null_space, orthonormal


def planted(seed, p, d, size, noise):
    rng = np.random.default_rng(seed)
    B = np.zeros((p, d))
    for j in range(d):
        B[rng.choice(p, size, replace=False), j] = rng.standard_normal(size)
    return np.linalg.qr(B + noise * rng.standard_normal((p, d)) / np.sqrt(p))[0] @ orthonormal(seed, d, d)


def eigenvectors(data, part):
    D = data - data.mean(axis=0)
    D = D / np.abs(D).max(axis=0)
    return np.linalg.eigh(D.T @ D)[1][:, part]


def breast_cancer():
    data, benign = load_breast_cancer(return_X_y=True)
    return np.vstack([data[benign == 1], data[benign == 0][:10]])


def standardised():
    data = load_breast_cancer().data
    Z = (data - data.mean(axis=0)) / data.std(axis=0)
    return np.linalg.eigh(Z.T @ Z)[1]


def duplicated(seed, p, d):
    """Each row twice or three times: ties in every plane, and null vectors e_i - e_j beside."""
    V = np.repeat(orthonormal(seed, p, d), np.arange(p) % 2 + 2, axis=0)
    return np.linalg.qr(V)[0]


def blocks(seed):
    V = np.zeros((20, 8))
    V[:6, :3], V[6:13, 3:6], V[13:15, 6:] = orthonormal(seed, 6, 3), orthonormal(seed + 1, 7, 3), np.eye(2)
    return V


SMALL = {
    "one column": orthonormal(0, 9, 1),
    "1 x 1": np.array([[-1.0]]),
    "two columns": orthonormal(1, 9, 2),
    "5 x 3": orthonormal(2, 5, 3),
    "square": orthonormal(3, 6, 6),
    "one short of square": orthonormal(4, 9, 8),
    "identity": np.eye(7)[:, [3, 1, 5]],
    "coordinate subspace": np.vstack([orthonormal(5, 4, 4), np.zeros((3, 4))]),
    "coordinate vectors hidden": np.vstack([np.eye(3, 6), np.hstack([np.zeros((9, 3)), orthonormal(6, 9, 3)])])
    @ orthonormal(7, 6, 6),
    "random 20 x 6": orthonormal(8, 20, 6),
    "random 30 x 10": orthonormal(9, 30, 10),
    "random 18 x 15": orthonormal(10, 18, 15),
    "planted": planted(11, 40, 8, 5, 0.0),
    "planted with noise": planted(12, 40, 8, 5, 0.3),
    "blocks": blocks(13),
    "blocks mixed": blocks(14) @ orthonormal(15, 8, 8),
    "duplicate rows": duplicated(16, 8, 5),
    "integer null space": integer_null_space(),
    "constant rows": np.linalg.qr(np.column_stack([np.ones(12), np.repeat(np.eye(3), 4, axis=0)[:, :2]]))[0],
    "haar": np.linalg.qr(np.array([[1, 1, 1, 0], [1, 1, -1, 0], [1, -1, 0, 1], [1, -1, 0, -1.0]]))[0],
    "breast cancer, last 10": eigenvectors(breast_cancer(), slice(0, 10)),
    "breast cancer, first 10": eigenvectors(breast_cancer(), slice(20, 30)),
    "wine, last 6": eigenvectors(load_wine().data, slice(0, 6)),
    "wine, first 5": eigenvectors(load_wine().data, slice(8, 13)),
    "diabetes, last 7": eigenvectors(load_diabetes().data, slice(0, 7)),
    "iris, last 3": eigenvectors(load_iris().data, slice(0, 3)),
    "standardised, last 8": standardised()[:, :8],
    "standardised, first 8": standardised()[:, -8:],
}
LARGE = {
    "random 100 x 20": orthonormal(20, 100, 20),
    "random 41 x 35": orthonormal(21, 41, 35),
    "random 300 x 30": orthonormal(22, 300, 30),
    "planted 300 x 30": planted(23, 300, 30, 12, 0.3),
    "planted 60 x 25": planted(24, 60, 25, 5, 0.3),
    "random 120 x 60": orthonormal(25, 120, 60),
    "random 130 x 110": orthonormal(26, 130, 110),
}
ZOO = SMALL | LARGE


@pytest.fixture(scope="module")
def solved():
    return {name: sparse_rotation(V) for name, V in ZOO.items()}


@pytest.mark.parametrize("name", ZOO)
def test_the_span_and_orthonormality_are_kept(name, solved):
    V, result = ZOO[name], solved[name]
    Q, L = result.rotation, result.loadings
    d = V.shape[1]
    assert np.abs(Q.T @ Q - np.eye(d)).max() <= 1e-13
    assert np.abs(L.T @ L - np.eye(d)).max() <= 1e-12
    assert np.abs(V @ V.T - L @ L.T).max() <= 1e-12
    assert np.abs(L - V @ Q).max() <= 1e-12


@pytest.mark.parametrize("name", ZOO)
def test_zeros_are_exact(name, solved):
    L = solved[name].loadings
    assert not np.any((L != 0.0) & (np.abs(L) < 1e-14))


# The paper's rotation of the largest takes as long as everything else here; "random 120 x 60" is as large a kind.
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.long) if one == "random 130 x 110" else one for one in ZOO]
)
def test_never_above_the_start_nor_the_paper(name, solved):
    V, result = ZOO[name], solved[name]
    assert result.l1 <= np.abs(V).sum()
    assert result.l1 <= np.abs(V @ paper_rotation(V)).sum() * (1.0 + 1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_small_results_are_corners(name, solved):
    d = ZOO[name].shape[1]
    assert np.sum(solved[name].loadings == 0.0) >= d * (d - 1) // 2


@pytest.mark.parametrize("name", LARGE)
def test_large_results_have_many_zeros(name, solved):
    d = ZOO[name].shape[1]
    n = d * (d - 1) // 2
    assert np.sum(solved[name].loadings == 0.0) >= (n if d <= 48 else 0.15 * n)


@pytest.mark.parametrize(
    ("name", "reached"),
    # The lowest values met from 600 random starts (15 ways of annealing, 40 starts each).
    [
        ("breast cancer, last 10", 27.006),
        ("breast cancer, first 10", 27.0493),
        ("standardised, last 8", 20.8912),
        ("standardised, first 8", 25.6947),
    ],
)
def test_known_levels_are_reached(name, reached, solved):
    assert solved[name].l1 <= reached * 1.001


@pytest.mark.parametrize("name", ["square", "coordinate subspace", "identity", "one column", "1 x 1"])
def test_solved_by_hand(name, solved):
    V, result = ZOO[name], solved[name]
    d = V.shape[1]
    if d > 1:
        assert result.l1 == pytest.approx(d, rel=1e-14)
        assert np.sum(result.loadings == 0.0) == V.size - d
    if name in ("identity", "one column", "1 x 1"):
        np.testing.assert_array_equal(result.rotation, np.eye(d))
        np.testing.assert_array_equal(result.loadings, V)


def test_planted_columns_come_back_in_place():
    sparse = np.kron(np.eye(4), np.full((4, 1), 0.5))
    G = 0.1 * np.random.default_rng(0).standard_normal((4, 4))
    V = sparse @ np.linalg.qr(np.eye(4) + G - G.T)[0]
    V = V * np.sign(np.sum(V * sparse, axis=0))
    np.testing.assert_allclose(sparse_rotation(V).loadings, sparse, atol=1e-14)


def test_no_time_still_gives_a_valid_result():
    V = orthonormal(31, 30, 10)
    result = sparse_rotation(V, deadline=0.0)
    assert result.l1 <= np.abs(V).sum()
    assert np.abs(V @ V.T - result.loadings @ result.loadings.T).max() <= 1e-12


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
