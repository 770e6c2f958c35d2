"""From moments to a model: frozen, and all that scoring, limits and explanations need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from aspca.judging.alarms import (
    Alarms,
    AlarmSettings,
    Floors,
    alarms_from_moments,
    alarms_from_rows,
    floors_of,
    needs_rows,
)
from aspca.judging.blame import FeatureSplit
from aspca.judging.explanation import Explanation
from aspca.judging.gaps import GappedScore, Gaps
from aspca.judging.hotelling import Hotelling, hotelling
from aspca.judging.projector import Projector, Rows
from aspca.judging.scores import score_variances, score_weights
from aspca.linalg.arrays import Floats
from aspca.moments import Moments
from aspca.preparation import Feature, Preparation
from aspca.rules.rule import Rule, rules_of, unresolved_variances
from aspca.rules.widening import held_out_widening
from aspca.subspace.defaults import default_alpha, default_n_components, typical_variance
from aspca.subspace.feature_cap import capped_subspace
from aspca.subspace.result import Certificate, SparseSubspace
from aspca.subspace.scaling import column_scale, scaled_covariance


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
    max_features: int | None
    rotation: str
    alarms: AlarmSettings

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Settings:
        """From the parameters of `ASPCA`, checked by their caller."""
        alarms = AlarmSettings(**{name: parameters[name] for name in AlarmSettings.__dataclass_fields__})
        own = [name for name in cls.__dataclass_fields__ if name != "alarms"]
        return cls(**{name: parameters[name] for name in own}, alarms=alarms)


@dataclass(frozen=True, eq=False)
class Model:
    """Rules of a table, the score made of them, and its limits.

    Attributes
    ----------
    settings : Settings
        What was asked for.
    names : tuple of str
        One per feature.
    moments : Moments
    scale : ndarray of shape (p,)
        What centred columns are divided by.
    covariance : ndarray of shape (p, p)
        Of the scaled columns: what the solver saw.
    subspace : SparseSubspace
    alpha : float
    weights : ndarray of shape (d, d)
        W: a row of projections y scores sum_j ((y W)_j)^2.
    alarms : Alarms
    widenings : ndarray of shape (d,) or None
        Spread of each rule on rows kept out of the fit over its spread on the training rows, where it was measured.
    preparation : Preparation or None
        How tables are made into the model's features; None: their columns are the features.
    gaps : Gaps or None
        What was missing in the training rows.
    """

    settings: Settings
    names: tuple[str, ...]
    moments: Moments
    scale: Floats
    covariance: Floats
    subspace: SparseSubspace
    alpha: float
    weights: Floats
    alarms: Alarms
    widenings: Floats | None = None
    preparation: Preparation | None = None
    gaps: Gaps | None = None

    @property
    def loadings(self) -> Floats:
        return self.subspace.loadings

    @cached_property
    def weighted_loadings(self) -> Floats:
        return np.asarray(self.loadings @ self.weights, dtype=np.float64)

    @cached_property
    def projected(self) -> Floats:
        """V'SV, the covariance of the projections of the training rows."""
        return _projected(self.loadings, self.covariance)

    @cached_property
    def unresolved(self) -> Floats:
        """Per rule, the variance that rounding of the covariance alone may show (d,)."""
        return unresolved_variances(self.loadings, self.covariance)

    @property
    def origins(self) -> tuple[Feature, ...]:
        """What the features are in the table; empty where they are its columns."""
        return () if self.preparation is None else self.preparation.features

    @cached_property
    def floors(self) -> Floors:
        """What rounding of the values alone can produce where every rule holds exactly."""
        return floors_of(self.moments, self.scale, self.loadings, self.weights)

    @property
    def variances(self) -> Floats:
        """Of the features, in the scaled space (p,)."""
        return np.diag(self.covariance)

    @cached_property
    def typical(self) -> float:
        """Variance of a typical feature, in the scaled space."""
        return typical_variance(self.variances)

    # ---- scores

    @property
    def projector(self) -> Projector:
        return self._projector(self.loadings)

    @property
    def scorer(self) -> Projector:
        return self._projector(self.weighted_loadings)

    def score(self, X: Rows) -> Floats:
        """Scores (n,) of rows (n, p); NaN is a value that is missing, see `judging.gaps`."""
        if not self.allows_gaps:
            return self.scorer.score(X)
        missing = np.isnan(X)
        gapped = np.flatnonzero(missing.any(axis=1))
        scores = self.scorer.score(self._filled(X))
        rows, used = X[gapped], self.gapped.used(missing[gapped])
        weighted = self.gapped.weighted(used, self.projector.project(self._filled(rows)))
        scores[gapped] = np.square(weighted).sum(axis=1)
        return scores

    def project(self, X: Rows) -> Floats:
        """Projections (n, d) of rows (n, p); NaN for rules of which a value is missing."""
        if not self.allows_gaps:
            return self.projector.project(X)
        projections = self.projector.project(self._filled(X))
        projections[~self.gapped.used(np.isnan(X))] = np.nan
        return projections

    def share_of_rules(self, X: Rows) -> Floats:
        """The share of rules (n,) whose features are all there in rows (n, p)."""
        return np.asarray(self.gapped.used(np.isnan(X)).mean(axis=1))

    @property
    def allows_gaps(self) -> bool:
        """Whether values may be missing."""
        return self.preparation is not None and self.preparation.missing == "allow"

    @cached_property
    def gapped(self) -> GappedScore:
        """The score for rows with gaps."""
        return GappedScore(
            self.settings.score,
            self.settings.alarms,
            self.floors,
            self.loadings,
            self.weights,
            self.projected,
            self.unresolved,
            self.typical,
            _fitted_to(self.moments, self.settings),
            self.variances,
        )

    def _filled(self, X: Rows) -> Rows:
        """Rows with means in their gaps: any number would do, no rule that is used sees it."""
        return np.where(np.isnan(X), self.moments.mean, X)

    def _centred(self, X: Rows) -> Floats:
        """Rows (n, p) centred and scaled."""
        centred = np.subtract(X, self.moments.centre, dtype=np.float64, casting="unsafe")
        centred -= self.moments.residual
        centred /= self.scale
        return centred

    def _projector(self, loadings: Floats) -> Projector:
        return Projector(self.moments.centre, self.moments.residual, self.scale, loadings)

    @cached_property
    def normal(self) -> Hotelling:
        """Hotelling's T2 in the normal subspace, of scaled centred rows."""
        return hotelling(self.loadings, self.covariance, self.moments.weight)

    def t2(self, X: Rows) -> Floats:
        """Hotelling's T2 (n,) of rows in the original units."""
        return self._projector(self.normal.directions).score(X)

    # ---- limits

    def calibrated(self, X: Rows, weights: Floats | None = None) -> Model:
        """The same model, its limits that rest on rows taken from these (n, p)."""
        scores = self.score(X) if needs_rows(self.settings.alarms.total[0]) else None
        squares = np.nan_to_num(self.project(X) ** 2) if needs_rows(self.settings.alarms.rule_limit) else None
        return replace(self, alarms=alarms_from_rows(self.alarms, self.floors, scores, squares, weights))

    def checked(self, X: Rows) -> Model:
        """The same model, its rules checked on rows (n, p) that took no part in the fit."""
        spreads = np.sqrt(np.maximum(np.diag(self.projected), self.unresolved))
        return replace(self, widenings=held_out_widening(self.project(X), spreads))

    def decision(self, X: Rows) -> Floats:
        """Negative for anomalies (n,), by the alarm asked for."""
        if self.settings.alarms.alarm == "total":
            return np.asarray(self.alarms.the_total() - self.score(X))
        return self.alarms.decision(self.score(X), np.nan_to_num(self.project(X) ** 2))

    # ---- what it says

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """One per component, in the original names and units."""
        m = self.moments
        return rules_of(
            self.loadings,
            m.mean,
            self.scale,
            self.covariance,
            self.names,
            n_rows=m.n_rows,
            limits=self._deviation_limits(),
            widenings=None if self.widenings is None else self.widenings.tolist(),
            certificate=self._certificate,
            origins=self.origins,
        )

    def _deviation_limits(self) -> list[float] | None:
        """How far each rule may be off, in the scaled space; None while limits wait for rows."""
        return None if self.alarms.rules is None else [float(np.sqrt(limit.value)) for limit in self.alarms.rules]

    @property
    def _certificate(self) -> tuple[Certificate, ...]:
        return self.subspace.certificates[-self.loadings.shape[1] :]

    @cached_property
    def canonical_rules(self) -> tuple[Rule, ...]:
        """The sparsest rules of the same subspace: for reading, no part of the score."""
        # Loads scipy's optimisers: a second that scoring by a stored model need not wait for.
        from aspca.rules.readable import canonical_rules

        m = self.moments
        return canonical_rules(
            self.loadings,
            m.mean,
            self.scale,
            self.covariance,
            self.names,
            n_rows=m.n_rows,
            certificate=self._certificate,
            origins=self.origins,
        )

    def explain(self, X: Rows, index: Sequence[object], library: str = "pandas") -> Explanation:
        """Rows (n, p) explained; `index` says what each is called, `library` what tables are made of."""
        values = np.asarray(X, dtype=np.float64)
        projections = self.project(values)
        used = self.gapped.used(np.isnan(values)) if self.allows_gaps else None
        if used is not None:
            weighted = self.gapped.weighted(used, projections)
        else:
            weighted = projections if self.settings.score == "spe" else projections @ self.weights
        return Explanation(
            rules=self.rules,
            names=self.names,
            index=index,
            values=values,
            projections=projections,
            weighted=weighted,
            loadings=self.loadings,
            blame=FeatureSplit(self.weighted_loadings, self.typical) if used is None else self.gapped.split,
            scaled=self._centred(values),
            scale=self.scale,
            threshold=None if self.alarms.total is None else self.alarms.total.value,
            rule_limits=self.alarms.the_rules(),
            library=library,
            origins=self.origins,
            used=used,
        )


def fit_model(
    moments: Moments,
    settings: Settings,
    names: Sequence[str] | None = None,
    warm_start: SparseSubspace | None = None,
    callback: Callable[[int, int, float], None] | None = None,
    *,
    preparation: Preparation | None = None,
    gaps: Gaps | None = None,
) -> Model:
    """The model of a table, from its moments alone; limits that rest on rows wait for `Model.calibrated`.

    `callback` is called as in `sparse_subspace`, after each step of a solve.
    """
    # Loads the solvers and most of scipy: a second that scoring by a stored model need not wait for.
    from aspca.subspace.extraction import sparse_subspace

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

    alpha = default_alpha(covariance, d) if settings.alpha == "auto" else float(settings.alpha)
    if settings.max_features is None:
        subspace = solve(alpha, warm_start)
    else:
        subspace = capped_subspace(covariance, settings.max_features, alpha, solve)
    loadings = subspace.loadings
    projected, unresolved = _projected(loadings, covariance), unresolved_variances(loadings, covariance)
    weights = score_weights(settings.score, projected, unresolved, typical_variance(np.diag(covariance)))
    alarms = alarms_from_moments(
        settings.alarms,
        floors_of(moments, scale, loadings, weights),
        score_variances(weights, projected, unresolved),
        np.maximum(np.diag(projected), unresolved),
        fitted_to=_fitted_to(moments, settings),
    )
    if preparation is not None:
        names = preparation.names
    shown = tuple(f"x{j}" for j in range(p)) if names is None else tuple(names)
    return Model(
        settings,
        shown,
        moments,
        scale,
        covariance,
        subspace,
        subspace.alpha,
        weights,
        alarms,
        preparation=preparation,
        gaps=gaps,
    )


def _fitted_to(moments: Moments, settings: Settings) -> float | None:
    """How many rows the units of the score were fitted to, where they are."""
    return max(moments.weight, moments.n_rows) if settings.score == "whitened" else None


def _projected(loadings: Floats, covariance: Floats) -> Floats:
    inside = loadings.T @ covariance @ loadings
    return np.asarray(0.5 * (inside + inside.T), dtype=np.float64)
