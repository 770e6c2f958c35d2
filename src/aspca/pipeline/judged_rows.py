"""Rows judged by a model, part by part: with the cells beside them, as columns of a table, and the worst of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.ranking import round_for_ranking
from aspca.model.judgement import Judgement
from aspca.model.model import Model
from aspca.pipeline.passes import MANY, Silent, Watcher, prefetch, read_features, refuse_values
from aspca.preparation.cell_format import BadCell
from aspca.tables.errors import JobError
from aspca.tables.keys import NO_KEYS, Cells, Keys
from aspca.tables.table import Batch, Table
from aspca.tables.views import row_numbers
from aspca.writers.fields import Field, Kind, Part

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation
    from aspca.findings.short_reasons import ShortReasons


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Some rows of a table and the verdict on them.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Their numbers, from 0.
    values : ndarray of shape (n, p)
        The features, in the model's order.
    judgement : Judgement
        All that is said of them.
    keys : Keys
        Which columns stand beside them.
    beside : list of n tuples
        The cells of these columns.
    """

    rows: Ints
    values: Floats
    judgement: Judgement
    keys: Keys
    beside: list[Cells]

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
        return _positions(self.anomalies)

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

    def explained(self, model: Model, *, named: bool = False, library: str = "pandas") -> Explanation:
        """Why they score what they score, called by their numbers, or by their names if they have any."""
        # Rows that are only scored are not explained.
        from aspca.findings.explanation import Explanation

        index: Sequence[object] = self.rows.tolist()
        if named:
            index = [
                row if name is None else name for row, name in zip(index, map(self.keys.name, self.beside), strict=True)
            ]
        return Explanation(model, self.values, self.judgement, index, library)


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
    """The rows of a table judged by a model, in parts, with the cells of their key columns."""
    return (judged for judged, _ in _judged_parts(model, table, keys, watcher, stage))


def _judged_parts(
    model: Model, table: Table, keys: Keys, watcher: Watcher, stage: str
) -> Iterator[tuple[JudgedRows, Ints]]:
    """The same, each with the positions of the rows that are anomalies whatever cells could not be read; a part counts
    as done when the next is asked for."""
    watcher.stage(stage, table.count())
    cells, bad = keys.cells(table), bad_cells_by_row(model, table)
    done = 0
    with _threads(table.count(), len(model.names)):
        batches = read_features(table, model.preparation)
        for batch in batches if table.count() < MANY else prefetch(batches):
            n = len(batch.values)
            if not n:
                continue
            rows = row_numbers(table, np.arange(batch.start, batch.start + n))
            values = without_bad_rows(model, batch.values, rows, bad)
            refuse_values(table, Batch(batch.start, values), model.preparation)
            beside = list(islice(cells, n))
            done += n
            if len(beside) < n or done > table.count():
                raise _changed(table)
            judgement = model.judge(values)
            flagged = _positions(judgement.anomalies)
            if bad:
                judgement = judgement.with_bad_cells([bad.get(row, ()) for row in rows.tolist()])
            yield JudgedRows(rows, values, judgement, keys, beside), flagged
            watcher.advance(n)
        if done < table.count() or (keys.columns and next(cells, None) is not None):
            raise _changed(table)


def _positions(anomalies: Bools | None) -> Ints:
    return np.empty(0, dtype=np.intp) if anomalies is None else np.flatnonzero(anomalies)


def bad_cells_by_row(model: Model, table: Table) -> dict[int, tuple[BadCell, ...]]:
    """The cells of a table that are not what their columns hold, where a model needs these columns."""
    needed = {None, *model.preparation.kinds}
    found: dict[int, tuple[BadCell, ...]] = {}
    for cell in table.bad_cells:
        if cell.column in needed:
            found[cell.row] = (*found.get(cell.row, ()), cell)
    return found


def without_bad_rows(model: Model, values: Floats, rows: Ints, bad: Mapping[int, object]) -> Floats:
    """Rows (n, p) to judge. A model that knows of no gaps cannot judge a row with a cell that could not be read: the
    mean stands in its place, which obeys every rule, so that nothing is said of it but the cell."""
    if model.allows_gaps or not bad:
        return values
    unread = [place for place, row in enumerate(rows.tolist()) if row in bad]
    if not unread:
        return values
    values = values.copy()
    values[unread] = model.space.mean
    return values


def _changed(table: Table) -> JobError:
    return JobError(
        f"{table.description} has another number of rows than when it was opened; nothing may write to it while it is "
        "read, so start again."
    )


def _threads(n_rows: int, n_features: int) -> AbstractContextManager[None]:
    """One BLAS thread where it pays: rows meet small matrices, block by block, and a second one waits for the first."""
    if n_rows < MANY:
        return nullcontext()
    # Not needed for a few rows, which are scored sooner than it is loaded.
    from aspca.linalg.threads import blas_threads_for

    return blas_threads_for(n_features)


class Worst:
    """The anomalies that are furthest out so far, at most so many, and no others."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: JudgedRows | None = None
        self._keys = np.empty(0)

    def add(self, flagged: JudgedRows, keys: Floats) -> None:
        """More of them; `keys` (n,) say how far out each is."""
        if not len(flagged):
            return
        together = flagged if self._kept is None else join_rows([self._kept, flagged])
        keys = np.concatenate([self._keys, keys])
        # The stable order keeps the first of equals.
        order = np.argsort(-round_for_ranking(keys), kind="stable")[: self.most]
        self._kept, self._keys = together.take(order), keys[order]

    def rows(self, model: Model) -> JudgedRows:
        """The worst first."""
        if self._kept is None:
            nothing = np.empty((0, len(model.names)))
            return JudgedRows(np.empty(0, dtype=np.intp), nothing, model.judge(nothing), NO_KEYS, [])
        return self._kept


# ---- as columns of a table: record batches are made of them only for what is written by way of Arrow, or is lazy


def score_fields(model: Model, keys: Keys, *, reasons: bool = True) -> tuple[Field, ...]:
    """Which columns a table of scores has; `reasons`: also which rules anomalies break and what would mend them."""
    own: dict[str, Kind] = {"row": "integer", "score": "number", "anomaly": "truth"}
    own |= {"verdict": "text", "p_value": "number"} if model.evidence is not None else {}
    own |= {"share_of_rules": "number"} if model.allows_gaps else {}
    own |= {"broken_rules": "text", "proposed": "text"} if reasons else {}
    row, *others = (Field(name, kind) for name, kind in own.items())
    return (row, *(Field(name, "cell") for name in keys.header(own)), *others)


def score_columns(
    model: Model, rows: Ints, keys: list[list[object]], found: Judgement
) -> list[Sequence[Any] | npt.NDArray[Any]]:
    """The columns of some judged rows, without reasons; `keys` are the cells of the key columns, by column."""
    anomalies = [None] * len(rows) if found.anomalies is None else found.anomalies
    grades: list[Any] = [] if model.evidence is None else [found.verdicts, found.p_values]
    return [rows, *keys, found.scores, anomalies, *grades, *([found.share_of_rules] if model.allows_gaps else [])]


class Tally:
    """How many rows were judged, how many are anomalies, None where the model has no limit, and how many errors."""

    def __init__(self) -> None:
        self.n_rows, self.errors, self._n_anomalies = 0, 0, 0
        self._known = True

    def add(self, anomalies: Bools | None, errors: Bools | None, n_rows: int) -> None:
        """More of them; where errors are not told from others, every anomaly counts as one."""
        self.n_rows += n_rows
        self._known = anomalies is not None
        self._n_anomalies += 0 if anomalies is None else int(anomalies.sum())
        worst = anomalies if errors is None else errors
        self.errors += 0 if worst is None else int(worst.sum())

    @property
    def anomalies(self) -> int | None:
        return self._n_anomalies if self._known else None


def scored_parts(
    model: Model, table: Table, keys: Keys, tally: Tally, watcher: Watcher, start: int = 0
) -> Iterator[Part]:
    """The rows of a table judged, in parts of plain columns, `score_fields`.

    Parameters
    ----------
    start : int
        The number of the table's first row, where it is a part of a larger one.
    """
    reasons: ShortReasons | None = None
    for judged, flagged in _judged_parts(model, table, keys, watcher, "Scoring"):
        found = judged.judgement
        tally.add(found.anomalies, found.errors, len(judged))
        # Of the anomalies only, so that normal rows cost nothing.
        broken: list[str | None] = [None] * len(judged)
        proposed: list[str | None] = [None] * len(judged)
        if flagged.size:
            if reasons is None:
                # Words are loaded where there is something to say.
                from aspca.findings.short_reasons import ShortReasons

                reasons = ShortReasons(model)
            texts = reasons.of(judged.values[flagged], found.take(flagged))
            for row, sentence, wanted in zip(flagged.tolist(), *texts, strict=True):
                broken[row], proposed[row] = sentence, wanted
        for row, cells in enumerate(() if found.bad_cells is None else found.bad_cells):
            if cells:
                broken[row] = "; ".join(text for text in [*map(str, cells), broken[row]] if text)
        yield [*score_columns(model, judged.rows + start, judged.key_columns(), found), broken, proposed]


@dataclass(frozen=True, eq=False)
class PartScorer:
    """Judges parts of a table where they are: `scored_parts` of each as pyarrow record batches.

    Attributes
    ----------
    names : tuple of str
        The columns that it reads.
    schema : pyarrow.Schema
        Of its batches; it depends on the names of the keys alone, not on a table.
    """

    model: Model
    keys: Keys

    def __call__(self, part: Table, start: int = 0) -> Iterator[Any]:
        from aspca.writers.arrow_rows import record_batch

        fields, schema = score_fields(self.model, self.keys), self.schema
        for columns in scored_parts(self.model, part, self.keys, Tally(), Silent(), start):
            yield record_batch(fields, schema, columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.model.preparation.kinds, *self.keys.columns]))

    @property
    def schema(self) -> Any:
        from aspca.writers.arrow_rows import arrow_schema

        return arrow_schema(score_fields(self.model, self.keys))
