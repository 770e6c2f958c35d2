"""The array types that every layer speaks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

EPS = float(np.finfo(np.float64).eps)
# No value of a table is larger: twice this, squared, times 10^7 rows is still below the largest float64 (1.8e308).
LARGEST_VALUE = np.float64(1e150)
# And none that varies has a smaller standard deviation: its square is still so far above the smallest float64 (5e-324)
# that sums of squares keep all of their digits.
SMALLEST_DEVIATION = np.float64(1e-152)
# A value further than this from its mean, in units of its column's scale, counts as being there: beyond, weights of 1e8
# and sums over features leave the range of float64. Only columns of a scale below SMALL_SCALE have such values.
FARTHEST = np.float64(1e250)
SMALL_SCALE = 2.0 * LARGEST_VALUE / FARTHEST


def frozen(array: Floats) -> Floats:
    """A read-only, C-ordered copy: results are values, and nobody edits a certificate by accident."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.flags.writeable = False
    return copy


# About nine digits. What is equal but for rounding agrees in ten and more; what is told of a row has at most four.
_BITS = 30
# Entries and keys this close (relatively) tie.
_SAME = 1e-9


def round_for_ranking(values: Floats) -> Floats:
    """Values as they are to be ranked, of any shape: equal where they differ by no more than rounding.

    Ranked by a stable sort, or by the first of the largest, equals stay in their order.
    """
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissas, _BITS)), exponents - _BITS))


def sign_of(v: Floats) -> float:
    """+1 or -1: what v must be multiplied by to follow the sign rule."""
    size = np.abs(v)
    leading = int(np.argmax(size >= (1.0 - _SAME) * size.max()))
    return -1.0 if v[leading] < 0 else 1.0


def ascending(keys: Floats, columns: Floats, unit: float) -> Ints:
    """Order of the columns (p, d) by `keys` (d,) under the order rule."""
    order = np.argsort(keys, kind="stable")
    # Sorting by (rank of the tied group, first non-zero row) makes ties independent of rounding.
    group = np.zeros(keys.size, dtype=np.intp)
    group[order[1:]] = np.cumsum(np.diff(keys[order]) > _SAME * unit)
    first = np.argmax(columns != 0, axis=0)
    return np.lexsort((first, group))
