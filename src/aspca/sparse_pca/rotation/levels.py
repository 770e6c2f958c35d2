"""Rotations of the directions that are kept: all of them, or those of each level of tightness by themselves."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.ranking import ascending, sign_of
from aspca.sparse_pca.defaults import finest_variance
from aspca.sparse_pca.groups import split_levels
from aspca.sparse_pca.rotation.search import rough_rotation, sparse_rotation


def rotate_levels(A: Floats, kept: Floats, parts: str, deadline: float, quick: bool) -> tuple[Floats, Floats]:
    """The rotation Q (d, d) and kept Q (p, d), ordered and signed; `parts` is "all" or "levels"."""
    d = kept.shape[1]
    rotation, loadings = np.zeros((d, d)), np.zeros(kept.shape)
    for part in _split_columns(A, kept, parts):
        found = sparse_rotation(kept[:, part], deadline=deadline, quick=quick)
        rotation[np.ix_(part, part)] = found.rotation
        loadings[:, part] = found.loadings
    order = ascending(_variances(A, loadings), loadings, unit=float(np.trace(A)) / A.shape[0])
    rotation, loadings = rotation[:, order], loadings[:, order]
    signs = np.array([sign_of(column) for column in loadings.T])
    return rotation * signs, loadings * signs


def rotate_levels_roughly(A: Floats, kept: Floats, parts: str, near: Floats) -> Floats:
    """The same loadings (p, d) to within degrees, in another order; `near` is such a basis of nearly the same."""
    loadings = np.zeros(kept.shape)
    for part in _split_columns(A, kept, parts):
        loadings[:, part] = rough_rotation(kept[:, part], near)
    return loadings


def _split_columns(A: Floats, kept: Floats, parts: str) -> list[Ints]:
    return [np.arange(kept.shape[1])] if parts == "all" else split_levels(_variances(A, kept), finest_variance(A))


def _variances(A: Floats, vectors: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", vectors, A @ vectors), dtype=np.float64)
