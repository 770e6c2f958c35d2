"""What a matrix must be, against the plain way of asking: a second matrix, and all eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.sparse_pca.matrix import scale_matrix


def with_lowest(lowest: float, p: int, seed: int) -> np.ndarray:
    """A symmetric matrix of largest entry one whose smallest eigenvalue is `lowest`, as far as float64 goes."""
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    values = np.concatenate(([0.0], rng.uniform(0.5, 1.0, size=p - 1)))
    A = (q * values) @ q.T
    A = A / np.abs(A).max()
    A = A + lowest * np.outer(q[:, 0], q[:, 0])
    return 0.5 * (A + A.T)


@pytest.mark.parametrize("p", [1, 2, 127, 128, 129, 300])
@pytest.mark.parametrize("scale", [1.0, 1e-280, 3e280])
def test_it_is_the_mean_with_the_transpose_times_a_power_of_two(p: int, scale: float) -> None:
    rng = np.random.default_rng(p)
    G = rng.normal(size=(p + 1, p))
    A = (G.T @ G) * (scale / p)
    A *= 1.0 + 1e-10 * rng.uniform(size=(p, p))
    before = A.copy()
    found = scale_matrix(A)
    assert np.array_equal(A, before)
    assert np.array_equal(found.values, (0.5 * A + 0.5 * A.T) * found.unit)
    assert np.array_equal(found.values, found.values.T)
    assert np.frexp(found.unit)[0] == 0.5
    assert found.largest == np.abs(A).max()
    assert 0.4 < np.abs(found.values).max() <= 1.0


def test_its_layout_and_type_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    G = rng.integers(-9, 9, size=(200, 150))
    A = G.T @ G
    plain = scale_matrix(A.astype(np.float64))
    wide = np.zeros((300, 300))
    wide[::2, ::2] = A
    for other in (A, A.astype(np.float64, order="F"), A.astype(np.longdouble), wide[::2, ::2], A.tolist()):
        found = scale_matrix(other)
        assert np.array_equal(found.values, plain.values)
        assert found.unit == plain.unit
        assert found.values.flags.c_contiguous
    frozen = A.astype(np.float64)
    frozen.flags.writeable = False
    assert not np.shares_memory(scale_matrix(frozen).values, frozen)


@pytest.mark.parametrize("p", [2, 20, 150])
def test_eigenvalues_may_be_negative_by_rounding_only(p: int) -> None:
    for seed in range(3):
        for allowed in (0.0, -1e-12, -0.9e-8 * p):
            A = with_lowest(allowed, p, seed)
            assert np.array_equal(scale_matrix(A).values, A * scale_matrix(A).unit)
        for refused in (-1.2e-8 * p, -1e-3, -0.5):
            A = with_lowest(refused, p, seed)
            lowest = np.linalg.eigvalsh(A)[0]
            with pytest.raises(ValueError, match=f"positive semidefinite.*{lowest:.2g}"[:-1]):
                scale_matrix(A)


def test_zero_is_semidefinite() -> None:
    found = scale_matrix(np.zeros((3, 3)))
    assert not found.values.any()
    assert (found.unit, found.largest) == (1.0, 0.0)


def test_an_entry_that_is_not_finite_is_named() -> None:
    for bad in (np.nan, np.inf, -np.inf):
        A = np.eye(200)
        A[150, 3] = A[199, 0] = bad
        with pytest.raises(ValueError, match=rf"entry \(150, 3\) is {bad}"):
            scale_matrix(A)


def test_asymmetry_beyond_rounding_is_refused() -> None:
    A = np.eye(300)
    A[290, 5] = 0.9e-8
    scale_matrix(A)
    A[290, 5] = 1.1e-8
    with pytest.raises(ValueError, match="symmetric"):
        scale_matrix(A)
