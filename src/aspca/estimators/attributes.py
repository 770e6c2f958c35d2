"""What a fitted estimator shows: the paper's components, solved for who asks first, and its rules in a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np

from aspca.findings.rendering import rules_html
from aspca.linalg.arrays import Floats
from aspca.model.model import Model
from aspca.rules.rule import AnyRule
from aspca.sparse_pca.certificate import Certificate
from aspca.sparse_pca.subspace import SparseSubspace


class FittedAttributes:
    """Mixin: views of `model_`, and its rules below scikit-learn's own diagram, which is left as it is."""

    model_: Model
    n_components_: int

    @property
    def rules_(self) -> tuple[AnyRule, ...]:
        return self.model_.rules

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

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]  # scikit-learn's
        return diagram + self._rules_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]  # scikit-learn's
        if "text/html" in bundle:
            bundle["text/html"] += self._rules_html()
        return bundle

    def _rules_html(self) -> str:
        return f"<div>{rules_html(self.model_.rules)}</div>" if hasattr(self, "model_") else ""
