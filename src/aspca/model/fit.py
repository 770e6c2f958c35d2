"""From moments to a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aspca.linalg.arrays import Bools, Floats, round_for_ranking
from aspca.model.components import Components
from aspca.model.constants import HOMOGENEOUS, MOST_TERMS, TIGHT
from aspca.model.cross_fit import rank_columns
from aspca.model.evidence import Evidence
from aspca.model.gaussian import GaussianRows, learn_gaussian_law
from aspca.model.model import Gaps, Model
from aspca.model.outliers import Excluded
from aspca.model.thresholds import Thresholds, find_component_thresholds, find_thresholds
from aspca.moments import Moments
from aspca.moments.space import ScaledSpace, refuse_vanishing
from aspca.preparation import Preparation
from aspca.rules.forward import finds_short_only
from aspca.rules.table import RuleTable, add_given_rules, drop_chance_rules, find_rules
from aspca.rules.user_rules import GivenRule, parse_linear_rules, place_rules
from aspca.settings import Settings
from aspca.sparse_pca.defaults import count_relations
from aspca.sparse_pca.subspace import SparseSubspace


def fit_model(
    moments: Moments,
    settings: Settings,
    preparation: Preparation,
    warm_start: SparseSubspace | None = None,
    callback: Callable[[int, int, float], None] | None = None,
    gaps: Gaps | None = None,
    excluded: Excluded | None = None,
    autocorrelation: Floats | None = None,
    keep: Callable[[RuleTable, ScaledSpace], Bools] | None = None,
) -> Model:
    """The model of a table: its rules, and where components judge, their thresholds.

    Raises RuleError, a ValueError, for rules that were given and cannot be used.

    `callback` is called as in `sparse_subspace`, after each step, where the components judge. `autocorrelation` (p,)
    says how closely rows follow each other, see `moments.autocorrelation`; None: they are independent. `keep` says
    which of the relations found (m,) are rules; None: those that are tight and short.
    """
    if moments.n_rows == 0:
        raise ValueError("The weight of every row is zero, so there is nothing to fit; give some rows a weight.")
    if moments.n_rows < 2:
        raise ValueError(f"ASPCA needs at least 2 rows of positive weight, got n_samples = {moments.n_rows}; add rows.")
    refuse_vanishing(moments, [feature.name for feature in preparation.features])
    space = ScaledSpace.of(moments, settings.scaling, preparation.features, autocorrelation)
    given, space = place_rules(parse_linear_rules(settings.rules, preparation.features), space)
    d = _n_components(space.plain, settings)
    table = None
    if settings.judges_by_evidence:
        table = _readable_rules(space, settings, given, d, keep)
        d = min(len(table), d) if settings.n_components == "auto" else d
    # A basis has a direction even where nothing is related.
    components = Components(settings, np.asarray(space.plain.covariance), max(d, 1), warm_start=warm_start)
    if table is None:
        table = RuleTable.of(space, components.subspace(callback).loadings)
    kept, thresholds = moments.rounded(), Thresholds(None, np.zeros(len(table)))
    model = Model(settings, preparation, space, components, table, thresholds, kept, gaps=gaps, excluded=excluded)
    return model if settings.judges_by_evidence else _judged_by_components(model)


def fit_from_moments(
    moments: Moments,
    settings: Settings,
    preparation: Preparation,
    warm_start: SparseSubspace | None = None,
    gaps: Gaps | None = None,
) -> Model:
    """The model of moments alone: rows are taken to be Gaussian. A threshold that rests on scores waits for
    `Model.calibrated`."""
    return _judged_by_moments(fit_model(moments, settings, preparation, warm_start, gaps=gaps))


def scoring_model(model: Model, settings: Settings, loadings: Floats) -> Model:
    """The same model with these settings and components (p, d): what rows would score, by moments; nothing else of it.

    `settings` differ in the number of rules and the weight of sparsity only.
    """
    space = model.space
    if settings.judges_by_evidence:
        table = _readable_rules(space, settings, model.table.given, loadings.shape[1])
    else:
        table = RuleTable.of(space, loadings)
    return _judged_by_moments(replace(model, settings=settings, table=table, evidence=None))


def _judged_by_moments(model: Model) -> Model:
    if not model.settings.judges_by_evidence:
        return _judged_by_components(model)
    settings, space, table = model.settings, model.space.plain, model.table
    n, roots = space.fitted_to, np.sqrt(np.where(space.variances > 0.0, space.variances, 1.0))
    low, high = space.extremes if space.extremes is not None else (space.mean, space.mean)
    rows = GaussianRows(
        n,
        space.mean,
        space.deviations,
        space.covariance / roots[:, None] / roots,
        (low, high),
        space.steps * space.scale,
    )
    tolerances = np.where(table.exact, np.maximum(np.sqrt(model.roundings), np.finfo(np.float64).tiny), 0.0)
    evidence = rows.learn_evidence(np.sqrt(table.variances), table.loadings != 0.0, tolerances)
    law = learn_gaussian_law(evidence.n_types, settings.level, settings.false_discovery_rate, n)
    return judge_by(model, evidence.with_law(law), "gaussian")


def judge_by(model: Model, evidence: Evidence, name: str) -> Model:
    """The same model, its rows judged by evidence; `name` says what its law rests on."""
    thresholds = find_thresholds(model.settings, evidence, model.roundings, model.table.exact, name)
    return replace(model, evidence=evidence, thresholds=thresholds)


def _judged_by_components(model: Model) -> Model:
    found = find_component_thresholds(
        model.settings, model.space, model.table, model.component_weights, model.roundings
    )
    return replace(model, thresholds=found)


def _readable_rules(
    space: ScaledSpace,
    settings: Settings,
    given: tuple[GivenRule, ...],
    d: int,
    keep: Callable[[RuleTable, ScaledSpace], Bools] | None = None,
) -> RuleTable:
    """The rules of the d directions with the least variance, those that were given first."""
    table = find_rules(space, d)
    auto = settings.n_components == "auto"
    # Few rows make rules of nothing: not even those asked for could be judged by.
    table = drop_chance_rules(table, space) if auto or space.shrinkage else table
    if auto and len(table):
        table = table.only(np.flatnonzero((keep or _are_tight)(table, space)))
    return add_given_rules(table, space, given, None if auto else d)


def _are_tight(table: RuleTable, space: ScaledSpace) -> Bools:
    """Which relations (m,) are tight and short; whether they are the same for all rows, moments do not tell."""
    nothing = np.zeros((0, space.n_features))
    return are_rules(table.loadings, table.variances, table.exact, space.variances, nothing)


def _n_components(space: ScaledSpace, settings: Settings) -> int:
    """How many directions are asked for."""
    if settings.n_components == "auto":
        # As many of a wide table as are found.
        return space.n_features if finds_short_only(space) else count_relations(space.covariance)
    p = space.n_features
    if int(settings.n_components) > p:
        raise ValueError(
            f"n_components must lie between 1 and {p} (the number of features), got {settings.n_components}."
        )
    return int(settings.n_components)


# Residuals of less than this share of the spread of independent columns are not looked into.
_SURELY_TIGHT = 1e-3
# Exact sums may be longer, as identities may.
_MOST_EXACT_TERMS = 12
# Correlations of ranks that chance makes of few rows, in their standard errors.
_BY_CHANCE = 4.0


def are_rules(loadings: Floats, variances: Floats, exact: Bools, own: Floats, scaled: Floats) -> Bools:
    """Which relations (m,) are rules.

    Parameters
    ----------
    loadings : ndarray of shape (p, m)
    variances : ndarray of shape (m,)
        Of the deviations from them.
    exact : ndarray of shape (m,)
        Which have no noise.
    own : ndarray of shape (p,)
        The variances of the columns.
    scaled : ndarray of shape (n, p)
        Rows, centred and scaled; NaN where a value is missing.
    """
    terms = (loadings != 0.0).sum(axis=0)
    beside = np.square(loadings).T @ own
    tight = variances <= TIGHT**2 * np.where(beside > 0.0, beside, 1.0)
    constant = exact & (terms == 1) & (beside == 0.0)
    chosen = (terms > 1) & (exact & (terms <= _MOST_EXACT_TERMS) | tight & (terms <= MOST_TERMS)) | constant
    ranks = None
    # What is left of the tightest is nothing but how sums were rounded or gaps filled.
    noisy = variances > _SURELY_TIGHT**2 * beside
    for k in np.flatnonzero(chosen & ~exact & noisy).tolist():
        ranks = rank_columns(scaled) if ranks is None else ranks
        used = np.flatnonzero(loadings[:, k])
        deviations = scaled[:, used] @ loadings[used, k]
        chosen[k] = is_homogeneous(deviations, ranks)
        if not chosen[k]:
            # A column in few levels is ranked within these by its own noise: then as the others say that it is.
            again = ranks.copy()
            for j in used.tolist():
                solved = rank_columns(round_for_ranking(scaled[:, [j]] - deviations[:, None] / loadings[j, k]))[:, 0]
                raw, told = (_depends(deviations, one[:, None]) for one in (ranks[:, j], solved))
                again[:, j] = solved if told < raw else ranks[:, j]
            chosen[k] = is_homogeneous(deviations, again)
    return np.asarray(chosen)


def is_homogeneous(deviations: Floats, ranks: Floats) -> bool:
    """Whether neither the mean nor the spread of deviations (n,) depends on the row, by ranks of its columns (n, p)."""
    n = int((~np.isnan(deviations)).sum())
    return n < 3 or _depends(deviations, ranks) <= max(HOMOGENEOUS, _BY_CHANCE / float(np.sqrt(n)))


def _depends(deviations: Floats, ranks: Floats) -> float:
    """The largest correlation of ranks of deviations (n,), or their sizes, with those of columns (n, p)."""
    known = ~np.isnan(deviations)
    own = rank_columns(deviations[known, None])[:, 0]
    both = np.column_stack([own, rank_columns(np.abs(own)[:, None])[:, 0]])
    rows = ranks[known]
    columns = np.hstack([rows, rank_columns(np.abs(rows))])
    both, columns = both - both.mean(axis=0), columns - columns.mean(axis=0)
    sizes = np.sqrt(np.square(both).sum(axis=0))[:, None] * np.sqrt(np.square(columns).sum(axis=0))
    correlations = np.abs(both.T @ columns) / np.where(sizes > 0.0, sizes, 1.0)
    return float(correlations.max(initial=0.0))
