"""The one sign rule and the one order rule.

Sign: the entry of largest absolute value is positive; where several are largest (to 1e-9), the first of them.
Order: ascending by a key; where keys tie (to 1e-9 of `unit`), by the position of the vector's first non-zero entry.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints

_SAME = 1e-9


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
