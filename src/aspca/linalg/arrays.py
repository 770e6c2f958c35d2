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
