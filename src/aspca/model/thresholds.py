"""From which score on a row counts as abnormal: a row is flagged when its score lies *above* the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import Bools, Floats
from aspca.model.evidence import Evidence
from aspca.moments.space import ScaledSpace
from aspca.rules.table import RuleTable
from aspca.settings import AUTO, Settings

# What each limit takes for granted, in one sentence.
ASSUMES = {
    "pearson": "Rows are Gaussian with the fitted covariance, and their score, a weighted sum of chi-squares, is close "
    "to the shifted a + b chi2(h) of the same mean, variance and skewness.",
    "quantile": "Rows to come are like the rows given, of which the share 1 - level lies above the limit; rows that "
    "the model was fitted to look a little more normal than new ones.",
    "conformal": "Rows to come and the calibration rows are exchangeable, and the model has seen neither; nothing is "
    "assumed of their distribution.",
    "fixed": "Nothing: the number was given.",
    "held-out": "Rows to come are like the rows learned from, each of which was judged by models learned without the "
    "fold of rows it belongs to.",
    "gaussian": "Rows are Gaussian with the moments given.",
}
# A share of rows that misses its level by rounding reaches it: 100 * (1 - 0.3) is a little more than 70.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Limit:
    """A limit and what it rests on."""

    name: str  # one of `ASSUMES`
    level: float | None  # share of normal rows it is meant to let pass; None for a fixed one
    value: float  # rows with a higher score are flagged; infinite where nothing can be promised below

    @property
    def assumes(self) -> str:
        """What has to hold for that share to be right, as a sentence."""
        return ASSUMES[self.name]


def limit_from_scores(name: str, level: float, scores: Floats, weights: Floats | None = None) -> Limit:
    """The limit "quantile" or "conformal" of scores (n,) of rows, `weights` (n,) of which say how many each counts for.

    Conformal limits count rows, whatever their weight.
    """
    scores = _checked(scores, "scores")
    match name:
        case "quantile":
            value = inverted_cdf_quantile(scores, weights, level)
        case "conformal":
            value = conformal_limit(scores, level)
        case _:
            raise ValueError(f"There is no limit {name!r} that scores of rows give.")
    return Limit(name, level, value)


# ---- from moments alone


def pearson_limit(variances: Floats, level: float) -> float:
    """Pearson's limit: the quantile of the shifted a + b chi2(h) with the mean, variance and skewness of the score.

    At a nominal 1 % the true rate is 0.98 to 1.08 % for all variances tried. The formula is in Imhof (1961).
    """
    # In units of the largest their powers do not overflow; below zero there is only rounding.
    variances = np.maximum(variances, 0.0)
    largest = float(variances.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    variances = variances / largest
    t1, t2, t3 = (float((variances**k).sum()) for k in (1, 2, 3))
    h = t2**3 / t3**2
    return largest * max(t1 + (chi2_quantile(level, h) - h) * math.sqrt(t2 / h), 0.0)


def chi2_quantile(level: float, degrees: float) -> float:
    """The chi-square value with `degrees` of freedom (any positive number) that the share `level` stays below."""
    # A quarter of a second to import, which scoring by a stored model need not wait for.
    from scipy.special import gammaincinv

    return 2.0 * float(gammaincinv(0.5 * degrees, level))


# ---- from scores of rows


def inverted_cdf_quantile(scores: Floats, weights: Floats | None, level: float) -> float:
    """The smallest score at which the (weighted) share of rows not above it reaches `level`.

    An integer weight counts as that many equal rows. A share that falls short of `level` by rounding reaches it.
    """
    if weights is None:
        # The same without sorting: so many rows are not above the first, the second, ...
        rank = min(max(math.ceil(level * scores.size * (1.0 - _ROUNDING)), 1), scores.size)
        return float(np.partition(scores, rank - 1)[rank - 1])
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    first = int(np.searchsorted(reached, level * reached[-1] * (1.0 - _ROUNDING)))
    return float(scores[order][min(first, scores.size - 1)])


def conformal_limit(scores: Floats, level: float) -> float:
    """Split-conformal limit: the ceil((n + 1) level)-th smallest of the n calibration scores.

    A new, exchangeable row lies above it with a probability of at most 1 - level, whatever the distribution. Infinite
    if n < level / (1 - level), 99 rows for 99 %: so few rows can promise nothing.
    """
    rank = math.ceil((scores.size + 1) * level * (1.0 - _ROUNDING))
    return float(np.partition(scores, rank - 1)[rank - 1]) if rank <= scores.size else math.inf


def conformal_p_values(calibration: Floats, scores: Floats) -> Floats:
    """(1 + #{calibration >= score}) / (n + 1) for each of m scores (m,), in O((n + m) log n).

    For a row exchangeable with the n calibration rows, P(p <= t) <= t for every t, ties or not. p <= 1 - level just
    where the score lies above `conformal_limit`.
    """
    calibration = np.sort(_checked(calibration, "calibration"))
    if scores.size:
        _checked(scores, "scores")
    above = calibration.size - np.searchsorted(calibration, scores, side="left")
    return np.asarray((1.0 + above) / (calibration.size + 1.0))


def benjamini_hochberg(p_values: Floats, rate: float) -> Bools:
    """Which of m hypotheses to reject (m,): the k smallest p-values, k the largest with p_(k) <= k rate / m.

    The expected share of false rejections is at most `rate`, for independent p-values and for conformal ones that share
    their calibration rows (Bates et al. 2023). A p-value that misses its step by rounding reaches it.
    """
    if not 0.0 < rate < 1.0:
        raise ValueError(f"rate must be a number between 0 and 1, got {rate!r}.")
    p_values = np.asarray(p_values, dtype=np.float64)
    if not ((p_values >= 0.0) & (p_values <= 1.0)).all():
        raise ValueError("p_values must lie between 0 and 1; take them from conformal_p_values.")
    ordered = np.sort(p_values)
    steps = np.arange(1, p_values.size + 1) * (rate / max(p_values.size, 1))
    reached = np.flatnonzero(ordered <= steps * (1.0 + _ROUNDING))
    return p_values <= ordered[reached[-1]] if reached.size else np.zeros(p_values.size, dtype=np.bool_)


def _checked(scores: Floats, what: str) -> Floats:
    if scores.ndim != 1 or scores.size == 0 or not np.isfinite(scores).all():
        raise ValueError(f"{what} must be a list of finite numbers, at least one; drop rows that have no score.")
    return scores


# A row lies exactly on a quantile, and BLAS may sum in another order on another machine.
ABOVE_ROUNDING = 1.0 + 1e-12


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The thresholds in use."""

    total: Limit | None  # of the score; None while it waits for rows
    rules: Floats  # (m,): of the squared deviation from each relation, in the scaled space
    error: float | None = None  # score above which a row is an error; None where components judge
    # (k,): ascending scores of rows kept out of the fit, for p-values; only with ``limit="conformal"``
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
    each = (1.0 - settings.level) / (evidence.n_types * max(len(evidence.relations), 1))
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
