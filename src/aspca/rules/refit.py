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
from aspca.linalg.eigen import find_lowest_pairs

# A term is noise if the rule without it, refitted, varies by at most this much more (a share of the rule's variance).
_NOISE = 0.25
# A refitted rule may leave the subspace by this angle (its sine): the subspace is an estimate too.
_LEAVES = 0.1
# First only entries above this share of the largest are considered: the terms of a rule, if they suffice ...
VISIBLE = 0.03
# ... with which it may vary by this factor more: a vector of a subspace gains by what it has of other rules.
_LOOSER = 2.0
# From more terms than this none is dropped one by one, and from so many none at all: nobody reads such a rule, and it
# would take seconds.
_SINGLY, _SHORTENED = 48, 120
# A residual variance below this share of the variance it is left of is computed anew.
_CANCELLED = 1e-6
_EPS = float(np.finfo(np.float64).eps)
# Whether a rule, of this variance, may stand for the one that was found.
_Holds = Callable[[Floats, float], bool]


@dataclass(frozen=True, eq=False)
class Refit:
    """Features, and the subspace that rules on them must not leave."""

    R: Floats  # Correlations (p, p); rows of constants are zero.
    weights: Floats  # (p,) What a feature was divided by: its deviation, or for a constant any positive number.
    basis: Floats | None  # Orthonormal (p, c), of vectors w = z / weights; None: a rule may be anywhere.
    # How many rows R rests on: each coefficient that is fitted takes one up, and a variance is what is left per row
    # that is not. So a vector on all features does not look tighter than the rule that it is.
    rows: float = float("inf")

    @property
    def _rounding(self) -> float:
        return 4.0 * len(self.R) * _EPS

    def _left(self, terms: int) -> float:
        """The share of the rows that so many fitted terms do not take up; no less than half, where little is known."""
        return max(1.0 - terms / self.rows, 0.5)

    @cached_property
    def _noisy(self) -> float:
        """By what factor a rule may vary more without a term that is noise: of many such terms the best gains most."""
        return 1.0 + _NOISE + 2.0 * float(np.log(len(self.R))) / self.rows

    @cached_property
    def _sizes(self) -> Floats:
        return np.abs(self.R)

    @cached_property
    def _known(self) -> dict[tuple[int, ...], Floats]:
        """Rules by the features that their refit began with, on these: many pivots lead to the same ones."""
        return {}

    def _ridged(self, some: Ints) -> Floats:
        """R of some features, made definite by what rounding leaves open: duplicates share their coefficient."""
        inner = np.asarray(self.R[some[:, None], some])
        size = np.diag(inner)
        return inner + np.diag(self._rounding * np.where(size > 0.0, size, 1.0))

    def inside(self, z: Floats) -> bool:
        """Whether a vector leaves the subspace by an angle of no more than 0.1 (its sine), or what few rows do:

        of n rows a direction of variance v, among p others of about one, is off by v p / n (its sine squared), or twice
        that.
        """
        if self.basis is None:
            return True
        used = np.flatnonzero(z)
        w = z[used] / self.weights[used]
        length = float(w @ w)
        off = 2.0 * self.variance(z) / float(z @ z) * len(self.R) / self.rows
        # What a sum of squares in float64 leaves open is no angle.
        least = (1.0 - _LEAVES**2 - off - 1e-12) * length
        return float(np.square(w @ self.basis[used]).sum()) >= least

    def variance(self, z: Floats) -> float:
        return _form(self.R, z)

    def unresolved(self, z: Floats) -> float:
        """The variance of z that rounding of the covariance alone may show."""
        return self._rounding * _form(self._sizes, np.abs(z))

    def without_noise(self, z: Floats, pivot: int) -> Floats | None:
        """A vector without the terms that are zero up to its noise, the others refitted; its largest entry is 1 or -1.

        The refit regresses the pivot on the other features: of all coefficients, the ones of least variance. Where the
        vector is exact (its variance is what rounding may show), so is what is left of it. None where the refit leaves
        the subspace even with all terms.
        """
        z = z / z[pivot]
        size = np.abs(z)
        largest = float(size.max())
        # Entries far below the largest are left out from the start.
        others = np.flatnonzero(size > 1e-5 * largest)
        others = others[others != pivot]
        # The largest first, the earlier of equal ones: not by rounding.
        others = others[np.argsort(-np.round(size[others] / largest, 9), kind="stable")]
        own = self.variance(z)
        exact = own <= self._floor(z, own)
        own = max(own, self._floor(z, 0.0)) / self._left(len(self.R))
        visible = others[: int((size[others] > VISIBLE * largest).sum())]
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
        return self.unresolved(z) if variance <= self._rounding * float(np.abs(z).sum()) ** 2 else 0.0

    def _reduced(self, pivot: int, terms: Ints, fitted: Floats, variance: float, most: float, exact: bool) -> Floats:
        """A rule on as few of the terms as found whose variance is at most `most`, or exact."""

        def holds(one: Floats, variance: float) -> bool:
            enough = self._floor(one, variance) if exact else most * self._left(int(np.count_nonzero(one)))
            return variance <= enough and self.inside(one)

        # First the largest of them: how few of these are enough.
        kept = terms
        few, many = 0, 1
        while few + 1 < kept.size:
            some, its_variance = self._regressed(pivot, terms[:many])
            if holds(some, its_variance):
                kept, fitted, variance = terms[:many], some, its_variance
                many = (few + many) // 2
            else:
                few = many
                many = min(max(few + 1, (3 * few) // 2), (few + kept.size) // 2)
        first = np.sort(np.append(kept, pivot))
        key = tuple(first.tolist())
        if key not in self._known:
            self._known[key] = self._shortened(pivot, kept, fitted, variance, most, holds)[first]
        found = np.zeros(len(self.R))
        found[first] = self._known[key]
        return found

    def _shortened(
        self,
        pivot: int,
        kept: Ints,
        fitted: Floats,
        variance: float,
        most: float,
        holds: Callable[[Floats, float], bool],
    ) -> Floats:
        """As many terms dropped as may be, those first whose loss raises the variance least; the rest refitted."""
        dropping = True
        while dropping and 0 < kept.size <= _SHORTENED:
            losses = np.square(fitted[kept]) / np.diag(np.linalg.inv(self._ridged(kept)))
            dropping = False
            for dropped in _by_loss(losses, most - variance):
                fewer = np.delete(kept, dropped)
                some, its_variance = self._regressed(pivot, fewer)
                if holds(some, its_variance):
                    kept, fitted, variance, dropping = fewer, some, its_variance, True
                    break
        balanced = self._balanced(fitted)
        found = balanced if self.inside(balanced) else fitted
        return np.asarray(found / np.abs(found).max())

    def _regressed(self, pivot: int, kept: Ints) -> tuple[Floats, float]:
        """The pivot minus its regression on the features kept, and its variance."""
        z = np.zeros(len(self.R))
        z[pivot] = 1.0
        if kept.size:
            # Straight from LAPACK: a search takes thousands of them.
            M, right = self._ridged(kept), self.R[kept, pivot]
            _, found, failed = dposv(M, right, lower=1)
            z[kept] = -(np.linalg.solve(M, right) if failed else found)
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
        lowest = find_lowest_pairs(G, 1)[1][:, 0]
        # By its cosine with what it stands for.
        if abs(float(lowest @ z[used])) < 0.95 * float(np.linalg.norm(z[used])):
            return z
        balanced = np.zeros(z.size)
        balanced[used] = lowest
        return balanced


def _by_loss(losses: Floats, room: float) -> Iterator[Ints]:
    """What to drop next, as positions: of the terms whose loss raises the variance least, as many as may, half...

    Then the next three, one by one: the first may be the one that keeps the rule in the subspace.
    """
    order = np.argsort(losses, kind="stable")
    # Half of those whose losses, were they independent, fit into what the variance may rise by.
    many = (int((np.cumsum(losses[order]) <= room).sum()) + 1) // 2
    while many > max(1, losses.size // _SINGLY):
        yield order[:many]
        many //= 2
    if losses.size <= _SINGLY:
        yield from order[:3, None]


def _form(M: Floats, z: Floats) -> float:
    """z'Mz, on the features that z has: of few these are picked out, of more than a third the whole is cheaper."""
    used = np.flatnonzero(z)
    if 3 * used.size > z.size:
        return float(z @ (M @ z))
    return float(z[used] @ M[used[:, None], used] @ z[used])


# ---- candidates for rules


@dataclass(frozen=True, eq=False)
class Candidate:
    """A vector in units of the features' deviations."""

    z: Floats  # (p,)
    cost: float  # Features plus decades of variance, as a share of the largest term's.
    support: tuple[int, ...]
    given: int = -1  # The number of the given vector that it is; -1: found.


def make_candidate(z: Floats, refit: Refit, given: int = -1) -> Candidate:
    support = np.flatnonzero(z)
    widest = float(np.square(z).max())
    variance = refit.variance(z)
    # Exact rules are equally tight, whatever rounding says; of others, what differs in three digits only is the same.
    exact = variance <= max(refit.unresolved(z), _EPS * widest)
    share = _EPS if exact else float(f"{variance / widest:.2e}")
    return Candidate(z, support.size + float(np.log10(share)), tuple(support.tolist()), given)


class Pool(dict[tuple[int, ...], Candidate]):
    """Candidates by their features: of those on the same ones the simplest."""

    def add(self, new: Candidate) -> None:
        old = self.get(new.support)
        if old is None or new.cost < old.cost:
            self[new.support] = new
