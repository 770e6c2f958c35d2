"""Rotate an orthonormal basis inside its own span until its entries are as sparse as they get."""

from aspca.sparse_pca.rotation.descent import paper_rotation
from aspca.sparse_pca.rotation.search import RotationResult, rough_rotation, sparse_rotation

__all__ = ["RotationResult", "paper_rotation", "rough_rotation", "sparse_rotation"]
