"""Rows dealt out to five blocks, in one pass: the moments of each, and rows of each to judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from aspca.judging.learned_from import Keep
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments import Moments
from aspca.moments.lots import Drawn, Lots, Repeats
from aspca.moments.rows import Travelling

_FOLDS = 5
# Rows to judge: more tell no more about a limit, and no more values than this are kept of them.
_MOST_ROWS, _MOST_VALUES, _FEW_ENOUGH = 20_000, 2**22, 2_000
# Fewer rows than ten to a block are no basis for five fits.
_LEAST_ROWS = 50


@dataclass(frozen=True, eq=False)
class BlocksOfRows:
    """Moments of each block, and rows to judge (k, p), block after block, with their blocks (k,) and weights (k,)."""

    blocks: tuple[Moments, ...]
    values: Floats
    block: Ints
    weights: Floats | None

    @property
    def enough(self) -> bool:
        """Whether five fits can be made of them."""
        counts = [block.n_rows for block in self.blocks]
        return sum(counts) >= _LEAST_ROWS and 2 * max(counts) <= sum(counts)

    def without_each(self) -> Iterator[Moments]:
        """The moments of all rows but those of a block, block after block."""
        return _without_each(self.blocks, Moments.empty(self.blocks[0].n_features))

    def of_block(self, k: int) -> slice:
        """Where the rows of a block are."""
        first, last = np.searchsorted(self.block, [k, k + 1])
        return slice(int(first), int(last))


def _without_each(blocks: tuple[Moments, ...], beside: Moments) -> Iterator[Moments]:
    """The moments of all rows but those of a block, and of those beside: what halves have in common is merged once."""
    if len(blocks) == 1:
        yield beside
        return
    first, second = blocks[: len(blocks) // 2], blocks[len(blocks) // 2 :]
    yield from _without_each(first, reduce(_together, second, beside))
    yield from _without_each(second, reduce(_together, first, beside))


def _together(one: Moments, other: Moments) -> Moments:
    # What rounding leaves over is as large as the rest, and of no use to a refit.
    return one.merge(other).rounded()


@dataclass(frozen=True, eq=False)
class Dealt:
    """How rows are dealt out to blocks.

    Attributes
    ----------
    n_rows : int
        How many they are.
    share : float
        Of which some are to be judged.
    lots : Lots
        By which both is decided.
    keep : callable or None
        Tells rows that count as normal ones; None: all do.
    weights : ndarray of shape (n_rows,), or None
    gaps : bool
        Whether values may be missing: such rows are left out.
    contiguous : bool
        Whether blocks are stretches of rows, for rows that follow each other.
    decimals : bool
        Whether the blocks are to be all that is known of the rows: nobody asks a refit for the decimals of its columns.
    """

    n_rows: int
    share: float
    lots: Lots
    keep: Keep | None = None
    weights: Floats | None = None
    gaps: bool = False
    contiguous: bool = False
    decimals: bool = False

    @classmethod
    def of(
        cls,
        p: int,
        n_rows: int,
        lots: Lots,
        keep: Keep | None = None,
        weights: Floats | None = None,
        *,
        gaps: bool = False,
    ) -> Dealt:
        """Of so many rows of p columns."""
        share = max(min(_MOST_ROWS, _MOST_VALUES // p), _FEW_ENOUGH) / max(n_rows, 1)
        return cls(n_rows, share, lots, keep, weights, gaps)

    def counted(self, rows: Floats, numbers: Ints) -> Bools:
        """Which of rows (m, p) count (m,)."""
        whole = np.ones(len(rows), dtype=np.bool_) if self.keep is None else self.keep(rows, numbers)
        if self.gaps:
            whole &= ~np.isnan(rows).any(axis=1)
        if self.weights is not None:
            whole &= self.weights[numbers] > 0.0
        return whole

    def blocks(self, drawn: Drawn) -> Ints:
        """The block of each of m rows (m,)."""
        spread = drawn.numbers / self.n_rows if self.contiguous else drawn.shares(0)
        return np.asarray((spread * _FOLDS).astype(np.intp))

    def judged(self, drawn: Drawn) -> Bools:
        """Which of them are to be judged (m,)."""
        return np.asarray(drawn.shares(1) < self.share)


@dataclass(eq=False)
class Folds(Travelling):
    """Moments of each block, rows to judge with their blocks and weights, and which rows are met very often."""

    stays = ("dealt",)

    dealt: Dealt
    repeats: Repeats
    blocks: list[Moments]
    values: list[Floats]
    members: list[Ints]
    counted: list[Floats]

    @classmethod
    def nothing(cls, dealt: Dealt) -> Folds:
        """Of no rows."""
        p = dealt.lots.low.size
        repeats = Repeats.nothing(replace(dealt.lots, often=None))
        blocks = [Moments.empty(p)] * _FOLDS
        return cls(dealt, repeats, blocks, [np.empty((0, p))], [np.empty(0, dtype=np.intp)], [np.empty(0)])

    def add(self, rows: Floats, numbers: Ints) -> None:
        dealt = self.dealt
        drawn = dealt.lots.drawn(rows, numbers)
        self.repeats.count(drawn.keys)
        whole, block = dealt.counted(rows, numbers), dealt.blocks(drawn)
        # Block after block, each row moved once.
        order = np.argsort(np.where(whole, block, _FOLDS).astype(np.uint8), kind="stable")[: int(whole.sum())]
        sorted_rows, ends = rows[order], np.cumsum(np.bincount(block[whole], minlength=_FOLDS))
        for k in range(_FOLDS):
            mine = slice(int(ends[k - 1]) if k else 0, int(ends[k]))
            if mine.start < mine.stop:
                counts = None if dealt.weights is None else dealt.weights[numbers[order[mine]]]
                self.blocks[k] = self.blocks[k].update(sorted_rows[mine], counts, decimals=dealt.decimals)
        chosen = whole & dealt.judged(drawn)
        self.values.append(np.asarray(rows[chosen], dtype=np.float64))
        self.members.append(block[chosen])
        if dealt.weights is not None:
            self.counted.append(dealt.weights[numbers[chosen]])

    def merge(self, later: Folds) -> None:
        self.repeats.merge(later.repeats)
        self.blocks = [mine.merge(other) for mine, other in zip(self.blocks, later.blocks, strict=True)]
        self.values, self.members = self.values + later.values, self.members + later.members
        self.counted = self.counted + later.counted

    @property
    def whole(self) -> Moments:
        """Of all rows that count."""
        return reduce(Moments.merge, self.blocks)

    def taken(self) -> BlocksOfRows:
        """All of it, block after block; nothing is left here, for of many features it is large."""
        member = np.concatenate(self.members)
        order = np.argsort(member, kind="stable")
        weights = None if self.dealt.weights is None else np.concatenate(self.counted)[order]
        # Each is the exact one, rounded; what is merged of them from here on hangs on nothing else.
        blocks = tuple(block.rounded() for block in self.blocks)
        values, self.blocks, self.values, self.members, self.counted = self.values, [], [], [], []
        return BlocksOfRows(blocks, np.concatenate(values)[order], member[order], weights)
