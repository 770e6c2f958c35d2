"""Search for the sparsest vectors of a subspace: programs (`programs`), each with one way of ruling zero out.

* pivots: z_j = 1. One program per feature.
* deflation: the share of one rule found is fixed, so z is that rule plus any of the others.
* branching: one feature of a rule found is forced to zero, another is the pivot. It finds rules that no pivot shows,
  because a vector with more features has a lower norm.
* combination: a rule found minus a multiple of another.

Of many features, rules of a few terms are looked for first by forward selection (`forward`): where these complete the
subspace, no program is solved.

Notation: U (p, c) an orthonormal basis of the subspace in units of the features' deviations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.rules.choice import Candidate, Pool, candidate
from aspca.rules.forward import forward_vectors
from aspca.rules.programs import complement, sparse_vectors
from aspca.rules.refit import Refit

# A feature whose part in the subspace is below this is no pivot: a rule it is largest in would have 400 features.
_FAINT = 0.05
# Up to so many directions are candidates themselves.
_FEW = 4
# A program after the pivots' is followed up if its vector has not many more features than the rule it started from,
# not counting entries below this share of the largest.
_SMALL, _MORE = 0.03, 2
# Only rules with this many features are branched on, and only on so many of their largest entries.
_BRANCHED, _LARGEST = 4, 4
# After so many vectors of which more than this share were not shortened below what any subspace has, the others are not
# shortened term by term either.
_FIRST, _HARDLY = 24, 0.75
# Rules with more features are not improved: they are what any subspace holds.
_LONG = 32
# From so many features on, rules of a few terms are looked for by themselves first, and may be all there are.
_MANY = 64
# Rounds of deflation and of branching; each ends with a new choice, and the last is the one that changes nothing.
_ROUNDS = 2
# Programs after the pivots', per feature.
_EXTRA = 2
# Rules with at most so many features are subtracted from each other; coefficients whose ratios are alike to this share
# cancel; and so many rounds of it.
_COMBINED, _ALIKE, _COMBINATIONS = 12, 0.05, 4

Choose = Callable[[], list[Candidate]]


def search(V: Floats, refit: Refit, pool: Pool, fixed: int, choose: Choose) -> list[Candidate]:
    """Fill `pool` with candidates for rules in the span of V (p, c); the last choice.

    Parameters
    ----------
    fixed : int
        As many rules, the first that `choose` returns, are not improved.
    choose : callable
        From the candidates in the pool to c independent ones.
    """
    short = _short_ones(V, refit, pool, fixed, choose)
    if short is not None:
        return _combined(short, refit, pool, fixed, choose)
    found = _Search(V, refit, pool)
    chosen = found.deflate(choose(), fixed, choose)
    for _ in range(_ROUNDS):
        if not found.branch(chosen, fixed):
            break
        better = choose()
        if _same(better, chosen):
            break
        chosen = found.deflate(better, fixed, choose)
    return _combined(chosen, refit, pool, fixed, choose)


def _short_ones(V: Floats, refit: Refit, pool: Pool, fixed: int, choose: Choose) -> list[Candidate] | None:
    """Rules of a few terms by forward selection, where these are all there are; None: the pool is as it was."""
    if len(V) < _MANY or V.shape[1] <= _FEW:
        return None
    before = pool.candidates
    vectors, pivots = forward_vectors(refit.R)
    for z, pivot in zip(vectors.T, pivots.tolist(), strict=True):
        rule = refit.without_noise(z, pivot)
        if rule is not None:
            pool.add(candidate(rule, refit))
    chosen = choose()
    if all(one.given < 0 and len(one.support) <= _COMBINED for one in chosen[fixed:]):
        return chosen
    pool.reset(before)
    return None


def _combined(chosen: list[Candidate], refit: Refit, pool: Pool, fixed: int, choose: Choose) -> list[Candidate]:
    for _ in range(_COMBINATIONS):
        combine(chosen, refit, pool, fixed)
        better = choose()
        if _same(better, chosen):
            break
        chosen = better
    return chosen


class _Search:
    """Where candidates go, and how many programs may still be solved."""

    def __init__(self, V: Floats, refit: Refit, pool: Pool) -> None:
        self.refit, self.pool = refit, pool
        self.U = np.asarray(np.linalg.qr(V * refit.weights[:, None])[0], dtype=np.float64)
        self.left = _EXTRA * V.shape[0]
        self.shortened = self.long = 0
        self.tried: set[tuple[int, int]] = set()
        # A line holds one vector only, and a basis of few may show it too.
        for z in (V * refit.weights[:, None]).T if V.shape[1] <= _FEW else ():
            self._add(z, int(np.argmax(np.abs(z))))
        if V.shape[1] > 1:
            pivots = np.flatnonzero(np.linalg.norm(self.U, axis=1) > _FAINT)
            for z, pivot in zip(sparse_vectors(self.U, self.U[pivots].T).T, pivots.tolist(), strict=True):
                self._add(z, pivot)

    def _add(self, z: Floats, pivot: int) -> None:
        p, c = self.U.shape
        if self._in_vain():
            self.pool.add(candidate(self._corner(z), self.refit))
            return
        rule = self.refit.without_noise(z, pivot)
        self.shortened += 1
        if rule is None or np.count_nonzero(rule) > p - c + 1:
            self.long += 1
            # At least as many zeros as any subspace of this dimension has room for.
            corner = self._corner(z)
            rule = self.refit.without_noise(corner, int(np.argmax(np.abs(corner)))) if rule is None else None
            rule = corner if rule is None else rule
        self.pool.add(candidate(rule, self.refit))

    def _in_vain(self) -> bool:
        """Whether of many features the first vectors were hardly ever shortened below what any subspace has."""
        return len(self.U) >= _MANY and self.shortened >= _FIRST and self.long > _HARDLY * self.shortened

    def _corner(self, z: Floats) -> Floats:
        """The vector of the subspace that is zero where z is smallest, in as many entries as can be chosen."""
        p, c = self.U.shape
        order = np.argsort(np.round(np.abs(z) / np.abs(z).max(), 9), kind="stable")
        smallest, others = order[: c - 1], order[c - 1 :]
        corner = np.zeros(p)
        if 2 * c > p:
            # What lies outside has fewer dimensions: the vector on the other entries that is orthogonal to it.
            corner[others] = np.linalg.qr(self._outside[others], mode="complete")[0][:, -1]
        else:
            corner[others] = self.U[others] @ np.linalg.qr(self.U[smallest].T, mode="complete")[0][:, -1]
        return np.asarray(corner / np.abs(corner).max(), dtype=np.float64)

    @cached_property
    def _outside(self) -> Floats:
        return complement(self.U)

    def deflate(self, chosen: list[Candidate], fixed: int, choose: Choose) -> list[Candidate]:
        """Each rule plus any of the others; the new choice."""
        for _ in range(_ROUNDS):
            sizes = np.array([len(one.support) for one in chosen])
            tried = _largest_first(sizes, fixed, least=3)[: self.left]
            if not tried:
                break
            self.left -= len(tried)
            # Row k is zero on all rules but the k-th.
            dual = np.linalg.inv(self.U.T @ np.column_stack([one.z for one in chosen]))[tried]
            shares = np.asarray(dual / np.linalg.norm(dual, axis=1, keepdims=True), dtype=np.float64)
            for z, k in zip(sparse_vectors(self.U, shares.T).T, tried, strict=True):
                if _size(z) <= sizes[k] + _MORE:
                    self._add(z, int(np.argmax(np.abs(z))))
            better = choose()
            if _same(better, chosen):
                break
            chosen = better
        return chosen

    def branch(self, chosen: list[Candidate], fixed: int) -> bool:
        """Each rule without one of its features; whether there was anything to try."""
        sizes = np.array([len(one.support) for one in chosen])
        tries: list[tuple[int, int, int]] = []
        for k in _largest_first(sizes, fixed, least=_BRANCHED):
            largest = np.argsort(-np.round(np.abs(chosen[k].z), 9), kind="stable")[:_LARGEST].tolist()
            for barred, pivot in ((j, i) for j in largest for i in largest if i != j):
                if len(tries) < self.left and (barred, pivot) not in self.tried:
                    self.tried.add((barred, pivot))
                    tries.append((k, barred, pivot))
        self.left -= len(tries)
        if tries:
            pivots, barred = (np.array([one[i] for one in tries]) for i in (2, 1))
            found = sparse_vectors(self.U, self.U[pivots].T, barred)
            for z, (k, without, pivot) in zip(found.T, tries, strict=True):
                z[without] = 0.0
                if z[pivot] != 0.0 and _size(z) <= sizes[k]:
                    self._add(z, pivot)
        return bool(tries)


def combine(chosen: list[Candidate], refit: Refit, pool: Pool, fixed: int) -> None:
    """Each rule minus what another has in common with it, where that leaves no more features.

    Programs take sums of rules for rules where they have as few features; and beside A = B, they see no difference
    between D = B + C and D = A + C, of which one is the tighter.
    """
    present = np.array([one.z for one in chosen]) != 0
    shared = present.astype(np.int64) @ present.T.astype(np.int64)
    sizes = np.diag(shared)
    # Features that come in must be matched by as many that cancel.
    tried = (shared > 0) & (sizes[None, :] - shared <= shared)
    tried &= (sizes[:, None] > 2) & (np.maximum(sizes[:, None], sizes[None, :]) <= _COMBINED)
    tried[:fixed] = False
    np.fill_diagonal(tried, False)
    for k, other in zip(*np.nonzero(tried), strict=True):
        one, pair = chosen[k], chosen[other]
        both = np.flatnonzero(present[k] & present[other])
        ratios = one.z[both] / pair.z[both]
        for ratio in ratios:
            if (np.abs(ratios - ratio) <= _ALIKE * abs(ratio)).sum() >= sizes[other] - shared[k, other]:
                z = one.z - ratio * pair.z
                z[both[np.abs(ratios - ratio) <= _ALIKE * abs(ratio)]] = 0.0
                if z.any() and np.count_nonzero(z) <= sizes[k]:
                    rule = refit.without_noise(z, int(np.argmax(np.abs(z))))
                    # Both may leave the subspace a little, and their difference more than that.
                    if rule is not None:
                        pool.add(candidate(rule, refit))


def _same(one: list[Candidate], other: list[Candidate]) -> bool:
    return all(a is b for a, b in zip(one, other, strict=True))


def _largest_first(sizes: Ints, fixed: int, least: int) -> list[int]:
    return sorted((k for k in range(fixed, sizes.size) if least <= sizes[k] <= _LONG), key=lambda k: -sizes[k])


def _size(z: Floats) -> int:
    size = np.abs(z)
    return int((size > _SMALL * size.max()).sum())
