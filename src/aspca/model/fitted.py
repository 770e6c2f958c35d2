"""From moments to a model: frozen, and all that scoring, limits and explanations need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.model.canonical import canonical_rules
from aspca.model.defaults import default_alpha, default_n_components
from aspca.model.explanation import Explanation
from aspca.model.extraction import sparse_subspace
from aspca.model.hotelling import Hotelling, hotelling
from aspca.model.rules import Rule, rules_of, unresolved_variance
from aspca.model.scaling import column_scale, scaled_covariance
from aspca.model.scores import contribution_variances, score_variances, score_weights
from aspca.model.scoring import Projector, Rows
from aspca.model.subspace import SparseSubspace
from aspca.moments import Moments


@dataclass(frozen=True)
class Settings:
    """What to fit; see `ASPCA` for each."""

    n_components: int | str
    alpha: float | str
    variant: str
    rounding: str
    scaling: str
    score: str
    tol: float
    max_iter: int
    time_budget: float | None


@dataclass(frozen=True, eq=False)
class Model:
    """Rules of a table, and the score made of them.

    Attributes
    ----------
    moments : Moments
    scale : ndarray of shape (p,)
        What centred columns are divided by.
    covariance : ndarray of shape (p, p)
        Of the scaled columns: what the solver saw.
    subspace : SparseSubspace
    alpha : float
    weights : ndarray of shape (d, d)
        W: a row of projections y scores sum_j ((y W)_j)^2.
    """

    moments: Moments
    scale: Floats
    covariance: Floats
    subspace: SparseSubspace
    alpha: float
    weights: Floats

    @property
    def loadings(self) -> Floats:
        return self.subspace.loadings

    @cached_property
    def weighted_loadings(self) -> Floats:
        return np.asarray(self.loadings @ self.weights, dtype=np.float64)

    @cached_property
    def projected(self) -> Floats:
        """V'SV, the covariance of the projections of the training rows."""
        inside = self.loadings.T @ self.covariance @ self.loadings
        return np.asarray(0.5 * (inside + inside.T), dtype=np.float64)

    @cached_property
    def unresolved(self) -> Floats:
        """Per rule, the variance that rounding of the covariance alone may show."""
        return np.array([unresolved_variance(np.abs(column), self.covariance) for column in self.loadings.T])

    @property
    def score_variances(self) -> Floats:
        return score_variances(self.weights, self.projected, self.unresolved)

    @property
    def contribution_variances(self) -> Floats:
        return contribution_variances(self.weights, self.projected, self.unresolved)

    @cached_property
    def contribution_floors(self) -> Floats:
        """Contribution of each rule that rounding of the values alone can produce where it holds exactly."""
        largest = np.maximum(np.abs(self.moments.minimum), np.abs(self.moments.maximum))
        per_feature = 8.0 * np.finfo(np.float64).eps * (largest / self.scale)
        return np.asarray((np.abs(self.weighted_loadings.T) @ per_feature) ** 2, dtype=np.float64)

    @property
    def projector(self) -> Projector:
        return self._projector(self.loadings)

    @property
    def scorer(self) -> Projector:
        return self._projector(self.weighted_loadings)

    def _projector(self, loadings: Floats) -> Projector:
        return Projector(self.moments.centre, self.moments.residual, self.scale, loadings)

    @cached_property
    def normal(self) -> Hotelling:
        """Hotelling's T2 in the normal subspace, of scaled centred rows."""
        return hotelling(self.loadings, self.covariance, self.moments.weight)

    def rules(self, names: tuple[str, ...]) -> tuple[Rule, ...]:
        m = self.moments
        return rules_of(self.loadings, m.mean, self.scale, self.covariance, names, n_rows=m.n_rows)

    def canonical_rules(self, names: tuple[str, ...]) -> tuple[Rule, ...]:
        """The sparsest rules of the same subspace: for reading, no part of the score."""
        m = self.moments
        return canonical_rules(self.loadings, m.mean, self.scale, self.covariance, names, n_rows=m.n_rows)

    def explain(
        self,
        X: Rows,
        *,
        names: tuple[str, ...],
        index: Sequence[object],
        threshold: float | None,
        rule_limits: Floats,
        library: str = "pandas",
    ) -> Explanation:
        projections = self.projector.project(X)
        return Explanation(
            rules=self.rules(names),
            names=names,
            index=index,
            values=np.asarray(X, dtype=np.float64),
            projections=projections,
            weighted=np.asarray(projections @ self.weights, dtype=np.float64),
            loadings=self.loadings,
            weighted_loadings=self.weighted_loadings,
            scale=self.scale,
            threshold=threshold,
            rule_limits=rule_limits,
            library=library,
        )

    def t2(self, X: Rows) -> Floats:
        """Hotelling's T2 (n,) of rows in the original units."""
        return self._projector(self.normal.directions).score(X)


def fit_model(moments: Moments, settings: Settings, warm_start: SparseSubspace | None = None) -> Model:
    """The model of a table, from its moments alone."""
    if moments.n_rows == 0:
        raise ValueError("The weight of every row is zero, so there is nothing to fit; give some rows a weight.")
    if moments.n_rows < 2:
        raise ValueError(f"ASPCA needs at least 2 rows of positive weight, got n_samples = {moments.n_rows}; add rows.")
    scale = column_scale(moments, settings.scaling)
    covariance = scaled_covariance(moments, scale)
    p = moments.n_features
    if settings.n_components != "auto" and int(settings.n_components) > p:
        raise ValueError(
            f"n_components must lie between 1 and {p} (the number of features), got {settings.n_components}."
        )
    d = default_n_components(covariance) if settings.n_components == "auto" else int(settings.n_components)
    alpha = default_alpha(covariance) if settings.alpha == "auto" else float(settings.alpha)
    subspace = sparse_subspace(
        covariance,
        d,
        alpha,
        settings.variant,
        settings.rounding,
        tol=settings.tol,
        max_iter=settings.max_iter,
        time_budget=settings.time_budget,
        warm_start=warm_start,
    )
    plain = Model(moments, scale, covariance, subspace, alpha, np.eye(d))
    weights = score_weights(settings.score, plain.projected, plain.unresolved)
    return Model(moments, scale, covariance, subspace, alpha, weights)
