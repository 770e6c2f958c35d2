"""Search for the sparsest vectors of a subspace: linear programs, each with one way of ruling zero out.

All are min ||z||_1 over z = Uq with a'q = 1, some entries of z forced to zero. By duality that is max t with U'y = ta
and |y_j| <= 1 (any y_j where z_j is forced to zero), and q the multipliers of the equations: d rows, p + 1 columns.

* pivots: a is a row of U, so z_j = 1. One program per feature.
* deflation: a'q is the share of one rule found, so z is that rule plus any of the others.
* branching: one feature of a rule found is forced to zero, another is the pivot. It finds rules that no pivot shows,
  because a vector with more features has a lower l1 norm.

Notation: U (p, d) an orthonormal basis of the subspace in units of the features' deviations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog

from aspca.linalg.arrays import Floats, Ints
from aspca.rules.refit import without_noise

# An entry of a linear program's solution below this share of the largest is its rounding.
_ZERO = 1e-7
# A feature whose part in the subspace is below this is no pivot: a rule it is largest in would have 400 features.
_FAINT = 0.05
# A program after the pivots' is followed up if its vector has not many more features than the rule it started from,
# not counting entries below this share of the largest.
_SMALL, _MORE = 0.03, 2
# Only rules with this many features are branched on, and only on so many of their largest entries.
_BRANCHED, _LARGEST = 4, 4
# Rounds of deflation and of branching; each ends with a new choice, and the last is the one that changes nothing.
_ROUNDS = 2
# Programs after the pivots', per feature; and over all, times the entries of U.
_EXTRA, _MOST_WORK = 2, 2_000_000

Choose = Callable[[list[Floats]], Floats]


def sparsest(V: Floats, C: Floats, weights: Floats, earlier: list[Floats], fixed: int, choose: Choose) -> list[Floats]:
    """Candidates for rules in the span of V (p, d), those of `earlier` included.

    Parameters
    ----------
    C : ndarray of shape (p, p)
        Covariance.
    weights : ndarray of shape (p,)
        Positive deviations of the features.
    earlier : list of ndarray of shape (p,)
        Candidates known before.
    fixed : int
        As many rules, the first that `choose` returns, are not improved.
    choose : callable
        From candidates to rules (p, d), independent ones.
    """
    search = _Search(V, C, weights, earlier)
    chosen = search.deflate(choose(search.pool), fixed, choose)
    for _ in range(_ROUNDS):
        if not search.branch(chosen, fixed):
            break
        better = choose(search.pool)
        if np.array_equal(better, chosen):
            break
        chosen = search.deflate(better, fixed, choose)
    return search.pool


class _Search:
    """The candidates so far, and how many programs may still be solved."""

    def __init__(self, V: Floats, C: Floats, weights: Floats, earlier: list[Floats]) -> None:
        self.V, self.C, self.weights = V, C, weights
        self.U = np.asarray(np.linalg.qr(V * weights[:, None])[0], dtype=np.float64)
        self.left = min(_EXTRA * V.shape[0], _MOST_WORK // V.size)
        self.tried: set[tuple[int, int]] = set()
        self.pool = [*earlier, *V.T]
        for column in V.T:
            self._add(column * weights, int(np.argmax(np.abs(column) * weights)))
        # A line holds one vector only: nothing to search.
        for pivot in np.flatnonzero(np.linalg.norm(self.U, axis=1) > _FAINT) if V.shape[1] > 1 else ():
            z = _lowest_norm(self.U, self.U[pivot])
            if z is not None:
                self._add(z, int(pivot))

    def _add(self, z: Floats, pivot: int) -> None:
        self.pool.append(without_noise(z / self.weights, self.V, self.C, pivot))

    def deflate(self, chosen: Floats, fixed: int, choose: Choose) -> Floats:
        """Each rule plus any of the others; the new choice."""
        for _ in range(_ROUNDS):
            # Row k is zero on all rules but the k-th.
            shares = np.linalg.inv(self.U.T @ (chosen * self.weights[:, None]))
            sizes = (chosen != 0).sum(axis=0)
            for k in _largest_first(sizes, fixed, least=3):
                if self.left > 0:
                    self.left -= 1
                    z = _lowest_norm(self.U, shares[k] / np.linalg.norm(shares[k]))
                    if z is not None and _size(z) <= sizes[k] + _MORE:
                        self._add(z, int(np.argmax(np.abs(z))))
            better = choose(self.pool)
            if np.array_equal(better, chosen):
                break
            chosen = better
        return chosen

    def branch(self, chosen: Floats, fixed: int) -> bool:
        """Each rule without one of its features; whether there was anything to try."""
        before = self.left
        sizes = (chosen != 0).sum(axis=0)
        for k in _largest_first(sizes, fixed, least=_BRANCHED):
            largest = np.argsort(-np.abs(chosen[:, k] * self.weights), kind="stable")[:_LARGEST].tolist()
            for barred, pivot in ((j, i) for j in largest for i in largest if i != j):
                if self.left > 0 and (barred, pivot) not in self.tried:
                    self.tried.add((barred, pivot))
                    self.left -= 1
                    z = _lowest_norm(self.U, self.U[pivot], barred)
                    if z is not None and z[pivot] != 0.0 and _size(z) <= sizes[k]:
                        self._add(z, pivot)
        return bool(self.left < before)


def _largest_first(sizes: Ints, fixed: int, least: int) -> list[int]:
    return sorted((k for k in range(fixed, sizes.size) if sizes[k] >= least), key=lambda k: -sizes[k])


def _size(z: Floats) -> int:
    size = np.abs(z)
    return int((size > _SMALL * size.max()).sum())


def _lowest_norm(U: Floats, a: Floats, barred: int | None = None) -> Floats | None:
    """The vector Uq of least l1 norm with a'q = 1, up to its sign; None if there is none or the solver gives up."""
    p, d = U.shape
    bound = np.append(np.ones(p), np.inf)
    if barred is not None:
        bound[barred] = np.inf
    done = linprog(
        np.append(np.zeros(p), -1.0),
        A_eq=np.column_stack([U.T, -a]),
        b_eq=np.zeros(d),
        bounds=list(zip((-bound).tolist(), bound.tolist(), strict=True)),
        method="highs-ds",
    )
    if done.x is None or not done.success:
        return None
    z = U @ done.eqlin.marginals
    if barred is not None:
        z[barred] = 0.0
    size = np.abs(z)
    return np.asarray(np.where(size > _ZERO * size.max(), z, 0.0)) if size.max() > 0.0 else None
