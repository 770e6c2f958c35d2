"""Signs, orders and ranks that do not hang on rounding: another BLAS, or another order of sums, changes last digits.

Sign: the entry of largest absolute value is positive; where several are largest (to 1e-9), the first of them.
Order: ascending by a key; where keys tie (to 1e-9 of `unit`), by the position of the vector's first non-zero entry.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints

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
