"""Which rows rules are learned from, where what is gross is set aside: with rules that were given, even of many errors.

Without such a rule, errors in more than a fifth of the rows are no errors but rows of another kind (`robust`). A rule
that is known tells one from the other, as long as most rows keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from aspca.judging.gaps import Gaps, completed
from aspca.linalg.arrays import Bools, Floats
from aspca.moments import IncompleteMoments, Moments
from aspca.preparation import Feature
from aspca.robust import Aside, robust_gaps, robust_moments
from aspca.robust.aside import MOST_SHOWN
from aspca.robust.order import Batches, median_sizes
from aspca.robust.tail import Tail
from aspca.rules.given import GivenRule
from aspca.subspace.space import ScaledSpace

# Up to this share of the rows, errors are found without being told.
_MANY = 0.2
_DEVIATIONS_PER_MEDIAN = 1.4826
# Squared, in deviations: one in ten thousand Gaussian rows is further from its rule.
_NEAR = 15.0


# Which rows (m, p), of which the first is number `start`, count as they are (m,).
Keep = Callable[[Floats, int], Bools]


@dataclass(frozen=True, eq=False)
class LearnedFrom:
    """What rules are learned from.

    Attributes
    ----------
    moments : Moments
        Of what is not gross.
    gaps : Gaps or None
        What was missing there.
    aside : Aside
        What is gross.
    normal : callable
        Which rows show what normal rows reach.
    spoiled : float
        The share of rows of which some cells are gross: as many of the others may be wrong by little.
    incomplete : IncompleteMoments or None
        What the moments of rows with gaps come from.
    """

    moments: Moments
    gaps: Gaps | None
    aside: Aside
    normal: Keep
    spoiled: float = 0.0
    incomplete: IncompleteMoments | None = None


def without_gross(
    batches: Batches,
    known: Moments | IncompleteMoments,
    given: tuple[GivenRule, ...],
    scaling: str,
    features: tuple[Feature, ...],
) -> LearnedFrom:
    """What is left without what is gross.

    Parameters
    ----------
    batches : callable
        Gives the rows in batches (m, p), the same each time.
    known : Moments, or IncompleteMoments where values may be missing
        Of all of them.
    given : tuple of GivenRule
    scaling, features
        As in `ScaledSpace.of`.
    """
    if isinstance(known, IncompleteMoments):
        rows_left, found = robust_gaps(batches, known.n_features)
        left = known if rows_left is None else rows_left
        moments, gaps = completed(left, found.aside)
        return LearnedFrom(moments, gaps, found.aside, found.normal, found.spoiled, left)
    plain, space = known, ScaledSpace.of(known, scaling, features)
    limits = _limits(batches, plain, given, space)

    def keeps(rows: Floats, start: int = 0) -> Bools:
        return np.asarray((np.abs(_off(rows, given)) <= limits).all(axis=1))

    if np.isfinite(limits).any():
        kept, numbers, n = Moments.empty(plain.n_features), [np.zeros(0, dtype=np.intp)], 0
        for rows in batches():
            right = keeps(rows)
            kept = kept.update(rows[right])
            numbers.append(n + np.flatnonzero(~right))
            n += len(rows)
        broken = np.concatenate(numbers)
        if _MANY * n < broken.size < 0.5 * n:
            cells = np.zeros(plain.n_features, dtype=np.intp)
            return LearnedFrom(kept, None, Aside(broken.size, cells, broken[:MOST_SHOWN], 4), keeps)
    robust = robust_moments(batches, plain)
    return LearnedFrom(robust.moments, None, robust.aside, robust.normal, robust.spoiled)


def _off(rows: Floats, given: tuple[GivenRule, ...]) -> Floats:
    """How far rows (m, p) are off each rule (m, g)."""
    coefficients = np.array([rule.coefficients for rule in given]).reshape(len(given), rows.shape[1])
    return np.asarray(rows @ coefficients.T - [rule.constant for rule in given])


def _limits(batches: Batches, plain: Moments, given: tuple[GivenRule, ...], space: ScaledSpace) -> Floats:
    """How far a row may be off each rule (g,): where errors begin, as in any tail; infinite where there are none."""
    limits = np.full(len(given), np.inf)
    if not given:
        return limits

    def off() -> Iterator[Floats]:
        return (_off(rows, given) for rows in batches())

    spreads = _DEVIATIONS_PER_MEDIAN * median_sizes(off, len(given))
    # Most rows may keep a rule to the last digit: then what rounding of their columns hides is no error.
    steps = np.hypot(space.steps / np.sqrt(12.0), space.rounding) * space.scale
    spreads = np.hypot(spreads, [np.linalg.norm(rule.coefficients * steps) for rule in given])
    # A column of zeros keeps to zero in any unit.
    spreads = np.where(spreads > 0.0, spreads, 1.0)
    tails = [Tail(plain.n_rows, _NEAR) for _ in given]
    for deviations in off():
        for tail, sizes in zip(tails, np.square(deviations / spreads).T / _NEAR, strict=True):
            tail.add(sizes)
    for k, tail in enumerate(tails):
        found = tail.limits()
        if found.size:
            limits[k] = float(spreads[k]) * float(np.sqrt(_NEAR * found[0]))
    return limits
