"""Columns of a few values, of which each is met often: kinds of rows, however far apart they are."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints

# A column of more values is no list of kinds.
_MOST_VALUES = 50
# The share of rows from which on a value is common.
_COMMON = 0.05


class Kinds:
    """Counts the values of columns (p of them) as long as they are few."""

    def __init__(self, p: int) -> None:
        self._counts: list[dict[float, int] | None] = [{} for _ in range(p)]
        self._n = 0

    def add(self, rows: Floats, numbers: Ints) -> None:
        self._n += len(rows)
        for j, counts in enumerate(self._counts):
            if counts is None:
                continue
            # A column that is none of these is known by its first rows, mostly.
            if len(np.unique(rows[: 4 * _MOST_VALUES, j])) > _MOST_VALUES:
                self._counts[j] = None
                continue
            for value, times in zip(*np.unique(rows[:, j], return_counts=True), strict=True):
                counts[float(value)] = counts.get(float(value), 0) + int(times)
            if len(counts) > _MOST_VALUES:
                self._counts[j] = None

    def merge(self, later: Kinds) -> None:
        self._n += later._n
        for j, (counts, others) in enumerate(zip(self._counts, later._counts, strict=True)):
            if counts is None or others is None:
                self._counts[j] = None
                continue
            for value, times in others.items():
                counts[value] = counts.get(value, 0) + times
            if len(counts) > _MOST_VALUES:
                self._counts[j] = None

    @property
    def any(self) -> bool:
        """Whether a column has only a few values."""
        return any(self._counts)

    def common(self, rows: Floats) -> Bools:
        """Which cells of rows (m, p) hold a value that many rows of a column of few values have."""
        found = np.zeros(rows.shape, dtype=np.bool_)
        for j, counts in enumerate(self._counts):
            if counts:
                often = [value for value, times in counts.items() if times >= _COMMON * self._n]
                found[:, j] = np.isin(rows[:, j], often)
        return found
