"""From moments to a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aspca.judging.alarms import alarms_from_moments
from aspca.judging.components import Components
from aspca.judging.excluded import Excluded
from aspca.judging.gaps import Gaps
from aspca.judging.metric import READABLE, metric_of
from aspca.judging.model import Model
from aspca.linalg.arrays import Bools, Floats
from aspca.moments import Moments
from aspca.preparation import Preparation
from aspca.rules.forward import finds_short_only
from aspca.rules.given import GivenRule, given_rules, placed
from aspca.rules.table import RuleTable, beyond_chance, component_table, readable_table, with_given
from aspca.settings import Settings
from aspca.sparse_pca.defaults import n_relations
from aspca.sparse_pca.subspace import SparseSubspace
from aspca.subspace.scaling import refuse_vanishing
from aspca.subspace.space import ScaledSpace


def fit_model(
    moments: Moments,
    settings: Settings,
    preparation: Preparation,
    warm_start: SparseSubspace | None = None,
    callback: Callable[[int, int, float], None] | None = None,
    gaps: Gaps | None = None,
    excluded: Excluded | None = None,
    succession: Floats | None = None,
    keep: Callable[[RuleTable, ScaledSpace], Bools] | None = None,
) -> Model:
    """The model of a table, from its moments alone; limits that rest on rows wait for `Model.calibrated`.

    Raises RuleError, a ValueError, for rules that were given and cannot be used.

    `callback` is called as in `sparse_subspace`, after each step, where the components judge. `succession` (p,) says
    how closely rows follow each other, see `moments.succession`; None: they are independent. `keep` says which of the
    relations found (m,) are rules; None: all.
    """
    if moments.n_rows == 0:
        raise ValueError("The weight of every row is zero, so there is nothing to fit; give some rows a weight.")
    if moments.n_rows < 2:
        raise ValueError(f"ASPCA needs at least 2 rows of positive weight, got n_samples = {moments.n_rows}; add rows.")
    refuse_vanishing(moments, [feature.name for feature in preparation.features])
    space = ScaledSpace.of(moments, settings.scaling, preparation.features, succession)
    given, space = placed(given_rules(settings.rules, preparation.features), space)
    d = _n_components(space.plain, settings)
    table = None
    if settings.score in READABLE:
        table = _readable_rules(space, settings, given, d, keep)
        d = min(len(table), d) if settings.n_components == "auto" else d
    # A basis has a direction even where nothing is related.
    components = Components(settings, np.asarray(space.plain.covariance), max(d, 1), warm_start=warm_start)
    if table is None:
        table = component_table(space, components.subspace(callback).loadings)
    metric = metric_of(settings.score, space, table, settings.total[1])
    alarms = alarms_from_moments(settings, space, table, metric)
    kept = moments.rounded()
    return Model(settings, preparation, space, components, table, metric, alarms, kept, gaps=gaps, excluded=excluded)


def scoring_model(model: Model, settings: Settings, loadings: Floats) -> Model:
    """The same model with these settings and components (p, d): what rows would score, by moments; nothing else of it.

    `settings` differ in the number of rules and the weight of sparsity only.
    """
    space = model.space
    if settings.score in READABLE:
        table = _readable_rules(space, settings, model.table.given, loadings.shape[1])
    else:
        table = component_table(space, loadings)
    metric = metric_of(settings.score, space, table, settings.total[1])
    alarms = alarms_from_moments(settings, space, table, metric)
    return replace(model, settings=settings, table=table, metric=metric, alarms=alarms, evidence=None)


def _readable_rules(
    space: ScaledSpace,
    settings: Settings,
    given: tuple[GivenRule, ...],
    d: int,
    keep: Callable[[RuleTable, ScaledSpace], Bools] | None = None,
) -> RuleTable:
    """The rules of the d directions with the least variance, those that were given first."""
    table = readable_table(space, d)
    auto = settings.n_components == "auto"
    # Few rows make rules of nothing: not even those asked for could be judged by.
    table = beyond_chance(table, space) if auto or space.blur else table
    if auto and keep is not None and len(table):
        table = table.only(np.flatnonzero(keep(table, space)))
    return with_given(table, space, given, None if auto else d)


def _n_components(space: ScaledSpace, settings: Settings) -> int:
    """How many directions are asked for."""
    if settings.n_components == "auto":
        # As many of a wide table as are found.
        return space.n_features if finds_short_only(space) else n_relations(space.covariance)
    p = space.n_features
    if int(settings.n_components) > p:
        raise ValueError(
            f"n_components must lie between 1 and {p} (the number of features), got {settings.n_components}."
        )
    return int(settings.n_components)
