"""The paper's components of a model, solved when somebody asks for them.

Readable rules judge by themselves, so a fit need not wait for a certified sequence that only `components_`,
`certificates_`, `transform` and `verify` speak of. It is a function of covariance and settings alone: solved later, or
from a model file, it is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aspca.linalg.arrays import Floats
from aspca.settings import Settings
from aspca.sparse_pca.defaults import choose_alpha
from aspca.sparse_pca.subspace import SparseSubspace, find_capped_subspace, sparse_subspace

Progress = Callable[[int, int, float], None]


@dataclass(eq=False)
class Components:
    """Settings and covariance (p, p), and what they were solved to; None: nobody has asked yet."""

    settings: Settings
    covariance: Floats | None
    n_components: int
    solved: SparseSubspace | None = None
    warm_start: SparseSubspace | None = None

    @classmethod
    def of(cls, subspace: SparseSubspace, settings: Settings) -> Components:
        """Those of a subspace that is there."""
        return cls(settings, None, subspace.n_components, subspace)

    @property
    def alpha(self) -> float:
        """The weight of sparsity; a cap on the features is met by solving."""
        if self.solved is None and self.covariance is not None and self.settings.max_features is None:
            return _alpha(self.settings, self.covariance, self.n_components)
        return self.subspace().alpha

    def subspace(self, callback: Progress | None = None) -> SparseSubspace:
        """Solved, once; `callback` is called as in `sparse_subspace`."""
        if self.solved is None:
            if self.covariance is None:
                raise ValueError("This model holds neither components nor the moments to find them from; fit again.")
            self.solved = _solved(self, self.covariance, callback)
            self.warm_start = None
        return self.solved


def _solved(asked: Components, covariance: Floats, callback: Progress | None) -> SparseSubspace:
    settings, d = asked.settings, asked.n_components

    def solve(alpha: float, warm_start: SparseSubspace | None) -> SparseSubspace:
        return sparse_subspace(
            covariance,
            d,
            alpha,
            settings.variant,
            settings.rounding,
            rotation=settings.rotation,
            tol=settings.tol,
            max_iter=settings.max_iter,
            time_budget=settings.time_budget,
            callback=callback,
            warm_start=warm_start,
        )

    alpha = _alpha(settings, covariance, d)
    if settings.max_features is None:
        return solve(alpha, asked.warm_start)
    return find_capped_subspace(covariance, settings.max_features, alpha, solve)


def _alpha(settings: Settings, covariance: Floats, d: int) -> float:
    return choose_alpha(covariance, d) if settings.alpha == "auto" else float(settings.alpha)
