"""Exact plane rotations: for two columns the L1 norm is minimised over the angle without iteration.

Write row k of the plane as r_k (cos t_k, sin t_k). Rotated by phi it costs
r_k (|cos(phi - t_k)| + |sin(phi - t_k)|), concave between multiples of a quarter turn around t_k. The sum is
concave between neighbouring t_k (mod a quarter turn), so its minimum over all angles is at some phi = t_k, where
row k gets an exact zero. Sorted angles and prefix sums evaluate all p candidates in O(p log p).

Columns are handled as the rows of a (d, p) array, d/2 disjoint pairs at once (round-robin tournament).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from aspca.linalg.arrays import Floats, Ints

# A rotation must lower its plane by more than this share, else rounding would keep the sweeps busy for ever.
_MIN_GAIN = 1e-13
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


@lru_cache(maxsize=64)
def round_robin(d: int) -> tuple[tuple[Ints, Ints], ...]:
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
    noise = _ROUNDING * (np.abs(a) + np.abs(b))
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
        for first, second in round_robin(columns.shape[0]):
            support = columns != 0.0
            meet = np.any(support[first] & support[second], axis=1)
            if meet.any():
                gain += rotate_pairs(columns, first[meet], second[meet])
        if gain <= tol * np.abs(columns).sum():
            break
    return np.ascontiguousarray(columns.T)
