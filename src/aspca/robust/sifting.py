"""Passes that sort rows by a sieve: which come back, and what is gross."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments import Moments
from aspca.moments.lots import Lots
from aspca.moments.rows import Rows, Travelling
from aspca.robust.aside import MOST_SHOWN, Aside, GrossCells, Repeated, like_a_word
from aspca.robust.inner import Fences, with_scatter
from aspca.robust.kinds import Kinds
from aspca.robust.sieve import Sieve, Sifted

# More rows than this share that are gross as a whole, or cells of a column, are no errors: a fifth, and some by chance.
MOST_GROSS = 0.22
# Rows per column that need no cells put in their place.
_AMPLE_ROWS = 5
# Of rows that are far, so many show which columns are often so; more are as many times slower.
_LOOKED_AT = 20_000


def coming_back(rows: Rows, sieve: Sieve, n_rows: int, lots: Lots) -> tuple[Moments, Bools | None, int, int]:
    """Moments of the rows that come back, columns too often gross to be so, how many rows do not, and the passes taken.

    What stands in for a cell blurs relations that hold exactly: rows without such cells, where they are enough. Then
    all there is to know of the others is whether a column has too many gross cells, for which some of them will do.
    """
    p = len(sieve.distance.scale)
    if sieve.often is None:
        near = rows.gather(
            lambda: _Near(sieve, lots, _LOOKED_AT / n_rows, Moments.empty(p), np.zeros(p, dtype=np.intp))
        )
        often = near.cells * near.many > MOST_GROSS * n_rows * near.looked_at
        if near.near.n_rows >= _AMPLE_ROWS * p and not often.any():
            return near.near, None, near.many, 1
    found = sifted(rows, sieve)
    often = found.cells > MOST_GROSS * n_rows
    kept = found.near if found.near.n_rows >= _AMPLE_ROWS * p else found.moments
    return kept, often if often.any() else None, found.many, 2


@dataclass(eq=False)
class _Near(Travelling):
    """Moments of the near rows, how many the others are, and the gross cells (p,) of a share of these."""

    stays = (
        "sieve",
        "lots",
        "share",
    )

    sieve: Sieve
    lots: Lots
    share: float
    near: Moments
    cells: Ints
    many: int = 0
    looked_at: int = 0

    def add(self, rows: Floats, numbers: Ints) -> None:
        far = self.sieve.far_rows(rows, numbers)
        self.near = self.near.update(np.delete(rows, far, axis=0), decimals=False)
        those = far[self.lots.some(rows[far], numbers[far], self.share)]
        _, cells, mended = self.sieve.distance.repaired(self.sieve.distance.scaled(rows[those]), self.sieve.near)
        self.cells = self.cells + cells[mended].sum(axis=0)
        self.many, self.looked_at = self.many + len(far), self.looked_at + len(those)

    def merge(self, later: _Near) -> None:
        self.near, self.cells = self.near.merge(later.near), self.cells + later.cells
        self.many, self.looked_at = self.many + later.many, self.looked_at + later.looked_at


def sifted(rows: Rows, sieve: Sieve, edges: Floats | None = None, kinds: tuple[Fences, Kinds] | None = None) -> Round:
    """One pass over the rows; how often gross cells have the columns' extreme values (2, p) is counted where given, and
    how many of the rows are of a kind."""
    p = len(sieve.distance.scale)

    def begin() -> Round:
        counted = None if kinds is None else Common(*kinds)
        nothing, cells = Moments.empty(p), np.zeros(p, dtype=np.intp)
        return Round(sieve, edges, counted, nothing, nothing, np.zeros((p, p)), cells)

    return rows.gather(begin)


@dataclass(eq=False)
class Common(Travelling):
    """Counts rows that are far out by a value that many rows have."""

    stays = (
        "fences",
        "kinds",
    )

    fences: Fences
    kinds: Kinds
    common: int = 0
    total: int = 0

    def add(self, bad: Floats, found: Sifted) -> None:
        """Count the rows (k, p) that do not count as they are."""
        if self.kinds.any:
            # A row of an uncommon kind may hold an error elsewhere.
            guilty = found.cells | ~found.mended[:, None]
            self.common += int((self.kinds.common(bad) & self.fences.outside(bad) & guilty).any(axis=1).sum())
            self.total += len(bad)

    def merge(self, later: Common) -> None:
        self.common, self.total = self.common + later.common, self.total + later.total

    @property
    def most(self) -> bool:
        """Whether most of them are: kinds of rows, no errors."""
        return 2 * self.common > self.total


@dataclass(eq=False)
class Round(Travelling):
    """What one pass found: moments of the rows that are near, of those whose gross cells count as missing and what that
    leaves open (p, p), and what is gross."""

    stays = (
        "sieve",
        "edges",
    )

    sieve: Sieve
    edges: Floats | None
    common: Common | None
    near: Moments
    mended: Moments
    left_open: Floats
    cells: Ints
    n_rows: int = 0
    rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    shown: GrossCells = field(default_factory=GrossCells.none)
    at_edges: Ints | None = None

    def add(self, rows: Floats, numbers: Ints) -> None:
        found = self.sieve.sift(rows, numbers)
        self.near = self.near.update(np.delete(rows, found.bad, axis=0), decimals=False)
        self.mended = self.mended.update(found.likeliest[found.mended], decimals=False)
        gross = found.cells[found.mended]
        self.left_open = self.left_open + self.sieve.distance.left_open(gross)
        self.n_rows += int((~found.mended).sum())
        self.cells = self.cells + gross.sum(axis=0)
        if self.edges is not None:
            bad, those = rows[found.bad], numbers[found.bad]
            self.rows = np.concatenate([self.rows, those])[:MOST_SHOWN]
            self.shown = self.shown.more(those, bad, found.likeliest, found.cells & found.mended[:, None])
            times = (bad == self.edges[:, None, :]).sum(axis=1)
            self.at_edges = times if self.at_edges is None else self.at_edges + times
            if self.common is not None:
                self.common.add(bad, found)

    def merge(self, later: Round) -> None:
        self.near, self.mended = self.near.merge(later.near), self.mended.merge(later.mended)
        self.left_open, self.cells = self.left_open + later.left_open, self.cells + later.cells
        self.n_rows += later.n_rows
        self.rows = np.concatenate([self.rows, later.rows])[:MOST_SHOWN]
        self.shown = self.shown.followed_by(later.shown)
        if later.at_edges is not None:
            self.at_edges = later.at_edges if self.at_edges is None else self.at_edges + later.at_edges
        if self.common is not None and later.common is not None:
            self.common.merge(later.common)

    @property
    def moments(self) -> Moments:
        """Of the near rows and of those whose gross cells count as missing."""
        scale = self.sieve.distance.scale
        return with_scatter(self.near.merge(self.mended), self.left_open * scale[:, None] * scale)

    @property
    def many(self) -> int:
        return self.n_rows + int(self.cells.sum())

    @property
    def of_kinds(self) -> bool:
        return self.common is not None and self.common.most

    def aside(self, passes: int, plain: Moments, states: tuple[tuple[int, int], ...]) -> Aside:
        """What this round set aside; a value at a column's edge that only gross cells have, several times, is named."""
        edges = np.stack([plain.minimum, plain.maximum])
        kept = np.stack([self.near.minimum, self.near.maximum])
        times = np.zeros(edges.shape, dtype=np.intp) if self.at_edges is None else self.at_edges
        repeated = [
            Repeated(int(column), float(edges[side, column]), int(times[side, column]))
            for side, column in zip(
                *np.nonzero((times > 1) & (kept != edges) & like_a_word(edges, kept[0])), strict=True
            )
        ]
        return Aside(self.n_rows, self.cells, self.rows, passes, self.shown, tuple(repeated), states)
