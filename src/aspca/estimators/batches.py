"""The rows of an estimator in parts, as fits take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from aspca.moments.accumulator import Rows
from aspca.moments.blocks import row_slices


def rows_of(X: Any) -> Rows:
    """Rows (n, p) in parts."""
    slices = list(row_slices(*X.shape))
    return Rows.here(lambda: (np.asarray(X[rows], dtype=np.float64) for rows in slices))
