"""Random matrices for the solver's tests, the same for a seed wherever they are asked for."""

from __future__ import annotations

import numpy as np


def scatter(seed: int, p: int, n: int | None = None) -> np.ndarray:
    """D'D of n (3 p unless given) rows of p correlated columns, its largest entry one."""
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(n or 3 * p, p)) @ (np.eye(p) + 0.5 * rng.normal(size=(p, p)))
    A = D.T @ D
    return A / A.max()


def orthonormal(seed: int, p: int, d: int) -> np.ndarray:
    """A basis (p, d) of a random subspace."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((p, d)))[0]


def integer_null_space() -> np.ndarray:
    """Null space (16, 10) of few small integer equations: many exact ties, and corners with more zeros than needed."""
    A = np.random.default_rng(8).integers(-1, 2, (6, 16)).astype(float)
    return np.linalg.svd(A)[2][6:].T
