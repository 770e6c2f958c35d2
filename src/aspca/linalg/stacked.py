"""Whiteners of very many small matrices at once, which LAPACK would be called for one by one.

A stack is an array (g, g, k): entry by entry, all k matrices side by side, so that each operation runs along a stack.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats


def triangular_whiteners(stack: Floats) -> Floats:
    """Lower triangular W (g, g, k), g >= 1, with W A W' = I for each of the symmetric positive definite A (g, g, k).

    The inverses of Cholesky's factors, by blocks, each half of the last. Where A is not definite to rounding, W is not
    finite.
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
    first = triangular_whiteners(stack[:half, :half])
    slopes = np.einsum("ijk,jlk->ilk", first, stack[:half, half:])
    last = triangular_whiteners(stack[half:, half:] - np.einsum("jik,jlk->ilk", slopes, slopes))
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
