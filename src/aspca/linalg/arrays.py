"""The array types that every layer speaks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]


def frozen(array: Floats) -> Floats:
    """A read-only, C-ordered copy: results are values, and nobody edits a certificate by accident."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.flags.writeable = False
    return copy
