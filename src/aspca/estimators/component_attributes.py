"""What a fitted estimator says of the paper's components; the first who asks has them solved."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.model.model import Model
from aspca.sparse_pca.certificate import Certificate
from aspca.sparse_pca.subspace import SparseSubspace


class ComponentAttributes:
    """Fitted attributes that are views of `model_.subspace`: readable rules judge without it."""

    model_: Model
    n_components_: int

    @property
    def subspace_(self) -> SparseSubspace:
        return self.model_.subspace

    @property
    def components_(self) -> Floats:
        return np.array(self.subspace_.loadings.T)

    @property
    def certificates_(self) -> tuple[Certificate, ...]:
        return self.subspace_.certificates[-self.n_components_ :]

    @property
    def alpha_(self) -> float:
        return self.model_.components.alpha

    @property
    def n_iter_(self) -> int:
        return 1 + max(step.iterations for step in self.subspace_.certificates)

    @property
    def covariance_(self) -> Floats:
        return np.asarray(self.model_.space.plain.covariance)

    @property
    def explained_variance_(self) -> Floats:
        inside = np.einsum("ij,ij->j", self.subspace_.loadings, self.covariance_ @ self.subspace_.loadings)
        return np.asarray(np.maximum(inside, 0.0))
