"""When a row counts as an anomaly: the limits of a model's score and of its rules, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aspca.judging.limits import FROM_MOMENTS, Limit, conformal_p_values, rule_limits, score_limit
from aspca.judging.quantiles import chi2_quantile, f_quantile
from aspca.linalg.arrays import Floats
from aspca.moments import Moments

ALARMS = ("total", "rule", "any")

# A row lies exactly on a quantile, and BLAS sums a row alone in another order than among others.
ABOVE_ROUNDING = 1.0 + 1e-12


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
        Of each rule's squared deviation in the scaled space, so that of normal rows at most 1 - level break any; None
        while they wait for rows.
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
        """Squared deviation (d,) above which each rule is broken; refused while they wait for rows."""
        if self.rules is None:
            raise ValueError(
                f"rule_limit={self.settings.rule_limit!r} takes the rules' limits from rows that this model does not "
                'hold: call calibrate(X) with such rows, or use rule_limit="pearson".'
            )
        return np.array([limit.value for limit in self.rules])

    def decision(self, scores: Floats, squares: Floats) -> Floats:
        """Negative for anomalies (n,), from scores (n,) and squared deviations (n, d), where rules have a say.

        The largest excess decides, each in multiples of its limit.
        """
        excess = (squares / np.maximum(self.the_rules(), 1e-300)).max(axis=1)
        unit = 1.0 if self.total is None else self.total.value
        if self.settings.alarm == "any":
            excess = np.maximum(excess, scores / max(self.the_total(), 1e-300))
        return np.asarray(unit * (1.0 - excess), dtype=np.float64)

    def p_values(self, scores: Floats) -> Floats:
        """Conformal p-values (n,) of scores; refused without rows to compare with."""
        if self.calibration is None:
            raise ValueError(
                "p-values compare a row with rows kept out of the fit, which this model does not hold: set "
                'limit="conformal" and call calibrate(X) with such rows.'
            )
        return conformal_p_values(self.calibration, scores)


@dataclass(frozen=True, eq=False)
class Floors:
    """What rounding alone can produce where every rule holds exactly: no limit lies below."""

    total: float
    squares: Floats


def floors_of(moments: Moments, scale: Floats, loadings: Floats, weights: Floats) -> Floors:
    """What rounding of the values alone can produce where every rule holds exactly."""
    largest = np.maximum(np.abs(moments.minimum), np.abs(moments.maximum))
    per_feature = 8.0 * np.finfo(np.float64).eps * (largest / scale)
    total = np.square(np.abs((loadings @ weights).T) @ per_feature).sum()
    return Floors(float(total), np.square(np.abs(loadings.T) @ per_feature))


def alarms_from_moments(
    settings: AlarmSettings, floors: Floors, score_variances: Floats, variances: Floats, fitted_to: float | None
) -> Alarms:
    """The limits that need no rows; the others are left open.

    Parameters
    ----------
    score_variances : (d,)
        Eigenvalues of the covariance of the weighted projections, see `judging.scores`.
    variances : (d,)
        Of the projections.
    fitted_to : float or None
        For the whitened score, the number of rows it was fitted to: see `few_rows_factor`.
    """
    limit, level = settings.total
    total = rules = None
    if not needs_rows(limit):
        total = score_limit(limit, level, variances=score_variances)
        if fitted_to is not None and total.name != "fixed":
            # Directions at the floor have weight below one: their units were given, not fitted.
            fitted = int((score_variances > 1.0 - 1e-9).sum())
            total = replace(total, value=total.value * few_rows_factor(fitted, fitted_to, level))
        total = _floored(total, floors.total)
    if not needs_rows(settings.rule_limit):
        each = _level_of_each(settings, floors.squares.size)
        rules = _all_floored(rule_limits(settings.rule_limit, each, variances=variances), floors)
    return Alarms(settings, total, rules)


def alarms_from_rows(
    alarms: Alarms, floors: Floors, scores: Floats | None, squares: Floats | None, weights: Floats | None
) -> Alarms:
    """The same limits, those that rest on rows taken from these.

    `scores` (n,) and `squares` (n, d), the squared deviations, where the limits in question need them; `weights` (n,)
    or None. Conformal limits count rows, whatever their weight.
    """
    settings = alarms.settings
    limit, level = settings.total
    total, rules, calibration = alarms.total, alarms.rules, alarms.calibration
    if needs_rows(limit) and scores is not None:
        found = score_limit(limit, level, scores=scores, weights=None if limit == "conformal" else weights)
        total = _floored(replace(found, value=found.value * ABOVE_ROUNDING), floors.total)
        calibration = np.sort(scores) if limit == "conformal" else None
    if needs_rows(settings.rule_limit) and squares is not None:
        each = _level_of_each(settings, floors.squares.size)
        counted = None if settings.rule_limit == "conformal" else weights
        found_each = rule_limits(settings.rule_limit, each, contributions=squares, weights=counted)
        rules = _all_floored(tuple(replace(one, value=one.value * ABOVE_ROUNDING) for one in found_each), floors)
    return Alarms(settings, total, rules, calibration)


def few_rows_factor(d: int, n_rows: float, level: float) -> float:
    """How much higher the limit of a Mahalanobis distance in d directions is for a covariance from `n_rows` rows.

    For Gaussian rows it is d (n + 1) / (n - d) F(d, n - d) for a new row, chi2(d) were the covariance known. Other
    scores take no inverse of the covariance and hardly need it. Of more than n - 2 directions n - 2 are counted.
    """
    d = min(d, int(n_rows) - 2)
    if d < 1:
        return 1.0
    fitted = d * (n_rows + 1.0) / (n_rows - d) * f_quantile(level, d, n_rows - d)
    return fitted / chi2_quantile(level, d)


def _level_of_each(settings: AlarmSettings, d: int) -> float:
    """Bonferroni: the level of each of d rules at which normal rows break any of them as often as asked for."""
    return 1.0 - (1.0 - settings.total[1]) / d


def _floored(limit: Limit, floor: float) -> Limit:
    return replace(limit, value=max(limit.value, floor))


def _all_floored(limits: tuple[Limit, ...], floors: Floors) -> tuple[Limit, ...]:
    return tuple(_floored(limit, float(floor)) for limit, floor in zip(limits, floors.squares, strict=True))
