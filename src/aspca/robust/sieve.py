"""What tells rows that count as they are from those that are gross, or of which some cells are; row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.robust.distance import Distance


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
    enough : float
        Squared distance up to which a row is near.
    wide : ndarray of shape (p,) or None
        Along which vectors a row must stand out to be gross at all; None: along any.
    often : ndarray of shape (p,) or None
        Which columns have so many such cells that they are no errors.
    """

    distance: Distance
    enough: float
    wide: Bools | None = None
    often: Bools | None = None

    def sift(self, rows: Floats) -> Sifted:
        """What becomes of rows (n, p); the same for a row in any company."""
        distance = self.distance
        scaled = distance.scaled(rows)
        along = distance.along(scaled)
        far = along.sum(axis=1) > self.enough
        if self.wide is not None:
            far &= along[:, self.wide].sum(axis=1) > 0.5 * along.sum(axis=1)
        bad = np.flatnonzero(far)
        found, cells, mended = distance.repaired(scaled[bad], self.enough)
        if self.often is not None:
            # Cells that are so often like that are as they should be: their rows come back whole.
            unusual = ~mended | (cells & ~self.often).any(axis=1)
            bad, found, cells, mended = bad[unusual], found[unusual], cells[unusual], mended[unusual]
        likeliest = np.where(cells, (found * distance.scale + distance.residual) + distance.centre, rows[bad])
        return Sifted(bad, likeliest, cells, mended)

    def whole(self, rows: Floats) -> Bools:
        """Which of the rows (n, p) count as they are (n,)."""
        whole = np.ones(len(rows), dtype=np.bool_)
        whole[self.sift(rows).bad] = False
        return whole
