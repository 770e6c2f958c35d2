"""The corner of a local minimum, exactly: zeros that are zero, and all d (d-1) / 2 of them.

Short of that the basis is known only to the accuracy of an iteration; at a full corner its zeros determine it to
rounding.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Bools, Floats
from aspca.solvers.rotation.reweight import best_step
from aspca.solvers.rotation.tangent import cayley, least_squares

# What counts as zero in V Q: it is computed to a few 1e-16.
_ZERO = 5e-14
# Weights of entries that must stay zero and of the others, relative to the slope of the objective.
_HOLD, _FREE = 1e8, 1e-3


def snap(V: Floats, Q: Floats, slack: float = 1e-10) -> Floats:
    """Turn the nearly zero entries of V Q into zeros, by Newton's method on the rotation.

    Parameters
    ----------
    V : ndarray of shape (p, d)
        Orthonormal columns, d >= 2.
    Q : ndarray of shape (d, d)
        Orthogonal.
    slack : float
        Relative rise of the L1 norm that is accepted in exchange for the zeros.

    Returns
    -------
    ndarray of shape (d, d)
        Orthogonal. As many entries as possible that were below 1e-5 are now zero to rounding; Q itself when no
        such rotation exists.
    """
    allowed = float(np.abs(V @ Q).sum()) * (1.0 + slack)
    for threshold in (1e-5, 1e-6, 1e-7, 1e-8, 1e-10):
        L = V @ Q
        wanted = np.abs(L) < threshold
        if not wanted.any():
            break
        turned = _with_zeros(V, Q, wanted)
        if turned is not None and float(np.abs(V @ turned).sum()) <= allowed:
            return turned
    return Q


def complete(V: Floats, Q: Floats) -> Floats:
    """Go downhill along the zeros there are until each step has added one, and no freedom is left.

    Parameters
    ----------
    V : ndarray of shape (p, d)
        Orthonormal columns, d >= 2.
    Q : ndarray of shape (d, d)
        Orthogonal, near a corner.

    Returns
    -------
    ndarray of shape (d, d)
        Orthogonal; ||V Q||_1 is never above the given one.
    """
    d = V.shape[1]
    for _ in range(d * d):
        L = V @ Q
        zero = np.abs(L) <= _ZERO
        if int(zero.sum()) >= d * (d - 1) // 2:
            break
        L[zero] = 0.0
        # Steepest descent that leaves the zeros alone, by a heavy weight on them.
        skew = least_squares(L, np.where(zero, _HOLD, _FREE), np.sign(L), ridge=1e-14)
        if skew is None or not skew.any():
            break
        change = np.where(zero, 0.0, L @ skew)
        step = best_step(L, change, 0.05 / float(np.abs(skew).max()))
        moved = Q @ cayley(step * skew)
        # The objective is concave between kinks, so the best step ends where another entry vanishes.
        nearest = np.where(zero, np.inf, np.abs(V @ moved))
        wanted = zero.copy()
        wanted[np.unravel_index(int(np.argmin(nearest)), nearest.shape)] = True
        turned = _with_zeros(V, moved, wanted)
        if turned is None or float(np.abs(V @ turned).sum()) >= float(np.abs(L).sum()):
            break
        Q = turned
    return Q


def _with_zeros(V: Floats, Q: Floats, wanted: Bools) -> Floats | None:
    """The rotation near Q that makes the wanted entries of V Q zero, by Newton's method; None where there is none."""
    L = V @ Q
    for _ in range(8):
        skew = least_squares(L, wanted.astype(np.float64), np.where(wanted, L, 0.0), ridge=1e-13)
        if skew is None or float(np.abs(skew).max()) > 1e-2:
            return None
        Q = Q @ cayley(skew)
        L = V @ Q
        if float(np.abs(L[wanted]).max()) < 1e-15:
            break
    return Q if float(np.abs(L[wanted]).max()) < 1e-14 else None
