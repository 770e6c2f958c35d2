"""When a row counts as an anomaly: the limits of a model's score and of its rules.

The level is spent once. With ``alarm="any"`` half of it goes to the score and half to the rules, each of m rules an
m-th part. A row that breaks a rule by its own limit is lifted above the threshold by as much as it exceeds that limit:
so one number, the score, and one threshold say which rows are anomalies, whatever the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aspca.judging.law import ASSUMES as GAUSSIAN_ROWS
from aspca.judging.law import ScoreLaw, few_rows_quantile
from aspca.judging.limits import Limit, rule_limits, score_limit
from aspca.judging.metric import READABLE, Metric, score_variances
from aspca.linalg.arrays import Bools, Floats
from aspca.linalg.small import thinned
from aspca.model.evidence import Evidence
from aspca.rules.table import RuleTable
from aspca.settings import AUTO, Settings, needs_rows
from aspca.subspace.space import ScaledSpace

# A row lies exactly on a quantile, and BLAS may sum in another order on another machine.
ABOVE_ROUNDING = 1.0 + 1e-12
HELD_OUT = "held-out"
HELD_OUT_ASSUMES = (
    "Rows to come are like the rows learned from, each of which was judged by models learned without the fold of rows "
    "it belongs to."
)
_ONE_RULE = "Rows are Gaussian with the fitted covariance, and a rule's squared deviation follows its F law."


@dataclass(frozen=True, eq=False)
class Alarms:
    """The limits in use.

    Attributes
    ----------
    settings : Settings
    total : Limit or None
        Of the score; None while it waits for rows.
    rules : tuple of Limit, or None
        Of each rule's squared deviation in the scaled space; None while they wait for rows.
    lift : float or None
        What the score of a row that just breaks a rule is lifted to; None where the alarm is "total".
    calibration : ndarray of shape (k,) or None
        Ascending scores of rows kept out of the fit, for p-values; only with ``limit="conformal"``.
    error : float or None
        Score above which a row is an error; None where rows are not judged by tail models.
    """

    settings: Settings
    total: Limit | None
    rules: tuple[Limit, ...] | None
    lift: float | None = None
    calibration: Floats | None = None
    error: float | None = None

    def the_total(self) -> float:
        """Score above which a row is an anomaly; refused while it waits for rows."""
        if self.total is None:
            raise ValueError(
                f"{self.settings.words} takes its threshold from scores of rows that this model does not hold: call "
                'calibrate(X) with such rows, or use limit="pearson".'
            )
        return self.total.value

    def the_rules(self) -> Floats:
        """Squared deviation (m,) above which each rule is broken; refused while they wait for rows."""
        if self.rules is None:
            raise ValueError(
                f"rule_limit={self.settings.rule_limit!r} takes the rules' limits from rows that this model does not "
                'hold: call calibrate(X) with such rows, or use rule_limit="pearson".'
            )
        return np.array([limit.value for limit in self.rules])


@dataclass(frozen=True, eq=False)
class Floors:
    """What rounding alone can produce where every rule holds exactly: no limit lies below."""

    total: float
    squares: Floats


def floors_of(space: ScaledSpace, table: RuleTable, weights: Floats) -> Floors:
    """What rounding of the values alone can produce, and for rules that held exactly half a step of their columns."""
    thin = thinned(table.loadings)
    moved = np.asarray(np.abs(table.loadings).T @ space.rounding)
    total = np.square(np.abs(np.asarray(thin @ weights).T) @ space.rounding).sum()
    half = np.array([_half_a_step(column, space.steps) for column in table.loadings.T])
    return Floors(float(total), np.square(np.maximum(moved, np.where(table.exact, half, 0.0))))


def _half_a_step(loading: Floats, steps: Floats) -> float:
    """Half the least amount by which one column in its steps can move a rule; zero where one has no step."""
    used = loading != 0.0
    return 0.5 * float((np.abs(loading[used]) * steps[used]).min())


def spent(settings: Settings, n_rules: int) -> tuple[float, float]:
    """The levels of the score's limit and of each rule's, so that together they let `level` pass."""
    left = 1.0 - settings.total[1]
    # Where there are no rules, nothing is spent on them.
    both = settings.alarm == "any" and not needs_rows(settings.total[0]) and n_rules > 0
    total = 1.0 - (0.5 * left if both else left)
    shares = 0.5 * left if settings.alarm == "any" else left
    return total, 1.0 - shares / max(n_rules, 1)


def alarms_from_moments(settings: Settings, space: ScaledSpace, table: RuleTable, metric: Metric) -> Alarms:
    """The limits that need no rows; the others are left open."""
    asked, _ = settings.total
    level, each = spent(settings, len(table))
    floors = floors_of(space, table, metric.weights)
    total = rules = None
    if not needs_rows(asked):
        total = _floored(total_limit(_by_law(asked), level, space, table, metric), floors.total)
    lift = None
    if settings.alarm == "any":
        # A threshold that waits for rows is that of lifted scores.
        found = total or _floored(total_limit("pearson", level, space, table, metric), floors.total)
        lift = found.value
    if not needs_rows(settings.rule_limit):
        rules = _all_floored(_rules_from_moments(_by_law(settings.rule_limit), each, space, table), floors)
    return Alarms(settings, total, rules, lift)


def _by_law(asked: str | float) -> str | float:
    """What stands in for an automatic limit while there are no rows."""
    return "pearson" if asked == AUTO else asked


def total_limit(asked: str | float, level: float, space: ScaledSpace, table: RuleTable, metric: Metric) -> Limit:
    """The limit of the score, from moments, by name or number."""
    if metric.kind not in READABLE or not isinstance(asked, str):
        variances = score_variances(metric.weights, table.covariance, table.unresolved)
        return score_limit(asked, level, variances=variances)
    law = ScoreLaw.of(metric, int(table.exact.sum()), space.fitted_to, space.n_varying)
    return Limit(asked, level, law.quantile(level), GAUSSIAN_ROWS)


def _rules_from_moments(asked: str | float, each: float, space: ScaledSpace, table: RuleTable) -> tuple[Limit, ...]:
    if not isinstance(asked, str):
        return rule_limits(asked, each, variances=table.variances)
    times = few_rows_quantile(each, space.fitted_to, space.n_varying)
    return tuple(Limit(asked, each, float(variance * times), _ONE_RULE) for variance in table.variances)


def alarms_from_rows(
    alarms: Alarms, floors: Floors, scores: Floats | None, squares: Floats | None, weights: Floats | None
) -> Alarms:
    """The same limits, those that rest on rows taken from these.

    `scores` (n,) and `squares` (n, m), the squared deviations, where the limits in question need them; `weights` (n,)
    or None. Conformal limits count rows, whatever their weight.
    """
    settings = alarms.settings
    asked, _ = settings.total
    total, rules, calibration = alarms.total, alarms.rules, alarms.calibration
    level, each = spent(settings, floors.squares.size)
    if needs_rows(asked) and scores is not None:
        found = score_limit(asked, level, scores=scores, weights=None if asked == "conformal" else weights)
        total = _floored(replace(found, value=found.value * ABOVE_ROUNDING), floors.total)
        calibration = np.sort(scores) if asked == "conformal" else None
    if needs_rows(settings.rule_limit) and squares is not None:
        counted = None if settings.rule_limit == "conformal" else weights
        found_each = rule_limits(settings.rule_limit, each, contributions=squares, weights=counted)
        rules = _all_floored(tuple(replace(one, value=one.value * ABOVE_ROUNDING) for one in found_each), floors)
    # What is an error is unusual too.
    error = alarms.error if alarms.error is None or total is None else max(alarms.error, total.value)
    return Alarms(settings, total, rules, alarms.lift, calibration, error)


def quantile_alarms(alarms: Alarms, floors: Floors, scores: Floats, squares: Floats) -> Alarms:
    """The same limits, the automatic ones quantiles of scores (n,) and squared deviations (n, m) of other rows."""
    settings = alarms.settings
    level, each = spent(settings, floors.squares.size)
    rules = alarms.rules
    if settings.rule_limit == AUTO:
        found = rule_limits("quantile", each, contributions=squares)
        rules = _all_floored(tuple(_held_out(limit) for limit in found), floors)
    total = _floored(_held_out(score_limit("quantile", level, scores=scores)), floors.total)
    return replace(alarms, total=total, rules=rules, lift=None if alarms.lift is None else total.value)


def _held_out(limit: Limit) -> Limit:
    return Limit(HELD_OUT, limit.level, limit.value * ABOVE_ROUNDING, HELD_OUT_ASSUMES)


def replace_automatic(alarms: Alarms, floors: Floors, evidence: Evidence, exact: Bools) -> Alarms:
    """The same limits, the automatic ones those of tail models; exact relations (m,) allow nothing but rounding."""
    settings, law = alarms.settings, evidence.law
    if law is None:
        raise ValueError("Tail models give no limits before the law of scores is learned.")
    total, rules = alarms.total, alarms.rules
    if settings.total[0] == AUTO:
        total = Limit(HELD_OUT, settings.level, law.unusual, HELD_OUT_ASSUMES)
    if settings.rule_limit == AUTO:
        # A rule that is broken by itself makes a row unusual.
        each = (1.0 - settings.level) / (evidence.n_kinds * max(len(evidence.relations), 1))
        log_each = float(np.log(each))
        found = tuple(
            Limit(HELD_OUT, 1.0 - each, float(np.square(quantile)), HELD_OUT_ASSUMES)
            for quantile in np.where(exact, 0.0, [tail.quantiles(log_each)[1] for tail in evidence.relations])
        )
        rules = _all_floored(found, floors)
    # What is an error is unusual too.
    error = law.error if total is None else max(law.error, total.value)
    return Alarms(settings, total, rules, None, alarms.calibration, error)


def _floored(limit: Limit, floor: float) -> Limit:
    return replace(limit, value=max(limit.value, floor))


def _all_floored(limits: tuple[Limit, ...], floors: Floors) -> tuple[Limit, ...]:
    return tuple(_floored(limit, float(floor)) for limit, floor in zip(limits, floors.squares, strict=True))
