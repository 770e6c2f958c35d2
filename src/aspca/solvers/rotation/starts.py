"""Where the search begins: the given basis, a fourth-moment rotation, and seeded random rotations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.solvers.rotation.anneal import polar

_SEED = 20150810


@dataclass(frozen=True)
class Starts:
    """Rotations to begin from and how each is annealed; see `anneal`."""

    rotations: Floats
    momentum: Floats
    mu_first: Floats


def spiky_rotation(V: Floats, n_steps: int = 60) -> Floats:
    """Orthogonal Q near a maximum of sum (V Q)^4: few large entries, many small ones (MSP, varimax-like)."""
    Q = np.eye(V.shape[1])
    for _ in range(n_steps):
        Q = polar(V.T @ (V @ Q) ** 3)
    return Q


def n_random_starts(d: int) -> int:
    """Fewer where one run is dear and local minima differ by less."""
    if d <= 10:
        return 20
    if d <= 20:
        return 8
    return 1 if d <= 48 else 0


def make_starts(V: Floats, n_random: int, entry_size: float) -> Starts:
    """The starts for V, the same in every run: given basis (twice, two momenta), spiky, random.

    `entry_size` is the smoothing from which the warmest of them are annealed, the paper's first mu.
    """
    d = V.shape[1]
    random = np.random.default_rng(_SEED)
    eye = np.eye(d)
    rotations = [eye, eye, spiky_rotation(V)] if d <= 48 else [eye]
    rotations += [polar(random.standard_normal((d, d))) for _ in range(n_random)]
    momentum = np.full(len(rotations), 0.9)
    # A warm beginning forgets where it started and finds the widest basin; cooler ones look into more of them.
    warmth = np.resize([1.0, 0.5, 0.2], len(rotations))
    momentum[0], warmth[0] = 0.95, 1.0
    if d <= 48:
        momentum[1], warmth[1], warmth[2] = 0.85, 1.0, 0.3
    return Starts(np.stack(rotations), momentum, entry_size * warmth)
