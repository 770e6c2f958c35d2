"""The reference scheme does what the paper writes."""

import numpy as np
import pytest

from aspca.sparse_pca.rotation import paper_rotation


def orthonormal(seed, p, d):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((p, d)))[0]


def test_one_step_is_soft_threshold_then_procrustes():
    V = orthonormal(0, 7, 3)
    mu = np.linalg.norm(V) / np.abs(V).sum()
    C = np.array([[max(v - mu, 0.0) + min(v + mu, 0.0) for v in row] for row in V])
    X = paper_rotation(V, n_steps=1)
    # X minimises ||V - C X'||_F among orthogonal matrices: no nearby rotation is better.
    rng = np.random.default_rng(1)
    for _ in range(100):
        other = np.linalg.qr(X + 0.1 * rng.standard_normal((3, 3)))[0]
        other = other * np.sign(np.sum(other * X, axis=0))
        assert np.linalg.norm(V - C @ X.T) <= np.linalg.norm(V - C @ other.T) + 1e-14


@pytest.mark.parametrize(("p", "d"), [(6, 1), (6, 6), (20, 5)])
def test_the_result_is_orthogonal(p, d):
    X = paper_rotation(orthonormal(2, p, d), n_steps=50)
    np.testing.assert_allclose(X.T @ X, np.eye(d), atol=1e-13)


def test_planted_columns_are_found():
    sparse = np.kron(np.eye(4), np.full((4, 1), 0.5))
    V = sparse @ orthonormal(3, 4, 4)
    assert np.abs(V @ paper_rotation(V)).sum() == pytest.approx(8.0, rel=1e-3)
