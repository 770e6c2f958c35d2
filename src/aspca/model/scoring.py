"""Projections and scores of rows: numpy only, block by block, exact at large offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats

# About 1 MiB of float64 per block: in cache, and all the extra memory that scoring takes.
_BLOCK_VALUES = 2**17


@dataclass(frozen=True)
class Projector:
    """y = ((x - centre - residual) / scale) @ loadings, row by row.

    The mean is kept as centre + residual, since one float64 is not enough at an offset of 1e10; rows are centred before
    they are multiplied, since folding the mean into an intercept loses a tight rule there.
    """

    centre: Floats
    residual: Floats
    scale: Floats
    loadings: Floats

    def project(self, X: npt.NDArray[np.generic]) -> Floats:
        """Projections (n, d) of rows (n, p) of any real type."""
        n, d = X.shape[0], self.loadings.shape[1]
        used = np.flatnonzero(np.any(self.loadings != 0, axis=1))
        loadings = self.loadings[used]
        shift = (self.residual[used] / self.scale[used]) @ loadings
        out = np.empty((n, d))
        step = max(1, _BLOCK_VALUES // max(used.size, 1))
        for start in range(0, n, step):
            rows = X[start : start + step]
            block = (rows if used.size == X.shape[1] else rows[:, used]).astype(np.float64)
            block -= self.centre[used]
            block /= self.scale[used]
            np.matmul(block, loadings, out=out[start : start + step])
            out[start : start + step] -= shift
        return out

    def score(self, X: npt.NDArray[np.generic]) -> Floats:
        """Squared prediction error (n,): the sum of squared projections."""
        projections = self.project(X)
        scores = np.asarray(np.einsum("ij,ij->i", projections, projections), dtype=np.float64)
        # Squares may overflow; such a row is as abnormal as a number can say.
        return np.minimum(scores, np.finfo(np.float64).max, out=scores)
