"""What the numbers of a model file must be to each other: orthonormal, symmetric, no negative variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aspca.escaping import quoted
from aspca.linalg.arrays import Floats
from aspca.model_file.fields import Field
from aspca.moments.space import ScaledSpace
from aspca.rules.given import given_loadings
from aspca.rules.table import RuleTable

# Ten times what the verifier asks of a result.
_ORTHONORMAL = 1e-11
# Sums of many rows err by less.
_ROUNDING = 1e-9
# Where squares have underflowed, digits are lost and nothing can be compared.
_VANISHED = 1e-290


def check_basis(at: Mapping[str, Field], loadings: Floats, sequence: Floats, rotation: Floats) -> None:
    """Each orthonormal, and the loadings those of the sequence, rotated."""
    for name, matrix in (("loadings", loadings), ("sequence", sequence), ("rotation", rotation)):
        off = float(np.abs(matrix.T @ matrix - np.eye(matrix.shape[1])).max(initial=0.0))
        at[name].require(off <= _ORTHONORMAL, f"orthonormal to {_ORTHONORMAL:g}", f"orthonormal to {off:.1e} only")
    off = float(np.abs(sequence[:, -loadings.shape[1] :] @ rotation - loadings).max(initial=0.0))
    at["loadings"].require(off <= _ORTHONORMAL, "the rotated sequence", f"off the rotated sequence by {off:.1e}")


def check_moments(
    at: Mapping[str, Field],
    weight: float,
    mean: Floats,
    scale: Floats,
    extremes: Sequence[Floats] | None,
    scatter: Floats | None,
    estimated: bool,
) -> None:
    """Means between extremes, variances as large as these allow, and a scatter without negative directions.

    Where values were missing, mean and scatter are `estimated`: they speak of those too, which no extreme bounds.
    """
    if extremes is not None:
        minimum, maximum = extremes
        at["minimum"].require((minimum <= maximum).all(), "below the maximum", "a list with an entry above it")
    if extremes is not None and not estimated:
        slack = _ROUNDING * np.maximum(np.abs(minimum), np.abs(maximum))
        between = (minimum - slack <= mean) & (mean <= maximum + slack)
        at["centre"].require(between.all(), "between minimum and maximum", "a list with an entry outside of them")
    if scatter is None:
        return
    squares = np.diag(scatter)
    at["scatter"].require((squares >= 0.0).all(), "without negative variances", "a matrix with one")
    with np.errstate(over="ignore"):
        deviations = np.sqrt(squares / weight)
    at["weight"].require(np.isfinite(deviations).all(), "in proportion to the scatter")
    if extremes is not None and not estimated:
        widest = (0.5 * maximum - 0.5 * minimum) * (1.0 + _ROUNDING) + 1e-150
        at["scatter"].require((deviations <= widest).all(), "of variances that minimum and maximum allow", "wider")
    with np.errstate(over="ignore"):
        scaled = (deviations / scale) ** 2
    at["scale"].require(np.isfinite(scaled).all(), "in proportion to the scatter", "a list with an entry far too small")
    _check_correlations(at["scatter"], scatter, np.sqrt(squares))


def _check_correlations(at: Field, scatter: Floats, roots: Floats) -> None:
    alive = roots > np.sqrt(_VANISHED)
    divisor = np.where(alive, roots, 1.0)
    correlations = scatter / divisor[:, None] / divisor
    dead = ~alive
    at.require(
        (np.abs(scatter[dead]) <= 1e-140 * (1.0 + roots)).all(),
        "zero beside a variance of zero",
        "a matrix that is not",
    )
    correlations[dead] = correlations[:, dead] = 0.0
    allowed = "a matrix without negative directions"
    at.require((np.abs(correlations) <= 1.0 + _ROUNDING).all(), allowed, "a matrix with a correlation above 1")
    # A factorisation exists just if no eigenvalue lies below what is added.
    correlations[np.diag_indices_from(correlations)] = 1.0 + _ROUNDING * len(correlations)
    try:
        np.linalg.cholesky(correlations)
    except np.linalg.LinAlgError:
        raise at.refused(allowed, "a matrix with one") from None


def check_covariance(at: Field, covariance: Floats, variances: Floats) -> None:
    """Of these variances, and without negative directions."""
    at.require(np.array_equal(np.diag(covariance), variances), "of the variances given", "of others")
    _check_correlations(at, covariance, np.sqrt(variances))


def check_rules(at: Mapping[str, Field], loadings: Floats, covariance: Floats, unresolved: Floats) -> None:
    """Rules of unit length, whose deviations have variances, as far as rounding lets them."""
    lengths = np.linalg.norm(loadings, axis=0)
    at["loadings"].require((np.abs(lengths - 1.0) <= _ORTHONORMAL).all(), "of columns of length one", "of others")
    squares = np.diag(covariance)
    # Where every rule holds exactly there is nothing but rounding to compare.
    least = -_ROUNDING * np.abs(covariance).max(initial=0.0) - unresolved.max(initial=0.0)
    at["covariance"].require((squares >= least).all(), "without negative variances", "a matrix with one")
    roots = np.sqrt(np.maximum(squares, 0.0))
    # Roots first: products of squares near 1e-240 are nothing.
    most = np.outer(roots, roots) - 2.0 * least
    at["covariance"].require((np.abs(covariance) <= most).all(), "of correlations up to 1", "one with a larger one")


def check_given(at: Field, table: RuleTable, space: ScaledSpace) -> None:
    """The first rules those that were given, and the point that rows are judged from on those that hold."""
    expected = given_loadings(table.given, space)
    off = float(np.abs(table.loadings[:, : len(table.given)] - expected).max(initial=0.0))
    at.require(off <= _ORTHONORMAL, "those of the rules given first", f"off them by {off:.1e}")
    for k, rule in enumerate(table.given):
        unit = rule.loading(space)[1]
        near = float(np.sqrt(table.variances[k])) + float(np.abs(expected[:, k]) @ space.rounding)
        right = not rule.holds or abs(rule.off(space)) / unit <= near
        at.require(right, "seen from a point within the spread of the rules that hold", f"off {quoted(rule.text)}")
