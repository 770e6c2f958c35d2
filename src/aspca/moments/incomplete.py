"""Moments of rows with gaps: one `Moments` for each pattern of gaps, in one pass and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import EPS, Bools, Floats, Ints
from aspca.linalg.small import symmetrise
from aspca.moments.blocks import find_decimals, two_sum
from aspca.moments.em import fit_gaussian
from aspca.moments.moments import Moments
from aspca.moments.patterns import Patterns, collect_patterns, group_by_gaps
from aspca.moments.row_hash import hash_values
from aspca.moments.validation import (
    Table,
    check_table,
    check_weights,
    column_name,
    copy_columns,
    make_overflow_error,
    merge_weights,
    refuse_large,
)

# All that is kept besides the moments of complete rows: 64 MiB.
MOST_VALUES = 2**23
# A table with gaps is taken apart in slices of 4 MiB.
SLICE_VALUES = 2**19
# Products that all steps of one estimate take, about ten seconds: 823 rows of 98 columns with 278 patterns of gaps do
# not converge in a thousand steps either, which take a minute. At least so many steps are taken.
_MOST_PRODUCTS, _FEWEST_STEPS = 5 * 10**9, 50


@dataclass(frozen=True, slots=True, eq=False)
class Completion:
    """Moments as if there were no gaps."""

    # Weight and number of the rows used; mean and scatter of the likeliest Gaussian (scatter: its covariance times the
    # weight); minimum and maximum of the values present.
    moments: Moments
    iterations: int  # passes over the patterns; 0 without gaps
    converged: bool  # whether no variance of any direction changed by more than the tolerance at the end
    n_rows_left_out: int  # rows without any value, and rows for which there was no memory


class _Rows(NamedTuple):
    """Rows (n, p), NaN in their gaps, and their weights (n,), positive."""

    values: Floats
    weights: Floats


# Which columns (p,) some rows have, and the moments of these.
_Parts = Sequence[tuple[Bools, Moments]]


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteMoments:
    """What the likeliest Gaussian of rows with gaps needs: one `Moments` of the columns present per pattern of gaps.

    A value: `update` and `merge` return a new object. Build it by `empty` or `from_array`.

    Besides the moments of complete rows at most about 64 MiB are kept. Where that is too little, rows of the rarest
    patterns are left out, and counted; otherwise the parts, and their order, matter to rounding only.
    """

    n_features: int
    n_rows: int  # number of rows of positive weight, all of them
    weight: float  # their total weight
    n_missing: Ints  # (p,) values missing in each column
    n_left_out: int  # rows without any value, and rows of rare patterns for which there was no memory
    # Moments of the columns present, by pattern (its bits as bytes): of patterns with more rows than columns present.
    common: Mapping[bytes, Moments]
    rare: tuple[_Rows, ...]  # rows of the other patterns, which take less memory as they are

    def __post_init__(self) -> None:
        self.n_missing.flags.writeable = False

    def __repr__(self) -> str:
        return f"IncompleteMoments({self.n_rows} rows of {self.n_features} features, {self.n_missing.sum()} gaps)"

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The least and the largest value present of each column (p,); +inf and -inf where there is none."""
        return _extremes(_parts_of(self.common, self.n_features), _as_one(self.rare, self.n_features).values)

    @classmethod
    def empty(cls, n_features: int) -> IncompleteMoments:
        """The moments of no rows: neutral in `merge`."""
        return cls(n_features, 0, 0.0, np.zeros(n_features, dtype=np.intp), 0, {}, ())

    @classmethod
    def from_array(
        cls, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None, names: Sequence[str] | None = None
    ) -> IncompleteMoments:
        """The moments of the rows of a table, NaN (or None) being a gap; otherwise as `Moments.from_array`.

        Raises
        ------
        ValueError
            In one sentence that names the column at fault, what is allowed and what to do.
        """
        table = check_table(rows, names)
        row_weights = None if weights is None else check_weights(weights, table.shape[0])
        if table.dtype.kind in "biu" or not any(np.isnan(part).any() for part, _ in _slices(table, row_weights, names)):
            return cls._without_gaps(Moments.from_array(table, row_weights, names=names))
        total = cls.empty(table.shape[1])
        for values, part in _slices(table, row_weights, names):
            refuse_large(values, names)
            total = total.merge(cls._with_gaps(values, np.ones(len(values)) if part is None else part))
        return total

    @classmethod
    def _without_gaps(cls, moments: Moments) -> IncompleteMoments:
        none = np.zeros(moments.n_features, dtype=np.intp)
        common = {_key_of(none > 0): moments} if moments.n_rows else {}
        return cls(moments.n_features, moments.n_rows, moments.weight, none, 0, common, ())

    @classmethod
    def _with_gaps(cls, values: Floats, weights: Floats) -> IncompleteMoments:
        missing, p = np.isnan(values), values.shape[1]
        used = ~missing.all(axis=1)
        common, rare = _sort_out({}, (_Rows(values[used], weights[used]),), p)
        left_out = int((~used).sum())
        return cls(p, len(values), float(weights.sum()), missing.sum(axis=0), left_out, common, (rare,))

    def update(
        self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None, names: Sequence[str] | None = None
    ) -> IncompleteMoments:
        """The moments of the rows seen so far and of these (m, p), m >= 0; see `from_array`."""
        return self.merge(IncompleteMoments.from_array(rows, weights, names))

    def merge(self, other: IncompleteMoments) -> IncompleteMoments:
        """The moments of the rows of both; an empty part is neutral.

        Raises
        ------
        ValueError
            The numbers of columns differ, or the total weight or scatter exceeds float64.
        """
        weight = merge_weights((self.n_features, other.n_features), (self.weight, other.weight))
        common, rare = _merged(self.common, other.common), self.rare + other.rare
        n_dropped = 0
        if _n_values(common) + sum(rows.values.size for rows in rare) > MOST_VALUES:
            common, rows = _sort_out(common, rare, self.n_features)
            # Down to half of it, so that the next time is not soon.
            kept = _most_common(rows, MOST_VALUES // 2 - _n_values(common))
            n_dropped, rare = len(rows.weights) - len(kept.weights), (kept,)
        return IncompleteMoments(
            self.n_features,
            self.n_rows + other.n_rows,
            weight,
            self.n_missing + other.n_missing,
            self.n_left_out + other.n_left_out + n_dropped,
            common,
            rare,
        )

    def completed(self, tol: float = 1e-8, max_iter: int = 1000, names: Sequence[str] | None = None) -> Completion:
        """The moments as if complete: of the Gaussian under which the values present are likeliest (EM).

        Parameters
        ----------
        tol : float, > 0
            The variance of no direction, however tight, changes by more than this share in the last step.
        max_iter : int, >= 1
            The largest number of passes over patterns and rare rows; fewer where these would take minutes.
        names : p column names, for error messages, optional

        Raises
        ------
        ValueError
            Some column has no value at all, or a scatter exceeds float64.

        Notes
        -----
        Without gaps, exactly the `Moments` of the rows. Rules that all rows obey as far as they are known
        stay exact, and tight ones tight, unlike with pairwise covariances or filled means. What no row tells (two
        columns never present together) follows from the other columns, and is zero where these tell nothing either.
        That gaps do not depend on the values missing, given those present, is assumed.

        The same rows in other parts, or another order, give the same result, but for one time in thousands, when the
        last bit of a scatter is another: that shows as about 1e-16 over the smallest variance of a rule, in the
        features' own units.
        """
        if not tol > 0.0:
            raise ValueError(f"tol is {tol}; it must be positive.")
        if max_iter < 1:
            raise ValueError(f"max_iter is {max_iter}; at least one step is needed.")
        common, rare = _sort_out(self.common, self.rare, self.n_features)
        # Patterns and rows in an order that hangs on nothing but what they are: so EM takes the same steps. Copies of a
        # row may stand in any order among themselves.
        parts = _parts_of(dict(sorted(common.items())), self.n_features)
        order = np.argsort(hash_values(np.nan_to_num(rare.values), *_extremes([], rare.values)), kind="stable")
        rare = _Rows(rare.values[order], rare.weights[order])
        n_rows = len(rare.values) + sum(moments.n_rows for _, moments in parts)
        if n_rows == 0 and self.n_left_out == 0:
            return Completion(Moments.empty(self.n_features), 0, True, 0)
        minimum, maximum = _extremes(parts, rare.values)
        unknown = np.flatnonzero(minimum > maximum)
        if unknown.size:
            others = f" (and so have {unknown.size - 1} other columns)" if unknown.size > 1 else ""
            raise ValueError(
                f"{column_name(int(unknown[0]), names)} has no value at all{others}; "
                "at least one is needed, so leave out the column."
            )
        if len(parts) == 1 and parts[0][0].all() and len(rare.values) == 0:
            return Completion(parts[0][1], 0, True, self.n_left_out)
        weight = float(rare.weights.sum()) + sum(moments.weight for _, moments in parts)
        mean, scatter, iterations, converged = _likeliest(parts, rare, (minimum, maximum), weight, tol, max_iter)
        if not np.isfinite(np.diagonal(scatter)).all():
            raise make_overflow_error(scatter, names)
        # Any whole number stands in for a gap: it asks for no decimals.
        decimals = find_decimals(np.where(np.isnan(rare.values.T), 0.0, rare.values.T))
        for present, moments in parts:
            decimals[present] = np.maximum(decimals[present], moments.decimals)
        moments = Moments(weight, n_rows, *mean, scatter, minimum, maximum, decimals)
        return Completion(moments, iterations, converged, self.n_left_out)


# ---- parts of a table


def _slices(
    table: Table, weights: Floats | None, names: Sequence[str] | None
) -> Iterator[tuple[Floats, Floats | None]]:
    """The rows of positive weight, (m, p), and their weights, slice by slice."""
    step = max(SLICE_VALUES // table.shape[1], 1)
    for start in range(0, len(table), step):
        rows, part = table[start : start + step], None if weights is None else weights[start : start + step]
        if part is not None and not part.all():
            rows, part = rows[part > 0.0], part[part > 0.0]
        yield (rows if rows.dtype == np.float64 else copy_columns(rows, names).T), part


# ---- patterns


def _key_of(gaps: Bools) -> bytes:
    """A pattern of gaps (p,) as a key; all zero bytes where there are none."""
    return np.packbits(gaps).tobytes()


def _parts_of(common: Mapping[bytes, Moments], n_features: int) -> _Parts:
    bits = ((np.frombuffer(key, dtype=np.uint8), moments) for key, moments in common.items())
    return [(np.unpackbits(gaps, count=n_features) == 0, moments) for gaps, moments in bits]


def _extremes(parts: _Parts, values: Floats) -> tuple[Floats, Floats]:
    """The least and the largest value present of each column (p,); +inf and -inf where there is none."""
    minimum = np.fmin.reduce(values, axis=0, initial=np.inf)
    maximum = np.fmax.reduce(values, axis=0, initial=-np.inf)
    for present, moments in parts:
        minimum[present] = np.minimum(minimum[present], moments.minimum)
        maximum[present] = np.maximum(maximum[present], moments.maximum)
    return minimum, maximum


def _sort_out(
    common: Mapping[bytes, Moments], rare: tuple[_Rows, ...], n_features: int
) -> tuple[dict[bytes, Moments], _Rows]:
    """Rows of patterns that are common, or have become so, go into moments; and the rows left, as one."""
    values, weights = _as_one(rare, n_features)
    missing = np.isnan(values)
    order, starts = group_by_gaps(missing)
    first = missing[order[starts[:-1]]]
    promoted = np.diff(starts) > n_features - first.sum(axis=1)
    if common:
        promoted |= np.array([_key_of(gaps) in common for gaps in first], dtype=np.bool_)
    found, left = {}, np.ones(len(values), dtype=np.bool_)
    for k in np.flatnonzero(promoted):
        lines = order[starts[k] : starts[k + 1]]
        # Rows that all count once are summed without rounding.
        counted = None if (weights[lines] == 1.0).all() else weights[lines]
        found[_key_of(first[k])] = Moments.from_array(values[np.ix_(lines, ~first[k])], counted)
        left[lines] = False
    return _merged(common, found), _Rows(values[left], weights[left])


def _as_one(rare: tuple[_Rows, ...], n_features: int) -> _Rows:
    if len(rare) == 1:
        return rare[0]
    values = np.vstack([np.zeros((0, n_features)), *(rows.values for rows in rare)])
    return _Rows(values, np.concatenate([np.zeros(0), *(rows.weights for rows in rare)]))


def _merged(one: Mapping[bytes, Moments], other: Mapping[bytes, Moments]) -> dict[bytes, Moments]:
    both = {key: one[key].merge(other[key]) for key in one.keys() & other.keys()}
    return {**one, **other, **both}


def _n_values(common: Mapping[bytes, Moments]) -> int:
    """Numbers held, those of complete rows aside."""
    return sum(moments.scatter.size for key, moments in common.items() if any(key))


def _most_common(rows: _Rows, most_values: int) -> _Rows:
    """The rows of the most common patterns, in their order, up to this many values."""
    order, starts = group_by_gaps(np.isnan(rows.values))
    count = np.repeat(np.diff(starts), np.diff(starts))
    by_count = order[np.argsort(-count, kind="stable")]
    kept = np.sort(by_count[: max(most_values, 0) // rows.values.shape[1]])
    return _Rows(rows.values[kept], rows.weights[kept])


# ---- from patterns to moments as if there were no gaps


def _likeliest(
    parts: _Parts, rare: _Rows, extremes: tuple[Floats, Floats], weight: float, tol: float, max_iter: int
) -> tuple[tuple[Floats, Floats], Floats, int, bool]:
    """Mean, as a sum of two (p,), and scatter (p, p) of the likeliest Gaussian; steps, and whether they converged."""
    origin, unit = _units(parts, rare, *extremes)
    p = origin.size
    mean, scatter = np.zeros(p), np.zeros((p, p))
    varying = unit > 0.0
    if not varying.any():
        return two_sum(origin, mean), scatter, 0, True
    patterns, p_varying = _standardised(parts, rare, origin[varying], unit[varying], varying), int(varying.sum())
    products = sum(
        part.gaps.size * part.gaps.shape[1] * p_varying + len(part.rows) * p_varying * p_varying for part in patterns
    )
    affordable = max(_MOST_PRODUCTS // max(products, 1), _FEWEST_STEPS)
    estimate = fit_gaussian(patterns, p_varying, tol, min(max_iter, affordable))
    mean[varying] = estimate.mean * unit[varying]
    with np.errstate(over="ignore"):
        scatter[np.ix_(varying, varying)] = weight * estimate.covariance * unit[varying] * unit[varying, None]
    symmetrise(scatter)
    return two_sum(origin, mean), scatter, estimate.iterations, estimate.converged


def _units(parts: _Parts, rare: _Rows, minimum: Floats, maximum: Floats) -> tuple[Floats, Floats]:
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


def _standardised(parts: _Parts, rare: _Rows, origin: Floats, unit: Floats, varying: Bools) -> list[Patterns]:
    """All rows by their gaps, in these units: of each part its mean, and the factor of its scatter."""
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
    return collect_patterns(
        np.vstack(rows)[used], np.concatenate(all_roots)[used], np.concatenate(weights)[used], missing[used]
    )


def _factor(scatter: Floats) -> Floats:
    """F (r, k) with F'F = scatter (k, k), without directions of no more variance than rounding leaves."""
    values, vectors = np.linalg.eigh(scatter)
    kept = values > len(values) * EPS * values[-1:]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)
