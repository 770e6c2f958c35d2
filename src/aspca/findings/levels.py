"""Rows within changes, judged off their new level: which are anomalies beyond the change, and which nothing but it.

Within a change all that a row is measured by, each rule and each direction besides, is taken from the median of the
rows around it, and in units of their spread where that is wider than what was learned: a column that moved shifts
rules that are not off by themselves, and what lies outside of them. The verdict on what is left is the model's own. The
verdict on the row itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from aspca.findings.changes import Change, Course, shortest_change
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


def cut_changes(changes: Sequence[Change], n: int) -> list[tuple[int, int]]:
    """The rows within changes among n, in time order, in pieces: cut where changes begin and end and where these are
    long; half-open, ascending, disjoint."""
    shortest = shortest_change(n)
    spans: list[list[int]] = []
    for start, stop in sorted((change.start, change.stop) for change in changes):
        if spans and start <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], stop)
        else:
            spans.append([start, stop])
    edges = sorted({edge for change in changes for edge in (change.start, change.stop)})
    pieces: list[tuple[int, int]] = []
    for start, stop in spans:
        # Several rules that change at once do not do so in the same row.
        kept = [start]
        for edge in edges:
            if kept[-1] + shortest <= edge <= stop - shortest:
                kept.append(edge)
        for a, b in pairwise([*kept, stop]):
            many = max(1, min(_PIECES, (b - a) // shortest))
            pieces += pairwise((a + np.arange(many + 1) * (b - a) // many).tolist())
    return pieces


class Levels:
    """What is usual in each piece of changes among n rows: gathered part by part, and then judged by."""

    def __init__(self, model: Model, changes: Sequence[Change], n: int) -> None:
        self._model = model
        self._starts, self._stops = np.array(cut_changes(changes, n), dtype=np.intp).reshape(-1, 2).T
        self._parts: list[tuple[Ints, Floats]] = []
        loadings, free = model.table.loadings, np.flatnonzero(~model.determined)
        # Directions that span the free columns with the relations (p, r).
        self._besides = np.zeros((len(loadings), max(free.size - loadings.shape[1], 0)))
        if self._besides.shape[1]:
            self._besides[free] = np.linalg.qr(loadings[free], mode="complete")[0][:, loadings.shape[1] :]

    def add(self, ranks: Ints, values: Floats, judgement: Judgement) -> None:
        """Some rows (n, p), and where they stand in time order."""
        pieces = self._pieces_of(ranks)
        steps = np.maximum(1, (self._stops - self._starts) // _ENOUGH)
        some = np.flatnonzero((pieces >= 0) & ((ranks - self._starts[pieces]) % steps[pieces] == 0))
        if some.size:
            self._parts.append((pieces[some], self._measure(values[some], judgement.take(some))))

    def judge(self, ranks: Ints, values: Floats, judgement: Judgement) -> tuple[Bools, Floats]:
        """Which rows (n, p) are anomalies, and by more than the change that they lie in; and their scores off it."""
        beyond, scores = np.asarray(judgement.anomalies).copy(), judgement.scores.copy()
        pieces = self._pieces_of(ranks)
        rows = np.flatnonzero(beyond & (pieces >= 0))
        if rows.size:
            model, (centres, scales) = self._model, (part[pieces[rows]] for part in self._centres_and_scales)
            # No change explains what violates an identity.
            wrong = judgement.broken[rows, : model.n_identities].any(axis=1)
            before = self._measure(values[rows], judgement.take(rows))
            measured = (before - centres) / scales
            # Rows are judged as they are but for the change.
            moved = np.where(np.isnan(before), centres, before - measured)
            back = np.asarray(np.linalg.pinv(np.hstack([model.table.loadings, self._besides])), dtype=np.float64)
            rows_off = values[rows] - multiply_rows(moved, back) * model.space.scale
            anew = replace(model, identities=NO_IDENTITIES).judge(rows_off)
            beyond[rows] = np.asarray(anew.anomalies) | wrong
            scores[rows] = np.where(wrong, scores[rows], anew.scores)
        return beyond, scores

    def _pieces_of(self, ranks: Ints) -> Ints:
        """The piece that each row belongs to; -1: none."""
        pieces = np.searchsorted(self._starts, ranks, side="right") - 1
        return np.where((pieces >= 0) & (ranks < self._stops[pieces]), pieces, -1)

    def _measure(self, values: Floats, judgement: Judgement) -> Floats:
        """All that rows (n, p) are measured by (n, m + r), NaN where it is not known."""
        besides = multiply_rows(np.nan_to_num(self._model.space.centred(values), nan=0.0), self._besides)
        return np.hstack([judgement.deviations[:, self._model.n_identities :], besides])

    @cached_property
    def _centres_and_scales(self) -> tuple[Floats, Floats]:
        """Of each piece the medians, and the spreads over what was learned, at least one (k, m + r)."""
        space, table, besides = self._model.space, self._model.table, self._besides
        covariance = space.known_covariance
        if covariance is None:
            variances = np.square(besides).T @ space.variances
        else:
            variances = np.einsum("ij,ij->j", besides, covariance @ besides)
        spreads = np.sqrt(np.concatenate([table.variances, np.maximum(variances, 0.0)]))
        centres, scales = np.zeros((self._starts.size, spreads.size)), np.ones((self._starts.size, spreads.size))
        pieces, rows = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
        for piece in range(self._starts.size):
            low, centres[piece], high = _quartiles(rows[pieces == piece])
            wide = (high - low) / _BETWEEN_QUARTILES
            scales[piece] = np.maximum(1.0, np.divide(wide, spreads, out=np.ones(spreads.size), where=spreads > 0.0))
        return centres, scales


def find_beyond(model: Model, changes: Sequence[Change], course: Course, values: Floats, judgement: Judgement) -> Bools:
    """Which rows (n, p), all there are, are anomalies by more than the changes they lie in (n,)."""
    ranks = course.ranks(np.arange(course.n))
    levels = Levels(model, changes, course.n)
    levels.add(ranks, values, judgement)
    return levels.judge(ranks, values, judgement)[0]


def _quartiles(rows: Floats) -> Floats:
    """Lower quartile, median and upper quartile (3, q) of rows (n, q); zero where nothing is known."""
    known = ~np.isnan(rows).all(axis=0)
    found = np.zeros((3, rows.shape[1]))
    if known.any():
        found[:, known] = np.nanquantile(rows[:, known], (0.25, 0.5, 0.75), axis=0)
    return found
