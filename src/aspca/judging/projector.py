"""Projections and scores of rows: numpy only, block by block, exact at large offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats

Rows = npt.NDArray[np.generic]

# About 256 KiB of float64 per block: it stays in cache between its steps, and is all the extra memory scoring takes.
_BLOCK_VALUES = 2**15


@dataclass(frozen=True)
class Projector:
    """y = ((x - centre - residual) / scale) @ loadings, row by row.

    The mean is kept as centre + residual, since one float64 is not enough at an offset of 1e10; rows are centred before
    they are multiplied, since folding the mean into an intercept loses a tight rule there. The scale and the residual,
    which are harmless, are folded into the loadings and an intercept.
    """

    centre: Floats
    residual: Floats
    scale: Floats
    loadings: Floats

    def project(self, X: Rows) -> Floats:
        """Projections (n, d) of rows (n, p) of any real type."""
        out = np.empty((X.shape[0], self.loadings.shape[1]))
        for rows, projections in self._blocks(X):
            out[rows] = projections
        return out

    def score(self, X: Rows) -> Floats:
        """Squared prediction error (n,): the sum of squared projections."""
        scores = np.empty(X.shape[0])
        for rows, projections in self._blocks(X):
            np.einsum("ij,ij->i", projections, projections, out=scores[rows])
        # Squares may overflow; such a row is as abnormal as a number can say.
        return np.minimum(scores, np.finfo(np.float64).max, out=scores)

    def _blocks(self, X: Rows) -> Iterator[tuple[slice, Floats]]:
        """Slices of rows with their projections, which are overwritten by the next."""
        used = np.flatnonzero(np.any(self.loadings != 0, axis=1))
        everything = used.size == X.shape[1]
        scaled = self.loadings[used] / self.scale[used, None]
        shift = self.residual[used] @ scaled
        centre = self.centre[used]
        step = max(1, _BLOCK_VALUES // max(used.size, 1))
        block = np.empty((min(step, X.shape[0]), used.size))
        projections = np.empty((block.shape[0], scaled.shape[1]))
        for start in range(0, X.shape[0], step):
            rows = X[start : start + step]
            n = rows.shape[0]
            np.subtract(
                rows if everything else rows[:, used], centre, out=block[:n], casting="unsafe", dtype=np.float64
            )
            np.matmul(block[:n], scaled, out=projections[:n])
            projections[:n] -= shift
            yield slice(start, start + n), projections[:n]
