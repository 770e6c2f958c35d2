"""Moments of rows with gaps: one `Moments` for each pattern of gaps, in one pass and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import LARGEST_VALUE, Floats, Ints
from aspca.moments.completion import Completion, Rows, completion, extremes, gaps_of, key_of
from aspca.moments.moments import Moments
from aspca.moments.patterns import group_by_gaps
from aspca.moments.row_hash import row_keys
from aspca.moments.validation import (
    Table,
    column_name,
    float_columns,
    merged_weight,
    table_of,
    weights_of,
)

# All that is kept besides the moments of complete rows: 64 MiB.
MOST_VALUES = 2**23
# A table with gaps is taken apart in slices of 4 MiB.
SLICE_VALUES = 2**19


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteMoments:
    """What the likeliest Gaussian of rows with gaps needs: one `Moments` of the columns present per pattern of gaps.

    A value: `update` and `merge` return a new object. Build it by `empty` or `from_array`.

    Parameters
    ----------
    n_features : int
    n_rows : int
        Number of rows of positive weight, all of them.
    weight : float
        Their total weight.
    n_missing : (p,) int
        Values missing in each column.
    n_left_out : int
        Rows without any value, and rows of rare patterns for which there was no memory.
    common : mapping
        Moments of the columns present, by pattern (see `key_of`): of patterns with more rows than columns present.
    rare : tuple of Rows
        Rows of the other patterns, which take less memory as they are.

    Notes
    -----
    Besides the moments of complete rows at most about 64 MiB are kept. Where that is too little, rows of the rarest
    patterns are left out, and counted; otherwise the parts, and their order, matter to rounding only.
    """

    n_features: int
    n_rows: int
    weight: float
    n_missing: Ints
    n_left_out: int
    common: Mapping[bytes, Moments]
    rare: tuple[Rows, ...]

    def __repr__(self) -> str:
        return f"IncompleteMoments({self.n_rows} rows of {self.n_features} features, {self.n_missing.sum()} gaps)"

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The least and the largest value present of each column (p,); +inf and -inf where there is none."""
        parts = [(~gaps_of(key, self.n_features), moments) for key, moments in self.common.items()]
        return extremes(parts, _as_one(self.rare, self.n_features))

    @classmethod
    def empty(cls, n_features: int) -> IncompleteMoments:
        """The moments of no rows: neutral in `merge`."""
        return cls(n_features, 0, 0.0, _sealed(np.zeros(n_features, dtype=np.intp)), 0, {}, ())

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
        table = table_of(rows, names)
        row_weights = None if weights is None else weights_of(weights, table.shape[0])
        total = cls.empty(table.shape[1])
        if table.dtype.kind in "biu" or not any(np.isnan(part).any() for part, _ in _slices(table, row_weights, names)):
            return total.merge(_without_gaps(Moments.from_array(table, row_weights, names=names)))
        for values, part in _slices(table, row_weights, names):
            _refuse_large(values, names)
            total = total.merge(_with_gaps(values, np.ones(len(values)) if part is None else part))
        return total

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
        weight = merged_weight((self.n_features, other.n_features), (self.weight, other.weight))
        common, rare = _merged(self.common, other.common), self.rare + other.rare
        n_dropped = 0
        if _n_values(common, rare) > MOST_VALUES:
            common, rows = _sorted_out(common, rare, self.n_features)
            # Down to half of it, so that the next time is not soon.
            kept = _most_common(rows, MOST_VALUES // 2 - _n_values(common, ()))
            n_dropped, rare = len(rows.weights) - len(kept.weights), (kept,)
        return IncompleteMoments(
            self.n_features,
            self.n_rows + other.n_rows,
            weight,
            _sealed(self.n_missing + other.n_missing),
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
            Some column has no value at all.

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
        common, rare = _in_order(*_sorted_out(self.common, self.rare, self.n_features))
        return completion(common, rare, self.n_left_out, tol=tol, max_iter=max_iter, names=names)


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
        yield (rows if rows.dtype == np.float64 else float_columns(rows, names).T), part


def _refuse_large(values: Floats, names: Sequence[str] | None) -> None:
    # NaN is not larger than anything.
    count = (np.abs(values) > LARGEST_VALUE).sum(axis=0)
    if count.any():
        bad = int(np.flatnonzero(count)[0])
        found = "1 value that is" if count[bad] == 1 else f"{count[bad]} values that are"
        raise ValueError(
            f"{column_name(bad, names)} has {found} infinite or too large in size; values must lie within "
            f"+-{LARGEST_VALUE:g} or be missing (NaN), so rescale the column or make them NaN."
        )


def _without_gaps(moments: Moments) -> IncompleteMoments:
    if moments.n_rows == 0:
        return IncompleteMoments.empty(moments.n_features)
    none = np.zeros(moments.n_features, dtype=np.intp)
    common = {key_of(none > 0): moments}
    return IncompleteMoments(moments.n_features, moments.n_rows, moments.weight, none, 0, common, ())


def _with_gaps(values: Floats, weights: Floats) -> IncompleteMoments:
    missing = np.isnan(values)
    used = ~missing.all(axis=1)
    p, n_missing = values.shape[1], _sealed(missing.sum(axis=0))
    rows = Rows(values, weights) if used.all() else Rows(values[used], weights[used])
    common, rare = _sorted_out({}, (rows,), p)
    return IncompleteMoments(p, len(values), float(weights.sum()), n_missing, int((~used).sum()), common, (rare,))


# ---- patterns


def _sorted_out(
    common: Mapping[bytes, Moments], rare: tuple[Rows, ...], n_features: int
) -> tuple[dict[bytes, Moments], Rows]:
    """Rows of patterns that are common, or have become so, go into moments; and the rows left, as one."""
    values, weights = _as_one(rare, n_features)
    missing = np.isnan(values)
    order, starts = group_by_gaps(missing)
    first = missing[order[starts[:-1]]]
    promoted = np.diff(starts) > n_features - first.sum(axis=1)
    if common:
        promoted |= np.array([key_of(gaps) in common for gaps in first], dtype=np.bool_)
    found, left = {}, np.ones(len(values), dtype=np.bool_)
    for k in np.flatnonzero(promoted):
        lines = order[starts[k] : starts[k + 1]]
        # Rows that all count once are summed without rounding.
        counted = None if (weights[lines] == 1.0).all() else weights[lines]
        found[key_of(first[k])] = Moments.from_array(values[np.ix_(lines, ~first[k])], counted)
        left[lines] = False
    return _merged(common, found), Rows(values[left], weights[left])


def _in_order(common: dict[bytes, Moments], rare: Rows) -> tuple[dict[bytes, Moments], Rows]:
    """The same, patterns and rows in an order that hangs on nothing but what they are: so EM takes the same steps."""
    # Copies of a row may stand in any order among themselves.
    order = np.argsort(row_keys(np.nan_to_num(rare.values), *extremes([], rare)), kind="stable")
    return dict(sorted(common.items())), Rows(rare.values[order], rare.weights[order])


def _as_one(rare: tuple[Rows, ...], n_features: int) -> Rows:
    if len(rare) == 1:
        return rare[0]
    values = np.vstack([np.zeros((0, n_features)), *(rows.values for rows in rare)])
    return Rows(values, np.concatenate([np.zeros(0), *(rows.weights for rows in rare)]))


def _merged(one: Mapping[bytes, Moments], other: Mapping[bytes, Moments]) -> dict[bytes, Moments]:
    both = {key: one[key].merge(other[key]) for key in one.keys() & other.keys()}
    return {**one, **other, **both}


def _n_values(common: Mapping[bytes, Moments], rare: tuple[Rows, ...]) -> int:
    """Numbers held, those of complete rows aside."""
    of_patterns = sum(moments.scatter.size for key, moments in common.items() if any(key))
    return of_patterns + sum(rows.values.size for rows in rare)


def _most_common(rows: Rows, most_values: int) -> Rows:
    """The rows of the most common patterns, in their order, up to this many values."""
    order, starts = group_by_gaps(np.isnan(rows.values))
    count = np.repeat(np.diff(starts), np.diff(starts))
    by_count = order[np.argsort(-count, kind="stable")]
    kept = np.sort(by_count[: max(most_values, 0) // rows.values.shape[1]])
    return Rows(rows.values[kept], rows.weights[kept])


def _sealed(counts: Ints) -> Ints:
    counts.flags.writeable = False
    return counts
