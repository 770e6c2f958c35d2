"""The `Moments` of a table: one pass, any order, any number of parts, and the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats, Ints, frozen
from aspca.moments.blocks import (
    CONTINUOUS,
    divide_sum,
    find_decimals,
    slice_rows,
    sum_block,
    sum_weighted_block,
    sum_with_outer,
    two_product,
    two_sum,
)
from aspca.moments.validation import (
    Table,
    check_table,
    check_weights,
    copy_columns,
    make_overflow_error,
    make_value_error,
    merge_weights,
    values_allowed,
)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Weight, mean, scatter, minimum and maximum of the rows seen: all of the data that fitting needs.

    A value: arrays are read-only, and `update` and `merge` return a new object.

    Parameters
    ----------
    weight : float
        Total weight, >= 0: the number of rows where rows are not weighted. 0 means empty.
    n_rows : int
        Number of rows of positive weight.
    centre, residual : (p,)
        The mean as an unevaluated sum, `centre` being the mean rounded to float64. At an offset of 1e10 one
        float64 cannot hold the mean of data that vary in the sixth decimal: centre rows by
        ``(x - centre) - residual``.
    scatter : (p, p)
        Sum of ``w (x - mean)(x - mean)'``: not divided by anything, exactly symmetric.
    minimum, maximum : (p,)
        Of each column; +inf and -inf while empty.
    decimals : (p,) int, optional
        Decimals that each column is given in: 0 for whole numbers; 16, also where it is left out, for any number.
    scatter_low : (p, p), optional
        What rounding `scatter` to float64 left over, so that parts merge without loss; None: nothing that is known.

    Notes
    -----
    Guarantee: entry (i, j) of `scatter` errs by at most 1e-12 sqrt(S_ii S_jj), at offsets up to 1e10, however
    the rows are split into parts and in whatever order these are merged. Of rows that are not weighted it is the
    exact one rounded, but for one entry in thousands and the last bit of it. A column of one value has exactly
    zero scatter and exactly that mean. Values lie within +-1e150; a column whose standard deviation is
    below 1e-152 cannot be fitted, since its squares lose their digits: rescale it.
    """

    weight: float
    n_rows: int
    centre: Floats
    residual: Floats
    scatter: Floats
    minimum: Floats
    maximum: Floats
    decimals: Ints = None  # type: ignore[assignment]  # left out: an array after __post_init__
    scatter_low: Floats | None = None

    def __post_init__(self) -> None:
        vector = np.shape(self.centre)
        if len(vector) != 1 or vector[0] == 0:
            raise ValueError(f"The centre must be a vector of at least one entry, but has shape {vector}.")
        for name in ("centre", "residual", "scatter", "minimum", "maximum", "scatter_low"):
            array = getattr(self, name)
            if array is None:
                continue
            wanted = vector * 2 if name.startswith("scatter") else vector
            if np.shape(array) != wanted:
                raise ValueError(f"The {name} must have shape {wanted}, but has shape {np.shape(array)}.")
            object.__setattr__(self, name, _sealed(array))
        decimals = np.full(vector, CONTINUOUS) if self.decimals is None else np.array(self.decimals, dtype=np.intp)
        if decimals.shape != vector:
            raise ValueError(f"The decimals must have shape {vector}, but have shape {decimals.shape}.")
        _finish(decimals)
        object.__setattr__(self, "decimals", decimals)

    def __repr__(self) -> str:
        return f"Moments({self.n_rows} rows of {self.n_features} features, weight {self.weight:g})"

    def __reduce__(self) -> tuple[type[Moments], tuple[Any, ...]]:
        # Through the constructor, because a plain copy of an array can be written to.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def empty(cls, n_features: int) -> Moments:
        """The moments of no rows: neutral in `merge`."""
        zeros, infinite = np.zeros(n_features), np.full(n_features, np.inf)
        scatter = np.zeros((n_features, n_features))
        _finish(scatter)
        return cls(0.0, 0, zeros, zeros, scatter, infinite, -infinite, np.zeros(n_features, dtype=np.intp))

    def only(self, columns: Ints) -> Moments:
        """The moments of some columns."""
        square = np.ix_(columns, columns)
        low = None if self.scatter_low is None else self.scatter_low[square]
        mean = self.centre[columns], self.residual[columns]
        extremes = self.minimum[columns], self.maximum[columns]
        decimals = self.decimals[columns]
        return Moments(self.weight, self.n_rows, *mean, self.scatter[square], *extremes, decimals, low)

    @classmethod
    def from_array(
        cls,
        X: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        decimals: bool = True,
    ) -> Moments:
        """The moments of the rows of a table, taken block by block: no full-size copy is made.

        Parameters
        ----------
        X : (n, p) array-like of real numbers of any type, finite, within +-1e150; n may be 0.
            Integers beyond 2**53 are rounded.
        weights : (n,) array-like, finite, >= 0, optional
            A row of weight 0 is as if absent; a row of weight k counts as k rows.
        names : p column names, for error messages, optional
        decimals : whether to look for them, which takes as long as all else; without, every column is continuous

        Raises
        ------
        ValueError
            In one sentence that names the column at fault, what is allowed and what to do.
        """
        table = check_table(X, names)
        row_weights = None if weights is None else check_weights(weights, table.shape[0])
        # A binary counter: entry (k, part) stands for 2^k blocks, so that only parts of like size are merged.
        counter: list[tuple[int, Moments]] = []
        for rows in slice_rows(*table.shape):
            level, part = 0, _of_block(table, row_weights, rows, names, decimals)
            while counter and counter[-1][0] == level:
                part = counter.pop()[1].merge(part)
                level += 1
            counter.append((level, part))
        total = counter.pop()[1] if counter else cls.empty(table.shape[1])
        while counter:
            total = counter.pop()[1].merge(total)
        return total

    def update(
        self,
        batch: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        decimals: bool = True,
    ) -> Moments:
        """The moments of the rows seen so far and those of `batch` (m, p), m >= 0; see `from_array`."""
        return self.merge(Moments.from_array(batch, weights, names=names, decimals=decimals))

    def merge(self, other: Moments) -> Moments:
        """The moments of the rows of both; an empty part is neutral.

        Raises
        ------
        ValueError
            The numbers of columns differ, or the total weight or scatter exceeds float64.
        """
        weight = merge_weights((self.n_features, other.n_features), (self.weight, other.weight))
        if self.weight == 0.0 or other.weight == 0.0:
            return self if other.weight == 0.0 else other
        # The step from the heavier mean to the common one is at most a standard deviation: its rounding
        # does not show. From the lighter mean it can be an outlier's distance, and cost the last digits.
        heavy, light = (self, other) if self.weight >= other.weight else (other, self)
        share, share_low = (float(part) for part in divide_sum((np.asarray(light.weight), np.zeros(())), weight))
        step, left = two_sum(light.centre, -heavy.centre)
        gap = two_sum(step, left + (light.residual - heavy.residual))
        shift, shift_low = two_product(share, gap[0])
        centre, left = two_sum(heavy.centre, shift)
        residual = left + (heavy.residual + (shift_low + share_low * gap[0] + share * gap[1]))
        centre, residual = two_sum(centre, residual)
        factor, factor_low = two_product(heavy.weight, share)
        with np.errstate(over="ignore", invalid="ignore"):
            scatter, low = sum_with_outer(
                (heavy.scatter, heavy.scatter_low),
                (light.scatter, light.scatter_low),
                gap,
                (float(factor), float(factor_low) + heavy.weight * share_low),
            )
        minimum, maximum = np.minimum(self.minimum, other.minimum), np.maximum(self.maximum, other.maximum)
        _finish(centre, residual, _within_range(scatter), minimum, maximum, low)
        decimals = np.maximum(self.decimals, other.decimals)
        n_rows = self.n_rows + other.n_rows
        return Moments(weight, n_rows, centre, residual, scatter, minimum, maximum, decimals, low)

    def rounded(self) -> Moments:
        """The same, each entry of the scatter as one float64: what a model keeps."""
        return replace(self, scatter_low=None)

    @property
    def n_features(self) -> int:
        """Number of columns, p."""
        return int(self.centre.size)

    @property
    def mean(self) -> Floats:
        """The (weighted) mean (p,), rounded to float64; zeros while empty."""
        return self.centre + self.residual

    @property
    def covariance(self) -> Floats:
        """`scatter` divided by `weight`, (p, p).

        Raises
        ------
        ValueError
            While empty.
        """
        if self.weight == 0.0:
            raise ValueError("No rows of positive weight were seen, so there is no covariance; add rows first.")
        return self.scatter / self.weight


def _of_block(
    table: Table, weights: Floats | None, rows: slice, names: Sequence[str] | None, with_decimals: bool
) -> Moments:
    columns, kept = _kept(table, weights, rows, names)
    n_rows = columns.shape[1]
    if n_rows == 0:
        return Moments.empty(table.shape[1])
    minimum, maximum = columns.min(axis=1), columns.max(axis=1)
    if not values_allowed(minimum, maximum):
        slices = slice_rows(*table.shape)
        raise make_value_error((_kept(table, weights, each, names)[0] for each in slices), names)
    # Before the block is centred in place.
    decimals = find_decimals(columns) if with_decimals else None
    with np.errstate(over="ignore", invalid="ignore"):
        if kept is None:
            centre, residual, scatter, low = sum_block(columns, minimum, maximum)
        else:
            centre, residual, scatter, low = sum_weighted_block(columns, kept)
    weight = float(n_rows) if kept is None else float(kept.sum())
    _finish(centre, residual, _within_range(scatter, names), minimum, maximum, low)
    return Moments(weight, n_rows, centre, residual, scatter, minimum, maximum, cast(Ints, decimals), low)


def _kept(
    table: Table, weights: Floats | None, rows: slice, names: Sequence[str] | None
) -> tuple[Floats, Floats | None]:
    """The rows of positive weight of one slice, as (p, m) float64, and their weights."""
    if weights is None:
        return copy_columns(table[rows], names), None
    part = weights[rows]
    positive = part > 0.0
    if positive.all():
        return copy_columns(table[rows], names), part
    return copy_columns(table[rows][positive], names), part[positive]


def _within_range(scatter: Floats, names: Sequence[str] | None = None) -> Floats:
    # Off the diagonal nothing exceeds what the diagonal holds (Cauchy-Schwarz).
    if not np.isfinite(np.diagonal(scatter)).all():
        raise make_overflow_error(scatter, names)
    return scatter


def _finish(*arrays: Floats | Ints) -> None:
    """Arrays that nobody else holds, made read-only in place: a p x p copy per merge is saved."""
    for array in arrays:
        array.flags.writeable = False


def _sealed(array: Floats) -> Floats:
    done = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.flags.owndata
    return array if done and array.flags.c_contiguous and not array.flags.writeable else frozen(array)
