"""Least squares over skew matrices beside its dense twin."""

import numpy as np
import pytest

from aspca.solvers.rotation.tangent import cayley, least_squares, skew_space


@pytest.mark.parametrize(("p", "d"), [(4, 2), (9, 4), (12, 6)])
def test_least_squares_equals_the_dense_problem(p, d):
    rng = np.random.default_rng(d)
    L = np.linalg.qr(rng.standard_normal((p, d)))[0]
    weights, gradient = rng.uniform(0.5, 2.0, (p, d)), rng.standard_normal((p, d))
    upper, lower = np.triu_indices(d, 1)
    changes = []
    for a, b in zip(upper, lower, strict=True):
        unit = np.zeros((d, d))
        unit[a, b], unit[b, a] = 1.0, -1.0
        changes.append((L @ unit).ravel())
    design = np.array(changes).T
    omega = np.linalg.solve(design.T @ (weights.ravel()[:, None] * design), -design.T @ gradient.ravel())
    skew = least_squares(L, weights, gradient, ridge=1e-15)
    assert skew is not None
    np.testing.assert_array_equal(skew, -skew.T)
    np.testing.assert_allclose(skew[upper, lower], omega, atol=1e-10)


def test_singular_weights_are_refused_or_solved_but_never_nan():
    L = np.eye(4)[:, :3]
    skew = least_squares(L, np.zeros((4, 3)), np.zeros((4, 3)), ridge=1e-12)
    assert skew is None or np.all(np.isfinite(skew))


def test_vector_is_the_gradient_of_the_inner_product():
    rng = np.random.default_rng(0)
    G, omega = rng.standard_normal((5, 5)), rng.standard_normal(10)
    space = skew_space(5)
    assert np.sum(G * space.matrix(omega, 5)) == pytest.approx(space.vector(G) @ omega)


def test_cayley_is_orthogonal():
    skew = skew_space(6).matrix(np.random.default_rng(1).standard_normal(15), 6)
    np.testing.assert_allclose(cayley(skew).T @ cayley(skew), np.eye(6), atol=1e-14)
