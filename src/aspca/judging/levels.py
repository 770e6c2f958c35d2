"""Rows within changes, judged off their new level: which are anomalies beyond the change, and which nothing but it.

Within a change all that a row is measured by, each rule and each direction outside of them, is taken from the median of
the rows of that piece, and in units of their spread where that is wider than what was learned: a column that moved
shifts rules that are not off by themselves, and what lies outside of them. The verdict on what is left is the model's
own. The verdict on the row itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.judging.changes import Change, Course
from aspca.judging.judgement import Judgement, judged
from aspca.judging.metric import READABLE
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.steady import row_products

if TYPE_CHECKING:
    from aspca.judging.model import Model

# Several rules that change at once do not do so in the same row: no piece is shorter.
_SHORTEST = 30
# Rows of a piece that its quartiles are taken from, evenly spaced: they are within a few per cent of a spread.
_ENOUGH = 1000
# Of a Gaussian, from its lower to its upper quartile.
_BETWEEN_QUARTILES = 1.3489795003921634


@dataclass(frozen=True, eq=False)
class Pieces:
    """The rows (n of them, in time order) cut where changes begin and end.

    Attributes
    ----------
    edges : ndarray of shape (k + 1,)
        From 0 to n, ascending.
    changed : ndarray of shape (k,)
        Which pieces lie within a change.
    """

    edges: Ints
    changed: Bools

    @classmethod
    def of(cls, changes: Sequence[Change], n: int) -> Pieces:
        """The pieces that these changes make of n rows."""
        edges = [0]
        for edge in sorted({edge for change in changes for edge in (change.start, change.stop)}):
            if edge - edges[-1] >= _SHORTEST and n - edge >= _SHORTEST:
                edges.append(edge)
        edges.append(n)
        middles = [(a + b) // 2 for a, b in pairwise(edges)]
        changed = [any(change.start <= middle < change.stop for change in changes) for middle in middles]
        return cls(np.array(edges), np.array(changed))

    def of_ranks(self, ranks: Ints) -> Ints:
        """The piece that each row belongs to."""
        return np.asarray(np.searchsorted(self.edges, ranks, side="right") - 1)

    def within(self, ranks: Ints) -> Bools:
        """Which rows lie within a change."""
        return np.asarray(self.changed[self.of_ranks(ranks)])

    def sampled(self, ranks: Ints) -> Bools:
        """Which rows are needed to know the levels."""
        pieces = self.of_ranks(ranks)
        steps = np.maximum(1, np.diff(self.edges) // _ENOUGH)
        return np.asarray(self.changed[pieces] & ((ranks - self.edges[pieces]) % steps[pieces] == 0))


class LevelsInParts:
    """Gathers the rows that levels are taken from, part by part."""

    def __init__(self, model: Model, pieces: Pieces) -> None:
        self._model, self._pieces = model, pieces
        self._parts: list[tuple[Ints, Floats]] = []

    def add(self, ranks: Ints, values: Floats) -> None:
        """Some rows (n, p)."""
        some = np.flatnonzero(self._pieces.sampled(ranks))
        if some.size:
            measured = _measured(self._model, values[some], self._model.judge(values[some]))
            self._parts.append((self._pieces.of_ranks(ranks[some]), measured))

    def levels(self) -> Levels:
        """What is usual in each piece."""
        k, width = self._pieces.changed.size, len(self._model.table) + self._model.metric.outside.shape[1]
        centres, scales = np.zeros((k, width)), np.ones((k, width))
        spreads = np.concatenate([np.sqrt(self._model.table.variances), np.ones(self._model.metric.outside.shape[1])])
        if self._parts:
            pieces, rows = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
            for piece in np.unique(pieces).tolist():
                low, centres[piece], high = _quartiles(rows[pieces == piece])
                wide = (high - low) / _BETWEEN_QUARTILES
                scales[piece] = np.maximum(1.0, np.divide(wide, spreads, out=np.ones(width), where=spreads > 0.0))
        return Levels(self._model, self._pieces, centres, scales)


@dataclass(frozen=True, eq=False)
class Levels:
    """What is usual in each of k pieces, of m rules and r directions outside of them.

    Attributes
    ----------
    centres, scales : ndarray of shape (k, m + r)
        Medians, and spreads over what was learned, at least one. Zero and one where there is no change.
    """

    model: Model
    pieces: Pieces
    centres: Floats
    scales: Floats

    def judge(self, ranks: Ints, values: Floats, judgement: Judgement) -> Judgement:
        """The judgement of rows (n, p) off the level of their piece; as it was where there is no change."""
        rows = np.flatnonzero(self.pieces.within(ranks))
        if not rows.size:
            return judgement
        model, m = self.model, len(self.model.table)
        pieces = self.pieces.of_ranks(ranks[rows])
        measured = _measured(model, values[rows], judgement.take(rows))
        measured = (measured - self.centres[pieces]) / self.scales[pieces]
        deviations, outside = measured[:, :m], np.square(np.nan_to_num(measured[:, m:])).sum(axis=1)
        # What is missing counts as usual here: whole rows are what a change is about.
        weighted = row_products(np.nan_to_num(deviations), model.metric.weights)
        split = model.metric.kind in READABLE and model.metric.floor == 0.0
        anew = judged(deviations, weighted, model.metric.outside_parts(outside), model.alarms, split=split)
        parts: dict[str, Any] = {field.name: getattr(judgement, field.name) for field in fields(Judgement)}
        for name, part in parts.items():
            if part is not None:
                parts[name] = part.copy()
                parts[name][rows] = getattr(anew, name)
        return Judgement(**parts)


def told_apart(model: Model, changes: Sequence[Change], course: Course, values: Floats, judgement: Judgement) -> Bools:
    """Which rows (n, p), all there are, are anomalies by more than the changes they lie in (n,)."""
    ranks = course.ranks(np.arange(course.n))
    gathered = LevelsInParts(model, Pieces.of(changes, course.n))
    gathered.add(ranks, values)
    off = np.asarray(gathered.levels().judge(ranks, values, judgement).anomalies)
    return np.asarray(np.asarray(judgement.anomalies) & off)


def _measured(model: Model, values: Floats, judgement: Judgement) -> Floats:
    """All that rows (n, p) are measured by (n, m + r); NaN where it is not known."""
    beside = row_products(np.nan_to_num(model.space.centred(values), nan=0.0), model.metric.outside)
    return np.hstack([judgement.deviations, beside])


def _quartiles(rows: Floats) -> Floats:
    """Lower quartile, median and upper quartile (3, q) of rows (n, q); zero where nothing is known."""
    known = ~np.isnan(rows).all(axis=0)
    found = np.zeros((3, rows.shape[1]))
    if known.any():
        found[:, known] = np.nanquantile(rows[:, known], (0.25, 0.5, 0.75), axis=0)
    return found
