"""Candidates for rules, and the choice of the simplest independent ones.

Simple: few features, and tight; one feature more is worth a tenth of the variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.rules.refit import Refit

_EPS = float(np.finfo(np.float64).eps)
# A rule counts as new if this much of it (a sine) is not made up of the rules before it: well above what a refit may
# leave the subspace by.
_NEW = 0.25
# Below this, anything that completes a basis will do.
_LAST = 0.05


@dataclass(frozen=True, eq=False)
class Candidate:
    """A vector z (p,) in units of the features' deviations.

    Attributes
    ----------
    cost : float
        Features plus decades of variance, as a share of the largest term's.
    support : tuple of int
    given : int
        The number of the given vector that it is; -1: found.
    """

    z: Floats
    cost: float
    support: tuple[int, ...]
    given: int = -1


def candidate(z: Floats, refit: Refit, given: int = -1) -> Candidate:
    support = np.flatnonzero(z)
    widest = float(np.square(z).max())
    variance = refit.variance(z)
    # Exact rules are equally tight, whatever rounding says; of others, what differs in three digits only is the same.
    exact = variance <= max(refit.unresolved(z), _EPS * widest)
    share = _EPS if exact else float(f"{variance / widest:.2e}")
    return Candidate(z, support.size + float(np.log10(share)), tuple(support.tolist()), given)


class Pool:
    """Candidates, of those on the same features the simplest."""

    def __init__(self) -> None:
        self._best: dict[tuple[int, ...], Candidate] = {}

    def add(self, new: Candidate) -> None:
        old = self._best.get(new.support)
        if old is None or new.cost < old.cost:
            self._best[new.support] = new

    def reset(self, candidates: list[Candidate]) -> None:
        """These candidates, and no others."""
        self._best = {one.support: one for one in candidates}

    @property
    def candidates(self) -> list[Candidate]:
        return list(self._best.values())


def independent(candidates: list[Candidate], V: Floats, weights: Floats, kept: list[Candidate]) -> list[Candidate]:
    """Those `kept`, and the simplest candidates independent of them, as many as V (p, c) has columns.

    Among the candidates must be c independent ones of the span of V. Of equally simple ones a found one is taken before
    a given one, then the one whose features come first.
    """
    p, c = V.shape
    # Given ones with as many features as a vector of any such subspace has are for what nothing else is new in.
    ordered = sorted(candidates, key=lambda one: (one.cost, one.given, one.support))
    simple = [one.given < 0 or len(one.support) <= p - c for one in ordered]
    chosen: list[Candidate] = []
    basis = np.zeros((c, c))

    def take(one: Candidate, coordinates: Floats, new: float) -> None:
        known = basis[: len(chosen)]
        rest = coordinates - (known @ coordinates) @ known
        size = float(np.linalg.norm(rest))
        if size > new:
            rest = rest / size
            # Once more: what rounding left along the others.
            rest -= (known @ rest) @ known
            basis[len(chosen)] = rest / np.linalg.norm(rest)
            chosen.append(one)

    if kept:
        for one, coordinates in zip(kept, _coordinates(kept, V, weights), strict=True):
            take(one, coordinates, 0.0)
    inside = _coordinates(ordered, V, weights)
    new = _NEW
    while len(chosen) < c:
        for one, coordinates, early in zip(ordered, inside, simple, strict=True):
            if len(chosen) < c and (early or new < _LAST):
                take(one, coordinates, new)
        new *= 0.5
    return chosen


def _coordinates(candidates: list[Candidate], V: Floats, weights: Floats) -> Floats:
    """Of the candidates in the span of V (n, c), of unit length."""
    inside = (np.array([one.z for one in candidates]) / weights) @ V
    return np.asarray(inside / np.linalg.norm(inside, axis=1, keepdims=True))
