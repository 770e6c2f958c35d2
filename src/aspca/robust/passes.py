"""Moments of the rows and cells that are not gross, in a few passes over batches of rows; nothing is drawn by chance.

1. *Fences*: rows of which no cell is further than six deviations (by the median and the median distance from it) are
   few or many, but hold no grossly wrong cell.
2. *Concentration*: of these the half nearest to each other, twice: what breaks a relation within its columns' range
   leaves too, and no relation is blurred by the rest.
3. *Cells*: all rows that are near come back. In the others as few cells as possible count as missing, with what the
   other cells let expect in their place; rows for which that is not enough are gross as a whole. Again, until as many
   are far. Rows that are far only for a value that hardly any row has come back too (`rare`). Where more are far than
   there can be errors, all of it once more from a wider start (`inner`).
4. *Tails are not errors*: rows are counted by powers of two of their distance (`tail`). Errors begin where the variance
   rises again beyond a valley; where it does not, every row counts as it is. Rows that keep every relation count as
   they are up to a hundred times further out, and so do rows that are far for a value that many rows have (`kinds`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments import Moments
from aspca.moments.lots import Lots, Repeats
from aspca.moments.rows import Rows, Together, Travelling
from aspca.robust.aside import Aside
from aspca.robust.distance import Distance, Near
from aspca.robust.inner import STARTS, Fences, Start, enough, fences_of, inner_part
from aspca.robust.kinds import Kinds
from aspca.robust.rare import FEW, rare_rows
from aspca.robust.sentinels import Sentinels, sentinels_of
from aspca.robust.sieve import Sieve
from aspca.robust.sifting import MOST_GROSS, coming_back, sifted
from aspca.robust.tail import Tail

# Rows come back up to this many times the limit that one in a hundred normal rows exceeds.
_NEAR, _LEVEL = 2.0, 0.99
_MOST_ROUNDS = 4
# A row that keeps every relation spoils none, and may be so many times further out before it counts as an error: a
# bonus that a tenth of the people get, a day ten times as busy.
_LAWFUL = 100.0
# From this share of rows on that have gross cells, others are wrong by less.
_SPOILED = 0.05
# Where so many are far that they are no errors, what is further out is tried so many times.
_MOST_LIMITS = 2


@dataclass(frozen=True, eq=False)
class RobustMoments:
    """Moments of what is not gross, and what is.

    Attributes
    ----------
    moments : Moments
    aside : Aside
    sieve : Sieve or None
        What told one from the other; None where nothing was set aside.
    spoiled : float
        The share of rows of which some cells are gross.
    """

    moments: Moments
    aside: Aside
    sieve: Sieve | None = None
    spoiled: float = 0.0

    def normal(self, rows: Floats, numbers: Ints | None = None) -> Bools:
        """Which of the rows (m, p) show what normal rows reach (m,): whole ones, and near ones where cells are spoiled.

        Where many cells are gross, others are wrong by less: too little to harm a relation, but more than normal rows.
        """
        whole = self.whole(rows, numbers)
        if self.sieve is not None and self.spoiled > _SPOILED:
            distance = self.sieve.distance
            whole &= distance.sizes_of(rows, self.sieve.near) <= 1.0
        return whole

    def whole(self, rows: Floats, numbers: Ints | None = None) -> Bools:
        """Which of the rows (m, p) count as they are, nothing of them being gross (m,); the same in any company.

        `numbers` (m,) are theirs where they are rows that were learned from: only then are rows known that were in
        another state for long.
        """
        return np.ones(len(rows), dtype=np.bool_) if self.sieve is None else self.sieve.whole(rows, numbers)


def robust_moments(rows: Rows, plain: Moments) -> RobustMoments:
    """The moments of rows without their gross errors.

    Parameters
    ----------
    rows : Rows
        Without gaps.
    plain : Moments
        Of all of them.

    Notes
    -----
    Memory does not grow with the rows. A cell that counts as missing adds to the covariance what the other cells of its
    row leave open (the expectation step of maximum likelihood), so that spreads do not shrink.
    """
    p = plain.n_features
    nothing = Aside(0, np.zeros(p, dtype=np.intp), np.zeros(0, dtype=np.intp), 0)
    if not enough(plain, 1.0):
        return RobustMoments(plain, nothing)
    fences, passes = fences_of(rows, p), 4
    sentinels, lots = sentinels_of(rows, plain, fences), _lots(rows, plain)
    for start in STARTS:
        found, more = _learned(rows, plain, fences, sentinels, start, lots)
        passes += more
        if found is not None:
            return replace(found, aside=replace(found.aside, passes=passes))
    return RobustMoments(plain, replace(nothing, passes=passes))


def _lots(rows: Rows, plain: Moments) -> Lots:
    """Which rows are drawn where some of many will do."""
    even = Lots.between(plain.minimum, plain.maximum)
    return even if plain.n_rows <= FEW else rows.gather(lambda: Repeats.nothing(even)).lots


def _learned(
    rows: Rows, plain: Moments, fences: Fences, sentinels: Sentinels, start: Start, lots: Lots
) -> tuple[RobustMoments | None, int]:
    """What is not gross, by relations that some rows begin with, and the passes it took.

    None if more are far than there can be errors: what the inner rows have in common is then no law of the others.
    """
    p = plain.n_features
    nothing = Aside(0, np.zeros(p, dtype=np.intp), np.zeros(0, dtype=np.intp), 0)
    kept, distance, passes = inner_part(rows, plain, fences, start, lots)
    if kept is None:
        return None, passes
    before, often, rare = -1, None, True
    for _ in range(_MOST_ROUNDS):
        kept, often, many, more = coming_back(rows, Sieve(distance, _near(kept), often=often), plain.n_rows, lots)
        passes += more
        if rare and many:
            distance = Distance.of(kept, plain, rounding=sentinels.rounding)
            more_rows, more = rare_rows(rows, Sieve(distance, _near(kept)), fences, plain.n_rows, lots)
            kept, passes, rare = kept.merge(more_rows), passes + more, more_rows.n_rows > 0
        elif many == before:
            break
        before, distance = many, Distance.of(kept, plain, rounding=sentinels.rounding)
    distance = Distance.of(kept, plain, rounding=sentinels.rounding)
    if before == 0 and not sentinels.any:
        return RobustMoments(plain, nothing), passes
    near = _near(kept)
    sized = rows.gather(lambda: Together(_Sized(distance, near, sentinels, Tail(plain.n_rows, near.cell)), Kinds(p)))
    tail, kinds = sized.parts[0].tail, sized.parts[1]
    passes += 1
    states = tail.states()
    for far in (*tail.limits()[:_MOST_LIMITS], np.inf):
        if far == np.inf and not states and not sentinels.any:
            return (None if 2 * before > plain.n_rows * MOST_GROSS else RobustMoments(plain, nothing)), passes
        sieve = Sieve(distance, near, float(far), often, states, sentinels, _LAWFUL)
        last = sifted(rows, sieve, np.stack([plain.minimum, plain.maximum]), (fences, kinds))
        passes += 1
        # More are no errors: there are several kinds of rows, or they drift. What is further out may be all the same.
        if last.n_rows <= MOST_GROSS * plain.n_rows and not last.of_kinds:
            break
    else:
        return None, passes
    # Rows without gross cells alone, where they are enough: then a relation that holds exactly stays exact.
    everything = last.moments
    whole = last.near if 2 * last.near.n_rows >= plain.n_rows and enough(last.near, 1.0) else everything
    spoiled = (everything.n_rows - last.near.n_rows) / plain.n_rows
    return RobustMoments(_within(whole, plain), last.aside(passes, plain, states), sieve, spoiled), passes


@dataclass(eq=False)
class _Sized(Travelling):
    """How far rows are, by powers of two."""

    stays = (
        "distance",
        "near",
        "sentinels",
    )

    distance: Distance
    near: Near
    sentinels: Sentinels
    tail: Tail

    def add(self, rows: Floats, numbers: Ints) -> None:
        # Sentinels are errors, however often they come back.
        sizes = np.where(self.sentinels.any_in(rows), 0.0, self.distance.sizes_of(rows, self.near))
        self.tail.add(sizes, numbers)

    def merge(self, later: _Sized) -> None:
        self.tail.merge(later.tail)


def _near(moments: Moments) -> Near:
    """Up to where rows come back, by the laws of a Gaussian's distances and of its largest deviation of p."""
    # A quarter of a second to import, which nobody waits for who does not fit.
    from scipy.special import fdtri

    p, n = moments.n_features, moments.n_rows
    freedom = max(n - p, 2)
    row = p * (n + 1.0) / freedom * float(fdtri(p, freedom, _LEVEL))
    return Near(_NEAR * row, _NEAR * float(fdtri(1, freedom, 1.0 - (1.0 - _LEVEL) / p)))


def _within(kept: Moments, plain: Moments) -> Moments:
    """Moments with the decimals of all rows, and no value beyond theirs: what stands in for a cell has neither."""
    return Moments(
        kept.weight,
        kept.n_rows,
        kept.centre,
        kept.residual,
        kept.scatter,
        np.maximum(kept.minimum, plain.minimum),
        np.minimum(kept.maximum, plain.maximum),
        plain.decimals,
    )
