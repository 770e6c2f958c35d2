"""Search for the sparsest vectors of a subspace: l1 programs, each with one way of ruling zero out.

* pivots: z_j = 1. One program per feature.
* deflation: the share of one rule found is fixed, so z is that rule plus any of the others.
* branching: one feature of a rule found is forced to zero, another is the pivot. It finds rules that no pivot shows,
  because a vector with more features has a lower norm.
* combination: a rule found minus a multiple of another.

Of many features, rules of a few terms are looked for first by forward selection (`forward`): where these complete the
subspace, no program is solved.

Notation: U (p, c) an orthonormal basis of the subspace in units of the features' deviations, A (c, n) one column a for
each program, Z (p, n) the vectors.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.rules.forward import NEW, select_forward
from aspca.rules.refit import VISIBLE, Candidate, Pool, Refit, make_candidate

# Up to so many directions are candidates themselves.
_FEW = 4
# A program after the pivots' is followed up if its vector has not many more visible features than the rule it started
# from.
_MORE = 2
# Only rules with this many features are branched on, and only on so many of their largest entries.
_BRANCHED = 4
# After so many vectors of which more than this share were not shortened below what any subspace has, the others are not
# shortened term by term either.
_FIRST, _HARDLY = 24, 0.75
# Rules with more features are not improved: they are what any subspace holds.
_LONG = 32
# From so many features on, rules of a few terms are looked for by themselves first, and may be all there are.
_MANY = 64
# Rounds of deflation and of branching; each ends with a new choice, and the last is the one that changes nothing.
_ROUNDS = 2
# Rules with at most so many features are subtracted from each other; coefficients whose ratios are alike to this share
# cancel.
_COMBINED, _ALIKE = 12, 0.05
# Rounds of weights, and steps in each: after these the supports stay as they are. Measured on planted rules: with 3
# rounds of 60 steps a rule of 200 is lost, with twice as many none more is found.
_WEIGHTINGS, _STEPS = 4, 100


class Search:
    """The search in the span of V (p, c), with rules that are kept as they are, and vectors that fill up a basis."""

    def __init__(self, V: Floats, refit: Refit, pool: Pool, kept: list[Candidate], fill: list[Candidate]) -> None:
        self.V, self.refit, self.pool, self.kept, self.fill = V, refit, pool, kept, fill
        # How many programs may still be solved after the pivots'.
        self.left = 2 * V.shape[0]
        self.shortened = self.long = 0
        self.tried: set[tuple[int, int]] = set()

    @cached_property
    def U(self) -> Floats:
        return np.asarray(np.linalg.qr(self.V * self.refit.weights[:, None])[0], dtype=np.float64)

    def run(self) -> list[Candidate]:
        """Rules that span V, those that are kept first; whatever was found is in the pool."""
        chosen = self._short_ones()
        if chosen is None:
            self._solve_pivots()
            chosen = self._deflate(self._choose())
            for _ in range(_ROUNDS):
                better = self._choose() if self._branch(chosen) else chosen
                if _same(better, chosen):
                    break
                chosen = self._deflate(better)
        for _ in range(4):
            self._combine(chosen)
            better = self._choose()
            if _same(better, chosen):
                break
            chosen = better
        return chosen

    def _choose(self) -> list[Candidate]:
        """The rules kept, and the simplest candidates independent of them, as many as V has columns.

        Greedy: one feature more is worth a tenth of the variance. Of equally simple ones a found one is taken before a
        given one, then the one whose features come first.
        """
        p, c = self.V.shape
        # Given ones with as many features as a vector of any such subspace has are for what nothing else is new in.
        ordered = sorted([*self.pool.values(), *self.fill], key=lambda one: (one.cost, one.given, one.support))
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

        if self.kept:
            for one, coordinates in zip(self.kept, self._coordinates(self.kept), strict=True):
                take(one, coordinates, 0.0)
        inside = self._coordinates(ordered)
        new = NEW
        while len(chosen) < c:
            for one, coordinates, early in zip(ordered, inside, simple, strict=True):
                # Below a twentieth, anything that completes a basis will do.
                if len(chosen) < c and (early or new < 0.05):
                    take(one, coordinates, new)
            new *= 0.5
        return chosen

    def _coordinates(self, candidates: list[Candidate]) -> Floats:
        """Of the candidates in the span of V (n, c), of unit length."""
        inside = (np.array([one.z for one in candidates]) / self.refit.weights) @ self.V
        return np.asarray(inside / np.linalg.norm(inside, axis=1, keepdims=True))

    def _short_ones(self) -> list[Candidate] | None:
        """Rules of a few terms by forward selection, where these are all there are; None: the pool is as it was."""
        if len(self.V) < _MANY or self.V.shape[1] <= _FEW:
            return None
        before = dict(self.pool)
        vectors, pivots = select_forward(self.refit.R)
        for z, pivot in zip(vectors.T, pivots.tolist(), strict=True):
            rule = self.refit.without_noise(z, pivot)
            if rule is not None:
                self.pool.add(make_candidate(rule, self.refit))
        chosen = self._choose()
        if all(one.given < 0 and len(one.support) <= _COMBINED for one in chosen[len(self.kept) :]):
            return chosen
        self.pool.clear()
        self.pool.update(before)
        return None

    def _solve_pivots(self) -> None:
        # A line holds one vector only, and a basis of few may show it too.
        for z in (self.V * self.refit.weights[:, None]).T if self.V.shape[1] <= _FEW else ():
            self._add(z, int(np.argmax(np.abs(z))))
        if self.V.shape[1] > 1:
            # A feature whose part in the subspace is fainter is no pivot: a rule it is largest in would have 400.
            pivots = np.flatnonzero(np.linalg.norm(self.U, axis=1) > 0.05)
            for z, pivot in zip(solve_sparse_vectors(self.U, self.U[pivots].T).T, pivots.tolist(), strict=True):
                self._add(z, pivot)

    def _add(self, z: Floats, pivot: int) -> None:
        p, c = self.U.shape
        if p >= _MANY and self.shortened >= _FIRST and self.long > _HARDLY * self.shortened:
            # Of many features the first vectors were hardly ever shortened below what any subspace has.
            self.pool.add(make_candidate(self._corner(z), self.refit))
            return
        rule = self.refit.without_noise(z, pivot)
        self.shortened += 1
        if rule is None or np.count_nonzero(rule) > p - c + 1:
            self.long += 1
            # At least as many zeros as any subspace of this dimension has room for.
            corner = self._corner(z)
            rule = self.refit.without_noise(corner, int(np.argmax(np.abs(corner)))) if rule is None else None
            rule = corner if rule is None else rule
        self.pool.add(make_candidate(rule, self.refit))

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
        return _complement(self.U)

    def _deflate(self, chosen: list[Candidate]) -> list[Candidate]:
        """Each rule plus any of the others; the new choice."""
        for _ in range(_ROUNDS):
            sizes = np.array([len(one.support) for one in chosen])
            tried = self._largest_first(sizes, least=3)[: self.left]
            if not tried:
                break
            self.left -= len(tried)
            # Row k is zero on all rules but the k-th.
            dual = np.linalg.inv(self.U.T @ np.column_stack([one.z for one in chosen]))[tried]
            shares = np.asarray(dual / np.linalg.norm(dual, axis=1, keepdims=True), dtype=np.float64)
            for z, k in zip(solve_sparse_vectors(self.U, shares.T).T, tried, strict=True):
                if _size(z) <= sizes[k] + _MORE:
                    self._add(z, int(np.argmax(np.abs(z))))
            better = self._choose()
            if _same(better, chosen):
                break
            chosen = better
        return chosen

    def _branch(self, chosen: list[Candidate]) -> bool:
        """Each rule without one of its features; whether there was anything to try."""
        sizes = np.array([len(one.support) for one in chosen])
        tries: list[tuple[int, int, int]] = []
        for k in self._largest_first(sizes, least=_BRANCHED):
            largest = np.argsort(-np.round(np.abs(chosen[k].z), 9), kind="stable")[:_BRANCHED].tolist()
            for barred, pivot in ((j, i) for j in largest for i in largest if i != j):
                if len(tries) < self.left and (barred, pivot) not in self.tried:
                    self.tried.add((barred, pivot))
                    tries.append((k, barred, pivot))
        self.left -= len(tries)
        if tries:
            pivots, barred = (np.array([one[i] for one in tries]) for i in (2, 1))
            found = solve_sparse_vectors(self.U, self.U[pivots].T, barred)
            for z, (k, without, pivot) in zip(found.T, tries, strict=True):
                z[without] = 0.0
                if z[pivot] != 0.0 and _size(z) <= sizes[k]:
                    self._add(z, pivot)
        return bool(tries)

    def _largest_first(self, sizes: Ints, least: int) -> list[int]:
        some = (k for k in range(len(self.kept), sizes.size) if least <= sizes[k] <= _LONG)
        return sorted(some, key=lambda k: -sizes[k])

    def _combine(self, chosen: list[Candidate]) -> None:
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
        tried[: len(self.kept)] = False
        np.fill_diagonal(tried, False)
        for k, other in zip(*np.nonzero(tried), strict=True):
            one, pair = chosen[k], chosen[other]
            both = np.flatnonzero(present[k] & present[other])
            ratios = one.z[both] / pair.z[both]
            for ratio in ratios:
                alike = np.abs(ratios - ratio) <= _ALIKE * abs(ratio)
                if alike.sum() >= sizes[other] - shared[k, other]:
                    z = one.z - ratio * pair.z
                    z[both[alike]] = 0.0
                    if z.any() and np.count_nonzero(z) <= sizes[k]:
                        rule = self.refit.without_noise(z, int(np.argmax(np.abs(z))))
                        # Both may leave the subspace a little, and their difference more than that.
                        if rule is not None:
                            self.pool.add(make_candidate(rule, self.refit))


def _same(one: list[Candidate], other: list[Candidate]) -> bool:
    return all(a is b for a, b in zip(one, other, strict=True))


def _size(z: Floats) -> int:
    size = np.abs(z)
    return int((size > VISIBLE * size.max()).sum())


# ---- programs


def solve_sparse_vectors(U: Floats, A: Floats, barred: Ints | None = None) -> Floats:
    """Sparse vectors Z (p, n) of the span of U (p, c), the k-th with A[:, k]'q = 1 and no entry barred[k].

    Each is min sum_i w_i |z_i| over z = Uq with a'q = 1. Douglas-Rachford steps need nothing but products with U, which
    all programs share; a few rounds of weights 1 / |z| bring the vector close to one of fewest entries, where one
    linear program has a vector of many small ones.
    """
    p, c = U.shape
    # Of a large subspace it is cheaper to take off what lies outside.
    outside = _complement(U) if 2 * c > p else None
    Z = np.zeros((p, A.shape[1]))
    # So many computed together: their iterates stay in the cache.
    for start in range(0, A.shape[1], 128):
        some = slice(start, start + 128)
        Z[:, some] = _solved(U, outside, U @ A[:, some], None if barred is None else barred[some])
    return Z


def _complement(U: Floats) -> Floats:
    """An orthonormal basis (p, p - c) of what is orthogonal to U (p, c)."""
    return np.asarray(np.linalg.qr(U, mode="complete")[0][:, U.shape[1] :])


def _solved(U: Floats, outside: Floats | None, normals: Floats, barred: Ints | None) -> Floats:
    """With the conditions as vectors of the subspace: normals' z = 1."""
    unit = normals / np.square(normals).sum(axis=0)
    Z = np.array(unit, dtype=np.float64)
    left = np.arange(Z.shape[1])
    for r in range(_WEIGHTINGS):
        size = np.abs(Z[:, left])
        largest = size.max(axis=0)
        visible = size > VISIBLE * largest
        pulls = np.ones(size.shape)
        if r:
            # The weight of an entry is 1 / (its share of the largest + what is lowered from round to round).
            pulls = 1.0 / (size / largest + 0.1 / 3.0 ** (r - 1))
            pulls /= pulls.max(axis=0)
        # Entries are pulled to zero by this share of the largest in a step.
        pulls *= 0.1 * largest
        if barred is not None:
            pulls[barred[left], np.arange(left.size)] = np.inf
        Z[:, left] = _stepped(U, outside, normals[:, left], unit[:, left], Z[:, left], pulls)
        size = np.abs(Z[:, left])
        # Whose weights have been set once and changed nothing is done.
        moved = ((size > VISIBLE * size.max(axis=0)) != visible).any(axis=0) | (r == 0)
        left = left[moved]
        if left.size == 0:
            break
    return Z


def _stepped(U: Floats, outside: Floats | None, normals: Floats, unit: Floats, Z: Floats, pulls: Floats) -> Floats:
    """Steps in single precision, which is far finer than they converge, and the last projection in double."""
    start, dual = Z.astype(np.float32), np.zeros(Z.shape, dtype=np.float32)
    basis = (U if outside is None else outside).astype(np.float32)
    across, condition, towards = np.ascontiguousarray(basis.T), normals.astype(np.float32), unit.astype(np.float32)
    most = pulls.astype(np.float32)
    least = -most
    for _ in range(_STEPS):
        start += dual
        np.clip(start, least, most, out=dual)
        # The reflection of Z at its shrunk self, then the nearest vector of the subspace that meets the condition.
        start -= 2.0 * dual
        part = basis @ (across @ start)
        start = part if outside is None else start - part
        start += towards * (1.0 - np.einsum("ij,ij->j", condition, start))
    Z = U @ (U.T @ start.astype(np.float64))
    return np.asarray(Z + unit * (1.0 - np.einsum("ij,ij->j", normals, Z)))
