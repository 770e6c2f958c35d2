"""Compiled: the dual bound, the primal value of X, and the repair of a multiplier."""

from __future__ import annotations

import numpy as np

from library.compiled.lapack import compiled, lowest


@compiled
def within(N, m):
    """N'mN, symmetric to the last bit."""
    inside = np.dot(np.ascontiguousarray(N.T), np.dot(m, N))
    n = inside.shape[0]
    for i in range(n):
        for j in range(i):
            inside[i, j] = inside[j, i] = 0.5 * (inside[i, j] + inside[j, i])
    return inside


@compiled
def dual(C, N, whole, rounding, U):
    m = C + U
    if not whole:
        m = within(N, m)
    if m.shape[0] == 1:
        return m[0, 0] - rounding, np.inf
    low = lowest(m, 2, False)[0]
    return low[0] - rounding, low[1] - low[0]


@compiled
def primal(C, alpha, factor):
    p, r = factor.shape
    inside, off = 0.0, 0.0
    for i in range(p):
        for j in range(i + 1):
            x = 0.0
            for k in range(r):
                x += factor[i, k] * factor[j, k]
            if i == j:
                inside += C[i, i] * x
            else:
                inside += 2.0 * C[i, j] * x
                off += 2.0 * abs(x)
    return inside + alpha * off


@compiled
def repair(alpha, v, b, U):
    p = v.size
    S = np.flatnonzero(v)
    k = S.size
    fixed = U.copy()
    for i in S:
        for j in S:
            fixed[i, j] = alpha * np.sign(v[i]) * np.sign(v[j])
    tau, change = np.empty(2 * k), np.empty(2 * k)
    low = 0.0
    for i in S:
        low -= alpha * abs(v[i])
    for t in range(p):
        if v[t] == 0:
            _row(U[t], S, v, b[t], alpha, low, tau, change, fixed[t])
            for i in S:
                fixed[i, t] = fixed[t, i]
    for i in range(p):
        fixed[i, i] = 0.0
    return fixed


@compiled
def _row(row, S, v, target, alpha, low, tau, change, found):
    """The nearest row u with |u| <= alpha and u.v = target: see aspca.sparse_pca.multipliers."""
    k = S.size
    for e in range(k):
        size = abs(v[S[e]])
        inward = row[S[e]] * np.sign(v[S[e]])
        tau[e], tau[k + e] = (-alpha - inward) / size, (alpha - inward) / size
        change[e], change[k + e] = size * size, -size * size
    # Few and half in order: by insertion.
    for e in range(1, 2 * k):
        t, c = tau[e], change[e]
        at = e - 1
        while at >= 0 and tau[at] > t:
            tau[at + 1], change[at + 1] = tau[at], change[at]
            at -= 1
        tau[at + 1], change[at + 1] = t, c
    product, slope = low, 0.0
    moved = tau[2 * k - 1]
    for e in range(2 * k - 1):
        slope += change[e]
        product += slope * (tau[e + 1] - tau[e])
        if product >= target or e == 2 * k - 2:
            back = (product - target) / max(slope, 1e-300)
            moved = min(max(tau[e + 1] - back, tau[e]), tau[e + 1])
            break
    miss, free = -target, 0.0
    for i in S:
        x = row[i] + moved * v[i]
        miss += min(max(x, -alpha), alpha) * v[i]
        if abs(x) < alpha:
            free += v[i] * v[i]
    if free > 0:
        moved -= miss / max(free, 1e-300)
    for i in S:
        found[i] = min(max(row[i] + moved * v[i], -alpha), alpha)
