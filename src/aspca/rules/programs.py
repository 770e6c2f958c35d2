"""Sparse vectors of a subspace: many reweighted l1 programs at once, as one matrix computation.

Each is min sum_i w_i |z_i| over z = Uq with a'q = 1, one entry of z forced to zero if asked. Douglas-Rachford steps
need nothing but products with U, which all programs share; a few rounds of weights 1 / |z| bring the vector close to
one of fewest entries, where one linear program has a vector of many small ones.

Notation: U (p, c) an orthonormal basis, A (c, n) one column a for each program, Z (p, n) the vectors.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints

# Rounds of weights, and steps in each: after these the supports stay as they are. Measured on planted rules: with 3
# rounds of 60 steps a rule of 200 is lost, with twice as many none more is found.
_ROUNDS, _STEPS = 4, 100
# Entries are pulled to zero by this share of the largest in a step.
_PULL = 0.1
# The weight of an entry is 1 / (its share of the largest + this), which is lowered by this factor from round to round.
_EASE, _FACTOR = 0.1, 3.0
# Entries above this share of the largest are looked at to see whether a round has changed anything.
_VISIBLE = 0.03
# Columns computed together: their iterates stay in the cache.
_TOGETHER = 128


def sparse_vectors(U: Floats, A: Floats, barred: Ints | None = None) -> Floats:
    """Sparse vectors Z (p, n) of the span of U (p, c), the k-th with A[:, k]'q = 1 and no entry barred[k]."""
    p, c = U.shape
    # Of a large subspace it is cheaper to take off what lies outside.
    outside = complement(U) if 2 * c > p else None
    Z = np.zeros((p, A.shape[1]))
    for start in range(0, A.shape[1], _TOGETHER):
        some = slice(start, start + _TOGETHER)
        Z[:, some] = _solved(U, outside, U @ A[:, some], None if barred is None else barred[some])
    return Z


def complement(U: Floats) -> Floats:
    """An orthonormal basis (p, p - c) of what is orthogonal to U (p, c)."""
    return np.asarray(np.linalg.qr(U, mode="complete")[0][:, U.shape[1] :])


def _solved(U: Floats, outside: Floats | None, normals: Floats, barred: Ints | None) -> Floats:
    """With the conditions as vectors of the subspace: normals' z = 1."""
    unit = normals / np.square(normals).sum(axis=0)
    Z = np.array(unit, dtype=np.float64)
    left = np.arange(Z.shape[1])
    for r in range(_ROUNDS):
        size = np.abs(Z[:, left])
        largest = size.max(axis=0)
        visible = size > _VISIBLE * largest
        pulls = np.ones(size.shape)
        if r:
            pulls = 1.0 / (size / largest + _EASE / _FACTOR ** (r - 1))
            pulls /= pulls.max(axis=0)
        pulls *= _PULL * largest
        if barred is not None:
            pulls[barred[left], np.arange(left.size)] = np.inf
        Z[:, left] = _stepped(U, outside, normals[:, left], unit[:, left], Z[:, left], pulls)
        size = np.abs(Z[:, left])
        # Whose weights have been set once and changed nothing is done.
        moved = ((size > _VISIBLE * size.max(axis=0)) != visible).any(axis=0) | (r == 0)
        left = left[moved]
        if left.size == 0:
            break
    return Z


def _stepped(U: Floats, outside: Floats | None, normals: Floats, unit: Floats, Z: Floats, pulls: Floats) -> Floats:
    """Steps in single precision, which is far finer than they converge, and the last projection in double."""
    start, dual = Z.astype(np.float32), np.zeros(Z.shape, dtype=np.float32)
    beside = (U if outside is None else outside).astype(np.float32)
    across, condition, towards = np.ascontiguousarray(beside.T), normals.astype(np.float32), unit.astype(np.float32)
    most = pulls.astype(np.float32)
    least = -most
    for _ in range(_STEPS):
        start += dual
        np.clip(start, least, most, out=dual)
        # The reflection of Z at its shrunk self, then the nearest vector of the subspace that meets the condition.
        start -= 2.0 * dual
        part = beside @ (across @ start)
        start = part if outside is None else start - part
        start += towards * (1.0 - np.einsum("ij,ij->j", condition, start))
    Z = U @ (U.T @ start.astype(np.float64))
    return np.asarray(Z + unit * (1.0 - np.einsum("ij,ij->j", normals, Z)))
