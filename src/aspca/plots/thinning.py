"""Fewer points for the same picture: of points that fall on the same spot one is enough."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints


def one_per_spot(x: Floats, y: Floats, columns: int = 700, rows: int = 250) -> Ints:
    """Ascending positions of one point, the highest, in each cell of a grid over the points' own extent.

    Parameters
    ----------
    x, y : (n,)
        In the coordinates of the picture: logarithms where the axis is logarithmic.
    columns, rows : int
        Of the grid; finer than the markers drawn on it.
    """
    if x.size == 0:
        return np.empty(0, dtype=np.intp)
    cells = _cells(x, columns) * rows + _cells(y, rows)
    order = np.argsort(-y, kind="stable")
    _, first = np.unique(cells[order], return_index=True)
    return np.sort(order[first])


def _cells(values: Floats, count: int) -> Ints:
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return np.zeros(values.size, dtype=np.intp)
    return np.minimum((values - low) / (high - low) * count, count - 1).astype(np.intp)
