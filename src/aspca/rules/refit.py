"""From a vector of a subspace to a rule: terms that are zero up to the rule's own noise dropped, the rest refitted.

Everything is in units of the features' deviations: z = w times the deviations has the variance z'Rz. So columns of any
scales are treated alike.

Notation: R (p, p) the correlations, z (p,) a vector in these units, j its pivot feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dposv

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.eigen import lowest_pairs
from aspca.rules.sweeping import Nested, Sweep

# A term is noise if the rule without it, refitted, varies by at most this much more (a share of the rule's variance).
_NOISE = 0.25
# Fewer rows than this are not taken to be left by what was fitted, as a share.
_LEAST_LEFT = 0.5
# A refitted rule may leave the subspace by this angle (its sine): the subspace is an estimate too.
_LEAVES = 0.1
# Two fits on the same features are the same rule if their cosine is above this.
_SAME_RULE = 0.95
# Of the terms that matter least, this many are tried in turn.
_TRIES = 3
# An entry of a search's vector below this share of the largest is left out from the start.
_ZERO = 1e-5
# First only those above this share are considered: the terms of a rule, if they suffice.
_VISIBLE = 0.03
# ... with which it may vary by this factor more: a vector of a subspace gains by what it has of other rules.
_LOOSER = 2.0
# From more terms than this none is dropped one by one: nobody reads such a rule, and it would take seconds.
_SINGLY = 48
# And from so many none at all.
_SHORTENED = 120
# A residual variance below this share of the variance it is left of is computed anew.
_CANCELLED = 1e-6
# A form on more than this part of the features is computed on all of them: picking them out takes longer.
_PICKED = 3
_EPS = float(np.finfo(np.float64).eps)

# Whether a rule, of this variance, may stand for the one that was found.
Holds = Callable[[Floats, float], bool]


@dataclass(frozen=True, eq=False)
class Refit:
    """Features, and the subspaces that rules on them must not leave.

    Attributes
    ----------
    R : ndarray of shape (p, p)
        Correlations; rows of constants are zero.
    weights : ndarray of shape (p,)
        What a feature was divided by: its deviation, or for a constant any positive number.
    bases : tuple of ndarray of shape (p, c)
        Orthonormal bases of the subspaces, of vectors w = z / weights.
    rows : float
        How many rows the correlations rest on: each coefficient that is fitted takes one up, and a variance is what is
        left per row that is not. So a vector on all features does not look tighter than the rule that it is.
    part_of : (Refit, ndarray of shape (p,)), or None
        Of more features, of which these are some.
    """

    R: Floats
    weights: Floats
    bases: tuple[Floats, ...]
    rows: float = float("inf")
    part_of: tuple[Refit, Ints] | None = None

    @property
    def n_features(self) -> int:
        """Of how many features rules are chosen."""
        return len(self.R) if self.part_of is None else self.part_of[0].n_features

    def _on(self, features: Ints) -> Refit:
        """The same on some of the features, which is all that vectors on few of them need."""
        bases = tuple(basis[features] for basis in self.bases)
        return Refit(self.R[features[:, None], features], self.weights[features], bases, self.rows, (self, features))

    def _left(self, terms: int) -> float:
        """The share of the rows that so many fitted terms do not take up; no less than half, where little is known."""
        return max(1.0 - terms / self.rows, _LEAST_LEFT)

    @cached_property
    def _noisy(self) -> float:
        """By what factor a rule may vary more without a term that is noise: of many such terms the best gains most."""
        return 1.0 + _NOISE + 2.0 * float(np.log(self.n_features)) / self.rows

    @cached_property
    def _ridged(self) -> Floats:
        """R made definite by what rounding leaves open: duplicates share their coefficient."""
        size = np.diag(self.R)
        return np.asarray(self.R + np.diag(4.0 * self.n_features * _EPS * np.where(size > 0.0, size, 1.0)))

    @cached_property
    def _known(self) -> dict[tuple[int, ...], dict[int, float]]:
        """Rules by the features that the refit began with: many pivots lead to the same ones."""
        return {} if self.part_of is None else self.part_of[0]._known

    def _names(self, features: Ints) -> list[int]:
        """Features as they are numbered among all."""
        return [int(j) for j in (features if self.part_of is None else self.part_of[1][features])]

    def inside(self, z: Floats) -> bool:
        """Whether a vector leaves none of the subspaces by an angle of more than 0.1 (its sine), or what few rows do:

        of n rows a direction of variance v, among p others of about one, is off by v p / n (its sine squared), or twice
        that.
        """
        if not self.bases:
            return True
        used = np.flatnonzero(z)
        w = z[used] / self.weights[used]
        length = float(w @ w)
        off = 2.0 * self.variance(z) / float(z @ z) * self.n_features / self.rows
        # What a sum of squares in float64 leaves open is no angle.
        least = (1.0 - _LEAVES**2 - off - 1e-12) * length
        return all(float(np.square(w @ basis[used]).sum()) >= least for basis in self.bases)

    @cached_property
    def _sizes(self) -> Floats:
        return np.abs(self.R)

    def variance(self, z: Floats) -> float:
        return _form(self.R, z)

    def unresolved(self, z: Floats) -> float:
        """The variance of z that rounding of the covariance alone may show."""
        return 4.0 * self.n_features * _EPS * _form(self._sizes, np.abs(z))

    def without_noise(self, z: Floats, pivot: int) -> Floats | None:
        """A vector without the terms that are zero up to its noise, the others refitted; its largest entry is 1 or -1.

        The refit regresses the pivot on the other features: of all coefficients, the ones of least variance. Where the
        vector is exact (its variance is what rounding may show), so is what is left of it. None where the refit leaves
        the subspace even with all terms.
        """
        used = np.flatnonzero(z)
        if _PICKED * used.size > z.size:
            return self._without_noise(z, pivot)
        found = self._on(used)._without_noise(z[used], int(np.searchsorted(used, pivot)))
        if found is None:
            return None
        whole = np.zeros(z.size)
        whole[used] = found
        return whole

    def _without_noise(self, z: Floats, pivot: int) -> Floats | None:
        z = z / z[pivot]
        size = np.abs(z)
        largest = float(size.max())
        others = np.flatnonzero(size > _ZERO * largest)
        others = others[others != pivot]
        # The largest first, the earlier of equal ones: not by rounding.
        others = others[np.argsort(-np.round(size[others] / largest, 9), kind="stable")]
        own = self.variance(z)
        exact = own <= self._floor(z, own)
        own = max(own, self._floor(z, 0.0)) / self._left(self.n_features)
        visible = others[: int((size[others] > _VISIBLE * largest).sum())]
        for terms, looser in ((visible, 1.0 if exact else _LOOSER), (others, 1.0)):
            fitted, variance = self._regressed(pivot, terms)
            floor = self._floor(fitted, variance)
            honest = max(variance, floor) / self._left(terms.size + 1)
            if honest <= self._noisy * looser * own and self.inside(fitted):
                most = self._noisy * min(looser * own, honest)
                return self._reduced(pivot, terms, fitted, variance, most, variance <= floor)
        return None

    def _floor(self, z: Floats, variance: float) -> float:
        """What rounding may show of a vector's variance; zero where that is clearly less."""
        return self.unresolved(z) if variance <= 4.0 * self.n_features * _EPS * float(np.abs(z).sum()) ** 2 else 0.0

    def _reduced(self, pivot: int, terms: Ints, fitted: Floats, variance: float, most: float, exact: bool) -> Floats:
        """A rule on as few of the terms as found whose variance is at most `most`, or exact."""

        def holds(one: Floats, variance: float) -> bool:
            enough = self._floor(one, variance) if exact else most * self._left(int(np.count_nonzero(one)))
            return variance <= enough and self.inside(one)

        # First the largest of them: how few of these are enough.
        kept = terms
        few, many = 0, 1
        nested = None if exact else Nested.of(self._ridged[terms[:, None], terms], self.R[terms, pivot])
        while few + 1 < kept.size:
            if nested is None:
                some, its_variance = self._regressed(pivot, terms[:many])
            else:
                some = self._with(pivot, terms[:many], -nested.coefficients(many))
                its_variance = float(self.R[pivot, pivot] - nested.explained(many))
            if holds(some, its_variance):
                kept, fitted, variance = terms[:many], some, its_variance
                many = (few + many) // 2
            else:
                few = many
                many = min(max(few + 1, (3 * few) // 2), (few + kept.size) // 2)
        first = np.sort(np.append(kept, pivot))
        names = self._names(first)
        known = self._known.get(tuple(names))
        if known is None:
            kept, fitted = self._shortened(pivot, kept, fitted, variance, most, holds, exact)
            balanced = self._balanced(fitted)
            found = _scaled(balanced if self.inside(balanced) else fitted)
            self._known[tuple(names)] = dict(zip(names, found[first].tolist(), strict=True))
            return found
        found = np.zeros(len(self.R))
        found[first] = [known[name] for name in names]
        return found

    def _shortened(
        self, pivot: int, kept: Ints, fitted: Floats, variance: float, most: float, holds: Holds, exact: bool
    ) -> tuple[Ints, Floats]:
        """As many terms dropped as may be, those first whose loss raises the variance least; the rest refitted."""
        sweep = None
        if not exact and 0 < kept.size <= _SHORTENED and variance > _CANCELLED * self.R[pivot, pivot]:
            sweep = Sweep.of(self._ridged[np.ix_([pivot, *kept], [pivot, *kept])])
        swept = sweep is not None
        while 0 < kept.size <= _SHORTENED:
            if sweep is None:
                losses = np.square(fitted[kept]) / np.diag(np.linalg.inv(self._ridged[kept[:, None], kept]))
            else:
                losses = sweep.losses
            for dropped in _by_loss(losses, most - variance):
                fewer = np.delete(kept, dropped)
                if sweep is None:
                    less, (some, its_variance) = None, self._regressed(pivot, fewer)
                else:
                    less = sweep.without(dropped)
                    some, its_variance = self._with(pivot, fewer, less.entries), less.variance
                if holds(some, its_variance):
                    kept, fitted, variance, sweep = fewer, some, its_variance, less
                    break
            else:
                break
        # Updates add up their rounding; what is left is fitted once more.
        return kept, self._regressed(pivot, kept)[0] if swept else fitted

    def _with(self, pivot: int, kept: Ints, entries: Floats) -> Floats:
        z = np.zeros(len(self.R))
        z[pivot] = 1.0
        z[kept] = entries
        return z

    def _regressed(self, pivot: int, kept: Ints) -> tuple[Floats, float]:
        """The pivot minus its regression on the features kept, and its variance."""
        z = self._with(pivot, kept, -_solved(self._ridged[kept[:, None], kept], self.R[kept, pivot]))
        variance = float(self.R[pivot, pivot] + z[kept] @ self.R[kept, pivot])
        # Little is left of large terms: the difference has lost its digits.
        return z, variance if variance > _CANCELLED * self.R[pivot, pivot] else self.variance(z)

    def _balanced(self, z: Floats) -> Floats:
        """The rule of least variance on the same features that prefers none of them, if it is still the same rule.

        A regression takes all noise to be the pivot's, which shrinks the other coefficients. The lowest eigenvector of
        the correlations shares the noise out.
        """
        used = np.flatnonzero(z)
        G = self.R[used[:, None], used]
        if used.size == 1 or np.diag(G).min() == 0.0:
            return z
        lowest = lowest_pairs(G, 1)[1][:, 0]
        if abs(float(lowest @ z[used])) < _SAME_RULE * float(np.linalg.norm(z[used])):
            return z
        balanced = np.zeros(z.size)
        balanced[used] = lowest
        return balanced


def _by_loss(losses: Floats, room: float) -> Iterator[Ints]:
    """What to drop next, as positions: of the terms whose loss raises the variance least, as many as may, half...

    Then the next few, one by one: the first may be the one that keeps the rule in the subspace.
    """
    order = np.argsort(losses, kind="stable")
    # Half of those whose losses, were they independent, fit into what the variance may rise by.
    many = (int((np.cumsum(losses[order]) <= room).sum()) + 1) // 2
    while many > max(1, losses.size // _SINGLY):
        yield order[:many]
        many //= 2
    if losses.size <= _SINGLY:
        yield from order[:_TRIES, None]


def _form(M: Floats, z: Floats) -> float:
    """z'Mz, on the features that z has: of few these are picked out, of many the whole is cheaper."""
    used = np.flatnonzero(z)
    if _PICKED * used.size > z.size:
        return float(z @ (M @ z))
    return float(z[used] @ M[used[:, None], used] @ z[used])


def _solved(M: Floats, right: Floats) -> Floats:
    """M^-1 right for a definite M; by Cholesky, straight from LAPACK: a search takes thousands of them."""
    if not right.size:
        return right
    _, found, failed = dposv(M, right, lower=1)
    return np.asarray(np.linalg.solve(M, right) if failed else found)


def _scaled(z: Floats) -> Floats:
    return np.asarray(z / np.abs(z).max(), dtype=np.float64)
