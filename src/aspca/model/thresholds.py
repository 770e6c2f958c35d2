"""From which score on a row is unusual, and an error; and from which deviation on a rule counts as broken."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import Bools, Floats
from aspca.model.evidence import Evidence
from aspca.model.limits import Limit, chi2_quantile, limit_from_scores, pearson_limit
from aspca.moments.space import ScaledSpace
from aspca.rules.table import RuleTable
from aspca.settings import AUTO, Settings

# A row lies exactly on a quantile, and BLAS may sum in another order on another machine.
ABOVE_ROUNDING = 1.0 + 1e-12


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The thresholds in use.

    Attributes
    ----------
    total : Limit or None
        Of the score; None while it waits for rows.
    rules : ndarray of shape (m,)
        Of the squared deviation from each relation, in the scaled space.
    error : float or None
        Score above which a row is an error; None where components judge.
    calibration : ndarray of shape (k,) or None
        Ascending scores of rows kept out of the fit, for p-values; only with ``limit="conformal"``.
    """

    total: Limit | None
    rules: Floats
    error: float | None = None
    calibration: Floats | None = None

    def from_scores(self, settings: Settings, scores: Floats, weights: Floats | None = None) -> Thresholds:
        """The same, that of the score taken from scores (n,) of rows, which `weights` (n,) may count."""
        name, level = settings.total
        total = limit_from_scores(str(name), level, scores, weights)
        total = replace(total, value=total.value * ABOVE_ROUNDING)
        # What is an error is unusual too.
        error = None if self.error is None else max(self.error, total.value)
        return Thresholds(total, self.rules, error, np.sort(scores) if name == "conformal" else None)


def find_thresholds(settings: Settings, evidence: Evidence, roundings: Floats, exact: Bools, name: str) -> Thresholds:
    """Those of tail models; relations (m,) that hold exactly allow nothing but rounding (m,).

    `name` says what the law of scores rests on.
    """
    law = evidence.law
    if law is None:
        raise ValueError("Tail models give no thresholds before the law of scores is learned.")
    # A rule that is broken by itself makes a row unusual.
    each = (1.0 - settings.level) / (evidence.n_kinds * max(len(evidence.relations), 1))
    log_each = float(np.log(each))
    quantiles = np.where(exact, 0.0, [tail.quantiles(log_each)[1] for tail in evidence.relations])
    rules = np.maximum(np.square(quantiles + evidence.relation_rounding), roundings)
    total = None if settings.needs_rows else _asked(settings, Limit(name, settings.level, law.unusual))
    return Thresholds(total, rules, law.error if total is None else max(law.error, total.value))


def find_component_thresholds(
    settings: Settings, space: ScaledSpace, table: RuleTable, weights: Floats, roundings: Floats
) -> Thresholds:
    """Those of components, counted in these weights (m,), from moments: rows are taken to be Gaussian."""
    level = settings.total[1]
    each = 1.0 - (1.0 - level) / max(len(table), 1)
    rules = np.maximum(np.maximum(table.variances, 0.0) * chi2_quantile(each, 1), roundings)
    total = None
    if not settings.needs_rows:
        value = pearson_limit(score_variances(np.diag(weights), table.covariance, table.unresolved), level)
        moved = np.abs(table.loadings * weights).T @ space.rounding
        total = _asked(settings, Limit("pearson", level, max(value, float(np.square(moved).sum()))))
    return Thresholds(total, rules)


def _asked(settings: Settings, automatic: Limit) -> Limit:
    """The number asked for, if one was."""
    return automatic if settings.total[0] == AUTO else Limit("fixed", None, float(settings.total[0]))


def score_variances(weights: Floats, covariance: Floats, unresolved: Floats) -> Floats:
    """Eigenvalues (m,), ascending, of the covariance of y W, y the deviations: the score of a Gaussian row is their
    weighted sum of chi-squares.

    None is quoted below what float64 resolves of it.
    """
    inside = weights.T @ (covariance @ weights)
    values = np.linalg.eigvalsh(0.5 * (inside + inside.T))
    # The root first: weights of rules in tiny units are huge, and their squares would overflow.
    least = np.square(np.sqrt(unresolved)[:, None] * weights).sum(axis=0).max(initial=0.0)
    return np.asarray(np.maximum(values, least))


def find_roundings(space: ScaledSpace, table: RuleTable) -> Floats:
    """The squared deviation from each rule (m,) that rounding of the values alone can produce; of those that held
    exactly, half a step of their columns too."""
    moved = np.asarray(np.abs(table.loadings).T @ space.rounding)
    half = np.array([_half_a_step(column, space.steps) for column in table.loadings.T])
    return np.asarray(np.square(np.maximum(moved, np.where(table.exact, half, 0.0))))


def _half_a_step(loading: Floats, steps: Floats) -> float:
    """Half the least amount by which one column in its steps can move a rule; zero where one has no step."""
    used = loading != 0.0
    return 0.5 * float((np.abs(loading[used]) * steps[used]).min())
