"""From which score on a row counts as abnormal: a row is flagged when its score lies *above* the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aspca.judging.quantiles import chi2_quantile, normal_quantile
from aspca.linalg.arrays import Bools, Floats
from aspca.settings import AUTO, FROM_MOMENTS
from aspca.settings import LIMITS as ASKED_FOR

# An automatic limit is one of the others, see `judging.held_out`.
LIMITS = tuple(name for name in ASKED_FOR if name != AUTO)

# What each limit takes for granted, in one sentence.
ASSUMES = {
    "pearson": "Rows are Gaussian with the fitted covariance, and their score, a weighted sum of chi-squares, is close "
    "to the shifted a + b chi2(h) of the same mean, variance and skewness.",
    "quantile": "Rows to come are like the rows given, of which the share 1 - level lies above the limit; rows that "
    "the model was fitted to look a little more normal than new ones.",
    "box": "Rows are Gaussian with the fitted covariance, and their score, a weighted sum of chi-squares, is close to "
    "the g chi2(h) of the same mean and variance.",
    "jackson-mudholkar": "Rows are Gaussian with the fitted covariance, and a power of their score, a weighted sum of "
    "chi-squares, is close to normal.",
    "conformal": "Rows to come and the calibration rows are exchangeable, and the model has seen neither; nothing is "
    "assumed of their distribution.",
    "pot": "Rows to come are like the rows given, independent of each other, and scores above the 90 % quantile follow "
    "a generalised Pareto law.",
}
_FIXED = "Nothing: the number was given."
_ONE_RULE = "Rows are Gaussian with the fitted covariance, so a rule's contribution is its variance times chi2(1)."


# The tail that "pot" fits: this share of the rows, and no fewer than this many of them.
_TAIL = 0.1
_ENOUGH_EXCEEDANCES = 30
ENOUGH_FOR_TAIL = round(_ENOUGH_EXCEEDANCES / _TAIL)
# A share of rows that misses its level by rounding reaches it: 100 * (1 - 0.3) is a little more than 70.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Limit:
    """A limit and what it rests on.

    Attributes
    ----------
    name : str
        One of `LIMITS`, or "fixed" for a number that was given.
    level : float or None
        Share of normal rows it is meant to let pass; None for a fixed one.
    value : float
        Rows with a higher score are flagged; infinite where nothing can be promised below.
    assumes : str
        What has to hold for that share to be right, as a sentence.
    """

    name: str
    level: float | None
    value: float
    assumes: str


def score_limit(
    limit: str | float,
    level: float,
    *,
    variances: Floats | None = None,
    scores: Floats | None = None,
    weights: Floats | None = None,
) -> Limit:
    """The limit of the whole score, by name or as a number.

    Parameters
    ----------
    limit : {"pearson", "box", "jackson-mudholkar", "quantile", "conformal", "pot"} or float >= 0
    level : float in (0, 1)
        Share of normal rows to let pass.
    variances : (d,), for "pearson", "box" and "jackson-mudholkar"
        Eigenvalues of the covariance of the weighted projections, see `scores.score_variances`.
    scores : (n,), for the others
        Scores of rows; for "conformal", of rows that took no part in the fit.
    weights : (n,), optional
        How many rows each counts for. Conformal limits count rows, and take none.
    """
    name = _name(limit)
    if name is None:
        return Limit("fixed", None, float(limit), _FIXED)
    check_level(level)
    if name in FROM_MOMENTS:
        find = {"pearson": pearson_limit, "box": box_limit, "jackson-mudholkar": jackson_mudholkar_limit}[name]
        return Limit(name, level, find(_needed(name, variances, "variances"), level), ASSUMES[name])
    return Limit(name, level, _from_scores(name, level, _needed(name, scores, "scores"), weights), ASSUMES[name])


def rule_limits(
    limit: str | float,
    level: float,
    *,
    variances: Floats | None = None,
    contributions: Floats | None = None,
    weights: Floats | None = None,
) -> tuple[Limit, ...]:
    """The limit of each rule's contribution, one per rule: each alone lets `level` of the normal rows pass.

    Of d rules, up to d times as many rows break at least one.

    Parameters
    ----------
    limit, level, weights
        As for `score_limit`. A number is the limit of every rule.
    variances : (d,), for "pearson", "box" and "jackson-mudholkar"
        Variances of the projections. For one rule no approximation is needed: all three are the exact quantile of its
        variance times chi2(1), were the rows Gaussian.
    contributions : (n, d), for the others
        Squared weighted projections of rows.
    """
    name = _name(limit)
    if name is None:
        given = contributions if contributions is not None else variances
        if given is None:
            raise ValueError("A number as the limit of every rule needs to know the rules: give variances.")
        return (Limit("fixed", None, float(limit), _FIXED),) * int(given.shape[-1])
    check_level(level)
    if name in FROM_MOMENTS:
        spreads = np.maximum(_needed(name, variances, "variances"), 0.0)
        values = spreads * chi2_quantile(level, 1)
        return tuple(Limit(name, level, float(value), _ONE_RULE) for value in values)
    columns = _needed(name, contributions, "contributions").T
    return tuple(Limit(name, level, _from_scores(name, level, column, weights), ASSUMES[name]) for column in columns)


# ---- from moments alone


def box_limit(variances: Floats, level: float) -> float:
    """Box's limit of the squared prediction error: the `level` quantile of g chi2(h).

    `variances` are the eigenvalues of the covariance of the projections. For Gaussian rows the score is a weighted sum
    of chi-squares; g and h match its mean and variance: g = sum(v^2)/sum(v), h = sum(v)^2/sum(v^2).

    Exact for equal variances. At a nominal 1 % the true rate is 1.0 to 1.3 % for variances that fall off evenly, and up
    to 2.8 % for one large variance among hundreds of small ones.
    """
    variances, largest = _relative(variances)
    if largest == 0.0:
        return 0.0
    total, squares = float(variances.sum()), float((variances**2).sum())
    return largest * (squares / total) * chi2_quantile(level, total**2 / squares)


def jackson_mudholkar_limit(variances: Floats, level: float) -> float:
    """Jackson and Mudholkar's limit of the squared prediction error: score^h0 is taken to be normal.

    With t_k = sum(v^k) over the `variances`, h0 = 1 - 2 t1 t3 / (3 t2^2) removes the skewness to first order. At a
    nominal 1 % the true rate is 0.48 to 1.03 %, lowest as h0 nears zero. For h0 <= 0 (a few variances far above many
    small ones) the formula flags hardly anything or has no value at all; there the same three sums give Pearson's
    limit instead.
    """
    variances, largest = _relative(variances)
    if largest == 0.0:
        return 0.0
    t1, t2, t3 = (float((variances**k).sum()) for k in (1, 2, 3))
    h0 = 1.0 - 2.0 * t1 * t3 / (3.0 * t2**2)
    if h0 <= 0.0:
        return pearson_limit(largest * variances, level)
    excess = h0 * (normal_quantile(level) * math.sqrt(2.0 * t2) / t1 + t2 * (h0 - 1.0) / t1**2)
    # Far below the median the normal law asks for a negative power of the score.
    return largest * t1 * math.exp(math.log1p(excess) / h0) if excess > -1.0 else 0.0


def pearson_limit(variances: Floats, level: float) -> float:
    """Pearson's limit: the quantile of the shifted a + b chi2(h) with the mean, variance and skewness of the score.

    At a nominal 1 % the true rate is 0.98 to 1.08 % for all variances tried. The formula is in Imhof (1961).
    """
    variances, largest = _relative(variances)
    if largest == 0.0:
        return 0.0
    t1, t2, t3 = (float((variances**k).sum()) for k in (1, 2, 3))
    h = t2**3 / t3**2
    return largest * max(t1 + (chi2_quantile(level, h) - h) * math.sqrt(t2 / h), 0.0)


def _relative(variances: Floats) -> tuple[Floats, float]:
    """Variances in units of the largest, and that: their powers do not overflow. Below zero there is only rounding."""
    variances = np.maximum(variances, 0.0)
    largest = float(variances.max(initial=0.0))
    return (variances / largest, largest) if largest > 0.0 else (variances, 0.0)


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


def inverted_cdf_quantiles(
    columns: Floats, weights: Floats | None, level: float, chosen: Bools | None = None
) -> Floats:
    """`inverted_cdf_quantile` of each column (m,) of scores (n, m), of the rows `chosen` (n,)."""
    # Column by column: what is chosen of one stays in the cache.
    picked = (column if chosen is None else column[chosen] for column in columns.T)
    if weights is not None:
        some = weights if chosen is None else weights[chosen]
        return np.array([inverted_cdf_quantile(column, some, level) for column in picked])
    n = len(columns) if chosen is None else int(chosen.sum())
    # Each row counts for one: the sum of the weights up to a row is its place.
    place = min(int(np.searchsorted(np.arange(1.0, n + 1.0), level * n * (1.0 - _ROUNDING))), n - 1)
    return np.array([np.partition(column, place)[place] for column in picked])


def conformal_limit(scores: Floats, level: float) -> float:
    """Split-conformal limit: the ceil((n + 1) level)-th smallest of the n calibration scores.

    A new, exchangeable row lies above it with a probability of at most 1 - level, whatever the distribution. Infinite
    if n < level / (1 - level), 99 rows for 99 %: so few rows can promise nothing.
    """
    rank = math.ceil((scores.size + 1) * level * (1.0 - _ROUNDING))
    return float(np.partition(scores, rank - 1)[rank - 1]) if rank <= scores.size else math.inf


def pot_limit(scores: Floats, weights: Floats | None, level: float) -> float:
    """Peaks over threshold: the `level` quantile by a generalised Pareto law fitted to the largest tenth of the scores.

    Where `level` lies below the tail it is the quantile of the scores themselves. Beyond the largest score it still
    has a value: that is what the law is for. Weights are relative: a common factor does not matter.
    """
    threshold = inverted_cdf_quantile(scores, weights, 1.0 - _TAIL)
    above = scores > threshold if weights is None else (scores > threshold) & (weights > 0.0)
    count = int(above.sum())
    if count < _ENOUGH_EXCEEDANCES:
        raise ValueError(
            f'The limit "pot" fits a law to the scores above their {1.0 - _TAIL:.0%} quantile and needs at least '
            f"{_ENOUGH_EXCEEDANCES} of them, got {count}: give at least {ENOUGH_FOR_TAIL} rows with "
            'distinct scores, or use "quantile".'
        )
    excess = scores[above] - threshold
    counts = np.ones(count) if weights is None else weights[above]
    tail = float(counts.sum()) / (scores.size if weights is None else float(weights.sum()))
    if 1.0 - level >= tail:
        return inverted_cdf_quantile(scores, weights, level)
    largest = float(excess.max())
    shape, scale = _generalised_pareto(excess / largest, counts / counts.sum())
    surplus = math.log(tail / (1.0 - level))
    # (e^(shape surplus) - 1) / shape, which is the surplus itself as the shape goes to zero.
    stretch = surplus if abs(shape) < 1e-9 else math.expm1(min(shape * surplus, 700.0)) / shape
    return min(threshold + largest * scale * stretch, float(np.finfo(np.float64).max))


def _generalised_pareto(excess: Floats, shares: Floats) -> tuple[float, float]:
    """Shape and scale of the law of `excess` in (0, 1], the largest being 1, with `shares` that sum to one.

    Zhang and Stephens (2009): the likelihood, with the shape profiled out, is averaged over a grid of theta =
    -shape / scale. Close to maximum likelihood, but it always exists, for heavy tails too, and nothing has to converge.
    """
    # Rows that count in part or several times: as many of equal weight would know as much (Kish).
    n = 1.0 / float((shares**2).sum())
    steps = 20 + math.isqrt(int(n))
    quartile = inverted_cdf_quantile(excess, shares, 0.25)
    # A quartile far below the largest only says that the tail is heavy; its reciprocal must not overflow.
    grid = 1.0 + (1.0 - np.sqrt(steps / (np.arange(1, steps + 1) - 0.5))) / (3.0 * max(quartile, 1e-150))
    # At theta = 0, the exponential law, both sides of the profile vanish; right beside it they do not.
    grid = np.where(np.abs(grid) < 1e-12, 1e-12, grid)
    shapes = np.array([_profiled_shape(theta, excess, shares) for theta in grid])
    likelihood = n * (np.log(-grid / shapes) - shapes - 1.0)
    belief = np.exp(likelihood - likelihood.max())
    theta = float(belief @ grid / belief.sum())
    if abs(theta) < 1e-12:
        return 0.0, float(shares @ excess)
    shape = _profiled_shape(theta, excess, shares)
    return shape, -shape / theta


def _profiled_shape(theta: float, excess: Floats, shares: Floats) -> float:
    return float(shares @ np.log1p(-theta * excess))


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


# ---- what was asked for


def check_level(level: float) -> None:
    """Raise unless `level` lies between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(
            f"level must be a number between 0 and 1, such as 0.99 for one false alarm in 100, got {level!r}."
        )


def _name(limit: str | float) -> str | None:
    """The name of a limit, None for a number; anything else is refused."""
    if isinstance(limit, str) and limit in LIMITS:
        return limit
    if (
        isinstance(limit, int | float | np.integer | np.floating)
        and not isinstance(limit, bool)
        and 0.0 <= limit < np.inf
    ):
        return None
    raise ValueError(f"limit must be one of {', '.join(LIMITS)}, or a finite number >= 0, got {limit!r}.")


def _needed(name: str, given: Floats | None, what: str) -> Floats:
    if given is not None:
        return given
    if name in FROM_MOMENTS:
        raise ValueError(
            f'The limit "{name}" is computed from {what} of the projections, which are missing: give {what}.'
        )
    raise ValueError(
        f'The limit "{name}" is taken from {what} of rows, and moments alone have none: give rows, or use '
        f"{' or '.join(FROM_MOMENTS)}."
    )


def _from_scores(name: str, level: float, scores: Floats, weights: Floats | None) -> float:
    scores = _checked(scores, "scores")
    if weights is not None:
        if weights.shape != scores.shape or not (weights >= 0.0).all() or not 0.0 < weights.sum() < np.inf:
            raise ValueError(f"weights must be {scores.size} finite numbers >= 0, not all zero, one per row.")
        if name == "conformal":
            raise ValueError(
                'The limit "conformal" counts rows, each as likely as any other, and takes no weights: leave them out, '
                'or use "quantile".'
            )
    if name == "conformal":
        return conformal_limit(scores, level)
    find = inverted_cdf_quantile if name == "quantile" else pot_limit
    return find(scores, weights, level)


def _checked(scores: Floats, what: str) -> Floats:
    if scores.ndim != 1 or scores.size == 0 or not np.isfinite(scores).all():
        raise ValueError(f"{what} must be a list of finite numbers, at least one; drop rows that have no score.")
    return scores
