"""The array types that every layer speaks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

# No value of a table is larger: twice this, squared, times 10^7 rows is still below the largest float64 (1.8e308).
LARGEST_VALUE = np.float64(1e150)


def frozen(array: Floats) -> Floats:
    """A read-only, C-ordered copy: results are values, and nobody edits a certificate by accident."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.flags.writeable = False
    return copy
