"""Products with matrices of which most entries are zero: rules of a few terms among hundreds of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Below so many rows a dense product takes no longer, and above this share of entries neither.
_LARGE, _DENSE = 256, 0.05


def thinned(matrix: Floats) -> csr_array | Floats:
    """The matrix without its zeros, where products with it are quicker then; as it is, where they are not."""
    if min(matrix.shape[0], 4 * matrix.shape[1]) < _LARGE or np.count_nonzero(matrix) > _DENSE * matrix.size:
        return matrix
    # Loads scipy.sparse, which scoring by a stored model need not wait for.
    from scipy.sparse import csr_array

    return csr_array(matrix)


def columns_times(symmetric: Floats, thin: Floats) -> Floats:
    """symmetric @ thin (p, m), of a symmetric (p, p)."""
    found = thinned(thin)
    if isinstance(found, np.ndarray):
        return np.asarray(symmetric @ thin)
    # Along the rows of both.
    return np.asarray((found.T @ symmetric).T)


def form_of(symmetric: Floats, thin: Floats) -> Floats:
    """thin' symmetric thin (m, m), symmetric to the last bit."""
    found = thinned(thin)
    inside = np.asarray(found.T @ columns_times(symmetric, thin))
    return np.asarray(0.5 * (inside + inside.T))
