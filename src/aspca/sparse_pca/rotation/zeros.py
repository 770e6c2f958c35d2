"""Exact zeros where there are too many columns for exact corners: the smallest entries, all at once.

A rotation that makes given entries zero solves, to first order, (L Omega)_Z = -L_Z. Its shortest solution takes a few
dozen conjugate gradients, each of two matrix products; Newton's method makes it exact.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.sparse_pca.rotation.vertex import cayley

# Entries to clear, as shares of the n = d (d-1) / 2 zeros of a corner; the first share that works. The more, the worse
# conditioned the equations are.
_SHARES = (0.2, 0.05)
_EXACT = 1e-14
# Digits that each of Newton's steps asks for, and when to give up: well chosen entries need a dozen gradients.
_ACCURACIES = (1e-2, 1e-4, 1e-3, 1e-3, 1e-3)
_MOST_GRADIENTS = 60


def clear_small_entries(L: Floats) -> Floats:
    """Rotate L such that its smallest entries become zero, as many as there are good equations for.

    Parameters
    ----------
    L : ndarray of shape (p, d)
        Orthonormal columns.

    Returns
    -------
    ndarray of shape (p, d)
        L times a rotation; up to d^2 / 7 of its entries are zero to rounding. L itself where that fails or would raise
        ||L||_{1,1}.
    """
    for share in _SHARES:
        cleared = _cleared(L, _small_entries(L, share))
        if cleared is not None and float(np.abs(cleared).sum()) <= float(np.abs(L).sum()):
            return cleared
    return L


def _small_entries(L: Floats, share: float) -> Ints:
    """The smallest entries, numbered along the rows of L, but for pairs that determine each other.

    Let columns i and j have their largest entries in rows k and l. As the columns are orthogonal, the entries (k, j)
    and (l, i) nearly add up to zero: one of them is left to follow.
    """
    d = L.shape[1]
    count = int(share * d * (d - 1) / 2)
    size = np.abs(L)
    small = size < np.partition(size.ravel(), count)[count]
    home = np.argmax(size, axis=0)
    at_home = small[home]
    follows, column = np.nonzero(np.triu(at_home & at_home.T, 1))
    small[home[follows], column] = False
    return np.flatnonzero(small)


def _cleared(L: Floats, entries: Ints) -> Floats | None:
    """L times the rotation, by Newton's method."""
    for accuracy in _ACCURACIES:
        skew = _shortest_turn(L, entries, accuracy)
        if skew is None:
            return None
        L = L @ cayley(skew)
        if float(np.abs(L.ravel()[entries]).max(initial=0.0)) <= _EXACT:
            return L
    return None


def _shortest_turn(L: Floats, entries: Ints, accuracy: float) -> Floats | None:
    """The shortest skew Omega with (L Omega)_Z = -L_Z, by preconditioned conjugate gradients on its multipliers.

    In single precision, which is more than the accuracy asks for and half the work: Newton's next step mends it.
    """
    diagonal = (np.sum(L * L, axis=1, keepdims=True) - L * L).ravel()[entries]
    scale = (1.0 / np.maximum(diagonal, 1e-12)).astype(np.float32)
    unit = float(np.abs(L.ravel()[entries]).max(initial=0.0))
    if unit == 0.0:
        return np.zeros((L.shape[1], L.shape[1]))
    short = L.astype(np.float32)
    rest = (-L.ravel()[entries] / unit).astype(np.float32)
    direction = rest * scale
    product = first = float(rest @ direction)
    skew = np.zeros((L.shape[1], L.shape[1]), dtype=np.float32)
    multipliers = np.zeros(L.size, dtype=np.float32)
    for _ in range(_MOST_GRADIENTS):
        if product <= accuracy**2 * first:
            return np.asarray(unit * skew.astype(np.float64))
        multipliers[entries] = direction
        turn = short.T @ multipliers.reshape(L.shape)
        turn = turn - turn.T
        image = (short @ turn).ravel()[entries]
        curvature = float(direction @ image)
        if curvature <= 0.0:
            return None
        step = np.float32(product / curvature)
        skew += step * turn
        rest -= step * image
        scaled = rest * scale
        last, product = product, float(rest @ scaled)
        direction = scaled + np.float32(product / last) * direction
    return None
