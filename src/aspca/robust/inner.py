"""The inner half of the rows: a start without gross cells or broken relations, whatever the other half holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.steady import across, any_in_row, row_by_row
from aspca.moments import Moments
from aspca.moments.gathered import MomentsOf
from aspca.moments.lots import Lots
from aspca.moments.rows import Rows, Step, Travelling, kept_if
from aspca.robust.distance import Distance
from aspca.robust.order import medians, quantile, sizes_and_others

# A cell further from the median than this many deviations is outside its fence.
_FENCE = 6.0
_DEVIATIONS_PER_MEDIAN = 1.4826
# Before rows have come back, no relation counts as tighter than this share of its columns' variances: half of the rows
# may look alike in much.
_TIGHTEST = 1e-3
_CONCENTRATIONS = 2
# Medians are known to one part in 2^20.
_EQUAL = 2.0**-19
# Steps in which what stands in for missing cells tightens: each leaves a fifth or less of what was too loose.
_EXPECTATIONS = 6
# Rows per column that a start must have; with fewer, nothing is set aside.
_ENOUGH_ROWS = 3
# Of more than twice as many rows the start is looked for among so many, or so many per column, drawn by lot: all rows
# have their say when they come back, and these know the inner half to a percent.
_START_ROWS, _START_PER_COLUMN = 100_000, 500


@dataclass(frozen=True)
class Start:
    """A part of the rows to begin with: the inner `share` of those within fences `wider` times as wide."""

    share: float
    wider: float


# The inner half is safe from as many errors. But where there are several kinds of rows it may be one of them alone, to
# which all others seem to be errors: then nine tenths, among them errors that are in range.
STARTS = (Start(0.5, 1.0), Start(0.9, 10.0))


@dataclass(frozen=True, eq=False)
class Fences:
    """What columns keep to.

    Attributes
    ----------
    middle : ndarray of shape (p,)
        Medians.
    size : ndarray of shape (p,)
        Deviations, by the median distance from them.
    beside : ndarray of shape (p,)
        Of columns of which more than half the values are equal, the number of others; -1 of other columns.
    """

    middle: Floats
    size: Floats
    beside: Ints

    def unlike(self, rows: Floats) -> Bools:
        """Which cells of rows (m, p) are not the median."""
        return np.asarray(np.abs(rows - self.middle) > _EQUAL * np.abs(self.middle))

    def outside(self, rows: Floats, wider: float = 1.0) -> Bools:
        """Which cells of rows (m, p) are beyond their fences, or beyond fences so many times wider."""
        fence = np.where(self.size > 0.0, wider * _FENCE * self.size, np.inf)

        def beyond(part: Floats) -> Bools:
            off = across(np.subtract, part, self.middle)
            return across(np.greater, np.abs(off, out=off), fence)

        return row_by_row(beyond, rows)

    def inside(self, rows: Floats, wider: float = 1.0) -> Bools:
        """Which of rows (m, p) have no such cell (m,)."""
        return row_by_row(lambda part: ~any_in_row(self.outside(part, wider)), rows)


def fences_of(rows: Rows, p: int) -> Fences:
    """The fences of p columns."""
    middle = medians(rows, p)

    def off(some: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        return _off(some, middle), numbers

    # Of a column of which more than half the values are equal, what the others are off by; a few of them are errors.
    size, others, counts = sizes_and_others(rows.through(off), p)
    still = size == 0.0
    size = _DEVIATIONS_PER_MEDIAN * np.where(still, others, size)
    return Fences(middle, size, np.where(still, counts, -1))


def _off(rows: Floats, middle: Floats) -> Floats:
    """How far rows (m, p) are off the medians, zero where they are these."""
    distances = across(np.subtract, rows, middle)
    distances[across(np.less_equal, np.abs(distances), _EQUAL * np.abs(middle))] = 0.0
    return distances


def inner_part(
    rows: Rows, plain: Moments, fences: Fences, start: Start, lots: Lots
) -> tuple[Moments | None, Distance, int]:
    """Moments of the inner rows, as if of all of them; the distance by these; the passes it took.

    None, and a distance by columns alone, if they are too few.
    """
    p, share = plain.n_features, start.share
    rows = _some_rows(rows, plain.n_rows, max(_START_ROWS, _START_PER_COLUMN * p), lots)
    # The few values beside one that most rows have tell little of how far the others may be.
    units = fences.size if start.wider == 1.0 else None
    inside = rows.through(kept_if(lambda some: fences.inside(some, start.wider)))
    kept, passes = inside.gather(lambda: MomentsOf.nothing(p)).moments, 1
    if enough(kept, share):
        for _ in range(_CONCENTRATIONS):
            distance = Distance.of(kept, plain, units, _TIGHTEST)
            edge = quantile(inside.through(squared_distances(distance)), share)
            kept = inside.through(_Nearer(distance, edge)).gather(lambda: MomentsOf.nothing(p)).moments
            passes += 2
    elif enough(plain, share):
        kept, more = _inner_of_cells(rows, plain, fences, share)
        passes += more
    if not enough(kept, 1.0):
        return None, Distance.of_columns(fences.middle, fences.size), passes
    whole = with_scatter(kept, (_shrunk(p, share) - 1.0) * kept.scatter)
    return whole, Distance.of(whole, plain, units, _TIGHTEST), passes


def squared_distances(distance: Distance) -> Step:
    """Makes squared distances (m, 1) of rows."""
    return lambda rows, numbers: (distance.squared(rows)[:, None], numbers)


@dataclass(frozen=True)
class _Nearer:
    """Keeps the rows that are no further than an edge."""

    distance: Distance
    edge: float

    def __call__(self, rows: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        near = self.distance.squared(rows) <= self.edge
        return rows[near], numbers[near]


def _some_rows(rows: Rows, n_rows: int, enough_rows: int, lots: Lots) -> Rows:
    """About so many of the rows, where they are more than twice as many."""
    if n_rows <= 2 * enough_rows:
        return rows

    def some(batch: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        those = lots.some(batch, numbers, enough_rows / n_rows)
        return batch[those], numbers[those]

    return rows.through(some)


def _inner_of_cells(rows: Rows, plain: Moments, fences: Fences, share: float) -> tuple[Moments, int]:
    """The same where hardly any row is inside all fences: cells outside of them count as missing."""
    p = plain.n_features
    kept, distance, edge = Moments.empty(p), Distance.of_columns(fences.middle, fences.size), np.inf
    for step in range(_EXPECTATIONS + 1):
        if step:
            distance = Distance.of(kept, plain, fences.size, _TIGHTEST)
            edge = quantile(rows.through(_fitted_distances(distance, fences)), share)
        found = rows.gather(partial(_Fitted.nothing, distance, fences, float(edge)))
        kept = found.kept
        if not enough(kept, 1.0):
            return kept, 2 * step + 1
        kept = with_scatter(kept, found.left_open * distance.scale[:, None] * distance.scale)
    return kept, 2 * _EXPECTATIONS + 1


@dataclass(eq=False)
class _Fitted(Travelling):
    """Moments of rows up to an edge, with what is to be expected in cells outside of fences; what that leaves open."""

    stays = (
        "distance",
        "fences",
        "edge",
    )

    distance: Distance
    fences: Fences
    edge: float
    kept: Moments
    left_open: Floats

    @classmethod
    def nothing(cls, distance: Distance, fences: Fences, edge: float) -> _Fitted:
        p = len(distance.scale)
        return cls(distance, fences, edge, Moments.empty(p), np.zeros((p, p)))

    def add(self, rows: Floats, numbers: Ints) -> None:
        filled, cells, squared = _fitted(self.distance, rows, self.fences)
        those = squared <= self.edge
        self.kept = self.kept.update(self.distance.unscaled(filled[those]), decimals=False)
        self.left_open = self.left_open + self.distance.left_open(cells[those])

    def merge(self, later: _Fitted) -> None:
        self.kept, self.left_open = self.kept.merge(later.kept), self.left_open + later.left_open


def _fitted_distances(distance: Distance, fences: Fences) -> Step:
    def distances(rows: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        # Rows with too many such cells are left out: nobody asks these for their numbers.
        found = _fitted(distance, rows, fences)[2]
        return found[:, None], numbers[: len(found)]

    return distances


def _fitted(distance: Distance, rows: Floats, fences: Fences) -> tuple[Floats, Bools, Floats]:
    """Scaled rows with what the others let expect in cells outside of fences, these cells, and squared distances.

    Rows with too many such cells are left out.
    """
    cells = fences.outside(rows)
    some = cells.sum(axis=1) <= distance.most_cells(rows.shape[1])
    cells = cells[some]
    filled = distance.filled(distance.scaled(rows[some]), cells)
    # A cell that is missing is as far as is to be expected.
    return filled, cells, distance.squared_of_scaled(filled) + cells.sum(axis=1)


def _shrunk(p: int, share: float) -> float:
    """How much smaller the inner rows of a Gaussian make its covariance (Croux and Haesbroeck 1999)."""
    from scipy.special import chdtr, chdtri

    return share / float(chdtr(p + 2, chdtri(p, 1.0 - share)))


def enough(moments: Moments, share: float) -> bool:
    """Whether this share of the rows is enough to learn relations from."""
    return share * moments.n_rows >= _ENOUGH_ROWS * moments.n_features + 2


def with_scatter(moments: Moments, added: Floats) -> Moments:
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
