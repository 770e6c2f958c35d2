"""Rows within changes, judged off their new level: which are anomalies beyond the change, and which nothing but it.

Within a change all that a row is measured by, each rule and each direction besides, is taken from the median of the
rows around it, and in units of their spread where that is wider than what was learned: a column that moved shifts
rules that are not off by themselves, and what lies outside of them. The verdict on what is left is the model's own. The
verdict on the row itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from aspca.findings.change_text import Change
from aspca.findings.changes import Course, shortest_change
from aspca.identities.identity import NO_IDENTITIES
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import multiply_rows
from aspca.model.judgement import Judgement

if TYPE_CHECKING:
    from aspca.model.model import Model

# A change is cut into pieces of its own level, so that it may grow: so many at most, none shorter than a change.
_PIECES = 64
# Rows of a piece that its quartiles are taken from, evenly spaced: they are within a tenth of a spread then.
_ENOUGH = 200
# Of a Gaussian, from its lower to its upper quartile.
_BETWEEN_QUARTILES = 1.3489795003921634


@dataclass(frozen=True, eq=False)
class Pieces:
    """The rows within changes, in time order, cut where changes begin and end and where these are long.

    Attributes
    ----------
    starts, stops : ndarray of shape (k,)
        Half-open, ascending, disjoint.
    """

    starts: Ints
    stops: Ints

    @classmethod
    def of(cls, changes: Sequence[Change], n: int) -> Pieces:
        """The pieces that these changes make of n rows."""
        shortest = shortest_change(n)
        spans: list[list[int]] = []
        for start, stop in sorted((change.start, change.stop) for change in changes):
            if spans and start <= spans[-1][1]:
                spans[-1][1] = max(spans[-1][1], stop)
            else:
                spans.append([start, stop])
        edges = sorted({edge for change in changes for edge in (change.start, change.stop)})
        cut: list[tuple[int, int]] = []
        for start, stop in spans:
            # Several rules that change at once do not do so in the same row.
            kept = [start]
            for edge in edges:
                if kept[-1] + shortest <= edge <= stop - shortest:
                    kept.append(edge)
            for a, b in pairwise([*kept, stop]):
                many = max(1, min(_PIECES, (b - a) // shortest))
                cut += pairwise((a + np.arange(many + 1) * (b - a) // many).tolist())
        starts, stops = np.array(cut, dtype=np.intp).reshape(-1, 2).T
        return cls(starts, stops)

    def of_ranks(self, ranks: Ints) -> Ints:
        """The piece that each row belongs to; -1: none."""
        pieces = np.searchsorted(self.starts, ranks, side="right") - 1
        return np.where((pieces >= 0) & (ranks < self.stops[pieces]), pieces, -1)

    def sampled(self, ranks: Ints, pieces: Ints) -> Bools:
        """Which rows are needed to know the levels."""
        steps = np.maximum(1, (self.stops - self.starts) // _ENOUGH)
        return np.asarray((pieces >= 0) & ((ranks - self.starts[pieces]) % steps[pieces] == 0))


class LevelsInParts:
    """Gathers the rows that levels are taken from, part by part."""

    def __init__(self, model: Model, pieces: Pieces) -> None:
        self._model, self._pieces = model, pieces
        self._parts: list[tuple[Ints, Floats]] = []

    def add(self, ranks: Ints, values: Floats, judgement: Judgement) -> None:
        """Some rows (n, p), and where they stand in time order."""
        pieces = self._pieces.of_ranks(ranks)
        some = np.flatnonzero(self._pieces.sampled(ranks, pieces))
        if some.size:
            self._parts.append((pieces[some], _measured(self._model, values[some], judgement.take(some))))

    def levels(self) -> Levels:
        """What is usual in each piece."""
        spreads = _spreads(self._model)
        k, width = self._pieces.starts.size, spreads.size
        centres, scales = np.zeros((k, width)), np.ones((k, width))
        pieces, rows = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
        for piece in range(k):
            low, centres[piece], high = _quartiles(rows[pieces == piece])
            wide = (high - low) / _BETWEEN_QUARTILES
            scales[piece] = np.maximum(1.0, np.divide(wide, spreads, out=np.ones(width), where=spreads > 0.0))
        return Levels(self._model, self._pieces, centres, scales)


@dataclass(frozen=True, eq=False)
class Levels:
    """What is usual in each of k pieces, of m rules and r directions besides.

    Attributes
    ----------
    centres, scales : ndarray of shape (k, m + r)
        Medians, and spreads over what was learned, at least one.
    """

    model: Model
    pieces: Pieces
    centres: Floats
    scales: Floats

    def judge(self, ranks: Ints, values: Floats, judgement: Judgement) -> tuple[Bools, Floats]:
        """Which rows (n, p) are anomalies, and by more than the change that they lie in; and their scores off it."""
        beyond, scores = np.asarray(judgement.anomalies).copy(), judgement.scores.copy()
        pieces = self.pieces.of_ranks(ranks)
        rows = np.flatnonzero(beyond & (pieces >= 0))
        if rows.size:
            model, pieces = self.model, pieces[rows]
            # No change explains what violates an identity.
            wrong = np.asarray(judgement.broken)[rows, : model.n_identities].any(axis=1)
            before = _measured(model, values[rows], judgement.take(rows))
            measured = (before - self.centres[pieces]) / self.scales[pieces]
            # Rows are judged as they are but for the change.
            moved = np.where(np.isnan(before), self.centres[pieces], before - measured)
            back = np.asarray(np.linalg.pinv(_directions(model)), dtype=np.float64)
            rows_off = values[rows] - multiply_rows(moved, back) * model.space.scale
            anew = replace(model, identities=NO_IDENTITIES).judge(rows_off)
            beyond[rows] = np.asarray(anew.anomalies) | wrong
            scores[rows] = np.where(wrong, scores[rows], anew.scores)
        return beyond, scores


def told_apart(model: Model, changes: Sequence[Change], course: Course, values: Floats, judgement: Judgement) -> Bools:
    """Which rows (n, p), all there are, are anomalies by more than the changes they lie in (n,)."""
    ranks = course.ranks(np.arange(course.n))
    gathered = LevelsInParts(model, Pieces.of(changes, course.n))
    gathered.add(ranks, values, judgement)
    return gathered.levels().judge(ranks, values, judgement)[0]


def _directions(model: Model) -> Floats:
    """What rows are measured by (p, m + r): relations, and directions besides that span the free columns with them."""
    loadings, free = model.table.loadings, np.flatnonzero(~model.determined)
    besides = np.zeros((len(loadings), max(free.size - loadings.shape[1], 0)))
    if besides.shape[1]:
        besides[free] = np.linalg.qr(loadings[free], mode="complete")[0][:, loadings.shape[1] :]
    return np.hstack([loadings, besides])


def _measured(model: Model, values: Floats, judgement: Judgement) -> Floats:
    """All that rows (n, p) are measured by (n, m + r), NaN where it is not known."""
    m = len(model.table)
    besides = multiply_rows(np.nan_to_num(model.space.centred(values), nan=0.0), _directions(model)[:, m:])
    return np.hstack([judgement.deviations[:, model.n_identities :], besides])


def _spreads(model: Model) -> Floats:
    """What each of these usually varies by."""
    m, covariance = len(model.table), model.space.known_covariance
    besides = _directions(model)[:, m:]
    if covariance is None:
        variances = np.square(besides).T @ model.space.variances
    else:
        variances = np.einsum("ij,ij->j", besides, covariance @ besides)
    return np.asarray(np.sqrt(np.concatenate([model.table.variances, np.maximum(variances, 0.0)])))


def _quartiles(rows: Floats) -> Floats:
    """Lower quartile, median and upper quartile (3, q) of rows (n, q); zero where nothing is known."""
    known = ~np.isnan(rows).all(axis=0)
    found = np.zeros((3, rows.shape[1]))
    if known.any():
        found[:, known] = np.nanquantile(rows[:, known], (0.25, 0.5, 0.75), axis=0)
    return found
