"""When a row counts as an anomaly: the limits of a model's score and of its rules, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.model.limits import FROM_MOMENTS, Limit, conformal_p_values, rule_limits, score_limit

ALARMS = ("total", "rule", "any")

# A row lies exactly on a quantile, and BLAS sums a row alone in another order than among others.
_ABOVE_ROUNDING = 1.0 + 1e-12


@dataclass(frozen=True)
class AlarmSettings:
    """What an anomaly is; see `ASPCA` for each."""

    contamination: float | str
    limit: str | float
    rule_limit: str | float
    level: float
    alarm: str

    @property
    def total(self) -> tuple[str | float, float]:
        """Name (or number) and level of the threshold asked for."""
        if self.contamination != "auto":
            return "quantile", 1.0 - float(self.contamination)
        return self.limit, float(self.level)

    @property
    def from_rows(self) -> tuple[str, ...]:
        """Names of the limits asked for that rest on rows."""
        return tuple(str(name) for name in (self.total[0], self.rule_limit) if needs_rows(name))

    @property
    def words(self) -> str:
        """As the user wrote it."""
        return f"limit={self.limit!r}" if self.contamination == "auto" else f"contamination={self.contamination}"


def needs_rows(limit: str | float) -> bool:
    """Whether a limit, by name or number, takes scores of rows."""
    return isinstance(limit, str) and limit not in FROM_MOMENTS


@dataclass(frozen=True, eq=False)
class Alarms:
    """The limits in use.

    Attributes
    ----------
    settings : AlarmSettings
    total : Limit or None
        Of the score; None while it waits for rows.
    rules : tuple of Limit, or None
        Of each rule's contribution, so that of normal rows at most 1 - level break any; None while they wait for rows.
    calibration : ndarray of shape (m,) or None
        Ascending scores of rows kept out of the fit, for p-values; only with ``limit="conformal"``.
    """

    settings: AlarmSettings
    total: Limit | None
    rules: tuple[Limit, ...] | None
    calibration: Floats | None = None

    def the_total(self) -> float:
        """Score above which a row is an anomaly; refused while it waits for rows."""
        if self.total is None:
            raise ValueError(
                f"{self.settings.words} takes its threshold from scores of rows that this model does not hold: call "
                'calibrate(X) with such rows, or use limit="pearson".'
            )
        return self.total.value

    def the_rules(self) -> Floats:
        """Contribution (d,) above which each rule is broken; refused while they wait for rows."""
        if self.rules is None:
            raise ValueError(
                f"rule_limit={self.settings.rule_limit!r} takes the rules' limits from rows that this model does not "
                'hold: call calibrate(X) with such rows, or use rule_limit="pearson".'
            )
        return np.array([limit.value for limit in self.rules])

    def decision(self, contributions: Floats) -> Floats:
        """Negative for anomalies (n,), from the rules' contributions (n, d), where rules have a say.

        The largest excess decides, each in multiples of its limit.
        """
        excess = (contributions / np.maximum(self.the_rules(), 1e-300)).max(axis=1)
        unit = 1.0 if self.total is None else self.total.value
        if self.settings.alarm == "any":
            excess = np.maximum(excess, contributions.sum(axis=1) / max(self.the_total(), 1e-300))
        return np.asarray(unit * (1.0 - excess), dtype=np.float64)

    def p_values(self, scores: Floats) -> Floats:
        """Conformal p-values (n,) of scores; refused without rows to compare with."""
        if self.calibration is None:
            raise ValueError(
                "p-values compare a row with rows kept out of the fit, which this model does not hold: set "
                'limit="conformal" and call calibrate(X) with such rows.'
            )
        return conformal_p_values(self.calibration, scores)


def alarms_from_moments(
    settings: AlarmSettings, score_variances: Floats, contribution_variances: Floats, floors: Floats
) -> Alarms:
    """The limits that need no rows; the others are left open.

    Parameters
    ----------
    score_variances, contribution_variances : (d,)
        See `model.scores`.
    floors : (d,)
        Contributions that rounding alone can produce: no limit lies below.
    """
    limit, level = settings.total
    total = None if needs_rows(limit) else score_limit(limit, level, variances=score_variances)
    each = _level_of_each(settings, floors.size)
    rules = (
        None
        if needs_rows(settings.rule_limit)
        else rule_limits(settings.rule_limit, each, variances=contribution_variances)
    )
    return Alarms(settings, _floored(total, float(floors.sum())), _all_floored(rules, floors))


def alarms_from_rows(
    alarms: Alarms, scores: Floats, contributions: Floats | None, weights: Floats | None, floors: Floats
) -> Alarms:
    """The same limits, those that rest on rows taken from these.

    `scores` (n,), `weights` (n,) or None; `contributions` (n, d) only where the rules' limits rest on rows.
    """
    settings = alarms.settings
    limit, level = settings.total
    total, rules, calibration = alarms.total, alarms.rules, alarms.calibration
    if needs_rows(limit):
        found = score_limit(limit, level, scores=scores, weights=None if limit == "conformal" else weights)
        total = _floored(replace(found, value=found.value * _ABOVE_ROUNDING), float(floors.sum()))
        calibration = np.sort(scores) if limit == "conformal" else None
    if needs_rows(settings.rule_limit):
        each = _level_of_each(settings, floors.size)
        counted = None if settings.rule_limit == "conformal" else weights
        found_each = rule_limits(settings.rule_limit, each, contributions=contributions, weights=counted)
        rules = _all_floored(tuple(replace(one, value=one.value * _ABOVE_ROUNDING) for one in found_each), floors)
    return Alarms(settings, total, rules, calibration)


def _level_of_each(settings: AlarmSettings, d: int) -> float:
    """Bonferroni: the level of each of d rules at which normal rows break any of them as often as asked for."""
    return 1.0 - (1.0 - settings.total[1]) / d


def _floored(limit: Limit | None, floor: float) -> Limit | None:
    return None if limit is None else replace(limit, value=max(limit.value, floor))


def _all_floored(limits: tuple[Limit, ...] | None, floors: Floats) -> tuple[Limit, ...] | None:
    if limits is None:
        return None
    return tuple(
        replace(limit, value=max(limit.value, float(floor))) for limit, floor in zip(limits, floors, strict=True)
    )
