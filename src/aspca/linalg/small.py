"""Small kernels that need NumPy alone: lengths and indices, the simplex, symmetry, matrices of few entries, stacks."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Beside a number of this size a sum of one loses 20 of its 52 bits.
_HUGE = 2.0**20
# Below so many rows a dense product takes no longer, and above this share of entries neither.
_LARGE, _DENSE = 256, 0.05


def length(x: Floats) -> float:
    """The Euclidean length of a vector, or of all entries of a matrix; no square must leave the range of float64."""
    flat = x.ravel(order="K")
    return sqrt(float(flat @ flat))


@lru_cache(maxsize=64)
def list_above_diagonal(p: int) -> tuple[Ints, Ints]:
    """Rows and columns of the entries above the diagonal of a (p, p) matrix, row by row; not to be written to."""
    return _read_only(np.triu_indices(p, 1))


@lru_cache(maxsize=64)
def list_upper_triangle(p: int) -> tuple[Ints, Ints]:
    """The same, and the diagonal."""
    return _read_only(np.triu_indices(p))


def _read_only(indices: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    for one in indices:
        one.flags.writeable = False
    return indices


def project_simplex(w: Floats) -> Floats:
    """Nearest point of {x >= 0, sum x = 1} to w, w sorted in ascending order (as eigenvalues come)."""
    # A common shift does not matter, but a huge one would drown the sum of one in rounding.
    if abs(w[-1]) > _HUGE:
        w = w - w[-1]
    descending = w[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, w.size + 1)
    last = int(np.flatnonzero(descending > excess)[-1])
    return np.asarray(np.maximum(w - excess[last], 0.0), dtype=np.float64)


def symmetrise(matrix: Floats) -> float:
    """Replace a square matrix by the mean of itself and its transpose; the largest entry of their difference.

    In place: no second matrix for the transpose.
    """
    asymmetry = 0.0
    # A tile and its mirror image stay in the second-level cache: reading a transpose row by row would miss it.
    tiles = [slice(start, start + 128) for start in range(0, matrix.shape[0], 128)]
    for k, rows in enumerate(tiles):
        for columns in tiles[k:]:
            tile, mirror = matrix[rows, columns], matrix[columns, rows].T
            difference = tile - mirror
            largest = max(float(difference.max()), -float(difference.min()))
            # Most matrices are symmetric to the last bit: nothing to write.
            if largest > 0.0:
                tile[...] = mirror[...] = 0.5 * (tile + mirror)
                asymmetry = max(asymmetry, largest)
    return asymmetry


def is_thin(matrix: Floats) -> bool:
    """Whether products with the matrix are quicker without its zeros: rules of a few terms among many features."""
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


def find_whiteners(stack: Floats) -> Floats:
    """Lower triangular W (g, g, k), g >= 1, with W A W' = I for each of the symmetric positive definite A (g, g, k).

    A stack holds entry by entry, all k matrices side by side: each operation runs along it, where LAPACK would be
    called for one very small matrix after the other. W are the inverses of Cholesky's factors, by blocks, each half of
    the last; not finite where A is not definite to rounding.
    """
    size = len(stack)
    found = np.zeros(stack.shape)
    if size == 1:
        found[0, 0] = 1.0 / np.sqrt(stack[0, 0])
        return found
    if size == 2:
        # In few calls: half of all blocks are of this size.
        found[0, 0] = 1.0 / np.sqrt(stack[0, 0])
        slope = stack[0, 1] * found[0, 0]
        found[1, 1] = 1.0 / np.sqrt(stack[1, 1] - slope * slope)
        found[1, 0] = -found[1, 1] * slope * found[0, 0]
        return found
    half = (size + 1) // 2
    first = find_whiteners(stack[:half, :half])
    slopes = np.einsum("ijk,jlk->ilk", first, stack[:half, half:])
    last = find_whiteners(stack[half:, half:] - np.einsum("jik,jlk->ilk", slopes, slopes))
    found[:half, :half] = first
    between = np.einsum("ijk,ljk->ilk", last, slopes)
    np.negative(np.einsum("ilk,lmk->imk", between, first), out=found[half:, :half])
    found[half:, half:] = last
    return found


def inverses(whiteners: Floats) -> Floats:
    """The inverses W'W (g, g, k) of the matrices that lower triangular W (g, g, k) are the whiteners of."""
    size = len(whiteners)
    half = (size + 1) // 2
    upper, lower = whiteners[:half, :half], whiteners[half:]
    found = np.empty(whiteners.shape)
    # The upper right of W is zero.
    np.einsum("jik,jlk->ilk", lower, lower, out=found)
    found[:half, :half] += np.einsum("jik,jlk->ilk", upper, upper)
    return found


def compute_typical_variance(variances: Floats) -> float:
    """Mean of the features' variances (p,), of those that vary at all."""
    varying = variances[variances > 0]
    return float(varying.mean()) if varying.size else 0.0
