"""Which rows rules are learned from, where what is gross is set aside: with rules that were given, even of many errors.

Without such a rule, errors in more than a fifth of the rows are no errors but rows of another kind (`robust`). A rule
that is known tells one from the other, as long as most rows keep it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from aspca.judging.gaps import Gaps, completed
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments import IncompleteMoments, Moments
from aspca.moments.rows import Rows, Travelling
from aspca.preparation import Feature
from aspca.robust import Aside, robust_gaps, robust_moments
from aspca.robust.aside import MOST_SHOWN
from aspca.robust.order import median_sizes
from aspca.robust.tail import Tail
from aspca.rules.given import GivenRule
from aspca.subspace.space import ScaledSpace

# Up to this share of the rows, errors are found without being told.
_MANY = 0.2
_DEVIATIONS_PER_MEDIAN = 1.4826
# Squared, in deviations: one in ten thousand Gaussian rows is further from its rule.
_NEAR = 15.0


# Which rows (m, p), of these numbers (m,), count as they are (m,).
Keep = Callable[[Floats, Ints], Bools]


@dataclass(frozen=True, eq=False)
class LearnedFrom:
    """What rules are learned from.

    Attributes
    ----------
    moments : Moments
        Of what is not gross.
    gaps : Gaps or None
        What was missing there.
    aside : Aside or None
        What is gross; None where nobody looked.
    normal : callable
        Which rows show what normal rows reach.
    spoiled : float
        The share of rows of which some cells are gross: as many of the others may be wrong by little.
    incomplete : IncompleteMoments or None
        What the moments of rows with gaps come from.
    """

    moments: Moments
    gaps: Gaps | None
    aside: Aside | None
    normal: Keep
    spoiled: float = 0.0
    incomplete: IncompleteMoments | None = None


def learned_as_they_are(known: Moments | IncompleteMoments) -> LearnedFrom:
    """All rows, of which these are the moments."""
    if isinstance(known, IncompleteMoments):
        moments, gaps = completed(known)
        return LearnedFrom(moments, gaps, None, _every, incomplete=known)
    return LearnedFrom(known, None, None, _every)


def _every(rows: Floats, numbers: Ints) -> Bools:
    return np.ones(len(rows), dtype=np.bool_)


def without_gross(
    rows: Rows,
    known: Moments | IncompleteMoments,
    given: tuple[GivenRule, ...],
    scaling: str,
    features: tuple[Feature, ...],
) -> LearnedFrom:
    """What is left without what is gross.

    Parameters
    ----------
    rows : Rows
    known : Moments, or IncompleteMoments where values may be missing
        Of all of them.
    given : tuple of GivenRule
    scaling, features
        As in `ScaledSpace.of`.
    """
    if isinstance(known, IncompleteMoments):
        rows_left, found = robust_gaps(rows, known.n_features)
        left = known if rows_left is None else rows_left
        moments, gaps = completed(left, found.aside)
        return LearnedFrom(moments, gaps, found.aside, found.normal, found.spoiled, left)
    plain, space = known, ScaledSpace.of(known, scaling, features)
    limits = _limits(rows, plain, given, space)

    keeps = _Keeps(given, limits)
    if np.isfinite(limits).any():
        right = rows.gather(lambda: _Kept(keeps, Moments.empty(plain.n_features)))
        if _MANY * right.n < right.n_broken < 0.5 * right.n:
            cells = np.zeros(plain.n_features, dtype=np.intp)
            return LearnedFrom(right.kept, None, Aside(right.n_broken, cells, right.broken, 4), keeps)
    robust = robust_moments(rows, plain)
    return LearnedFrom(robust.moments, None, robust.aside, robust.normal, robust.spoiled)


@dataclass(frozen=True, eq=False)
class _Keeps:
    """Which rows keep every rule that was given, within its limit (g,)."""

    given: tuple[GivenRule, ...]
    limits: Floats

    def __call__(self, rows: Floats, numbers: Ints) -> Bools:
        return np.asarray((np.abs(_off(rows, self.given)) <= self.limits).all(axis=1))


@dataclass(eq=False)
class _Kept(Travelling):
    """Moments of the rows that keep the rules, how many rows there are, how many do not, and the first of these."""

    stays = ("keeps",)

    keeps: _Keeps
    kept: Moments
    n: int = 0
    n_broken: int = 0
    broken: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def add(self, rows: Floats, numbers: Ints) -> None:
        right = self.keeps(rows, numbers)
        self.kept = self.kept.update(rows[right])
        self.n, self.n_broken = self.n + len(rows), self.n_broken + int((~right).sum())
        self.broken = np.concatenate([self.broken, numbers[~right]])[:MOST_SHOWN]

    def merge(self, later: _Kept) -> None:
        self.kept = self.kept.merge(later.kept)
        self.n, self.n_broken = self.n + later.n, self.n_broken + later.n_broken
        self.broken = np.concatenate([self.broken, later.broken])[:MOST_SHOWN]


def _off(rows: Floats, given: tuple[GivenRule, ...]) -> Floats:
    """How far rows (m, p) are off each rule (m, g)."""
    coefficients = np.array([rule.coefficients for rule in given]).reshape(len(given), rows.shape[1])
    return np.asarray(rows @ coefficients.T - [rule.constant for rule in given])


def _limits(rows: Rows, plain: Moments, given: tuple[GivenRule, ...], space: ScaledSpace) -> Floats:
    """How far a row may be off each rule (g,): where errors begin, as in any tail; infinite where there are none."""
    limits = np.full(len(given), np.inf)
    if not given:
        return limits
    off = rows.through(lambda some, numbers: (_off(some, given), numbers))
    spreads = _DEVIATIONS_PER_MEDIAN * median_sizes(off, len(given))
    # Most rows may keep a rule to the last digit: then what rounding of their columns hides is no error.
    steps = np.hypot(space.steps / np.sqrt(12.0), space.rounding) * space.scale
    spreads = np.hypot(spreads, [np.linalg.norm(rule.coefficients * steps) for rule in given])
    # A column of zeros keeps to zero in any unit.
    spreads = np.where(spreads > 0.0, spreads, 1.0)
    for k, tail in enumerate(off.gather(lambda: _Tails(spreads, [Tail(plain.n_rows, _NEAR) for _ in given])).tails):
        found = tail.limits()
        if found.size:
            limits[k] = float(spreads[k]) * float(np.sqrt(_NEAR * found[0]))
    return limits


@dataclass(eq=False)
class _Tails(Travelling):
    """The tail of each rule (g,), of deviations (m, g) over spreads (g,)."""

    stays = ("spreads",)

    spreads: Floats
    tails: list[Tail]

    def add(self, rows: Floats, numbers: Ints) -> None:
        for tail, sizes in zip(self.tails, np.square(rows / self.spreads).T / _NEAR, strict=True):
            tail.add(sizes, numbers)

    def merge(self, later: _Tails) -> None:
        for tail, following in zip(self.tails, later.tails, strict=True):
            tail.merge(following)
