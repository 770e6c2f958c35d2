"""What a table of numbers must be before its moments are taken, and the sentences that say so."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import LARGEST_VALUE, Floats

Table = np.ndarray[tuple[int, int], np.dtype[Any]]


def check_table(rows: npt.ArrayLike, names: Sequence[str] | None = None) -> Table:
    """`rows` as a two-dimensional array of a real numeric (or object) type, without a copy where it is one; else a
    ValueError, as for a wrong number of names."""
    if np.ma.is_masked(rows):
        raise ValueError("The table has masked values; fill them or leave out their rows.")
    try:
        table = np.asarray(rows)
    except ValueError:
        raise ValueError("The rows of the table have different lengths; all need one value per column.") from None
    if table.ndim != 2:
        raise ValueError(
            f"The table must be two-dimensional (rows, columns), but it has {table.ndim} dimension(s); "
            "use reshape(-1, 1) for one column or reshape(1, -1) for one row."
        )
    if table.dtype.kind == "c":
        raise ValueError("Complex data not supported: the table must hold real numbers; take real parts first.")
    if table.dtype.kind not in "biufO":
        raise ValueError(
            f"The table must hold real numbers, but its type is {table.dtype}; encode text and dates as numbers."
        )
    if table.shape[1] == 0:
        raise ValueError("The table has 0 columns; at least one is needed.")
    if names is not None and len(names) != table.shape[1]:
        raise ValueError(f"There are {len(names)} names for {table.shape[1]} columns; give one name per column.")
    return table


def check_weights(weights: npt.ArrayLike, n_rows: int) -> Floats:
    """`weights` as (n_rows,) finite, non-negative float64 with a finite sum; ValueError for anything else."""
    given = np.asarray(weights)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"Weights must be real numbers, but their type is {given.dtype}.")
    if given.shape != (n_rows,):
        raise ValueError(f"Weights must have shape ({n_rows},), one per row, but have shape {given.shape}.")
    result = given.astype(np.float64)
    if n_rows and not np.isfinite(result).all():
        bad = int(np.flatnonzero(~np.isfinite(result))[0])
        raise ValueError(f"The weight of row {bad} is {result[bad]}; weights must be finite.")
    if n_rows and result.min() < 0:
        bad = int(result.argmin())
        raise ValueError(f"The weight of row {bad} is {result[bad]}; weights must not be negative.")
    with np.errstate(over="ignore"):
        if not np.isfinite(result.sum()):
            raise ValueError("The sum of the weights exceeds the largest float64; divide all by a constant.")
    return result


def copy_columns(rows: Table, names: Sequence[str] | None = None) -> Floats:
    """A fresh float64 copy of a block, one C-ordered line per *column*, so that sums over rows are pairwise.

    ValueError: an object array holds something that is neither a real number nor None (which becomes NaN).
    """
    for row in rows if rows.dtype.kind == "O" else ():
        for index, value in enumerate(row):
            # Real covers bool, int, float, Fraction and NumPy's scalars; text never passes.
            if not (value is None or isinstance(value, numbers.Real | Decimal | np.bool_)):
                raise ValueError(
                    f"{column_name(index, names)} has a value of type {type(value).__name__}; "
                    "all values must be real numbers, so encode text and dates as numbers."
                )
    try:
        with np.errstate(over="ignore"):  # a wider float beyond float64 becomes inf, which is refused by name
            return np.array(rows.T, dtype=np.float64, order="C")
    except OverflowError:
        raise ValueError(
            f"The table holds an integer beyond float64; values must lie within +-{LARGEST_VALUE:g}."
        ) from None


def values_allowed(minimum: Floats, maximum: Floats) -> bool:
    """Whether a block with these column extremes is finite and within the allowed range."""
    # Written so that NaN, which np.min and np.max hand on, answers False.
    return bool((minimum >= -LARGEST_VALUE).all() and (maximum <= LARGEST_VALUE).all())


def make_value_error(blocks: Iterable[Floats], names: Sequence[str] | None) -> ValueError:
    """The error for a table, given as blocks (p, rows), some value of which is not allowed."""
    not_finite = too_large = np.zeros(1, dtype=np.intp)
    found_missing = False
    for block in blocks:
        finite = np.isfinite(block)
        found_missing = found_missing or bool(np.isnan(block).any())
        not_finite = not_finite + (~finite).sum(axis=1)
        too_large = too_large + (finite & (np.abs(block) > LARGEST_VALUE)).sum(axis=1)
    if not_finite.any():
        found, what = not_finite, "NaN or infinite"
        cure = "all values must be finite, so fill them or leave out their rows"
        if found_missing:
            cure += ', or see aspca.Preprocessor(missing="allow")'
    else:
        found, what = too_large, "too large in size"
        cure = f"values must lie within +-{LARGEST_VALUE:g}, so rescale the column"
    bad = np.flatnonzero(found)
    count = int(found[bad[0]])
    values = "1 value that is" if count == 1 else f"{count} values that are"
    shown = [f"{column_name(int(j), names, start='column')} has {int(found[j])}" for j in bad[1:6]]
    others = f" ({', '.join(shown)}{', and so on' if bad.size > 6 else ''})" if shown else ""
    return ValueError(f"{column_name(int(bad[0]), names)} has {values} {what}{others}; {cure}.")


def refuse_large(values: Floats, names: Sequence[str] | None) -> None:
    """Raise for a table (n, p) with gaps, NaN, some value of which is not allowed."""
    # NaN is not larger than anything.
    count = (np.abs(values) > LARGEST_VALUE).sum(axis=0)
    if count.any():
        bad = int(np.flatnonzero(count)[0])
        found = "1 value that is" if count[bad] == 1 else f"{count[bad]} values that are"
        raise ValueError(
            f"{column_name(bad, names)} has {found} infinite or too large in size; values must lie within "
            f"+-{LARGEST_VALUE:g} or be missing (NaN), so rescale the column or make them NaN."
        )


def merge_weights(n_features: tuple[int, int], weights: tuple[float, float]) -> float:
    """The weight of two parts together; ValueError: the numbers of columns differ, or the weight exceeds float64."""
    if n_features[0] != n_features[1]:
        raise ValueError(
            f"Moments of {n_features[0]} and of {n_features[1]} columns cannot be merged; "
            "all parts must have the same columns."
        )
    weight = sum(weights)
    if not np.isfinite(weight):
        raise ValueError("The total weight exceeds the largest float64; divide all weights by a constant.")
    return weight


def make_overflow_error(scatter: Floats, names: Sequence[str] | None = None) -> ValueError:
    """The error for a scatter matrix (p, p) with a diagonal entry beyond float64."""
    bad = int(np.flatnonzero(~np.isfinite(np.diagonal(scatter)))[0])
    return ValueError(
        f"The scatter of {column_name(bad, names, start='column')} exceeds the largest float64 (1.8e308); "
        "rescale the column or the weights."
    )


def column_name(index: int, names: Sequence[str] | None, start: str = "Column") -> str:
    """`Column 3`, or `Column 'radius_mean'` where names are known."""
    return f"{start} {index}" if names is None else f"{start} {names[index]!r}"
