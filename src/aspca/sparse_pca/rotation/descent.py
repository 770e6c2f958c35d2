"""Descents of the L1 norm over the rotations: the paper's, the same accelerated, and where these start.

Notation: V (p, d) start, X (d, d) rotation, C = V X the sparse loadings, mu the weight of the L1 norm (the paper's
equation for the global sparsity optimisation). The search is measured against the paper's alternating scheme
(`paper_rotation`), and takes a few dozen steps for its thousand, from many starts at once (`anneal`): the given basis,
one of localised vectors, and seeded random rotations.

One step of the paper is X <- polar(V' soft(V X, mu)) = X polar(I - L' clip(L, mu)) with L = V X: to first order a
rotation of L by the skew part of -L' clip(L, mu), the gradient of the Huber smoothing of the L1 norm. Here the
rotations gather momentum, and Cayley's formula applies them: one inverse where the polar factor takes an SVD.

Exact plane rotations (`jacobi`): for two columns the L1 norm is minimised over the angle without iteration. Write row k
of the plane as r_k (cos t_k, sin t_k). Rotated by phi it costs r_k (|cos(phi - t_k)| + |sin(phi - t_k)|), concave
between multiples of a quarter turn around t_k. The sum is concave between neighbouring t_k (mod a quarter turn), so its
minimum over all angles is at some phi = t_k, where row k gets an exact zero. Sorted angles and prefix sums evaluate all
p candidates in O(p log p).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dgesv, sgesv

from aspca.linalg.arrays import EPS, Floats, Ints

# From so many columns on arithmetic takes longer than calls.
_LARGE = 100
# Any number would do; results depend on it.
_SEED = 20150810
# Beyond so many columns these starts cost more than they gain.
_MOST_COLUMNS_SPIKY, _MOST_COLUMNS_RANDOM = 48, 20
# A plane rotation must lower its plane by more than this share, else rounding would keep the sweeps busy for ever.
_MIN_GAIN = 1e-13
# Rows whose share of the span is this close tie, and the first is taken: BLAS rounding must not choose.
_TIE = 1e-9


def polar(M: Floats) -> Floats:
    """The orthogonal matrix nearest to each matrix of M, shape (..., d, d)."""
    left, _, right = np.linalg.svd(M)
    return np.asarray(left @ right, dtype=np.float64)


def anneal(
    starts: npt.NDArray[np.floating], mu_first: Floats, n_steps: int, mu_final: float = 3e-4, momentum: float = 0.9
) -> npt.NDArray[np.floating]:
    """Follow the smoothed minimum of ||L||_{1,1} over the rotations as the smoothing shrinks, from each start.

    `starts` (m, p, d) each have orthonormal columns; their precision is that of the steps and of the result (m, p, d),
    loadings near local minima: heuristic, no value is promised. `mu_first` (m,) is the first smoothing of each start:
    about the size of an entry forgets the start, less remembers it. `momentum` is the share of a step that the next one
    repeats; more of it takes more steps to settle.
    """
    m, _, d = starts.shape
    columns = np.ascontiguousarray(np.swapaxes(starts, 1, 2))
    turn = np.zeros((m, d, d), dtype=columns.dtype)
    eye = np.eye(d, dtype=columns.dtype)
    # numpy's own solver takes three times as long in single precision.
    gesv = sgesv if columns.dtype == np.float32 else dgesv
    for mu in np.geomspace(mu_first[:, None, None], mu_final, n_steps).astype(columns.dtype):
        slope = np.clip(columns, -mu, mu) @ np.swapaxes(columns, 1, 2)
        turn = momentum * turn + 0.5 * (slope - np.swapaxes(slope, 1, 2))
        # Cayley's (I + T/2)^-1 (I - T/2), written with one inverse; of a large matrix, which is not formed.
        if d > _LARGE:
            solved = [gesv(left, right)[2] for left, right in zip(eye + 0.5 * turn, columns, strict=True)]
            columns = 2.0 * np.array(solved) - columns
        else:
            columns = (2.0 * np.linalg.inv(eye + 0.5 * turn) - eye) @ columns
    return np.ascontiguousarray(np.swapaxes(columns, 1, 2))


def choose_spread_rows(V: Floats) -> Ints:
    """d rows of V that span its row space well: each the longest beside those before it (pivoted Cholesky of V V')."""
    p, d = V.shape
    left = np.sum(V * V, axis=1)
    factor = np.zeros((p, d))
    rows = np.zeros(d, dtype=np.intp)
    for k in range(d):
        j = rows[k] = int(np.argmax(left >= left.max() * (1.0 - _TIE)))
        column = V @ V[j] - factor[:, :k] @ factor[j, :k]
        factor[:, k] = column / np.sqrt(column[j])
        left = left - factor[:, k] ** 2
    return np.sort(rows)


def localised_rotation(V: Floats) -> Floats:
    """The Q whose V Q is nearest to unit vectors: d features, each the home of one column.

    Known for the orbitals of molecules (selected columns of the density matrix, Damle, Lin and Ying 2015). The
    larger d is beside p, the closer the columns are to their unit vectors, and the harder this start is to beat.
    """
    return polar(V[choose_spread_rows(V)].T)


def spiky_rotation(V: Floats, n_steps: int = 30) -> Floats:
    """Orthogonal Q near a maximum of sum (V Q)^4: few large entries, many small ones (MSP, varimax-like)."""
    Q = np.eye(V.shape[1])
    for _ in range(n_steps):
        Q = polar(V.T @ (V @ Q) ** 3)
    return Q


def make_starts(V: Floats) -> tuple[Floats, Floats]:
    """Rotations to begin from, the same in every run, and how warm each is annealed: 1 is the paper's first mu.

    The localised basis comes first. With few columns random ones join in; with many, spiky ones cost too much.
    """
    d = V.shape[1]
    local, given = localised_rotation(V), np.eye(d)
    if d > _MOST_COLUMNS_SPIKY:
        return np.stack([local, given]), np.array([4.0, 2.0])
    spiky = spiky_rotation(V)
    # A warm beginning forgets where it started and finds the widest basin; a cooler one stays nearer.
    rotations, warmth = [local, spiky, spiky, given], [1.0, 1.0, 0.3, 1.0]
    if d <= _MOST_COLUMNS_RANDOM:
        random = np.random.default_rng(_SEED)
        n_random = 18 if d <= 10 else 6
        rotations += [local, *(polar(random.standard_normal((d, d))) for _ in range(n_random))]
        warmth += [0.5, *np.resize([0.5, 0.2, 1.0], n_random).tolist()]
    return np.stack(rotations), np.array(warmth)


def paper_rotation(V: Floats, n_steps: int = 1000, mu_final: float = 1e-4, mu_first: float | None = None) -> Floats:
    """Orthogonal X from the alternating minimisation of ||V - C X'|| + mu ||C||_{1,1}.

    The paper writes an unsquared Frobenius norm but cites the sparse PCA of 2006 for the alternation, which
    squares it. Read here as ``1/2 ||V - C X'||_F^2 + mu ||C||_{1,1}``: the step for C is then a soft threshold
    at exactly mu, the step for X a Procrustes problem (SVD of V'C). mu starts at the paper's
    ``||V||_F / ||V||_{1,1}`` and falls geometrically to `mu_final`.

    V (p, d) has orthonormal columns; the rotated loadings are V @ X. No guarantee: the result is not a local minimum of
    ||V X||_{1,1}, carries no exact zeros, and can even lie above the start.
    """
    X = np.eye(V.shape[1])
    if mu_first is None:
        mu_first = float(np.linalg.norm(V) / np.abs(V).sum())
    for mu in np.geomspace(mu_first, mu_final, n_steps):
        L = V @ X
        C = np.sign(L) * np.maximum(np.abs(L) - mu, 0.0)
        left, _, right = np.linalg.svd(V.T @ C)
        X = left @ right
    return X


# ---- plane rotations; columns are rows of a (d, p) array, d/2 disjoint pairs at once (round-robin tournament)


@lru_cache(maxsize=64)
def pair_columns(d: int) -> tuple[tuple[Ints, Ints], ...]:
    """All d (d-1) / 2 pairs of columns as rounds of disjoint pairs (first < second)."""
    seats = list(range(d + d % 2))
    rounds = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        pairs = [(min(a, b), max(a, b)) for a, b in zip(seats[:half], seats[::-1], strict=False) if max(a, b) < d]
        if pairs:
            first, second = np.array(sorted(pairs), dtype=np.intp).T
            rounds.append((first, second))
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return tuple(rounds)


def rotate_pairs(columns: Floats, first: Ints, second: Ints) -> float:
    """Rotate disjoint pairs of columns, in place, to the exact minimum of each plane.

    `columns` (d, p) are the loadings, a column in each row; entries that vanish become exactly 0.0. `first`, `second`
    (m,) are the pairs; no column occurs twice. Returns by how much the L1 norm fell, >= 0.
    """
    a, b = columns[first], columns[second]
    x, y = np.abs(a), np.abs(b)
    # Rows in the second and fourth quadrant, turned by a quarter: every angle now lies in [0, pi/2].
    turned = (a < 0.0) != (b < 0.0)
    x, y = np.where(turned, y, x), np.where(turned, x, y)
    size = x + y
    present = size > 0.0
    # y / (x + y) grows with the angle and spares the arctangent.
    order = np.argsort(np.divide(y, size, out=np.ones_like(size), where=present), axis=1)
    x, y = np.take_along_axis(x, order, 1), np.take_along_axis(y, order, 1)
    sum_x, sum_y = np.cumsum(x, axis=1), np.cumsum(y, axis=1)
    all_x, all_y = sum_x[:, -1:], sum_y[:, -1:]
    radius = np.hypot(x, y)
    safe = np.where(radius > 0.0, radius, 1.0)
    cosine, sine = x / safe, y / safe
    value = cosine * (all_x + all_y - 2.0 * sum_y) + sine * (all_y - all_x + 2.0 * sum_x)
    value[radius == 0.0] = np.inf
    best = np.argmin(value, axis=1)
    rows = np.arange(len(best))
    start = (all_x + all_y)[:, 0]
    gain = start - value[rows, best]
    rows = rows[gain > _MIN_GAIN * start]
    if rows.size == 0:
        return 0.0
    c, s = cosine[rows, best[rows]], sine[rows, best[rows]]
    # The same four axes by an angle of at most pi/4: each column stays the heir of the column it was.
    far = s > c
    c, s = np.where(far, s, c)[:, None], np.where(far, -c, s)[:, None]
    a, b = a[rows], b[rows]
    new_a, new_b = c * a + s * b, c * b - s * a
    noise = 4.0 * EPS * (np.abs(a) + np.abs(b))
    new_a[np.abs(new_a) <= noise] = 0.0
    new_b[np.abs(new_b) <= noise] = 0.0
    columns[first[rows]], columns[second[rows]] = new_a, new_b
    return float(gain[rows].sum())


def jacobi(L: Floats, max_sweeps: int = 100, tol: float = 1e-10) -> Floats:
    """Sweep over all planes until one sweep lowers ||L||_{1,1} by less than tol, relatively.

    L (p, d) has orthonormal columns; the result is L times a rotation. ||.||_{1,1} never rises; at the end no plane
    offers more than about tol.
    """
    columns = np.array(L.T, order="C")
    # A pair without a common row is at its optimum already; only columns that meet are worth the sort.
    for _ in range(max_sweeps):
        gain = 0.0
        for first, second in pair_columns(columns.shape[0]):
            support = columns != 0.0
            meet = np.any(support[first] & support[second], axis=1)
            if meet.any():
                gain += rotate_pairs(columns, first[meet], second[meet])
        if gain <= tol * np.abs(columns).sum():
            break
    return np.ascontiguousarray(columns.T)
