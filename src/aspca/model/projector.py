"""Projections of rows: numpy only, block by block, exact at large offsets, the same for a row in any company."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import FARTHEST, SMALL_SCALE, Floats, Ints
from aspca.linalg.row_blocks import broadcast_rows

Rows = npt.NDArray[np.generic]

# About 256 KiB of float64 per block: it stays in cache between its steps, and is all the extra memory scoring takes.
_BLOCK_VALUES = 2**15
# BLAS works in tiles of rows: blocks are a multiple of them, and no smaller.
_TILE = 32


@dataclass(frozen=True, eq=False)
class Projector:
    """y = ((x - centre - residual) / scale) @ loadings, row by row.

    The mean is kept as centre + residual, since one float64 is not enough at an offset of 1e10; rows are centred before
    they are multiplied, since folding the mean into an intercept loses a tight rule there. The scale and the residual,
    which are harmless, are folded into the loadings and an intercept.

    Every block has the same number of rows, the last one filled up with zeros: BLAS then does the same sums for a row
    whatever stands beside it, and a verdict does not depend on the batch.
    """

    centre: Floats
    residual: Floats
    scale: Floats
    loadings: Floats

    @property
    def rows_at_once(self) -> int:
        """Rows of a block."""
        return max(_TILE, _BLOCK_VALUES // max(self._prepared[0].size, 1) // _TILE * _TILE)

    def project(self, X: Rows) -> Floats:
        """Projections (n, d) of rows (n, p) of any real type."""
        out = np.empty((X.shape[0], self.loadings.shape[1]))
        for rows, projections in self.blocks(X):
            out[rows] = projections
        return out

    def score(self, X: Rows) -> Floats:
        """The sum of squared projections (n,)."""
        scores = np.empty(X.shape[0])
        for rows, projections in self.blocks(X):
            np.einsum("ij,ij->i", projections, projections, out=scores[rows])
        # Squares may overflow; such a row is as abnormal as a number can say.
        return np.minimum(scores, np.finfo(np.float64).max, out=scores)

    def blocks(self, X: Rows) -> Iterator[tuple[slice, Floats]]:
        """Slices of rows with their projections, which are overwritten by the next."""
        used, scaled, shift = self._prepared
        everything = used.size == X.shape[1]
        centre = self.centre[used]
        small = bool((self.scale[used] < SMALL_SCALE).any())
        farthest = np.minimum(self.scale[used], 1.0) * FARTHEST
        step = self.rows_at_once
        block = np.zeros((step, used.size))
        projections = np.empty((step, scaled.shape[1]))
        for start in range(0, X.shape[0], step):
            rows = X[start : start + step]
            n = rows.shape[0]
            if everything and rows.dtype == np.float64:
                broadcast_rows(np.subtract, rows, centre, block[:n])
            else:
                np.subtract(
                    rows if everything else rows[:, used], centre, out=block[:n], casting="unsafe", dtype=np.float64
                )
            block[n:] = 0.0
            if small:
                np.clip(block, -farthest, farthest, out=block)
            np.matmul(block, scaled, out=projections)
            broadcast_rows(np.subtract, projections[:n], shift, projections[:n])
            yield slice(start, start + n), projections[:n]

    @cached_property
    def _prepared(self) -> tuple[Ints, Floats, Floats]:
        used = np.flatnonzero(np.any(self.loadings != 0, axis=1))
        scaled = self.loadings[used] / self.scale[used, None]
        return used, scaled, self.residual[used] @ scaled
