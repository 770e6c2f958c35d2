"""What tells rows that count as they are from those that are gross, or of which some cells are; row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.robust.distance import Distance, Near
from aspca.robust.sentinels import Sentinels

# A direction with no more of a column's variance is a relation, as where rules are learned (`subspace.defaults`).
RELATION = 0.3


@dataclass(frozen=True, eq=False)
class Sifted:
    """What became of rows (n, p).

    Attributes
    ----------
    bad : ndarray of shape (k,)
        Which rows do not count as they are.
    likeliest : ndarray of shape (k, p)
        These rows with the likeliest values in place of gross cells.
    cells : ndarray of shape (k, p)
        The cells that were changed.
    mended : ndarray of shape (k,)
        Whether that was enough; the others are gross as a whole.
    """

    bad: Ints
    likeliest: Floats
    cells: Bools
    mended: Bools


@dataclass(frozen=True, eq=False)
class Sieve:
    """Distances, and from where on a row is gross.

    Attributes
    ----------
    distance : Distance
    near : Near
        Up to where a row is near; rows that are not must come there by changes of some cells.
    far : float
        So many times further may rows be that count as they are.
    often : ndarray of shape (p,) or None
        Which columns have so many gross cells that they are no errors.
    states : tuple of (start, end)
        Numbers of rows, half-open, that are gross as a whole: there the table was in another state for long.
    sentinels : Sentinels or None
        No row counts as it is that has one.
    lawful : float
        So many times further may rows be that keep every relation: they spoil none.
    """

    distance: Distance
    near: Near
    far: float = 1.0
    often: Bools | None = None
    states: tuple[tuple[int, int], ...] = ()
    sentinels: Sentinels | None = None
    lawful: float = 1.0

    def sift(self, rows: Floats, numbers: Ints | None = None) -> Sifted:
        """What becomes of rows (n, p); the same for a row in any company.

        `numbers` (n,) are theirs where they are the rows that the states were found in.
        """
        distance = self.distance
        bad = self.far_rows(rows, numbers)
        found, cells, mended = distance.repaired(distance.scaled(rows[bad]), self.near)
        other = self._in_states(len(rows), numbers)[bad]
        cells[other], mended[other] = False, False
        if self.often is not None:
            # Cells that are so often like that are as they should be: their rows come back whole.
            unusual = ~mended | (cells & ~self.often).any(axis=1)
            bad, found, cells, mended = bad[unusual], found[unusual], cells[unusual], mended[unusual]
        likeliest = np.where(cells, distance.unscaled(found), rows[bad])
        return Sifted(bad, likeliest, cells, mended)

    def far_rows(self, rows: Floats, numbers: Ints | None = None) -> Ints:
        """Which of the rows (n, p) do not count as they are (k,), but for those that `often` brings back."""
        # Columns have variance one where the distance is.
        far = self.distance.sizes_of(rows, self.near, self.lawful, RELATION) > self.far
        if self.sentinels is not None:
            far |= self.sentinels.any_in(rows)
        return np.flatnonzero(far | self._in_states(len(rows), numbers))

    def whole(self, rows: Floats, numbers: Ints | None = None) -> Bools:
        """Which of the rows (n, p) count as they are (n,); `numbers` as in `sift`."""
        whole = np.ones(len(rows), dtype=np.bool_)
        whole[self.far_rows(rows, numbers) if self.often is None else self.sift(rows, numbers).bad] = False
        return whole

    def _in_states(self, n: int, numbers: Ints | None) -> Bools:
        inside = np.zeros(n, dtype=np.bool_)
        if numbers is not None:
            for first, end in self.states:
                inside |= (numbers >= first) & (numbers < end)
        return inside
