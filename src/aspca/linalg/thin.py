"""Products with matrices of which most entries are zero: rules of a few terms among hundreds of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Below so many rows a dense product takes no longer, and above this share of entries neither.
_LARGE, _DENSE = 256, 0.05


def is_thin(matrix: Floats) -> bool:
    """Whether products with the matrix are quicker without its zeros."""
    large = min(matrix.shape[0], 4 * matrix.shape[1]) >= _LARGE
    return large and bool(np.count_nonzero(matrix) <= _DENSE * matrix.size)


def thinned(matrix: Floats) -> csr_array | Floats:
    """The matrix without its zeros, where products with it are quicker then; as it is, where they are not."""
    if not is_thin(matrix):
        return matrix
    # Loads scipy.sparse, which scoring by a stored model need not wait for.
    from scipy.sparse import csr_array

    return csr_array(matrix)


def form_of(symmetric: Floats, matrix: Floats) -> Floats:
    """matrix' symmetric matrix (m, m), symmetric to the last bit."""
    thin = thinned(matrix)
    if isinstance(thin, np.ndarray):
        inside = matrix.T @ (symmetric @ matrix)
    else:
        # Along the rows of both.
        inside = np.asarray(thin.T @ np.ascontiguousarray((thin.T @ symmetric).T))
    return np.asarray(0.5 * (inside + inside.T))
