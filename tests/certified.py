"""Matrices to certify, and results whose seal is made anew."""

from __future__ import annotations

import dataclasses

import numpy as np

from aspca import SparseSubspace
from aspca.verify.claims import seal


def scatter(seed: int, p: int, n: int | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(n or 3 * p, p)) @ (np.eye(p) + 0.5 * rng.normal(size=(p, p)))
    A = D.T @ D
    return A / A.max()


def resealed(found: SparseSubspace) -> SparseSubspace:
    """What a forger does: the seal made anew over altered claims."""
    return dataclasses.replace(found, witness=dataclasses.replace(found.witness, seal=seal(found.claims)))
