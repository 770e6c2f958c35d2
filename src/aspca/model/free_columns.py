"""Columns that identities determine say nothing new: relations are learned from the others.

Rows are learned from with their wrong cells repaired, where identities tell what these should be. What is found about
the free columns is then put among all columns again: rules and directions have no part in what is determined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from aspca.identities import Identities
from aspca.identities.finding import search_identities
from aspca.identities.formula import Formula
from aspca.identities.localize import apply_repairs, localize
from aspca.linalg.arrays import Floats, Ints, frozen
from aspca.model.components import Components
from aspca.model.model import Model, complete_moments
from aspca.moments import IncompleteMoments, Moments
from aspca.moments.accumulator import MomentsAccumulator, Rows
from aspca.moments.space import ScaledSpace
from aspca.preparation import Preparation
from aspca.rules.user_rules import is_linear
from aspca.settings import Settings
from aspca.sparse_pca.defaults import count_relations

Known = Moments | IncompleteMoments


@dataclass(frozen=True, eq=False)
class FreePart:
    """What relations are learned from."""

    identities: Identities
    rows: Rows  # the free columns of all rows, wrong cells repaired
    known: Known  # of these
    settings: Settings  # without the rules that are identities
    preparation: Preparation  # of the free columns
    free: Ints  # (q,): which these are
    whole: tuple[Known, Preparation, Settings]  # the same of all columns

    @classmethod
    def of(
        cls,
        counted: Rows,
        rows: Rows,
        known: Known,
        settings: Settings,
        preparation: Preparation,
        given: Sequence[tuple[str, Formula]],
        sampled: Floats,
        weights: Floats | None = None,
    ) -> FreePart:
        """What is free in rows of these moments; `given` are the rules that may be identities.

        `counted` are the rows as often as each counts, `sampled` (m, p) some of these, and `weights` (n,) say how many
        rows each counts for.
        """
        whole = known, preparation, settings
        features = preparation.features
        identities = Identities()
        if settings.judges_by_evidence:
            low, high = known.extremes if isinstance(known, IncompleteMoments) else (known.minimum, known.maximum)
            several = [(text, formula) for text, formula in given if len(formula.columns) > 1]
            identities = search_identities(counted, low, high, features, several, sampled)
        if not len(identities):
            linear = replace(settings, rules=tuple(text for text in settings.rules if is_linear(text, features)))
            return cls(identities, rows, known, linear, preparation, np.arange(len(features)), whole)
        exact = {identity.written for identity in identities}
        others = tuple(text for text in settings.rules if text not in exact and is_linear(text, features))
        related = {j for text, formula in given if text in others for j in formula.columns}
        determined = set(identities.determined) - related
        # Of columns that all determine each other, the first is free.
        left = [j for j in range(len(features)) if j not in determined] or [0]
        free = np.array(left, dtype=np.intp)
        n_components = settings.n_components
        if n_components != "auto":
            # As many rules in all.
            n_components = min(max(int(n_components) - len(identities), 0), free.size)
        chosen = replace(preparation, chosen=tuple(free.tolist()))
        rows = rows.through(_Repaired(identities, free))
        if isinstance(known, Moments) and not _violated(identities):
            part: Known = known.only(free)
        elif isinstance(known, Moments):
            part = rows.reduce(lambda: MomentsAccumulator(Moments.empty(free.size), weights)).moments.rounded()
        else:
            part = rows.reduce(lambda: MomentsAccumulator(IncompleteMoments.empty(free.size), weights)).moments
        inner = replace(settings, rules=others, n_components=n_components)
        return cls(identities, rows, part, inner, chosen, free, whole)

    def embed(self, model: Model) -> Model:
        """The model of the free columns among all columns."""
        known, preparation, settings = self.whole
        if not len(self.identities) or model.moments is None:
            return replace(model, settings=settings)
        p, free = len(preparation.features), self.free
        moments = _join_moments(complete_moments(known)[0], model.moments, free)
        lag1 = model.space.autocorrelation
        space = ScaledSpace.of(
            moments, settings.scaling, preparation.features, None if lag1 is None else _spread(lag1, free, p)
        )
        if model.space.shift is not None:
            space = space.moved(_spread(model.space.shift, free, p))
        if settings.n_components == "auto":
            d = max(1, min(len(self.identities) + len(model.table), count_relations(space.plain.covariance)))
        else:
            d = int(settings.n_components)
        gaps = model.gaps
        if gaps is not None and isinstance(known, IncompleteMoments):
            gaps = replace(gaps, missing=known.n_missing)
        given = tuple(replace(rule, coefficients=_spread(rule.coefficients, free, p)) for rule in model.table.given)
        return replace(
            model,
            settings=settings,
            preparation=preparation,
            space=space,
            components=Components(settings, np.asarray(space.plain.covariance), d),
            table=replace(model.table, loadings=_spread_rows(model.table.loadings, free, p), given=given),
            moments=moments,
            gaps=gaps,
            excluded=None if model.excluded is None else model.excluded.among(free, p),
            identities=self.identities,
        )


class _Repaired:
    """The free columns of rows whose wrong cells are repaired, where identities tell what these should be."""

    def __init__(self, identities: Identities, free: Ints) -> None:
        self._identities, self._free = identities if _violated(identities) else None, free

    def __call__(self, rows: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        values = np.asarray(rows, dtype=np.float64)
        if self._identities is not None:
            values = apply_repairs(values, localize(self._identities, values))
        return np.ascontiguousarray(values[:, self._free]), numbers


def _violated(identities: Identities) -> bool:
    return any(identity.accuses and identity.n_broken for identity in identities)


def _join_moments(whole: Moments, part: Moments, free: Ints) -> Moments:
    """The moments of all columns, those of the free ones being these: the others follow them as they did before."""
    whole = whole.rounded()
    same = whole.weight == part.weight and np.array_equal(whole.scatter[np.ix_(free, free)], part.scatter)
    if same and np.array_equal(whole.centre[free], part.centre) and np.array_equal(whole.residual[free], part.residual):
        return whole
    rest = np.setdiff1d(np.arange(whole.n_features), free)
    covariance, inside = whole.scatter / whole.weight, part.scatter / part.weight
    units = np.sqrt(np.where((square := np.diag(covariance)) > 0.0, square, 1.0))
    correlation = covariance / units[:, None] / units
    beside = correlation[np.ix_(free, rest)]
    slopes = np.linalg.pinv(correlation[np.ix_(free, free)], rcond=1e-10, hermitian=True) @ beside
    left = correlation[np.ix_(rest, rest)] - slopes.T @ beside
    values, vectors = np.linalg.eigh(0.5 * (left + left.T))
    left = (vectors * np.maximum(values, 0.0)) @ vectors.T
    slopes = slopes * units[rest] / units[free][:, None]
    scatter = np.zeros(covariance.shape)
    scatter[np.ix_(free, free)] = part.scatter
    beside = inside @ slopes
    scatter[np.ix_(free, rest)] = part.weight * beside
    scatter[np.ix_(rest, free)] = part.weight * beside.T
    inner = slopes.T @ beside + left * units[rest] * units[rest][:, None]
    scatter[np.ix_(rest, rest)] = 0.5 * part.weight * (inner + inner.T)
    moved = ((part.centre - whole.centre[free]) + (part.residual - whole.residual[free])) @ slopes
    low, high = whole.minimum[rest], whole.maximum[rest]
    means = np.clip(whole.centre[rest] + (whole.residual[rest] + moved), low, high)
    centre, residual = whole.centre.copy(), whole.residual.copy()
    minimum, maximum = whole.minimum.copy(), whole.maximum.copy()
    centre[rest], residual[rest] = means, 0.0
    # No deviation is larger than half the range: extremes may be those of wrong cells, and are kept.
    centre[free], residual[free], minimum[free], maximum[free] = part.centre, part.residual, part.minimum, part.maximum
    deviations, widest = np.sqrt(np.diag(scatter)[rest] / part.weight), 0.5 * (high - low)
    factors = np.ones(whole.n_features)
    factors[rest] = np.where(deviations > widest, widest / np.where(deviations > 0.0, deviations, 1.0), 1.0)
    scatter = scatter * factors[:, None] * factors
    return Moments(part.weight, part.n_rows, centre, residual, scatter, minimum, maximum, whole.decimals)


def _spread(vector: Floats, free: Ints, p: int) -> Floats:
    found = np.zeros(p)
    found[free] = vector
    return frozen(found)


def _spread_rows(matrix: Floats, free: Ints, p: int) -> Floats:
    found = np.zeros((p, matrix.shape[1]))
    found[free] = matrix
    return frozen(found)
