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
from aspca.linalg.steady import cached_parts
from aspca.moments import Moments
from aspca.robust.aside import MOST_SHOWN, Aside, GrossCells, Repeated, like_a_word
from aspca.robust.distance import Distance, Near
from aspca.robust.inner import STARTS, Fences, Start, enough, fences_of, inner_part, with_scatter
from aspca.robust.kinds import Kinds
from aspca.robust.order import Batches, scattered
from aspca.robust.rare import rare_rows
from aspca.robust.sieve import Sentinels, Sieve, Sifted
from aspca.robust.tail import Tail

# Rows come back up to this many times the limit that one in a hundred normal rows exceeds.
_NEAR, _LEVEL = 2.0, 0.99
_MOST_ROUNDS = 4
# More rows than this share that are gross as a whole, or cells of a column, are no errors: a fifth, and some by chance.
_MOST_GROSS = 0.22
# A row that keeps every relation spoils none, and may be so many times further out before it counts as an error: a
# bonus that a tenth of the people get, a day ten times as busy.
_LAWFUL = 100.0
# From this share of rows on that have gross cells, others are wrong by less.
_SPOILED = 0.05
# Rows per column that need no cells put in their place.
_AMPLE_ROWS = 5
# Of rows that are far, so many show which columns are often so; more are as many times slower.
_LOOKED_AT = 20_000
# Where so many are far that they are no errors, what is further out is tried so many times.
_MOST_LIMITS = 2
# Columns of at most so many decimals, in steps of at most this share of their deviation, are rounded numbers.
_MOST_DECIMALS, _FINE = 4, 0.1
# Whole numbers below this are whole in any of these places, to the last bit.
_WHOLE = 1e9
# A value that stands for "missing" is further from the others than these are from each other, so many times.
_APART = 2.0


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

    def normal(self, rows: Floats, start: int | None = None) -> Bools:
        """Which of the rows (m, p) show what normal rows reach (m,): whole ones, and near ones where cells are spoiled.

        Where many cells are gross, others are wrong by less: too little to harm a relation, but more than normal rows.
        """
        whole = self.whole(rows, start)
        if self.sieve is not None and self.spoiled > _SPOILED:
            distance = self.sieve.distance
            whole &= distance.sizes_of(rows, self.sieve.near) <= 1.0
        return whole

    def whole(self, rows: Floats, start: int | None = None) -> Bools:
        """Which of the rows (m, p) count as they are, nothing of them being gross (m,); the same in any company.

        `start` is the number of the first of them where they are rows that were learned from, in their order: only then
        are rows known that were in another state for long.
        """
        return np.ones(len(rows), dtype=np.bool_) if self.sieve is None else self.sieve.whole(rows, start)


def robust_moments(batches: Batches, plain: Moments) -> RobustMoments:
    """The moments of rows without their gross errors.

    Parameters
    ----------
    batches : callable
        Gives the rows in batches (m, p), the same each time, without gaps.
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
    fences, passes = fences_of(batches, p), 4
    sentinels = _sentinels(batches, plain, fences)
    for start in STARTS:
        found, more = _learned(batches, plain, fences, sentinels, start)
        passes += more
        if found is not None:
            return replace(found, aside=replace(found.aside, passes=passes))
    return RobustMoments(plain, replace(nothing, passes=passes))


def _learned(
    batches: Batches, plain: Moments, fences: Fences, sentinels: Sentinels, start: Start
) -> tuple[RobustMoments | None, int]:
    """What is not gross, by relations that some rows begin with, and the passes it took.

    None if more are far than there can be errors: what the inner rows have in common is then no law of the others.
    """
    p = plain.n_features
    nothing = Aside(0, np.zeros(p, dtype=np.intp), np.zeros(0, dtype=np.intp), 0)
    kept, distance, passes = inner_part(batches, plain, fences, start)
    if kept is None:
        return None, passes
    before, often, rare = -1, None, True
    for _ in range(_MOST_ROUNDS):
        kept, often, many, more = _coming_back(batches, Sieve(distance, _near(kept), often=often), plain.n_rows)
        passes += more
        if rare and many:
            distance = Distance.of(kept, plain, rounding=sentinels.rounding)
            more_rows, more = rare_rows(batches, Sieve(distance, _near(kept)), fences, plain.n_rows)
            kept, passes, rare = kept.merge(more_rows), passes + more, more_rows.n_rows > 0
        elif many == before:
            break
        before, distance = many, Distance.of(kept, plain, rounding=sentinels.rounding)
    distance = Distance.of(kept, plain, rounding=sentinels.rounding)
    if before == 0 and not sentinels.any:
        return RobustMoments(plain, nothing), passes
    near = _near(kept)
    tail, kinds = Tail(plain.n_rows, near.cell), Kinds(p)
    for rows in batches():
        # Sentinels are errors, however often they come back.
        sizes = distance.sizes_of(rows, near)
        tail.add(np.where(sentinels.any_in(rows), 0.0, sizes))
        kinds.add(rows)
    passes += 1
    states = tail.states()
    for far in (*tail.limits()[:_MOST_LIMITS], np.inf):
        if far == np.inf and not states and not sentinels.any:
            return (None if 2 * before > plain.n_rows * _MOST_GROSS else RobustMoments(plain, nothing)), passes
        sieve = Sieve(distance, near, float(far), often, states, sentinels, _LAWFUL)
        last = _round(batches, sieve, np.stack([plain.minimum, plain.maximum]), _Common(fences, kinds))
        passes += 1
        # More are no errors: there are several kinds of rows, or they drift. What is further out may be all the same.
        if last.n_rows <= _MOST_GROSS * plain.n_rows and not last.of_kinds:
            break
    else:
        return None, passes
    # Rows without gross cells alone, where they are enough: then a relation that holds exactly stays exact.
    whole = last.near if 2 * last.near.n_rows >= plain.n_rows and enough(last.near, 1.0) else last.moments
    spoiled = (last.moments.n_rows - last.near.n_rows) / plain.n_rows
    return RobustMoments(_within(whole, plain), last.aside(passes, plain, states), sieve, spoiled), passes


def _coming_back(batches: Batches, sieve: Sieve, n_rows: int) -> tuple[Moments, Bools | None, int, int]:
    """Moments of the rows that come back, columns too often gross to be so, how many rows do not, and the passes taken.

    What stands in for a cell blurs relations that hold exactly: rows without such cells, where they are enough. Then
    all there is to know of the others is whether a column has too many gross cells, for which some of them will do:
    which, hangs on their number alone.
    """
    p = len(sieve.distance.scale)
    near, many, start = Moments.empty(p), 0, 0
    cells, looked_at = np.zeros(p, dtype=np.intp), 0
    if sieve.often is None:
        for rows in batches():
            far = sieve.far_rows(rows, start)
            near = near.update(np.delete(rows, far, axis=0), decimals=False)
            those = far[scattered(start + far) * n_rows < _LOOKED_AT]
            gross = sieve.distance.repaired(sieve.distance.scaled(rows[those]), sieve.near)
            cells += gross[1][gross[2]].sum(axis=0)
            many, looked_at, start = many + len(far), looked_at + len(those), start + len(rows)
        often = cells * many > _MOST_GROSS * n_rows * looked_at
        if near.n_rows >= _AMPLE_ROWS * p and not often.any():
            return near, None, many, 1
    found = _round(batches, sieve)
    often = found.cells > _MOST_GROSS * n_rows
    kept = found.near if found.near.n_rows >= _AMPLE_ROWS * p else found.moments
    return kept, often if often.any() else None, found.many, 2


class _Common:
    """Counts rows that are far out by a value that many rows have."""

    def __init__(self, fences: Fences, kinds: Kinds) -> None:
        self._fences, self._kinds = fences, kinds
        self._common = self._total = 0

    def add(self, bad: Floats, found: Sifted) -> None:
        """Count the rows (k, p) that do not count as they are."""
        if self._kinds.any:
            # A row of an uncommon kind may hold an error elsewhere.
            guilty = found.cells | ~found.mended[:, None]
            self._common += int((self._kinds.common(bad) & self._fences.outside(bad) & guilty).any(axis=1).sum())
            self._total += len(bad)

    @property
    def most(self) -> bool:
        """Whether most of them are: kinds of rows, no errors."""
        return 2 * self._common > self._total


def _near(moments: Moments) -> Near:
    """Up to where rows come back, by the laws of a Gaussian's distances and of its largest deviation of p."""
    # A quarter of a second to import, which nobody waits for who does not fit.
    from scipy.special import fdtri

    p, n = moments.n_features, moments.n_rows
    freedom = max(n - p, 2)
    row = p * (n + 1.0) / freedom * float(fdtri(p, freedom, _LEVEL))
    return Near(_NEAR * row, _NEAR * float(fdtri(1, freedom, 1.0 - (1.0 - _LEVEL) / p)))


def _sentinels(batches: Batches, plain: Moments, fences: Fences) -> Sentinels:
    """Values at the edge of a column, met several times, outside its fence and far from all others."""
    p = plain.n_features
    edges = np.stack([plain.minimum, plain.maximum])
    decimals = np.zeros(p, dtype=np.intp)
    times, inner = np.zeros((2, p), dtype=np.intp), np.stack([np.full(p, np.inf), np.full(p, -np.inf)])
    for rows in (batch[part] for batch in batches() for part in cached_parts(*batch.shape)):
        low, high = (rows == edge for edge in edges)
        decimals = _decimals_seen(rows, decimals)
        times += np.stack([low.sum(axis=0), high.sum(axis=0)])
        rest = np.where(low | high, np.nan, rows)
        inner[0] = np.fmin(inner[0], np.fmin.reduce(rest, axis=0, initial=np.inf))
        inner[1] = np.fmax(inner[1], np.fmax.reduce(rest, axis=0, initial=-np.inf))
    with np.errstate(invalid="ignore"):
        apart = np.stack([inner[0] - edges[0], edges[1] - inner[1]]) > _APART * (inner[1] - inner[0])
    there = apart & (times > 1) & (inner[1] > inner[0]) & np.stack([fences.outside(edge[None])[0] for edge in edges])
    there &= like_a_word(edges, inner[0])
    steps = np.where(decimals <= _MOST_DECIMALS, 10.0 ** -decimals.astype(np.float64), 0.0)
    return Sentinels(np.where(there, edges, np.nan), np.where(steps <= _FINE * fences.size, steps**2 / 12.0, 0.0))


def _decimals_seen(rows: Floats, before: Ints) -> Ints:
    """How many decimals columns need (p,) by these rows (m, p) and by those before; one more than the most if more."""
    decimals = before.copy()
    # Of whole numbers no place is worth a look, nor of others those that cannot add anything.
    sizes = np.abs(rows)
    whole = ((rows == np.rint(rows)) & (sizes < _WHOLE)).all(axis=0)
    for places in range(_MOST_DECIMALS + 1):
        columns = np.flatnonzero((decimals <= places) & ~whole)
        steps = rows[:, columns] * 10.0**places
        off = np.abs(steps - np.rint(steps))
        coarse = (off > 1e-6 * np.maximum(np.abs(steps), 1.0)).any(axis=0)
        decimals[columns[coarse]] = places + 1
    return decimals


@dataclass(frozen=True, eq=False)
class _Round:
    """What one pass found: moments of the rows that are near, the same and of rows whose gross cells count as missing,
    and what is gross."""

    near: Moments
    moments: Moments
    n_rows: int
    cells: Ints
    rows: Ints
    shown: GrossCells
    at_edges: Ints
    of_kinds: bool

    @property
    def many(self) -> int:
        return self.n_rows + int(self.cells.sum())

    def aside(self, passes: int, plain: Moments, states: tuple[tuple[int, int], ...]) -> Aside:
        """What this round set aside; a value at a column's edge that only gross cells have, several times, is named."""
        edges = np.stack([plain.minimum, plain.maximum])
        kept = np.stack([self.near.minimum, self.near.maximum])
        repeated = [
            Repeated(int(column), float(edges[side, column]), int(self.at_edges[side, column]))
            for side, column in zip(
                *np.nonzero((self.at_edges > 1) & (kept != edges) & like_a_word(edges, kept[0])), strict=True
            )
        ]
        return Aside(self.n_rows, self.cells, self.rows, passes, self.shown, tuple(repeated), states)


def _round(batches: Batches, sieve: Sieve, edges: Floats | None = None, common: _Common | None = None) -> _Round:
    """One pass over the rows; how often gross cells have the columns' extreme values (2, p) is counted where given, and
    how many of the rows are of a kind."""
    p = len(sieve.distance.scale)
    near, mended, left_open = Moments.empty(p), Moments.empty(p), np.zeros((p, p))
    n_rows, cells, numbers, start = 0, np.zeros(p, dtype=np.intp), np.zeros(0, dtype=np.intp), 0
    shown, at_edges = GrossCells.none(), np.zeros((2, p), dtype=np.intp)
    for rows in batches():
        found = sieve.sift(rows, start)
        near = near.update(np.delete(rows, found.bad, axis=0), decimals=False)
        mended = mended.update(found.likeliest[found.mended], decimals=False)
        gross = found.cells[found.mended]
        left_open += sieve.distance.left_open(gross)
        n_rows += int((~found.mended).sum())
        cells += gross.sum(axis=0)
        if edges is not None:
            bad = rows[found.bad]
            numbers = np.concatenate([numbers, start + found.bad])[:MOST_SHOWN]
            shown = shown.more(start + found.bad, bad, found.likeliest, found.cells & found.mended[:, None])
            at_edges += (bad == edges[:, None, :]).sum(axis=1)
            if common is not None:
                common.add(bad, found)
        start += len(rows)
    opened = left_open * sieve.distance.scale[:, None] * sieve.distance.scale
    whole, of_kinds = with_scatter(near.merge(mended), opened), common is not None and common.most
    return _Round(near, whole, n_rows, cells, numbers, shown, at_edges, of_kinds)


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
