"""From the moments of each pattern of gaps to moments as if there were none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.small import symmetrise
from aspca.moments.blocks import two_sum
from aspca.moments.decimals import decimals_of
from aspca.moments.gaussian import EPS
from aspca.moments.moments import Moments
from aspca.moments.patterns import Patterns, patterns_of
from aspca.moments.settling import likeliest_gaussian
from aspca.moments.validation import column_name, overflow_error

# Products that all steps of one estimate take, about ten seconds: 823 rows of 98 columns with 278 patterns of gaps do
# not converge in a thousand steps either, which take a minute. At least so many steps are taken.
_MOST_PRODUCTS, _FEWEST_STEPS = 5 * 10**9, 50


@dataclass(frozen=True, slots=True, eq=False)
class Completion:
    """Moments as if there were no gaps.

    Parameters
    ----------
    moments : Moments
        Weight and number of the rows used; mean and scatter of the likeliest Gaussian (scatter: its covariance times
        the weight); minimum and maximum of the values present.
    iterations : int
        Passes over the patterns; 0 without gaps.
    converged : bool
        Whether no variance of any direction changed by more than the tolerance at the end.
    n_rows_left_out : int
        Rows without any value, and rows for which there was no memory.
    """

    moments: Moments
    iterations: int
    converged: bool
    n_rows_left_out: int


class Rows(NamedTuple):
    """Rows (n, p), NaN in their gaps, and their weights (n,), positive."""

    values: Floats
    weights: Floats


def key_of(gaps: Bools) -> bytes:
    """A pattern of gaps (p,) as a key; all zero bytes where there are none."""
    return np.packbits(gaps).tobytes()


def gaps_of(key: bytes, n_features: int) -> Bools:
    """The pattern (p,) of a key."""
    return np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=n_features).astype(np.bool_)


def completion(
    common: Mapping[bytes, Moments],
    rare: Rows,
    n_left_out: int,
    *,
    tol: float,
    max_iter: int,
    names: Sequence[str] | None = None,
) -> Completion:
    """The `Completion` of patterns given by the moments of their columns present, and of rows of other patterns.

    Raises
    ------
    ValueError
        Some column has no value at all, or a scatter exceeds float64.
    """
    p = rare.values.shape[1]
    # In this order whatever the parts were.
    parts = [(~gaps_of(key, p), common[key]) for key in sorted(common)]
    n_rows = len(rare.values) + sum(moments.n_rows for _, moments in parts)
    if n_rows == 0 and n_left_out == 0:
        return Completion(Moments.empty(p), 0, True, 0)
    minimum, maximum = extremes(parts, rare)
    unknown = np.flatnonzero(minimum > maximum)
    if unknown.size:
        others = f" (and so have {unknown.size - 1} other columns)" if unknown.size > 1 else ""
        raise ValueError(
            f"{column_name(int(unknown[0]), names)} has no value at all{others}; "
            "at least one is needed, so leave out the column."
        )
    if len(parts) == 1 and parts[0][0].all() and len(rare.values) == 0:
        return Completion(parts[0][1], 0, True, n_left_out)
    origin, unit = _units(parts, rare, minimum, maximum)
    weight = float(rare.weights.sum()) + sum(moments.weight for _, moments in parts)
    mean, scatter, iterations, converged = np.zeros(p), np.zeros((p, p)), 0, True
    varying = unit > 0.0
    if varying.any():
        patterns = patterns_of(*_standardised(parts, rare, origin, unit, varying))
        p_varying = int(varying.sum())
        steps = min(max_iter, _count_affordable_steps(patterns, p_varying))
        estimate = likeliest_gaussian(patterns, p_varying, tol, steps)
        iterations, converged = estimate.iterations, estimate.converged
        mean[varying] = estimate.mean * unit[varying]
        with np.errstate(over="ignore"):
            scaled = weight * estimate.covariance * unit[varying] * unit[varying, None]
        scatter[np.ix_(varying, varying)] = scaled
        symmetrise(scatter)
        if not np.isfinite(np.diagonal(scatter)).all():
            raise overflow_error(scatter, names)
    moments = Moments(
        weight, n_rows, *two_sum(origin, mean), scatter, minimum, maximum, decimals=_decimals(parts, rare)
    )
    return Completion(moments, iterations, converged, n_left_out)


def _count_affordable_steps(patterns: Sequence[Patterns], p: int) -> int:
    """How many steps stay within the products that an estimate may take."""
    products = sum(part.gaps.size * part.gaps.shape[1] * p + len(part.rows) * p * p for part in patterns)
    return int(max(_MOST_PRODUCTS // max(products, 1), _FEWEST_STEPS))


_Parts = Sequence[tuple[Bools, Moments]]


def extremes(parts: _Parts, rare: Rows) -> tuple[Floats, Floats]:
    """The least and the largest value present of each column (p,); +inf and -inf where there is none."""
    minimum = np.fmin.reduce(rare.values, axis=0, initial=np.inf)
    maximum = np.fmax.reduce(rare.values, axis=0, initial=-np.inf)
    for present, moments in parts:
        minimum[present] = np.minimum(minimum[present], moments.minimum)
        maximum[present] = np.maximum(maximum[present], moments.maximum)
    return minimum, maximum


def _decimals(parts: _Parts, rare: Rows) -> Ints:
    # Any whole number stands in for a gap: it asks for no decimals.
    decimals = decimals_of(np.where(np.isnan(rare.values.T), 0.0, rare.values.T))
    for present, moments in parts:
        decimals[present] = np.maximum(decimals[present], moments.decimals)
    return decimals


def _units(parts: _Parts, rare: Rows, minimum: Floats, maximum: Floats) -> tuple[Floats, Floats]:
    """The mean of the values present, and the power of two below their standard deviation; 0 for a constant column."""
    missing = np.isnan(rare.values)
    weights = rare.weights @ ~missing
    for present, moments in parts:
        weights[present] += moments.weight
    origin = minimum.copy()
    # Twice: from the minimum, which may be far off, and from there.
    for _ in range(2):
        deviations = np.where(missing, 0.0, rare.values - origin)
        first, second = rare.weights @ deviations, rare.weights @ deviations**2
        for present, moments in parts:
            gap = (moments.centre - origin[present]) + moments.residual
            first[present] += moments.weight * gap
            second[present] += moments.weight * gap**2 + np.diagonal(moments.scatter)
        shift = first / weights
        origin = np.where(minimum == maximum, minimum, origin + shift)
    _, exponent = np.frexp(np.sqrt(second / weights))
    # Rather below than above it: the least variance of a direction is then small beside the features' own.
    return origin, np.where((minimum == maximum) | (second == 0.0), 0.0, np.ldexp(1.0, exponent - 1))


def _standardised(
    parts: _Parts, rare: Rows, origin: Floats, unit: Floats, varying: Bools
) -> tuple[Floats, Floats, Floats, Bools]:
    """Rows, roots, weights and gaps for `patterns_of`: of each part its mean, and the factor of its scatter."""
    origin, unit = origin[varying], unit[varying]
    values = (rare.values[:, varying] - origin) / unit
    missing = np.isnan(values)
    roots = np.sqrt(rare.weights)
    rows = [np.where(missing, 0.0, values) * roots[:, None]]
    gaps, all_roots, weights = [missing], [roots], [rare.weights]
    for present, moments in parts:
        inside, known = varying[present], present[varying]
        scale = unit[known]
        deviation = ((moments.centre[inside] - origin[known]) + moments.residual[inside]) / scale
        factor = _factor(moments.scatter[np.ix_(inside, inside)] / scale / scale[:, None])
        root = np.sqrt(moments.weight)
        lines = np.zeros((1 + len(factor), known.size))
        lines[:, known] = np.vstack([root * deviation, factor])
        rows.append(lines)
        gaps.append(np.broadcast_to(~known, lines.shape))
        all_roots.append(np.r_[root, np.zeros(len(factor))])
        weights.append(np.r_[moments.weight, np.zeros(len(factor))])
    missing = np.vstack(gaps)
    # A row with values of constant columns only says nothing about the others.
    used = ~missing.all(axis=1)
    return np.vstack(rows)[used], np.concatenate(all_roots)[used], np.concatenate(weights)[used], missing[used]


def _factor(scatter: Floats) -> Floats:
    """F (r, k) with F'F = scatter (k, k), without directions of no more variance than rounding leaves."""
    values, vectors = np.linalg.eigh(scatter)
    kept = values > len(values) * EPS * values[-1:]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)
