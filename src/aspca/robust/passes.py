"""Moments of the rows and cells that are not gross, in a few passes over batches of rows; nothing is drawn by chance.

1. *Fences*: rows of which no cell is further than six deviations (by the median and the median distance from it) are
   few or many, but hold no grossly wrong cell.
2. *Concentration*: of these the half nearest to each other, twice: what breaks a relation within its columns' range
   leaves too, and no relation is blurred by the rest.
3. *Cells*: all rows that are near come back. In the others as few cells as possible count as missing, with what the
   other cells let expect in their place; rows for which that is not enough are gross as a whole. Again, until the same
   cells are missing.
4. *Tails are not errors*: rows are counted by powers of two of their distance (`tail`). Errors begin where the variance
   rises again beyond a valley; where it does not, every row counts as it is. Rows that keep every relation count as
   they are up to a hundred times further out, and so do rows that are far for a value that many rows have (`kinds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments import Moments
from aspca.robust.aside import MOST_SHOWN, Aside, GrossCells, Repeated, like_a_word
from aspca.robust.distance import Distance, Near
from aspca.robust.kinds import Kinds
from aspca.robust.order import Batches, median_sizes, medians, quantile
from aspca.robust.sieve import Sentinels, Sieve
from aspca.robust.tail import Tail

# A cell further from the median than this many deviations is outside its fence.
_FENCE = 6.0
_DEVIATIONS_PER_MEDIAN = 1.4826
# Before rows have come back, no relation counts as tighter than this share of its columns' variances: half of the rows
# may look alike in much.
_TIGHTEST = 1e-3
# The share of rows that relations are learned from before the others come back.
_INNER = 0.5
_CONCENTRATIONS = 2
# Steps in which what stands in for missing cells tightens: each leaves a fifth or less of what was too loose.
_EXPECTATIONS = 6
# Rows come back up to this many times the limit that one in a hundred normal rows exceeds.
_NEAR, _LEVEL = 2.0, 0.99
_MOST_ROUNDS = 4
# More rows than this share that are gross as a whole, or cells of a column, are no errors: a fifth, and some by chance.
_MOST_GROSS = 0.22
# A row that keeps every relation spoils none, and may be so many times further out before it counts as an error: a
# bonus that a tenth of the people get, a day ten times as busy.
_LAWFUL = 100.0
# From this share of cells on that are gross, others are wrong by less.
_SPOILED = 5e-3
# Rows per column that a start must have; with fewer, nothing is set aside. And that need no cells put in their place.
_ENOUGH_ROWS, _AMPLE_ROWS = 3, 5
# Where so many are far that they are no errors, what is further out is tried so many times.
_MOST_LIMITS = 2
# Columns of at most so many decimals, in steps of at most this share of their deviation, are rounded numbers.
_MOST_DECIMALS, _FINE = 4, 0.1
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
    spoiled : bool
        Whether many cells are gross.
    """

    moments: Moments
    aside: Aside
    sieve: Sieve | None = None
    spoiled: bool = False

    def normal(self, rows: Floats, start: int | None = None) -> Bools:
        """Which of the rows (m, p) show what normal rows reach (m,): whole ones, and near ones where cells are spoiled.

        Where many cells are gross, others are wrong by less: too little to harm a relation, but more than normal rows.
        """
        whole = self.whole(rows, start)
        if self.sieve is not None and self.spoiled:
            distance = self.sieve.distance
            whole &= distance.sizes(distance.scaled(rows), self.sieve.near) <= 1.0
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
    if not _many(plain, 1.0):
        return RobustMoments(plain, nothing)
    fences, passes = _fences(batches, p), 4
    sentinels = _sentinels(batches, plain, fences)
    kept, more = _inner(batches, plain, fences)
    passes += more
    if kept is None:
        return RobustMoments(plain, replace(nothing, passes=passes))
    before, often, distance = -1, None, Distance.of(kept, plain, fences.size, _TIGHTEST)
    for _ in range(_MOST_ROUNDS):
        found = _round(batches, Sieve(distance, _near(kept), often=often))
        often = found.cells > _MOST_GROSS * plain.n_rows
        # What stands in for a cell blurs relations that hold exactly: rows without such cells, where they are enough.
        kept = found.near if found.near.n_rows >= _AMPLE_ROWS * p else found.moments
        passes += 1
        if found.many == before:
            break
        before, distance = found.many, Distance.of(kept, plain, rounding=sentinels.rounding)
    distance = Distance.of(kept, plain, rounding=sentinels.rounding)
    if before == 0 and not sentinels.any:
        return RobustMoments(plain, replace(nothing, passes=passes))
    near = _near(kept)
    tail, kinds = Tail(plain.n_rows, near.cell), Kinds(p)
    for rows in batches():
        # Sentinels are errors, however often they come back.
        sizes = distance.sizes(distance.scaled(rows), near)
        tail.add(np.where(sentinels.in_rows(rows).any(axis=1), 0.0, sizes))
        kinds.add(rows)
    passes += 1
    states = tail.states()
    for far in (*tail.limits()[:_MOST_LIMITS], np.inf):
        if far == np.inf and not states and not sentinels.any:
            return RobustMoments(plain, replace(nothing, passes=passes))
        sieve = Sieve(distance, near, float(far), often, states, sentinels, _LAWFUL)
        last = _round(batches, sieve, np.stack([plain.minimum, plain.maximum]))
        passes += 1
        # More are no errors: there are several kinds of rows, or they drift. What is further out may be all the same.
        if last.n_rows <= _MOST_GROSS * plain.n_rows and not _of_kinds(batches, sieve, fences, kinds):
            break
    else:
        return RobustMoments(plain, replace(nothing, passes=passes))
    # Rows without gross cells alone, where they are enough: then a relation that holds exactly stays exact.
    whole = last.near if 2 * last.near.n_rows >= plain.n_rows and _many(last.near, 1.0) else last.moments
    spoiled = float(last.cells.sum()) > _SPOILED * plain.n_rows * p
    return RobustMoments(_within(whole, plain), last.aside(passes, plain, states), sieve, spoiled)


def _of_kinds(batches: Batches, sieve: Sieve, fences: _Fences, kinds: Kinds) -> bool:
    """Whether most of the gross rows are far out by a value that many rows have: kinds of rows, no errors."""
    if not kinds.any:
        return False
    common = total = start = 0
    for rows in batches():
        bad = rows[sieve.sift(rows, start).bad]
        common += int((kinds.common(bad) & fences.outside(bad)).any(axis=1).sum())
        total += len(bad)
        start += len(rows)
    return 2 * common > total


def _many(moments: Moments, share: float) -> bool:
    """Whether this share of the rows is enough to learn relations from."""
    return share * moments.n_rows >= _ENOUGH_ROWS * moments.n_features + 2


@dataclass(frozen=True, eq=False)
class _Fences:
    """The columns' medians (p,), and their deviations (p,) by the median distance from them."""

    middle: Floats
    size: Floats

    def outside(self, rows: Floats) -> Bools:
        """Which cells of rows (m, p) are beyond their fences."""
        fence = np.where(self.size > 0.0, _FENCE * self.size, np.inf)
        return np.asarray(np.abs(rows - self.middle) > fence)


def _fences(batches: Batches, p: int) -> _Fences:
    middle = medians(batches, p)
    size = _DEVIATIONS_PER_MEDIAN * median_sizes(lambda: (rows - middle for rows in batches()), p)
    if (size > 0.0).all():
        return _Fences(middle, size)
    # Of a column of which more than half the values are equal, what the others are off by; a few of them are errors.
    beside = _DEVIATIONS_PER_MEDIAN * median_sizes(lambda: (_unequal(rows - middle) for rows in batches()), p)
    return _Fences(middle, np.where(size > 0.0, size, beside))


def _inner(batches: Batches, plain: Moments, fences: _Fences) -> tuple[Moments | None, int]:
    """Moments of the inner half of the rows, as if of all of them, and the passes it took; None of too few rows."""
    p = plain.n_features

    def inside() -> Iterator[Floats]:
        return (rows[~fences.outside(rows).any(axis=1)] for rows in batches())

    kept, passes = _moments(inside(), p), 1
    if _many(kept, _INNER):
        for _ in range(_CONCENTRATIONS):
            distance = Distance.of(kept, plain, fences.size, _TIGHTEST)
            edge = quantile((distance.squared(rows) for rows in inside()), _INNER)
            kept = _moments((rows[distance.squared(rows) <= edge] for rows in inside()), p)
            passes += 2
    elif _many(plain, _INNER):
        kept, more = _inner_of_cells(batches, plain, fences)
        passes += more
    if not _many(kept, 1.0):
        return None, passes
    return _with_scatter(kept, (_shrunk(p) - 1.0) * kept.scatter), passes


def _inner_of_cells(batches: Batches, plain: Moments, fences: _Fences) -> tuple[Moments, int]:
    """The same where hardly any row is inside all fences: cells outside of them count as missing."""
    p = plain.n_features
    kept, distance, edge = Moments.empty(p), Distance.of_columns(fences.middle, fences.size), np.inf
    for step in range(_EXPECTATIONS + 1):
        if step:
            distance = Distance.of(kept, plain, fences.size, _TIGHTEST)
            edge = quantile((_fitted(distance, rows, fences)[2] for rows in batches()), _INNER)
        kept, left_open = Moments.empty(p), np.zeros((p, p))
        for rows in batches():
            filled, cells, squared = _fitted(distance, rows, fences)
            those = squared <= edge
            kept = kept.update(distance.unscaled(filled[those]))
            left_open += distance.left_open(cells[those])
        if not _many(kept, 1.0):
            return kept, 2 * step + 1
        kept = _with_scatter(kept, left_open * distance.scale[:, None] * distance.scale)
    return kept, 2 * _EXPECTATIONS + 1


def _fitted(distance: Distance, rows: Floats, fences: _Fences) -> tuple[Floats, Bools, Floats]:
    """Scaled rows with what the others let expect in cells outside of fences, these cells, and squared distances.

    Rows with too many such cells are left out.
    """
    cells = fences.outside(rows)
    some = cells.sum(axis=1) <= distance.most_cells(rows.shape[1])
    cells = cells[some]
    filled = distance.filled(distance.scaled(rows[some]), cells)
    # A cell that is missing is as far as is to be expected.
    return filled, cells, distance.along(filled).sum(axis=1) + cells.sum(axis=1)


def _unequal(distances: Floats) -> Floats:
    """Distances with NaN for zero."""
    return np.where(distances == 0.0, np.nan, distances)


def _shrunk(p: int) -> float:
    """How much smaller the inner rows of a Gaussian make its covariance (Croux and Haesbroeck 1999)."""
    from scipy.special import chdtr, chdtri

    return _INNER / float(chdtr(p + 2, chdtri(p, 1.0 - _INNER)))


def _moments(parts: Iterable[Floats], p: int) -> Moments:
    total = Moments.empty(p)
    for part in parts:
        total = total.update(part)
    return total


def _near(moments: Moments) -> Near:
    """Up to where rows come back, by the laws of a Gaussian's distances and of its largest deviation of p."""
    # A quarter of a second to import, which nobody waits for who does not fit.
    from scipy.special import fdtri

    p, n = moments.n_features, moments.n_rows
    freedom = max(n - p, 2)
    row = p * (n + 1.0) / freedom * float(fdtri(p, freedom, _LEVEL))
    return Near(_NEAR * row, _NEAR * float(fdtri(1, freedom, 1.0 - (1.0 - _LEVEL) / p)))


def _sentinels(batches: Batches, plain: Moments, fences: _Fences) -> Sentinels:
    """Values at the edge of a column, met several times, outside its fence and far from all others."""
    p = plain.n_features
    edges = np.stack([plain.minimum, plain.maximum])
    decimals = np.zeros(p, dtype=np.intp)
    times, inner = np.zeros((2, p), dtype=np.intp), np.stack([np.full(p, np.inf), np.full(p, -np.inf)])
    for rows in batches():
        low, high = (rows == edge for edge in edges)
        for places in range(_MOST_DECIMALS + 1):
            steps = rows * 10.0**places
            coarse = (np.abs(steps - np.round(steps)) > 1e-6 * np.maximum(np.abs(steps), 1.0)).any(axis=0)
            decimals = np.where(coarse, np.maximum(decimals, places + 1), decimals)
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


def _round(batches: Batches, sieve: Sieve, edges: Floats | None = None) -> _Round:
    """One pass over the rows; how often gross cells have the columns' extreme values (2, p) is counted where given."""
    p = len(sieve.distance.scale)
    near, mended, left_open = Moments.empty(p), Moments.empty(p), np.zeros((p, p))
    n_rows, cells, numbers, start = 0, np.zeros(p, dtype=np.intp), np.zeros(0, dtype=np.intp), 0
    shown, at_edges = GrossCells.none(), np.zeros((2, p), dtype=np.intp)
    for rows in batches():
        found = sieve.sift(rows, start)
        near = near.update(np.delete(rows, found.bad, axis=0))
        mended = mended.update(found.likeliest[found.mended])
        gross = found.cells[found.mended]
        left_open += sieve.distance.left_open(gross)
        n_rows += int((~found.mended).sum())
        cells += gross.sum(axis=0)
        if edges is not None:
            bad = rows[found.bad]
            numbers = np.concatenate([numbers, start + found.bad])[:MOST_SHOWN]
            shown = shown.more(start + found.bad, bad, found.likeliest, found.cells & found.mended[:, None])
            at_edges += (bad == edges[:, None, :]).sum(axis=1)
        start += len(rows)
    opened = left_open * sieve.distance.scale[:, None] * sieve.distance.scale
    return _Round(near, _with_scatter(near.merge(mended), opened), n_rows, cells, numbers, shown, at_edges)


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


def _with_scatter(moments: Moments, added: Floats) -> Moments:
    """Moments with something added to their scatter."""
    scatter = moments.scatter + 0.5 * (added + added.T)
    return Moments(
        moments.weight,
        moments.n_rows,
        moments.centre,
        moments.residual,
        scatter,
        moments.minimum,
        moments.maximum,
        moments.decimals,
    )
