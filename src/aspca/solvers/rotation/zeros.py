"""Exact zeros where there are too many columns for exact corners: the smallest entries, all at once.

A rotation that makes given entries zero solves, to first order, (L Omega)_Z = -L_Z. Its shortest solution takes a few
dozen conjugate gradients, each of two matrix products; Newton's method makes it exact.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.solvers.rotation.tangent import cayley

# Entries to clear, as shares of the n = d (d-1) / 2 zeros of a corner; the first share that works. The more, the worse
# conditioned the equations are.
_SHARES = (0.2, 0.05)
_EXACT = 1e-14
# Digits that each of Newton's steps asks for, and when to give up: well chosen entries need a dozen gradients.
_ACCURACIES = (1e-2, 1e-4, 1e-5, 1e-4)
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
    """The shortest skew Omega with (L Omega)_Z = -L_Z, by preconditioned conjugate gradients on its multipliers."""
    diagonal = (np.sum(L * L, axis=1, keepdims=True) - L * L).ravel()[entries]
    scale = 1.0 / np.maximum(diagonal, 1e-12)
    rest = -L.ravel()[entries]
    direction = rest * scale
    product = first = float(rest @ direction)
    skew = np.zeros((L.shape[1], L.shape[1]))
    multipliers = np.zeros(L.size)
    for _ in range(_MOST_GRADIENTS):
        if product <= accuracy**2 * first:
            return skew
        multipliers[entries] = direction
        turn = L.T @ multipliers.reshape(L.shape)
        turn = turn - turn.T
        image = (L @ turn).ravel()[entries]
        curvature = float(direction @ image)
        if curvature <= 0.0:
            return None
        step = product / curvature
        skew += step * turn
        rest -= step * image
        scaled = rest * scale
        last, product = product, float(rest @ scaled)
        direction = scaled + product / last * direction
    return None
