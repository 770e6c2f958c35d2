"""How far rows are from the rest, and which of their cells would have to be others for them not to be.

Notation: C the covariance of scaled columns, M its inverse, x a scaled row, F the cells of it that are gross. Given the
other cells, the likeliest values of F are x_F - M_FF^-1 (M x)_F, with covariance M_FF^-1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.steady import across, row_by_row, row_products
from aspca.moments import Moments

# Cells of a row that may be gross before the whole row is.
_MOST_CELLS = 8
_SHARE_OF_CELLS = 0.34
# No value counts as further than this many deviations: squares, over variances as small as rounding, stay finite.
_LARGEST = 1e100


@dataclass(frozen=True)
class Near:
    """Up to where a row is near.

    Attributes
    ----------
    row : float
        The most that its squared distance may be.
    cell : float
        The most of it that a change of one cell may remove: what one gross cell adds is seen there first, the more
        so the more columns there are.
    """

    row: float
    cell: float


@dataclass(frozen=True, eq=False)
class Distance:
    """The Mahalanobis distance of some moments.

    Attributes
    ----------
    centre, residual, scale : ndarray of shape (p,)
        Rows are scaled as ((x - centre) - residual) / scale.
    values : ndarray of shape (p,)
        Variances along `vectors`, never below what float64 resolves.
    vectors : ndarray of shape (p, p)
        Orthonormal eigenvectors of the covariance of the scaled columns.
    """

    centre: Floats
    residual: Floats
    scale: Floats
    values: Floats
    vectors: Floats

    @classmethod
    def of(
        cls,
        moments: Moments,
        plain: Moments,
        scale: Floats | None = None,
        floor: float = 0.0,
        rounding: Floats | None = None,
    ) -> Distance:
        """The distance by these moments, of some of the rows; `plain` are those of all of them.

        A column that does not vary among these rows tells nothing of how far it may: its unit is that of all rows. With
        scales (p,) given, no direction counts as tighter than `floor` of them.
        """
        deviations = np.sqrt(np.diag(moments.scatter) / moments.weight) if scale is None else scale
        still = np.diag(moments.scatter) == 0.0
        deviations = np.where(still, np.sqrt(np.diag(plain.scatter) / plain.weight), deviations)
        largest = np.maximum(np.abs(moments.minimum), np.abs(moments.maximum))
        eps = float(np.finfo(np.float64).eps)
        scale = np.where(deviations > 0.0, deviations, np.maximum(64.0 * eps * largest, 1e-150))
        with np.errstate(over="ignore"):
            # One column may vary by far more than its own median size.
            correlation = np.clip((moments.scatter / moments.weight) / scale[:, None] / scale, -_LARGEST, _LARGEST)
        correlation[still, still] = 1.0
        if rounding is not None:
            correlation[np.diag_indices_from(correlation)] += rounding / scale**2
        values, vectors = np.linalg.eigh(0.5 * (correlation + correlation.T))
        least = max(16.0 * len(scale) * eps * max(float(values[-1]), 1.0), floor)
        return cls(moments.centre, moments.residual, scale, np.maximum(values, least), vectors)

    @classmethod
    def of_columns(cls, middle: Floats, size: Floats) -> Distance:
        """The distance of columns that have nothing to do with each other."""
        p = len(middle)
        return cls(middle, np.zeros(p), np.where(size > 0.0, size, 1.0), np.ones(p), np.eye(p))

    def unscaled(self, scaled: Floats) -> Floats:
        """Rows (n, p) whose scaled ones these are."""
        return np.asarray((scaled * self.scale + self.residual) + self.centre)

    def scaled(self, rows: Floats) -> Floats:
        """Rows (n, p) in units of the columns' deviations."""
        with np.errstate(over="ignore"):
            scaled = across(np.subtract, rows, self.centre)
            across(np.subtract, scaled, self.residual, scaled)
            across(np.divide, scaled, self.scale, scaled)
        return np.asarray(np.clip(scaled, -_LARGEST, _LARGEST, out=scaled))

    def squared(self, rows: Floats) -> Floats:
        """Squared distances (n,) of rows (n, p)."""
        return row_by_row(lambda part: self.squared_of_scaled(self.scaled(part)), rows)

    def squared_of_scaled(self, scaled: Floats) -> Floats:
        """Squared distances (n,) of scaled rows (n, p)."""
        return _squares(row_products(scaled, self._both[:, : len(self.scale)]))

    def sizes(self, scaled: Floats, near: Near) -> Floats:
        """How far scaled rows (n, p) are (n,); those up to 1 are near."""
        return row_by_row(lambda part: self._sizes(row_products(part, self._both), near), scaled)

    def sizes_of(self, rows: Floats, near: Near, lawful: float = 1.0, relation: float = 0.0) -> Floats:
        """How far rows (n, p) are (n,), those that keep every relation so many times less.

        A relation is a direction with at most the variance `relation`; a row keeps them all if their part of its
        distance alone is near.
        """
        # Variances ascend.
        tight = int(np.searchsorted(self.values, relation, side="right"))

        def sizes(part: Floats) -> Floats:
            both = row_products(self.scaled(part), self._both)
            kept = None if lawful == 1.0 else _squares(both[:, :tight]) <= near.row
            found = self._sizes(both, near)
            return found if kept is None else np.asarray(np.where(kept, found / lawful, found))

        return row_by_row(sizes, rows)

    def _sizes(self, both: Floats, near: Near) -> Floats:
        p = len(self.scale)
        pulls = np.abs(both[:, p:], out=both[:, p:]).max(axis=1)
        return np.asarray(np.maximum(_squares(both[:, :p]) / near.row, np.square(pulls) / near.cell))

    @cached_property
    def _both(self) -> Floats:
        """What gives deviations along the vectors and, beside them, what a change of each cell removes (p, 2 p).

        Both as roots, so that one product and one sum of squares, or one largest of them, is all that is left to do.
        """
        return np.hstack([self.vectors / np.sqrt(self.values), self.inverse / np.sqrt(np.diag(self.inverse))])

    @cached_property
    def inverse(self) -> Floats:
        """M (p, p)."""
        return np.asarray((self.vectors / self.values) @ self.vectors.T)

    def filled(self, scaled: Floats, cells: Bools) -> Floats:
        """Rows (n, p) with these cells (n, p) as likely as the others allow."""
        rows = scaled.copy()
        counts = cells.sum(axis=1)
        for many in np.unique(counts[counts > 0]).tolist():
            those = np.flatnonzero(counts == many)
            picked = np.nonzero(cells[those])[1].reshape(-1, many)
            # What stands there now must not matter, and may be too large to subtract.
            start = np.where(cells[those], 0.0, scaled[those])
            rows[those] = self._likeliest(start, picked)
        return rows

    def repaired(self, scaled: Floats, near: Near) -> tuple[Floats, Bools, Bools]:
        """Rows (n, p) with as few cells changed, each by what removes most, as it takes to be near.

        Returns
        -------
        rows : (n, p)
        cells : (n, p)
            Which were changed.
        done : (n,)
            Whether that was enough; the others are gross as a whole.
        """
        n, p = scaled.shape
        cells = np.zeros((n, p), dtype=np.bool_)
        rows = scaled.copy()
        done = self.sizes(rows, near) <= 1.0
        for many in range(1, self.most_cells(p) + 1):
            todo = np.flatnonzero(~done)
            if not todo.size:
                break
            before = np.nonzero(cells[todo])[1].reshape(todo.size, many - 1)
            gains = np.square(row_products(rows[todo], self.inverse)) / self._freedom(before)
            gains[cells[todo]] = -1.0
            cells[todo, gains.argmax(axis=1)] = True
            rows[todo] = self.filled(scaled[todo], cells[todo])
            done[todo[self.sizes(rows[todo], near) <= 1.0]] = True
        return rows, cells, done

    def left_open(self, cells: Bools) -> Floats:
        """The covariances of what stands in for these cells (n, p), given the others, summed over the rows (p, p)."""
        p = cells.shape[1]
        total = np.zeros((p, p))
        counts = cells.sum(axis=1)
        for many in np.unique(counts[counts > 0]):
            picked = np.nonzero(cells[counts == many])[1].reshape(-1, int(many))
            blocks = self._conditional(picked)
            rows = np.broadcast_to(picked[:, :, None], blocks.shape)
            columns = np.broadcast_to(picked[:, None, :], blocks.shape)
            np.add.at(total, (rows.ravel(), columns.ravel()), blocks.ravel())
        return total

    def most_cells(self, p: int) -> int:
        """How many cells of a row may be gross."""
        return max(1, min(_MOST_CELLS, int(_SHARE_OF_CELLS * p)))

    def _freedom(self, picked: Ints) -> Floats:
        """The inverse variance of each cell (n, p), given all others but the picked ones (n, k), which may follow it.

        A cell that was picked in the place of another one is no reason to leave that one out.
        """
        own = np.broadcast_to(np.diag(self.inverse), (len(picked), len(self.scale)))
        if not picked.shape[1]:
            return own
        across = self.inverse[picked]
        taken = np.einsum("nkj,nkl,nlj->nj", across, self._conditional(picked), across, optimize=True)
        return np.asarray(np.maximum(own - taken, 1e-9 * own))

    def _conditional(self, picked: Ints) -> Floats:
        """Covariances (n, k, k) of the picked cells (n, k), given the others."""
        blocks = self.inverse[picked[:, :, None], picked[:, None, :]]
        return np.asarray(np.linalg.inv(blocks), dtype=np.float64)

    def _likeliest(self, scaled: Floats, picked: Ints) -> Floats:
        """Rows (n, p) with the picked cells (n, k) as likely as the others allow."""
        pulls = np.take_along_axis(row_products(scaled, self.inverse), picked, axis=1)
        moved = np.einsum("nij,nj->ni", self._conditional(picked), pulls)
        rows = scaled.copy()
        np.put_along_axis(rows, picked, np.take_along_axis(scaled, picked, axis=1) - moved, axis=1)
        return rows


def _squares(rows: Floats) -> Floats:
    """The sums of squares (n,) of rows (n, p)."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
