"""Rotate an orthonormal basis inside its own span until its entries are as sparse as they get."""

from aspca.solvers.rotation.paper import paper_rotation
from aspca.solvers.rotation.rough import rough_rotation
from aspca.solvers.rotation.search import RotationResult, sparse_rotation

__all__ = ["RotationResult", "paper_rotation", "rough_rotation", "sparse_rotation"]
