"""Reweighted least squares on the rotations: from a smooth neighbourhood to the corner of a local minimum.

A generic local minimum of ||L||_{1,1} is a corner with d (d-1) / 2 zeros. First-order steps creep towards it, plane
rotations get stuck before it; second-order steps, each entry weighted by 1 / max(|entry|, mu) while mu falls, reach it
in a few tens of n x n Cholesky factorisations, n = d (d-1) / 2.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.solvers.rotation.tangent import cayley, least_squares

# No step turns a plane by more than this (radians): the model is linear in the angle.
_LONGEST_TURN = 0.3


def best_step(L: Floats, change: Floats, longest: float) -> float:
    """The t in [0, longest] that minimises sum |L + t change|: a weighted median of the crossings."""
    here, slope = L.ravel(), change.ravel()
    downhill = float(np.sum(np.sign(here) * slope) + np.sum(np.abs(slope[here == 0.0])))
    if downhill >= 0.0:
        return 0.0
    moving = slope != 0.0
    crossing = -here[moving] / slope[moving]
    ahead = (crossing > 0.0) & (crossing < longest)
    crossing, jump = crossing[ahead], 2.0 * np.abs(slope[moving][ahead])
    order = np.argsort(crossing, kind="stable")
    turn = int(np.searchsorted(downhill + np.cumsum(jump[order]), 0.0))
    return float(crossing[order[turn]]) if turn < len(order) else longest


def sharpen(L: Floats, n_steps: int = 30, mu_first: float = 3e-3, mu_last: float = 1e-9) -> Floats:
    """Move L to a nearby corner of ||L||_{1,1}.

    Parameters
    ----------
    L : ndarray of shape (p, d)
        Orthonormal columns, d >= 2.
    n_steps : int
        Steps; mu falls geometrically from `mu_first` to `mu_last` over them.

    Returns
    -------
    ndarray of shape (p, d)
        L times a rotation; its L1 norm is the lowest met on the way, hence never above that of L.
    """
    best, lowest = L, float(np.abs(L).sum())
    for mu in np.geomspace(mu_first, mu_last, n_steps):
        weights = 1.0 / np.maximum(np.abs(L), mu)
        skew = least_squares(L, weights, L * weights, ridge=1e-12)
        if skew is None:
            break
        turn = float(np.abs(skew).max())
        if turn == 0.0:
            break
        longest = _LONGEST_TURN / turn
        # At least the full step: it belongs to the smoothed problem, where stopping at a corner is premature.
        step = min(max(best_step(L, L @ skew, longest), 1.0), longest)
        L = L @ cayley(step * skew)
        value = float(np.abs(L).sum())
        if value < lowest:
            best, lowest = L, value
    return best
