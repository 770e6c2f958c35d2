"""The inner half of the rows: a start without gross cells or broken relations, whatever the other half holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.steady import across, any_in_row, cached_parts, row_by_row
from aspca.moments import Moments
from aspca.robust.distance import Distance
from aspca.robust.order import Batches, medians, quantile, scattered, sizes_and_others

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
# Of more than twice as many rows the start is looked for among so many, or so many per column, scattered over them: all
# rows have their say when they come back, and these know the inner half to a percent.
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


def fences_of(batches: Batches, p: int) -> Fences:
    """The fences of p columns."""
    middle = medians(batches, p)

    def off() -> Iterator[Floats]:
        for rows in batches():
            for part in cached_parts(*rows.shape):
                distances = across(np.subtract, rows[part], middle)
                distances[across(np.less_equal, np.abs(distances), _EQUAL * np.abs(middle))] = 0.0
                yield distances

    # Of a column of which more than half the values are equal, what the others are off by; a few of them are errors.
    size, others, counts = sizes_and_others(off, p)
    still = size == 0.0
    size = _DEVIATIONS_PER_MEDIAN * np.where(still, others, size)
    return Fences(middle, size, np.where(still, counts, -1))


def inner_part(batches: Batches, plain: Moments, fences: Fences, start: Start) -> tuple[Moments | None, Distance, int]:
    """Moments of the inner rows, as if of all of them; the distance by these; the passes it took.

    None, and a distance by columns alone, if they are too few.
    """
    p, share = plain.n_features, start.share
    batches = _some_rows(batches, plain.n_rows, max(_START_ROWS, _START_PER_COLUMN * p))
    # The few values beside one that most rows have tell little of how far the others may be.
    units = fences.size if start.wider == 1.0 else None

    def inside() -> Iterator[Floats]:
        return (rows[fences.inside(rows, start.wider)] for rows in batches())

    kept, passes = _moments(inside(), p), 1
    if enough(kept, share):
        for _ in range(_CONCENTRATIONS):
            distance = Distance.of(kept, plain, units, _TIGHTEST)
            edge = quantile((distance.squared(rows) for rows in inside()), share)
            kept = _moments((rows[distance.squared(rows) <= edge] for rows in inside()), p)
            passes += 2
    elif enough(plain, share):
        kept, more = _inner_of_cells(batches, plain, fences, share)
        passes += more
    if not enough(kept, 1.0):
        return None, Distance.of_columns(fences.middle, fences.size), passes
    whole = with_scatter(kept, (_shrunk(p, share) - 1.0) * kept.scatter)
    return whole, Distance.of(whole, plain, units, _TIGHTEST), passes


def _some_rows(batches: Batches, n_rows: int, enough_rows: int) -> Batches:
    """About so many of the rows, where they are more than twice as many; which, hangs on their numbers alone."""
    if n_rows <= 2 * enough_rows:
        return batches

    def some() -> Iterator[Floats]:
        start = 0
        for rows in batches():
            yield rows[scattered(start + np.arange(len(rows))) * n_rows < enough_rows]
            start += len(rows)

    return some


def _inner_of_cells(batches: Batches, plain: Moments, fences: Fences, share: float) -> tuple[Moments, int]:
    """The same where hardly any row is inside all fences: cells outside of them count as missing."""
    p = plain.n_features
    kept, distance, edge = Moments.empty(p), Distance.of_columns(fences.middle, fences.size), np.inf
    for step in range(_EXPECTATIONS + 1):
        if step:
            distance = Distance.of(kept, plain, fences.size, _TIGHTEST)
            edge = quantile((_fitted(distance, rows, fences)[2] for rows in batches()), share)
        kept, left_open = Moments.empty(p), np.zeros((p, p))
        for rows in batches():
            filled, cells, squared = _fitted(distance, rows, fences)
            those = squared <= edge
            kept = kept.update(distance.unscaled(filled[those]), decimals=False)
            left_open += distance.left_open(cells[those])
        if not enough(kept, 1.0):
            return kept, 2 * step + 1
        kept = with_scatter(kept, left_open * distance.scale[:, None] * distance.scale)
    return kept, 2 * _EXPECTATIONS + 1


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


def _moments(parts: Iterable[Floats], p: int) -> Moments:
    total = Moments.empty(p)
    for part in parts:
        # All that is wanted of them is a distance: decimals are those of all rows.
        total = total.update(part, decimals=False)
    return total


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
