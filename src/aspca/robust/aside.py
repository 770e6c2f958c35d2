"""What was set aside as gross while rules were learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints

# No measurement is as large, but some words for none are: 1e20, the largest of float32.
_ENORMOUS = 1e20
# Errors are shown one by one up to this many.
MOST_SHOWN = 1000


class Repeated(NamedTuple):
    """A value far outside its column that stands there several times: -9999 for what is missing."""

    column: int
    value: float
    times: int


@dataclass(frozen=True, eq=False)
class GrossCells:
    """The first gross cells, in the order of rows; four arrays of shape (k,).

    Attributes
    ----------
    rows, columns : ndarray of int
    values, expected : ndarray of float
        What stands there, and what the other cells of the row let expect.
    """

    rows: Ints
    columns: Ints
    values: Floats
    expected: Floats

    @classmethod
    def none(cls) -> GrossCells:
        return cls(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0))

    def more(self, numbers: Ints, rows: Floats, expected: Floats, cells: Bools) -> GrossCells:
        """With the cells of further rows (m, p), as long as there is room; `numbers` (m,) are those of the rows."""
        at, columns = (found[: MOST_SHOWN - len(self.rows)] for found in np.nonzero(cells))
        return GrossCells(
            np.concatenate([self.rows, numbers[at]]),
            np.concatenate([self.columns, columns]),
            np.concatenate([self.values, rows[at, columns]]),
            np.concatenate([self.expected, expected[at, columns]]),
        )

    def followed_by(self, later: GrossCells) -> GrossCells:
        """With those of rows that follow, as long as there is room."""
        both = (
            np.concatenate([getattr(self, name), getattr(later, name)])[:MOST_SHOWN]
            for name in ("rows", "columns", "values", "expected")
        )
        return GrossCells(*both)


@dataclass(frozen=True, eq=False)
class Aside:
    """What was set aside as gross while the rules were learned; it is judged like all else.

    Attributes
    ----------
    n_rows : int
        Rows that are gross as a whole.
    cells : ndarray of shape (p,)
        Cells of each column that count as missing, in other rows.
    rows : ndarray of shape (k,)
        Numbers of the first such rows, in the order they came: gross ones and those with gross cells.
    passes : int
        Passes over the rows.
    shown : GrossCells
        The first of these cells.
    repeated : tuple of Repeated
        Values that only gross cells have, several times, at the edge of a column.
    states : tuple of (start, end)
        Numbers of rows, half-open, that were gross for long: they count among `n_rows`.
    """

    n_rows: int
    cells: Ints
    rows: Ints
    passes: int
    shown: GrossCells = field(default_factory=GrossCells.none)
    repeated: tuple[Repeated, ...] = ()
    states: tuple[tuple[int, int], ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether every row counts as it is."""
        return self.n_rows == 0 and not self.cells.any()

    def renumbered(self, numbers: Callable[[Ints], Ints]) -> Aside:
        """The same, rows called by these numbers (m,) of ascending positions (m,)."""
        ends = numbers(np.array([(start, end - 1) for start, end in self.states], dtype=np.intp).reshape(-1, 2))
        states = tuple((first, last + 1) for first, last in ends.tolist())
        shown = replace(self.shown, rows=numbers(self.shown.rows))
        return replace(self, rows=numbers(self.rows), shown=shown, states=states)


def like_a_word(values: Floats, least: Floats) -> Bools:
    """Which values look like those that stand for "missing", where the others are no less than `least`.

    Three nines or more, the largest integers, anything enormous; and any negative one where nothing else is negative. A
    price of 99 or a bonus of 1,000 is none, however few others are near.
    """
    sizes = np.abs(values)
    nines = np.isin(sizes, [10.0**k - 1.0 for k in range(3, 16)])
    largest = np.isin(sizes, [2.0**k - one for k in (15, 16, 31, 32, 63) for one in (0.0, 1.0)])
    return np.asarray(nines | largest | (sizes >= _ENORMOUS) | ((values < 0.0) & (least >= 0.0)))
