"""Judged rows as a table: row, key columns, score, verdict, and for anomalies the rules they break and what would mend.

Plain columns first: only what is written by way of Arrow, or is to be a lazy frame, makes record batches of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aspca.jobs.keys import Cells, Keys
from aspca.jobs.preparing import columns_needed
from aspca.jobs.progress import Silent, Watcher
from aspca.jobs.tables import TableSource
from aspca.jobs.verdicts import JudgedRows, bad_cells_by_row, rows_to_judge
from aspca.judging.judgement import Judgement
from aspca.judging.model import Model
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.outputs.columns import Field, Kind, Part

if TYPE_CHECKING:
    from aspca.judging.short_reasons import ShortReasons

Texts = list[str | None]


def verdict_fields(model: Model, keys: Keys, *, reasons: bool) -> tuple[Field, ...]:
    """Which columns a table of scores has; `reasons`: also which rules anomalies break and what would mend them."""
    own: dict[str, Kind] = {"row": "integer", "score": "number", "anomaly": "truth"}
    own |= {"verdict": "text", "p_value": "number"} if model.evidence is not None else {}
    own |= {"share_of_rules": "number"} if model.allows_gaps else {}
    own |= {"broken_rules": "text", "proposed": "text"} if reasons else {}
    row, *others = (Field(name, kind) for name, kind in own.items())
    return (row, *(Field(name, "cell") for name in keys.header(own)), *others)


def verdict_part(model: Model, judged: JudgedRows) -> Part:
    """The columns of some judged rows, without reasons."""
    return _columns(model, judged.rows, judged.key_columns(), judged.judgement)


def _columns(
    model: Model, rows: Ints, beside: list[list[object]], found: Judgement
) -> list[Sequence[Any] | npt.NDArray[Any]]:
    anomalies = [None] * len(rows) if found.anomalies is None else found.anomalies
    told: list[Any] = [] if model.evidence is None else [found.verdicts, found.p_values]
    return [rows, *beside, found.scores, anomalies, *told, *([found.share_of_rules] if model.allows_gaps else [])]


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


def scored_fields(model: Model, keys: Keys) -> tuple[Field, ...]:
    """The columns of what `scored_parts` gives."""
    return verdict_fields(model, keys, reasons=True)


def scored_parts(
    model: Model, table: TableSource, keys: Keys, tally: Tally, watcher: Watcher, start: int = 0
) -> Iterator[Part]:
    """The rows of a table judged, in parts of plain columns, `scored_fields`.

    Parameters
    ----------
    start : int
        The number of the table's first row, where it is a part of a larger one.
    """
    reasons: ShortReasons | None = None
    bad = bad_cells_by_row(model, table)
    for rows, values, beside in rows_to_judge(model, table, keys, watcher):
        found = model.judge(values)
        anomalies = np.zeros(len(values), dtype=np.bool_) if found.anomalies is None else found.anomalies
        flagged = np.flatnonzero(anomalies)
        bad_here = {place: bad[row] for place, row in enumerate(rows.tolist()) if row in bad} if bad else {}
        if bad_here:
            found = found.with_bad_cells([bad_here.get(place, ()) for place in range(len(values))])
        tally.add(found.anomalies, found.errors, len(rows))
        if reasons is None and flagged.size:
            # Words are loaded where there is something to say.
            from aspca.judging.short_reasons import ShortReasons

            reasons = ShortReasons(model)
        texts = _texts(reasons, values, flagged, found.take(flagged))
        for place, cells in bad_here.items():
            texts[0][place] = "; ".join(text for text in [*map(str, cells), texts[0][place]] if text)
        yield [*_columns(model, rows + start, _by_column(beside, keys), found), *texts]


def _texts(reasons: ShortReasons | None, values: Floats, flagged: Ints, judgement: Judgement) -> tuple[Texts, Texts]:
    """The rules that rows break and what would mend them; of the anomalies only, so that normal rows cost nothing."""
    broken: Texts = [None] * len(values)
    proposed: Texts = [None] * len(values)
    if reasons is not None and flagged.size:
        for row, sentence, wanted in zip(flagged.tolist(), *reasons.of(values[flagged], judgement), strict=True):
            broken[row], proposed[row] = sentence, wanted
    return broken, proposed


def _by_column(beside: list[Cells], keys: Keys) -> list[list[object]]:
    return [list(column) for column in zip(*beside, strict=True)] if keys.columns else []


@dataclass(frozen=True, eq=False)
class ScoringOfParts:
    """Judges parts of a table where they are: `scored_batches` of a part that begins at row `start`.

    Attributes
    ----------
    names : tuple of str
        The columns that it reads.
    """

    model: Model
    keys: Keys

    def __call__(self, part: TableSource, start: int) -> Iterator[Any]:
        return scored_batches(self.model, part, self.keys, start)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*columns_needed(self.model.preparation), *self.keys.columns]))


def scored_schema(model: Model, keys: Keys, table: TableSource | None = None) -> Any:
    """The pyarrow.Schema of what `scored_batches` gives; it depends on the names of the keys alone, not on a table."""
    from aspca.outputs.arrow_rows import arrow_schema

    return arrow_schema(scored_fields(model, keys))


def scored_batches(
    model: Model, table: TableSource, keys: Keys, start: int = 0, watcher: Watcher | None = None
) -> Iterator[Any]:
    """The rows of a table judged, as pyarrow record batches of `scored_schema`; `start` as in `scored_parts`."""
    from aspca.outputs.arrow_rows import arrow_schema, record_batch

    fields = scored_fields(model, keys)
    schema = arrow_schema(fields)
    for part in scored_parts(model, table, keys, Tally(), watcher or Silent(), start):
        yield record_batch(fields, schema, part)
