"""Exact symmetry, in place: no second matrix for the transpose."""

from __future__ import annotations

from aspca.linalg.arrays import Floats

# A tile and its mirror image stay in the second-level cache: reading a transpose row by row would miss it.
_TILE = 128


def symmetrise(matrix: Floats) -> float:
    """Replace a square matrix by the mean of itself and its transpose; the largest entry of their difference."""
    asymmetry = 0.0
    tiles = [slice(start, start + _TILE) for start in range(0, matrix.shape[0], _TILE)]
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
