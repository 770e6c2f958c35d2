"""Compiled: a predictor-corrector step of the interior-point method, as in aspca.sparse_pca.interior_point."""

from __future__ import annotations

import numpy as np

from library.compiled.lapack import compiled, factorise, products_of_columns, products_of_rows, solve


@compiled
def _pair_products(G, P):
    """P_(ab),(ij) = G_ia G_jb + G_ib G_ja over a <= b and i < j."""
    p, m = G.shape
    row = 0
    for a in range(m):
        for b in range(a, m):
            column = 0
            for i in range(p):
                one, other = G[i, a], G[i, b]
                for j in range(i + 1, p):
                    P[row, column] = one * G[j, b] + other * G[j, a]
                    column += 1
            row += 1


@compiled
def _by_pieces(G, E, K):
    """The upper triangle of K = P diag(e) P', e the off-diagonal of E; see aspca.sparse_pca.interior_point."""
    p, m = G.shape
    n = m * (m + 1) // 2
    H = np.empty((n, p))
    at = np.empty((m, m), dtype=np.intp)
    row = 0
    for a in range(m):
        for b in range(a, m):
            at[a, b] = at[b, a] = row
            for i in range(p):
                H[row, i] = G[i, a] * G[i, b]
            row += 1
    W = np.dot(np.dot(H, E), np.ascontiguousarray(H.T))
    for a in range(m):
        for b in range(a, m):
            row = at[a, b]
            for c in range(a, m):
                one, other = W[at[a, c]], W[at[b, c]]
                for d in range(c, m):
                    K[row, at[c, d]] = one[at[b, d]] + other[at[a, d]]


@compiled
def _moved(P, G, u):
    """P u; where P is not given, as G'UG."""
    if P.shape[0]:
        return np.dot(P, u)
    p, m = G.shape
    inside = np.dot(np.ascontiguousarray(G.T), np.dot(_off_diagonal(u, p), G))
    upper = np.empty(m * (m + 1) // 2)
    at = 0
    for a in range(m):
        for b in range(a, m):
            upper[at] = inside[a, b]
            at += 1
    return upper


@compiled
def _spread(P, G, y):
    """P'y; where P is not given, as G dY G'."""
    if P.shape[0]:
        return np.dot(P.T, y)
    p, m = G.shape
    outside = np.dot(G, np.dot(_full(y, m, 2.0), np.ascontiguousarray(G.T)))
    above = np.empty(p * (p - 1) // 2)
    at = 0
    for i in range(p):
        for j in range(i + 1, p):
            above[at] = outside[i, j]
            at += 1
    return above


@compiled
def _off_diagonal(u, p):
    """The symmetric matrix with off-diagonal u and zero diagonal."""
    U = np.zeros((p, p))
    at = 0
    for i in range(p):
        for j in range(i + 1, p):
            U[i, j] = U[j, i] = u[at]
            at += 1
    return U


@compiled
def _half(matrix):
    """The entries on and above the diagonal, the diagonal halved."""
    m = matrix.shape[0]
    upper = np.empty(m * (m + 1) // 2)
    at = 0
    for a in range(m):
        for b in range(a, m):
            upper[at] = 0.5 * matrix[a, b] if a == b else matrix[a, b]
            at += 1
    return upper


@compiled
def _full(upper, m, diagonal):
    """A symmetric matrix from its entries on and above the diagonal, the diagonal multiplied."""
    matrix = np.empty((m, m))
    at = 0
    for a in range(m):
        for b in range(a, m):
            matrix[a, b] = matrix[b, a] = diagonal * upper[at] if a == b else upper[at]
            at += 1
    return matrix


@compiled
def _solve(in_Y, P, G, K, weight, D, R, r, f):
    """y and u with  y + weight (P u - f) = R  and  D u = 2 P'y - r."""
    if in_Y:
        y = solve(K, R / weight + _moved(P, G, r / D) + f)
        return y, (2.0 * _spread(P, G, y) - r) / D
    u = solve(K, 2.0 * _spread(P, G, R + weight * f) - r)
    return R + weight * (f - _moved(P, G, u)), u


@compiled
def _direction(at, system, mu, second_Y, second_a, second_b):
    a, b, s, up, down = at
    in_Y, P, G, K, weight, D, trace, y1, u1 = system
    m = s.size
    R = -second_Y
    for i in range(m):
        R[i, i] += mu / s[i] - 1.0
    ra = (mu - second_a) / up - a
    rb = (mu - second_b) / down - b
    y0, u0 = _solve(in_Y, P, G, K, weight, D, _half(R), ra - rb, np.zeros(weight.size))
    dt = -np.dot(trace, y0) / np.dot(trace, y1)
    du = u0 + dt * u1
    dY = _full(y0 + dt * y1, m, 2.0)
    dS = _full(_moved(P, G, du) - dt * trace, m, 1.0)
    return du, dt, dS, dY, ra + a * du / up, rb - b * du / down


@compiled
def _to_boundary(step):
    low = np.linalg.eigvalsh(step)[0]
    return np.inf if low >= 0 else -1.0 / low


@compiled
def _ratio(x, step, sign):
    least = np.inf
    for i in range(x.size):
        if sign * step[i] < 0:
            least = min(least, -x[i] / (sign * step[i]))
    return least


@compiled
def _lengths(at, du, dS, dY, da, db):
    a, b, s, up, down = at
    root = np.sqrt(s)
    m = s.size
    scaled = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            scaled[i, j] = dS[i, j] / (root[i] * root[j])
    primal = min(_to_boundary(dY), _ratio(a, da, 1.0), _ratio(b, db, 1.0))
    dual = min(_to_boundary(scaled), _ratio(up, du, -1.0), _ratio(down, du, 1.0))
    return primal, dual


@compiled
def _by_product(G, weight, D, in_Y):
    """The products of all pairs, and K of the smaller of the two systems, factorised."""
    n, q = weight.size, D.size
    pairs, half = np.empty((n, q)), np.empty((n, q))
    _pair_products(G, pairs)
    order = n if in_Y else q
    K = np.zeros((order, order))
    if in_Y:
        across = np.sqrt(2.0 / D)
        for i in range(n):
            for j in range(q):
                half[i, j] = pairs[i, j] * across[j]
        products_of_rows(half, K)
        diagonal = 1.0 / weight
    else:
        down_by = np.sqrt(2.0 * weight)
        for i in range(n):
            for j in range(q):
                half[i, j] = pairs[i, j] * down_by[i]
        products_of_columns(half, K)
        diagonal = D
    for i in range(order):
        K[i, i] += diagonal[i]
    if not factorise(K):
        # Near the solution K is singular to rounding; without forming it there is twice the precision.
        thin = np.ascontiguousarray(half.T) if in_Y else half
        tall = np.vstack((thin, np.diag(np.sqrt(diagonal))))
        K = np.ascontiguousarray(np.linalg.qr(tall)[1][:order])
    return pairs, K


@compiled
def step(N, Y, S, t, u, a, b, K, far_from):
    """The point after one step; the first answer is false where rounding has ended what the method can do."""
    p, m = N.shape
    L = np.linalg.cholesky(Y)
    s, Q = np.linalg.eigh(np.dot(np.ascontiguousarray(L.T), np.dot(S, L)))
    if s[0] <= 0:
        return False, Y, S, t, u, a, b
    T = np.dot(np.ascontiguousarray(L), np.ascontiguousarray(Q))
    G = np.dot(N, T)
    up, down = 1.0 - u, 1.0 + u
    D = a / up + b / down
    trace = _half(np.dot(np.ascontiguousarray(T.T), T))
    relation = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            relation[i, j] = 0.5 * (1.0 / s[i] + 1.0 / s[j])
    at = 0
    for i in range(m):
        trace[at] *= 2.0
        at += m - i
    weight = _half(relation)
    n, q = weight.size, u.size
    gap = np.sum(Y * S) + np.dot(a, up) + np.dot(b, down)
    pairs = np.empty((0, 0))
    in_Y = True
    done = False
    if gap > far_from * max(abs(t + 1.0), 1.0):
        _by_pieces(G, _off_diagonal(2.0 / D, p), K)
        for i in range(n):
            K[i, i] += 1.0 / weight[i]
        done = factorise(K)
    if not done:
        in_Y = n < q
        pairs, K = _by_product(G, weight, D, in_Y)
    y1, u1 = _solve(in_Y, pairs, G, K, weight, D, np.zeros(n), np.zeros(q), trace)
    here = (a, b, s, up, down)
    system = (in_Y, pairs, G, K, weight, D, trace, y1, u1)

    du, dt, dS, dY, da, db = _direction(here, system, 0.0, np.zeros((m, m)), np.zeros(q), np.zeros(q))
    primal, dual = _lengths(here, du, dS, dY, da, db)
    primal, dual = min(1.0, primal), min(1.0, dual)
    after = np.dot(a + primal * da, up - dual * du) + np.dot(b + primal * db, down + dual * du)
    for i in range(m):
        for j in range(m):
            one = 1.0 if i == j else 0.0
            after += (one + primal * dY[i, j]) * (one * s[i] + dual * dS[i, j])
    sigma = min(1.0, max(after / gap, 1e-6)) ** 3
    cross = np.dot(dY, dS)
    for i in range(m):
        for j in range(m):
            cross[i, j] /= s[j]
    cross = 0.5 * (cross + cross.T)
    du, dt, dS, dY, da, db = _direction(here, system, sigma * gap / (m + 2 * q), cross, -da * du, db * du)
    primal, dual = _lengths(here, du, dS, dY, da, db)
    primal, dual = min(1.0, 0.97 * primal), min(1.0, 0.97 * dual)
    Y = Y + primal * np.dot(T, np.dot(dY, np.ascontiguousarray(T.T)))
    Y = 0.5 * (Y + Y.T)
    moved = _off_diagonal(dual * du, p)
    inside = np.dot(np.ascontiguousarray(N.T), np.dot(moved, N))
    S = S + 0.5 * (inside + inside.T)
    for i in range(m):
        S[i, i] -= dual * dt
    return True, Y, S, t + dual * dt, u + dual * du, a + primal * da, b + primal * db
