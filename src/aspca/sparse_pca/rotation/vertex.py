"""Downhill from corner to corner: an L1 simplex method on the rotations, down to an exact local minimum.

To first order the objective is ||L + L Omega||_{1,1}, an L1 regression with n = d (d-1) / 2 unknowns. Its corners
have n independent zeros. The edges of a corner release one zero and keep the others; an edge goes down if its
multiplier exceeds 1, and is followed past every kink to its lowest point, where another entry becomes the missing zero
(Barrodale and Roberts 1973). A corner without such an edge is a local minimum, of the curved problem too, and its
zeros determine the basis to rounding.

Notation: Omega (d, d) skew, omega its n entries above the diagonal; L Omega is the first-order change of the loadings
when L is rotated by Omega.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.blas import dger

from aspca.linalg.arrays import Bools, Floats, Ints

# No plane is turned by more than this (radians) before the model, linear in the angle, is set up anew.
_RADIUS = 0.02
_SMALLEST_RADIUS = 1e-5
# A first corner is chosen among this many times n smallest entries: some of them depend on each other.
_CANDIDATES = 1.25
# Entries below this are equally near to zero; those are preferred that depend on each other least.
_AS_GOOD_AS_ZERO = 1e-9
# A zero is independent of the others if its row keeps this length beside them.
_INDEPENDENT = 1e-4
# Multipliers this close to their bound, and falls below this share, are rounding.
_MULTIPLIER = 1e-9
_FALL = 1e-13
# Rise of the objective accepted in exchange for the first exact zeros.
_SLACK = 1e-10
# In the model alone, redundant zeros are moved apart by about this: no two may be met at once, or pivots might cycle.
_SHIFT = 1e-11
# A quarter of the digits: the fourth power of less is rounding.
_SHORT_TURN = 1e-4
# Entries to clear, as shares of the n = d (d-1) / 2 zeros of a corner; the first share that works. The more, the worse
# conditioned the equations are.
_SHARES = (0.2, 0.05)
# Digits that each of Newton's steps asks for, and when to give up: well chosen entries need a dozen gradients.
_ACCURACIES = (1e-2, 1e-4, 1e-3, 1e-3, 1e-3)
_MOST_GRADIENTS = 60


@dataclass(frozen=True)
class Corner:
    """n independent rows of coefficients: of entries that are zero, or of directions that are still free."""

    entries: Ints  # (n,) of the loadings, numbered along their rows; -1 for a free direction
    rows: Floats  # (n, n) change of each entry, as coefficients of omega

    @property
    def held(self) -> Bools:
        """Which rows belong to entries."""
        return np.asarray(self.entries >= 0)

    def at(self, L: Floats, space: SkewSpace) -> Corner:
        """The same entries in other loadings."""
        rows = self.rows.copy()
        rows[self.held] = space.entry_changes(L, self.entries[self.held])
        return Corner(self.entries, rows)


def descend(V: Floats, Q: Floats, max_rounds: int = 20) -> Floats:
    """Follow descending edges from the corner nearest to V Q until there is none.

    V (p, d) has orthonormal columns, d >= 2; Q is orthogonal, near a corner, and so is the result. At most `max_rounds`
    linearisations, each with one inverse of order n. ||V Q||_1 does not rise (but for a share of 1e-10 at a corner's
    first exact zeros). With enough rounds it is a local minimum whose zeros, at least n of them, are exact to rounding.
    """
    d = V.shape[1]
    space = make_skew_space(d)
    L = V @ Q
    allowed = float(np.abs(L).sum()) * (1.0 + _SLACK)
    radius = _RADIUS
    corner, exact = find_nearest_corner(L, radius), False
    for _ in range(max_rounds):
        try:
            inverse = np.asfortranarray(np.linalg.inv(corner.rows))
        except np.linalg.LinAlgError:
            break
        omega, entries, inverse = _walk(L, corner, inverse, radius)
        # What is left at a local minimum: nothing, or redundant zeros that change places.
        if exact and float(np.abs(omega).max()) <= 100.0 * _SHIFT:
            break
        found = Corner(entries, corner.rows)
        turned = _with_zeros(V, Q @ cayley(space.matrix(omega)), found, inverse)
        if turned is not None and float(np.abs(V @ turned).sum()) <= allowed:
            Q, L = turned, V @ turned
            corner, exact = found.at(L, space), True
            allowed = float(np.abs(L).sum()) * (1.0 - _FALL)
            continue
        radius /= 5.0
        if radius < _SMALLEST_RADIUS:
            break
        corner = corner if exact else find_nearest_corner(L, radius)
    return Q


def find_nearest_corner(L: Floats, radius: float) -> Corner:
    """Zeros that a rotation of length `radius` can reach together: the nearest first, each independent of those before.

    A QR factorisation whose pivots prefer small entries; directions it leaves over are free.
    """
    space = make_skew_space(L.shape[1])
    n = space.size
    size = np.abs(L).ravel()
    candidates = np.argsort(size, kind="stable")[: max(n, int(_CANDIDATES * n))]
    weight = 1.0 / np.maximum(size[candidates], _AS_GOOD_AS_ZERO)
    rows = space.entry_changes(L, candidates)
    basis, R, order = qr((rows * weight[:, None]).T, mode="economic", pivoting=True, check_finite=False)
    chosen = order[:n]
    length = np.abs(np.diag(R)) / weight[chosen]
    R = R[:, :n]
    # Lengths of the moves that make one more entry zero and keep those before it.
    target = np.minimum(size[candidates[chosen]] * weight[chosen], 1.0)
    signs = np.sign(L.ravel()[candidates[chosen]])
    independent = length > _INDEPENDENT
    count = n if independent.all() else int(np.argmin(independent))
    held = np.zeros(n, dtype=bool)
    if count > 0:
        moves = solve_triangular(R[:count, :count], (-target * signs)[:count], trans="T", check_finite=False)
        held[:count] = np.cumsum(moves**2) <= radius**2
    entries = np.where(held, candidates[chosen], -1)
    return Corner(entries, np.where(held[:, None], rows[chosen], basis.T))


def _walk(L: Floats, corner: Corner, inverse: Floats, radius: float) -> tuple[Floats, Ints, Floats]:
    """Pivot downhill in the linear model: omega, the entries zero there, and the inverse of their rows."""
    d = L.shape[1]
    space = make_skew_space(d)
    entries = corner.entries.copy()
    held = corner.held
    shift = _SHIFT * np.where(np.arange(L.size) % 2 == 0, 1.0, -1.0) * (1.0 + np.modf(np.arange(L.size) * 0.618)[0])
    omega = inverse[:, held] @ -L.ravel()[entries[held]]
    model = (L + L @ space.matrix(omega)).ravel()
    cost = held.astype(np.float64)
    limit = radius + float(np.abs(omega).max())
    length2 = np.einsum("ij,ij->j", inverse, inverse)
    for _ in range(4 * space.size):
        basic = entries[entries >= 0]
        model = np.where(np.abs(model) <= _SHIFT, shift, model)
        model[basic] = 0.0
        multiplier = space.vector(L.T @ np.sign(model).reshape(L.shape)) @ inverse
        # The steepest edge, per length of omega.
        leaving = int(np.argmax((np.abs(multiplier) - cost) / np.sqrt(length2)))
        if np.abs(multiplier[leaving]) <= cost[leaving] + _MULTIPLIER:
            break
        down = -np.sign(multiplier[leaving])
        edge = inverse[:, leaving] * down
        change = (L @ space.matrix(edge)).ravel()
        change[basic] = 0.0
        if entries[leaving] >= 0:
            change[entries[leaving]] = down
        room = float(np.min((limit - np.sign(edge) * omega) / np.maximum(np.abs(edge), 1e-300)))
        step, entering = find_best_step(model, change, room)
        omega = omega + step * edge
        if entering < 0:
            break
        model = model + step * change
        row = (space.entry_changes(L, np.array([entering])) @ inverse)[0]
        pivot = inverse[:, leaving] / row[leaving]
        row[leaving] -= 1.0
        length2 = np.maximum(length2 + row * (row * float(pivot @ pivot) - 2.0 * (pivot @ inverse)), 1e-300)
        inverse = dger(-1.0, pivot, row, a=inverse, overwrite_a=True)
        entries[leaving], cost[leaving] = entering, 1.0
    return omega, entries, inverse


def _with_zeros(V: Floats, Q: Floats, corner: Corner, inverse: Floats) -> Floats | None:
    """The rotation near Q that makes the entries of the corner zero, by Newton's method; None where there is none."""
    d = V.shape[1]
    space = make_skew_space(d)
    held = corner.held
    before = np.inf
    for _ in range(16):
        L = V @ Q
        off = L.ravel()[corner.entries[held]]
        worst = float(np.abs(off).max(initial=0.0))
        if worst < 1e-15:
            return Q
        if worst > 0.3 * before:
            if worst < 1e-14:
                return Q
            try:
                inverse = np.asfortranarray(np.linalg.inv(corner.at(L, space).rows))
            except np.linalg.LinAlgError:
                return None
        before = worst
        omega = inverse[:, held] @ -off
        if not float(np.abs(omega).max()) < 5.0 * _RADIUS:
            return None
        Q = Q @ cayley(space.matrix(omega))
    return None


def find_best_step(L: Floats, change: Floats, longest: float) -> tuple[float, int]:
    """The t in [0, longest] that minimises sum |L + t change|, a weighted median of the crossings, and what ends there.

    That is the entry that is zero at t, or -1 where t is an end of the interval.
    """
    downhill = float(np.sum(np.sign(L) * change) + np.sum(np.abs(change[L == 0.0])))
    if downhill >= 0.0:
        return 0.0, -1
    # Only entries that shrink cross zero.
    ahead = np.flatnonzero(L * change < 0.0)
    crossing = -L[ahead] / change[ahead]
    soon = crossing < longest
    ahead, crossing = ahead[soon], crossing[soon]
    order = np.argsort(crossing, kind="stable")
    turn = int(np.searchsorted(downhill + np.cumsum(2.0 * np.abs(change[ahead[order]])), 0.0))
    if turn == len(order):
        return longest, -1
    return float(crossing[order[turn]]), int(ahead[order[turn]])


@dataclass(frozen=True)
class SkewSpace:
    """Index tables for d columns: rows `partner[i]` of column i of Omega hold `sense[i]` times omega at `place[i]`."""

    upper: Ints
    lower: Ints
    partner: Ints
    place: Ints
    sense: Floats

    @property
    def size(self) -> int:
        """n, the dimension of the space."""
        return len(self.upper)

    def matrix(self, omega: Floats) -> Floats:
        """The skew matrix with omega above its diagonal."""
        d = len(self.partner)
        skew = np.zeros((d, d))
        skew[self.upper, self.lower] = omega
        return skew - skew.T

    def vector(self, G: Floats) -> Floats:
        """Coefficients of omega in <G, Omega>."""
        return np.asarray(G[self.upper, self.lower] - G[self.lower, self.upper], dtype=np.float64)

    def entry_changes(self, L: Floats, entries: Ints) -> Floats:
        """Coefficients of omega in given entries of L Omega, a row for each; entries are numbered along its rows."""
        row, column = np.divmod(entries, L.shape[1])
        changes = np.zeros((len(entries), self.size))
        changes[np.arange(len(entries))[:, None], self.place[column]] = (
            L[row[:, None], self.partner[column]] * self.sense[column]
        )
        return changes


@lru_cache(maxsize=16)
def make_skew_space(d: int) -> SkewSpace:
    """The tables for d >= 2 columns."""
    upper, lower = np.triu_indices(d, 1)
    position = np.zeros((d, d), dtype=np.intp)
    position[upper, lower] = position[lower, upper] = np.arange(len(upper))
    own = np.arange(d)[:, None]
    partner = np.array([np.delete(np.arange(d), i) for i in range(d)], dtype=np.intp)
    return SkewSpace(upper, lower, partner, position[partner, own], np.sign(own - partner).astype(np.float64))


def cayley(skew: Floats) -> Floats:
    """The rotation (I - Omega/2)^-1 (I + Omega/2): orthogonal to rounding, exp(Omega) to second order."""
    eye = np.eye(len(skew))
    half = skew / 2.0
    if float(np.linalg.norm(half)) <= _SHORT_TURN:
        # The same by its series, of which nothing is left beyond the cube.
        square = half @ half
        return np.asarray(eye + 2.0 * (half + square + half @ square), dtype=np.float64)
    return np.asarray(np.linalg.solve(eye - half, eye + half), dtype=np.float64)


# ---- exact zeros where there are too many columns for exact corners: the smallest entries, all at once


def clear_small_entries(L: Floats) -> Floats:
    """Rotate L such that its smallest entries become zero, as many as there are good equations for.

    A rotation that makes given entries zero solves, to first order, (L Omega)_Z = -L_Z. Its shortest solution takes a
    few dozen conjugate gradients, each of two matrix products; Newton's method makes it exact. Up to d^2 / 7 entries of
    the result are zero to rounding. L (p, d) itself where that fails or would raise ||L||_{1,1}.
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
        if float(np.abs(L.ravel()[entries]).max(initial=0.0)) <= 1e-14:
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
