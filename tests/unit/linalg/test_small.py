"""Small kernels, each against the plain way: NumPy's general answer, a slow twin, or LAPACK one by one."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.linalg.arrays import Floats
from aspca.linalg.small import find_whiteners, form_of, inverses, is_thin, project_simplex, symmetrise, thinned
from aspca.moments.space import unresolved_variances


def twin(w: np.ndarray) -> np.ndarray:
    """max(w - t, 0) sums to one for one t: halve the interval until it is found."""
    low, high = w.min() - 1.0, w.max()
    for _ in range(200):
        t = 0.5 * (low + high)
        low, high = (t, high) if np.maximum(w - t, 0).sum() > 1 else (low, t)
    return np.maximum(w - high, 0)


@pytest.mark.parametrize("size", [1, 2, 5, 40])
@pytest.mark.parametrize("spread", [0.01, 1.0, 100.0])
def test_it_is_what_bisection_finds(size: int, spread: float) -> None:
    rng = np.random.default_rng(size)
    for _ in range(20):
        w = np.sort(rng.normal(size=size) * spread)
        x = project_simplex(w)
        assert np.abs(x - twin(w)).max() <= 1e-12 * max(1.0, spread)
        assert (x >= 0).all()
        assert abs(x.sum() - 1) <= 1e-13 * max(1.0, spread) * size
        # No point of the simplex is nearer: the angle to every corner is obtuse.
        assert ((w - x) @ (np.eye(size) - x).T <= 1e-12 * max(1.0, spread) ** 2 * size).all()


@pytest.mark.parametrize("size", [1e6, 1e15, 1e30, 1e300, -1e30])
def test_huge_values_lose_no_sum(size: float) -> None:
    for w in (np.array([size]), np.array([size, size, size]), size + np.array([-3.0, -0.5, 0.0])):
        x = project_simplex(np.sort(w))
        assert abs(x.sum() - 1) <= 1e-9
        assert (x >= 0).all()
    # A shift changes nothing that can still be seen.
    assert project_simplex(2.0**40 + np.array([0.0, 0.25, 0.75])).tolist() == [0.0, 0.25, 0.75]


@pytest.mark.parametrize("p", [1, 2, 127, 128, 129, 300])
def test_it_is_the_mean_with_the_transpose(p: int) -> None:
    rng = np.random.default_rng(p)
    A = rng.normal(size=(p, p))
    B = A.copy()
    assert symmetrise(B) == np.abs(A - A.T).max()
    assert np.array_equal(B, 0.5 * (A + A.T))
    assert symmetrise(B) == 0.0
    assert np.array_equal(B, 0.5 * (A + A.T))


def _problem(share: float) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 300))
    return A @ A.T, rng.normal(size=(300, 90)) * (rng.random((300, 90)) < share)


@pytest.mark.parametrize(("share", "thin"), [(0.02, True), (0.5, False)])
def test_forms_are_those_of_dense_products(share: float, thin: bool) -> None:
    C, V = _problem(share)
    assert is_thin(V) == thin
    found = form_of(C, V)
    assert np.array_equal(found, found.T)
    np.testing.assert_allclose(found, V.T @ C @ V, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(C @ thinned(V), C @ V, rtol=1e-10, atol=1e-9)
    size = np.abs(V)
    dense = 4.0 * 300 * np.finfo(np.float64).eps * np.diag(size.T @ np.abs(C) @ size)
    np.testing.assert_allclose(unresolved_variances(V, C), dense, rtol=1e-12)


@pytest.mark.parametrize("size", range(1, 12))
def test_whiteners_and_inverses_are_those_of_each_matrix(size: int) -> None:
    rng = np.random.default_rng(size)
    roots = rng.normal(size=(7, size, size + 2))
    matrices = roots @ roots.transpose(0, 2, 1)
    whiteners = find_whiteners(matrices.transpose(1, 2, 0))
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
        whiteners = find_whiteners(np.stack([matrix, np.eye(size)], axis=2))
    assert not np.isfinite(whiteners[:, :, 0]).all()
    np.testing.assert_array_equal(whiteners[:, :, 1], np.eye(size))
