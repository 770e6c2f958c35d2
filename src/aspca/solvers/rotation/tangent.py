"""The tangent space of the rotations: skew matrices as vectors.

Notation: Omega (d, d) skew, omega its n = d (d-1) / 2 entries above the diagonal; L Omega is the first-order change of
the loadings when L is rotated by Omega.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aspca.linalg.arrays import Floats, Ints

# A quarter of the digits: the fourth power of less is rounding.
_SHORT_TURN = 1e-4


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
def skew_space(d: int) -> SkewSpace:
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
