"""The rows of an estimator in parts, as fits take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.moments.blocks import row_slices
from aspca.robust.order import Batches


def weighty(batches: Iterable[Floats], weights: Floats | None) -> Iterator[Floats]:
    """The rows of batches that count."""
    start = 0
    for rows in batches:
        yield rows if weights is None else rows[weights[start : start + len(rows)] > 0.0]
        start += len(rows)


def batches_of(X: Any) -> Batches:
    """Rows (n, p) in parts, each time anew."""
    slices = list(row_slices(*X.shape))
    return lambda: (np.asarray(X[rows], dtype=np.float64) for rows in slices)
