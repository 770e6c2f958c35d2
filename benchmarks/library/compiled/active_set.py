"""Compiled: the active set's descent, the products that optimality asks for, and reweighted starts.

Line by line as in aspca.sparse_pca.active_set and starts, with one difference: bases are not kept, since making one
costs no more than looking it up.
"""

from __future__ import annotations

import numpy as np

from library.compiled.lapack import compiled, lowest

_ZERO = 1e-11
_MAX_ROUNDS = 200
_LARGE_SUPPORT = 10
_TIED = 1e-11
_SAME = 1e-13
_RANK_TOL = 1e-13
_RANK_TOL_SVD = 1e-10


@compiled
def length(x):
    total = 0.0
    for one in x:
        total += one * one
    return np.sqrt(total)


@compiled
def objective(C, alpha, v):
    """v'Cv + alpha (||v||_1^2 - v'v)."""
    S = np.flatnonzero(v)
    form, total, square = 0.0, 0.0, 0.0
    for i in S:
        product = 0.0
        for j in S:
            product += C[i, j] * v[j]
        form += v[i] * product
        total += abs(v[i])
        square += v[i] * v[i]
    return form + alpha * (total * total - square)


@compiled
def basis_on(V, S):
    """A basis (|S|, r) of the vectors on S that are orthogonal to V, and whether that is all of them.

    Householder's QR factorisation with pivoting, of the rows of V on S.
    """
    m = S.size
    k = 0
    a = np.empty((V.shape[1], m))  # a column of V in each row
    for c in range(V.shape[1]):
        largest = 0.0
        for i in range(m):
            a[k, i] = V[S[i], c]
            largest = max(largest, abs(a[k, i]))
        if largest > _RANK_TOL:
            k += 1
    if k == 0:
        return np.empty((m, 0)), True
    steps = min(m, k)
    tau = np.zeros(steps)
    rank = 0
    for step in range(steps):
        best, norm = step, -1.0
        for c in range(step, k):
            size = 0.0
            for i in range(step, m):
                size += a[c, i] * a[c, i]
            if size > norm:
                best, norm = c, size
        norm = np.sqrt(norm)
        if norm <= _RANK_TOL:
            break
        rank += 1
        if best != step:
            for i in range(m):
                a[best, i], a[step, i] = a[step, i], a[best, i]
        x = a[step, step]
        beta = -norm if x >= 0 else norm
        tau[step] = (beta - x) / beta
        for i in range(step + 1, m):
            a[step, i] /= x - beta
        a[step, step] = 1.0
        for c in range(step + 1, k):
            _reflect(a[step], tau[step], step, a[c])
    found = np.zeros((m - rank, m))
    for r in range(m - rank):
        found[r, rank + r] = 1.0
        for step in range(rank - 1, -1, -1):
            _reflect(a[step], tau[step], step, found[r])
    return np.ascontiguousarray(found.T), False


@compiled
def _reflect(h, tau, start, x):
    product = 0.0
    for i in range(start, x.size):
        product += h[i] * x[i]
    product *= tau
    for i in range(start, x.size):
        x[i] -= product * h[i]


@compiled
def onto(basis, x):
    """The projection of x onto the span of an orthonormal basis."""
    found = np.zeros(x.size)
    for k in range(basis.shape[1]):
        product = 0.0
        for i in range(x.size):
            product += basis[i, k] * x[i]
        for i in range(x.size):
            found[i] += product * basis[i, k]
    return found


@compiled
def _absolute_largest(x):
    largest = 0.0
    for one in x:
        largest = max(largest, abs(one))
    return largest


@compiled
def feasible_near(V, start):
    """The unit vector on the start's support, orthogonal to V, nearest to it; whether there is one."""
    p = start.size
    v = np.zeros(p)
    cut = _ZERO * _absolute_largest(start)
    S = np.flatnonzero(np.abs(start) > cut)
    if S.size == 0:
        return False, v
    part = start[S]
    part /= length(part)
    basis, whole = basis_on(V, S)
    if not whole:
        part = onto(basis, part)
    norm = length(part)
    if norm < 1e-8:
        return False, v
    v[S] = part / norm
    # Remnants of rounding become zero, at no cost in orthogonality.
    cut = _ZERO * _absolute_largest(v)
    small = 0
    for i in range(p):
        small += v[i] != 0 and abs(v[i]) <= cut
    if small == 0:
        return True, v
    kept = np.where(np.abs(v) <= cut, 0.0, v)
    S = np.flatnonzero(kept)
    basis, whole = basis_on(V, S)
    if not whole:
        kept[S] = onto(basis, kept[S])
    norm = length(kept)
    return True, v if norm < 0.5 else kept / norm


@compiled
def _inside(C, alpha, S, s, basis, whole):
    """C_SS + alpha ss', in the basis."""
    k = S.size
    m = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            m[i, j] = C[S[i], S[j]] + alpha * s[i] * s[j]
    return m if whole else np.dot(np.ascontiguousarray(basis.T), np.dot(m, basis))


@compiled
def minimiser(C, alpha, V, S, s, here):
    """Minimiser of v'Cv + alpha (s'v)^2 over unit v on S orthogonal to V: of several, the nearest to `here`."""
    basis, whole = basis_on(V, S)
    if not whole:
        if basis.shape[1] == 0:
            return False, here
        here = np.dot(basis.T, here)
    m = _inside(C, alpha, S, s, basis, whole)
    values, rows = lowest(m, 2, True)
    same = values[0] + _TIED * max(length(m.ravel()), alpha)
    if values[-1] <= same:
        values, rows = lowest(m, m.shape[0], True)
    tied = 0
    while tied < values.size and values[tied] <= same:
        tied += 1
    share = np.dot(rows[:tied], here)
    norm = length(share)
    if norm < 1e-6:
        share = rows[:tied, 0].copy()
        norm = length(share)
        if norm < 1e-6:
            share, norm = np.zeros(tied), 1.0
            share[0] = 1.0
    u = np.zeros(m.shape[0])
    for k in range(tied):
        u += share[k] / norm * rows[k]
    if not whole:
        u = np.dot(basis, u)
    return True, u / length(u)


@compiled
def settle(C, alpha, V, v, value):
    """Minimise over the orthant face of v, dropping entries as they reach zero."""
    p = v.size
    for _ in range(p + 1):
        S = np.flatnonzero(v)
        here = v[S]
        s = np.sign(here)
        found, u = minimiser(C, alpha, V, S, s, here)
        if not found:
            break
        if np.dot(u, here) < 0:
            u = -u
        cut = _ZERO * _absolute_largest(u)
        flipped = u * s <= cut
        many = 0
        for one in flipped:
            many += one
        if many == 0:
            full = np.zeros(p)
            full[S] = u
            reached = objective(C, alpha, full)
            if reached <= value + _SAME * max(abs(value), alpha):
                return full, reached
            return v, value
        if many < S.size:
            bold = np.zeros(p)
            for i in range(S.size):
                if not flipped[i]:
                    bold[S[i]] = u[i]
            found, bold = feasible_near(V, bold)
            if found:
                reached = objective(C, alpha, bold)
                if reached < value:
                    v, value = bold, reached
                    continue
        v = _walk(C, alpha, V, v, S, here, u, flipped, many)
        value = objective(C, alpha, v)
    return v, value


@compiled
def _walk(C, alpha, V, v, S, here, u, flipped, many):
    """Towards u until the first entry is zero; on a large support a few more, if that is no worse."""
    t = np.full(S.size, np.inf)
    for i in range(S.size):
        if flipped[i]:
            t[i] = here[i] / (here[i] - u[i]) if u[i] * here[i] <= 0 else 1.0
    order = np.argsort(t, kind="mergesort")
    several = 1 + many // 4 if S.size > _LARGE_SUPPORT else 1
    for leaving in (several, 1):
        moved = np.zeros(v.size)
        reach = t[order[leaving - 1]]
        for i in range(S.size):
            moved[S[i]] = here[i] + reach * (u[i] - here[i])
        for i in order[:leaving]:
            moved[S[i]] = 0.0
        found, left = feasible_near(V, moved)
        if found and (leaving == 1 or objective(C, alpha, left) <= objective(C, alpha, v)):
            return left
        if leaving == 1:
            break
    return v


@compiled
def stationarity(C, alpha, V, v, value):
    """b_j = (Vw)_j - (Cv)_j; see aspca.sparse_pca.active_set.

    Since V'V = I, what V_S leaves free of w is best as it is in g = V'Cv: w = g + pinv(V_S) (rhs - V_S g).
    """
    p, k = V.shape
    S = np.flatnonzero(v)
    Cv = np.zeros(p)
    total = 0.0
    for i in S:
        total += abs(v[i])
        for j in range(p):
            Cv[j] += C[i, j] * v[i]
    if k == 0:
        return -Cv
    w = np.dot(V.T, Cv)
    on = np.empty((S.size, k))
    rhs = np.empty(S.size)
    for i in range(S.size):
        at = S[i]
        rhs[i] = Cv[at] + alpha * (total * np.sign(v[at]) - v[at]) - value * v[at]
        for c in range(k):
            on[i, c] = V[at, c]
            rhs[i] -= on[i, c] * w[c]
    left, size, right = np.linalg.svd(on, False)
    for r in range(size.size):
        if size[r] > _RANK_TOL_SVD:
            share = np.dot(left[:, r], rhs) / size[r]
            for c in range(k):
                w[c] += share * right[r, c]
    return np.dot(V, w) - Cv


@compiled
def _grow(C, alpha, V, v, value):
    """Let the worst violators of optimality in; whether something was gained."""
    p = v.size
    b = stationarity(C, alpha, V, v, value)
    S = np.flatnonzero(v)
    bound = 0.0
    for i in S:
        bound += abs(v[i])
    bound *= alpha * (1 + 1e-9)
    excess = np.empty(p)
    for j in range(p):
        excess[j] = abs(b[j]) - bound if v[j] == 0 else -1.0
    order = np.argsort(-excess, kind="mergesort")
    few, more = 1, 1 + S.size // 8
    if S.size > _LARGE_SUPPORT:
        few, more = more, few
    for turn in range(1 if few == more else 2):
        many = few if turn == 0 else more
        signs = np.sign(v)
        entering = 0
        for j in order[:many]:
            if excess[j] > 0:
                signs[j] = 1.0 if b[j] >= 0 else -1.0
                entering += 1
        if entering == 0:
            return False, v, value
        wider = np.flatnonzero(signs)
        found, u = minimiser(C, alpha, V, wider, signs[wider], v[wider])
        if not found:
            continue
        if np.dot(u, v[wider]) < 0:
            u = -u
        full = np.zeros(p)
        for i in range(wider.size):
            if u[i] * signs[wider[i]] > 0:
                full[wider[i]] = u[i]
        found, entered = feasible_near(V, full)
        if found:
            settled, reached = settle(C, alpha, V, entered, objective(C, alpha, entered))
            if reached < value:
                return True, settled, reached
    return False, v, value


@compiled
def active_set(C, alpha, V, start):
    """Descend from the support and signs of `start`: whether there is a feasible vector, it, and its value."""
    found, v = feasible_near(V, start)
    if not found:
        return False, v, 0.0
    value = objective(C, alpha, v)
    for _ in range(_MAX_ROUNDS):
        v, value = settle(C, alpha, V, v, value)
        found, grown, reached = _grow(C, alpha, V, v, value)
        if not found or reached >= value - _SAME * max(abs(value), alpha):
            break
        v, value = grown, reached
    return True, v, value


@compiled
def reweighted(C, alpha, V, f, floors):
    """Rounds of majorisation from f; see aspca.sparse_pca.starts."""
    S = np.flatnonzero(f)
    basis, whole = basis_on(V, S)
    part = f[S]
    v = np.zeros(f.size)
    if not whole and basis.shape[1] == 0:
        return False, v
    k = S.size
    inside = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            inside[i, j] = C[S[i], S[j]]
    turned = np.ascontiguousarray(basis.T)
    for floor in floors:
        size = np.maximum(np.abs(part), floor * _absolute_largest(part))
        m = inside.copy()
        total = alpha * np.sum(size)
        for i in range(k):
            m[i, i] += total / size[i]
        if whole:
            part = lowest(m, 1, True)[1][0]
        else:
            part = np.dot(basis, lowest(np.dot(turned, np.dot(m, basis)), 1, True)[1][0])
    v[S] = part
    return True, v
