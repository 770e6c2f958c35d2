"""Rows judged by a model, part by part, with the cells beside them; and the worst of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints, round_for_ranking
from aspca.model.judgement import Judgement
from aspca.model.model import Model
from aspca.pipeline.passes import MANY, Watcher, prefetch, read_features, refuse_values
from aspca.preparation.cell_format import BadCell
from aspca.tables.errors import JobError
from aspca.tables.keys import NO_KEYS, Cells, Keys
from aspca.tables.memory import number_rows
from aspca.tables.table import Batch, Table

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation

BadCells = Mapping[int, tuple[BadCell, ...]]  # by the number of their row


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Some rows of a table (n) and the verdict on them."""

    rows: Ints  # (n,), their numbers, from 0
    values: Floats  # (n, p), the features, in the model's order
    judgement: Judgement
    keys: Keys  # which columns stand beside them
    beside: list[Cells]  # the cells of these columns, by row

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def scores(self) -> Floats:
        return self.judgement.scores

    @property
    def anomalies(self) -> Bools | None:
        """None while the model's limits wait for rows."""
        return self.judgement.anomalies

    @property
    def flagged(self) -> Ints:
        """Positions of the anomalies among these rows."""
        return np.empty(0, dtype=np.intp) if self.anomalies is None else np.flatnonzero(self.anomalies)

    def take(self, positions: Ints) -> JudgedRows:
        """Some of them."""
        beside = [self.beside[position] for position in positions.tolist()]
        judgement = self.judgement.take(positions)
        return JudgedRows(self.rows[positions], self.values[positions], judgement, self.keys, beside)

    def name(self, position: int) -> str | None:
        """What one of them is called, if columns say so."""
        return self.keys.name(self.beside[position])

    def key_columns(self) -> list[list[object]]:
        """The cells beside them by column."""
        return [[cells[k] for cells in self.beside] for k in range(len(self.keys.columns))]

    def explained(self, model: Model, *, named: bool = False) -> Explanation:
        """Why they score what they score, called by their numbers, or by their names if they have any."""
        # Rows that are only scored are not explained.
        from aspca.findings.explanation import Explanation

        names = [self.name(position) if named else None for position in range(len(self))]
        index = [row if name is None else name for row, name in zip(self.rows.tolist(), names, strict=True)]
        return Explanation(model, self.values, self.judgement, index)


def join_rows(several: Sequence[JudgedRows]) -> JudgedRows:
    """One after the other, at least one."""
    return JudgedRows(
        np.concatenate([judged.rows for judged in several]),
        np.concatenate([judged.values for judged in several]),
        Judgement.joined((judged.judgement for judged in several), sum(map(len, several))),
        several[0].keys,
        [cells for judged in several for cells in judged.beside],
    )


def judged_rows(
    model: Model, table: Table, keys: Keys, watcher: Watcher, stage: str = "Scoring"
) -> Iterator[JudgedRows]:
    """The rows of a table judged by a model, in parts, with the cells of their key columns; a part counts as done when
    the next is asked for."""
    watcher.stage(stage, table.count())
    cells, bad = keys.cells(table), group_bad_cells(model, table)
    done = 0
    one_thread: AbstractContextManager[None] = nullcontext()
    if table.count() >= MANY:
        # One BLAS thread where it pays: rows meet small matrices, block by block, and a second one waits for the first.
        # A few rows are scored sooner than this is loaded.
        from aspca.linalg.threads import blas_threads_for

        one_thread = blas_threads_for(len(model.names))
    changed = JobError(
        f"{table.description} has another number of rows than when it was opened; nothing may write to it while it is "
        "read, so start again."
    )
    with one_thread:
        batches = read_features(table, model.preparation)
        for batch in batches if table.count() < MANY else prefetch(batches):
            n = len(batch.values)
            if not n:
                continue
            rows, beside = number_rows(table, np.arange(batch.start, batch.start + n)), list(islice(cells, n))
            judged = judge_batch(model, table, batch, rows, bad, keys, beside)
            done += n
            if len(beside) < n or done > table.count():
                raise changed
            yield judged
            watcher.advance(n)
        if done < table.count() or (keys.columns and next(cells, None) is not None):
            raise changed


def judge_batch(
    model: Model, table: Table, batch: Batch, rows: Ints, bad: BadCells, keys: Keys, beside: list[Cells]
) -> JudgedRows:
    """Some rows of a table with these numbers (n,) judged.

    A model that knows of no gaps cannot judge a row with a cell that could not be read: the mean stands in its place,
    which obeys every rule, so that nothing is said of it but the cell.
    """
    values = batch.values
    unread = [place for place, row in enumerate(rows.tolist()) if row in bad] if bad else []
    if unread and not model.allows_gaps:
        values = values.copy()
        values[unread] = model.space.mean
    refuse_values(table, Batch(batch.start, values), model.preparation)
    judgement = model.judge(values)
    if bad:
        judgement = judgement.with_bad_cells([bad.get(row, ()) for row in rows.tolist()])
    return JudgedRows(rows, values, judgement, keys, beside)


def group_bad_cells(model: Model, table: Table) -> BadCells:
    """The cells of a table that are not what their columns hold, where a model needs these columns."""
    needed = {None, *model.preparation.types}
    found: dict[int, tuple[BadCell, ...]] = {}
    for cell in table.bad_cells:
        if cell.column in needed:
            found[cell.row] = (*found.get(cell.row, ()), cell)
    return found


class TopRows:
    """The anomalies that are furthest out so far, at most so many, and no others."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: JudgedRows | None = None
        self._sizes = np.empty(0)

    def add(self, flagged: JudgedRows, sizes: Floats) -> None:
        """More of them; `sizes` (n,) say how far out each is."""
        if not len(flagged):
            return
        together = flagged if self._kept is None else join_rows([self._kept, flagged])
        sizes = np.concatenate([self._sizes, sizes])
        # The stable order keeps the first of equals.
        order = np.argsort(-round_for_ranking(sizes), kind="stable")[: self.most]
        self._kept, self._sizes = together.take(order), sizes[order]

    def rows(self, model: Model) -> JudgedRows:
        """The worst first."""
        if self._kept is None:
            nothing = np.empty((0, len(model.names)))
            return JudgedRows(np.empty(0, dtype=np.intp), nothing, model.judge(nothing), NO_KEYS, [])
        return self._kept
