"""Skew matrices as vectors, beside their dense twins."""

import numpy as np
import pytest

from aspca.sparse_pca.rotation.vertex import cayley, skew_space


@pytest.mark.parametrize(("p", "d"), [(4, 2), (9, 4), (12, 6)])
def test_entry_changes_are_the_entries_of_the_product(p, d):
    rng = np.random.default_rng(d)
    L = rng.standard_normal((p, d))
    space = skew_space(d)
    omega = rng.standard_normal(space.size)
    skew = space.matrix(omega)
    np.testing.assert_array_equal(skew, -skew.T)
    entries = rng.permutation(p * d)
    np.testing.assert_allclose(space.entry_changes(L, entries) @ omega, (L @ skew).ravel()[entries], atol=1e-13)


def test_vector_is_the_gradient_of_the_inner_product():
    rng = np.random.default_rng(0)
    G, omega = rng.standard_normal((5, 5)), rng.standard_normal(10)
    space = skew_space(5)
    assert np.sum(G * space.matrix(omega)) == pytest.approx(space.vector(G) @ omega)


def test_cayley_is_orthogonal():
    skew = skew_space(6).matrix(np.random.default_rng(1).standard_normal(15))
    np.testing.assert_allclose(cayley(skew).T @ cayley(skew), np.eye(6), atol=1e-14)
