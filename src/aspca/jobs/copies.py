"""Rows that are copies of an earlier row, where chance does not explain them: a file appended twice, an entry repeated.

Rows are compared by 64-bit hashes of what they hold. Whether chance explains copies is estimated from a sample, as if
columns were independent.
"""

from __future__ import annotations

import numpy as np

from aspca.identities.sampling import Keys, mix
from aspca.linalg.arrays import Bools, Floats, Ints

# Of larger tables nothing is said.
_MOST_ROWS = 1_000_000
_SAMPLE = 2_000
# Some column has more different values than this, and there are so many times as many copies as by chance.
_FEW_VALUES, _BEYOND_CHANCE = 10, 10.0
# Above this share, copies are in the nature of a table, unless all rows have equally many.
_COMMON = 0.1
_PAIRS_TOLD = 5


class Copies:
    """Hashes of the rows of a table, batch after batch, at most a million, and a sample of different rows."""

    def __init__(self) -> None:
        self._n = 0
        self._keys: list[Keys] = []
        self._numbers: list[Ints] = []
        self._sample: tuple[Keys, Floats] | None = None

    def add(self, rows: Floats, numbers: Ints, known: Bools) -> None:
        """The next rows (m, p), their numbers (m,), and which could be read (m,).

        Rows that lack half of their values or more are not compared.
        """
        chosen = np.flatnonzero(known & (2 * np.isnan(rows).sum(axis=1) < rows.shape[1]))
        self._n += chosen.size
        if self._n > _MOST_ROWS:
            self._keys, self._numbers, self._sample = [], [], None
            return
        rows = rows[chosen]
        keys = hash_rows(rows)
        self._keys.append(keys)
        self._numbers.append(numbers[chosen])
        before = self._sample
        self._sample = _take_least(keys, rows)
        if before is not None:
            both = zip(before, self._sample, strict=True)
            self._sample = _take_least(*(np.concatenate(pair) for pair in both))

    def describe(self) -> list[str]:
        """A sentence where copies are more than chance or the nature of the table explains."""
        if self._sample is None or not self._n:
            return []
        keys, numbers = np.concatenate(self._keys), np.concatenate(self._numbers)
        _, first, kinds, times = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        copies = np.flatnonzero(first[kinds] != np.arange(keys.size))
        if copies.size <= _BEYOND_CHANCE * self._chance():
            return []
        pairs = [f"{numbers[copy]} and {numbers[first[kinds[copy]]]}" for copy in copies[:_PAIRS_TOLD].tolist()]
        more = f" and {copies.size - _PAIRS_TOLD:,} more" if copies.size > _PAIRS_TOLD else ""
        told = f"(rows {', '.join(pairs)}{more})."
        if copies.size > _COMMON * keys.size:
            return [f"Every row occurs {times[0]} times {told}"] if (times == times[0]).all() else []
        who = "1 row is a copy" if copies.size == 1 else f"{copies.size:,} rows are copies"
        return [f"{who} of an earlier row in every feature {told}"]

    def _chance(self) -> float:
        """How many pairs of rows would be the same if columns were independent; infinite if all have few values."""
        sample = np.empty((0, 0)) if self._sample is None else self._sample[1]
        counts = [np.unique(column, return_counts=True)[1] for column in sample.T]
        if max((count.size for count in counts), default=0) <= _FEW_VALUES:
            return float("inf")
        m = len(sample)
        alike = [float((count * (count - 1)).sum()) / (m * (m - 1)) for count in counts]
        return 0.5 * self._n * (self._n - 1) * float(np.prod(alike))


def _take_least(keys: Keys, rows: Floats) -> tuple[Keys, Floats]:
    """Different rows, those of the least keys: the same ones in whatever order."""
    keys, first = np.unique(keys, return_index=True)
    return keys[:_SAMPLE], rows[first[:_SAMPLE]]


def hash_rows(rows: Floats) -> Keys:
    """A number for each of rows (m, p) by what they hold (m,): 0 is -0, and all that is missing is alike."""
    columns = mix(np.arange(rows.shape[1], dtype=np.uint64))
    keys = np.zeros(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), 4096):
        part = rows[start : start + 4096]
        cells = np.where(np.isnan(part), np.nan, part + 0.0).view(np.uint64)
        keys[start : start + 4096] = mix(cells ^ columns).sum(axis=1, dtype=np.uint64)
    return keys
