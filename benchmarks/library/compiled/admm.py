"""Compiled: a step of the first-order method, and the balance of its residuals."""

from __future__ import annotations

import numpy as np

from library.compiled.bounds import within
from library.compiled.lapack import compiled

_HUGE = 2.0**20


@compiled
def simplex(w):
    """The nearest point of the simplex to an ascending w."""
    n = w.size
    if abs(w[n - 1]) > _HUGE:
        w = w - w[n - 1]
    total, cut = 0.0, 0.0
    for many in range(1, n + 1):
        total += w[n - many]
        excess = (total - 1.0) / many
        if w[n - many] > excess:
            cut = excess
    return np.maximum(w - cut, 0.0)


@compiled
def project(M, N, whole):
    """F (p, r) with F F' the projection of M onto the spectraplex, largest eigenvalue last."""
    if whole:
        w, E = np.linalg.eigh(M)
    else:
        w, inside = np.linalg.eigh(within(N, M))
        E = np.dot(N, np.ascontiguousarray(inside))
    x = simplex(w)
    n = x.size
    rank = 0
    for i in range(n):
        rank += x[i] > 0
    factor = np.empty((E.shape[0], rank))
    for i in range(E.shape[0]):
        for k in range(rank):
            factor[i, k] = E[i, n - rank + k] * np.sqrt(x[n - rank + k])
    return factor


@compiled
def step(N, whole, scaled_C, scaled_U, Z, previous, box, relaxation):
    """One step; `previous` becomes the new Z."""
    p = scaled_C.shape[0]
    factor = project(Z - scaled_U - scaled_C, N, whole)
    X = np.dot(factor, np.ascontiguousarray(factor.T))
    for i in range(p):
        for j in range(p):
            moved = relaxation * X[i, j] + scaled_U[i, j] + (1.0 - relaxation) * Z[i, j]
            kept = 0.0 if i == j else min(max(moved, -box), box)
            scaled_U[i, j] = kept
            previous[i, j] = moved - kept
    return factor


@compiled
def residuals(factor, Z, previous, scaled_U):
    """What `balance` compares: the primal and the dual residual."""
    X = np.dot(factor, np.ascontiguousarray(factor.T))
    p = X.shape[0]
    of_X = of_Z = apart = moved = of_U = 0.0
    for i in range(p):
        for j in range(p):
            of_X += X[i, j] ** 2
            of_Z += Z[i, j] ** 2
            apart += (X[i, j] - Z[i, j]) ** 2
            moved += (Z[i, j] - previous[i, j]) ** 2
            of_U += scaled_U[i, j] ** 2
    return np.sqrt(apart) / np.sqrt(max(of_X, of_Z)), 2.0 * np.sqrt(moved) / max(np.sqrt(of_U), 1e-300)
