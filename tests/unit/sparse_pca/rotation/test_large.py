"""What is done otherwise where columns are many, against the plain way."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.sparse_pca.rotation.descent import anneal
from aspca.sparse_pca.rotation.vertex import cayley
from matrices import orthonormal


@pytest.mark.parametrize("size", [1e-7, 1e-4, 0.9e-4, 1e-2, 1.0])
def test_short_turns_are_cayleys_too(size: float) -> None:
    turn = np.random.default_rng(1).normal(size=(30, 30))
    skew = turn - turn.T
    skew *= 2.0 * size / np.linalg.norm(skew)
    eye = np.eye(30)
    found = cayley(skew)
    np.testing.assert_allclose(found, np.linalg.inv(eye - skew / 2.0) @ (eye + skew / 2.0), atol=1e-14)
    np.testing.assert_allclose(found.T @ found, eye, atol=1e-14)


def test_the_descent_is_the_same_where_no_inverse_is_formed() -> None:
    """The slow twin: Cayley's formula as it is written."""
    start, mu_first, n_steps, momentum = orthonormal(0, 150, 120), 0.1, 8, 0.7
    found = anneal(start[None], np.array([mu_first]), n_steps, mu_final=1e-3, momentum=momentum)[0]
    L, turn, eye = start, np.zeros((120, 120)), np.eye(120)
    for mu in np.geomspace(mu_first, 1e-3, n_steps):
        slope = np.clip(L, -mu, mu).T @ L
        turn = momentum * turn + 0.5 * (slope - slope.T)
        L = L @ (np.linalg.inv(eye + 0.5 * turn) @ (eye - 0.5 * turn)).T
    np.testing.assert_allclose(found, L, atol=1e-11)
    # In single precision it is the same to single precision.
    single = anneal(start[None].astype(np.float32), np.array([mu_first]), n_steps, mu_final=1e-3, momentum=momentum)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single[0], L, atol=1e-4)
