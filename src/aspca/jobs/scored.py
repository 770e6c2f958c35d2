"""Judged rows as a table: row, key columns, score, verdict, and for anomalies the rules they break and what would mend.

Plain columns first: only what is written by way of Arrow, or is to be a lazy frame, makes record batches of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from aspca.jobs.keys import Keys
from aspca.jobs.progress import Silent, Watcher
from aspca.jobs.tables import TableSource
from aspca.jobs.verdicts import JudgedRows, judged_rows
from aspca.judging.model import Model
from aspca.outputs.columns import Field, Kind, Part

if TYPE_CHECKING:
    from aspca.judging.short_reasons import ShortReasons


class ScoredColumns:
    """Which columns a table of scores has, and what stands in them.

    Parameters
    ----------
    reasons : bool
        Whether to say which rules anomalies break and what would mend them.
    """

    def __init__(self, model: Model, keys: Keys, *, reasons: bool = True) -> None:
        self._model, self._keys, self._told = model, keys, reasons
        self._reasons: ShortReasons | None = None
        own: dict[str, Kind] = {"row": "integer", "score": "number", "anomaly": "truth"}
        own |= {"share_of_rules": "number"} if model.allows_gaps else {}
        own |= {"broken_rules": "text", "proposed": "object"} if reasons else {}
        row, *others = (Field(name, kind) for name, kind in own.items())
        self.fields: tuple[Field, ...] = (row, *(Field(name, "cell") for name in keys.header(own)), *others)

    def part(self, judged: JudgedRows, start: int = 0) -> list[Sequence[Any] | npt.NDArray[Any]]:
        """The columns of some judged rows; `start` is the number of the table's first row."""
        verdicts = [None] * len(judged) if judged.anomalies is None else judged.anomalies
        shares = [judged.judgement.share_of_rules] if self._model.allows_gaps else []
        return [
            judged.rows + start,
            *judged.key_columns(),
            judged.scores,
            verdicts,
            *shares,
            *(self._texts(judged) if self._told else ()),
        ]

    def _texts(self, judged: JudgedRows) -> tuple[list[str | None], list[str | None]]:
        """Of the anomalies only: normal rows cost nothing."""
        broken: list[str | None] = [None] * len(judged)
        proposed: list[str | None] = [None] * len(judged)
        flagged = judged.flagged
        if flagged.size:
            if self._reasons is None:
                from aspca.judging.short_reasons import ShortReasons

                self._reasons = ShortReasons(self._model)
            told = self._reasons.of(judged.values[flagged], judged.judgement.take(flagged))
            for row, sentence, values in zip(flagged.tolist(), *told, strict=True):
                broken[row], proposed[row] = sentence, values
        return broken, proposed


class Tally:
    """How many rows were judged, and how many are anomalies: None where the model has no limit."""

    def __init__(self) -> None:
        self.n_rows, self.n_anomalies = 0, 0
        self._known = True

    def add(self, judged: JudgedRows) -> None:
        """More of them."""
        self.n_rows += len(judged)
        self.n_anomalies += judged.flagged.size
        self._known = judged.anomalies is not None

    @property
    def anomalies(self) -> int | None:
        return self.n_anomalies if self._known else None


def scored_parts(
    model: Model, table: TableSource, keys: Keys, tally: Tally, watcher: Watcher, start: int = 0
) -> Iterator[Part]:
    """The rows of a table judged, in parts of plain columns; see `ScoredColumns`."""
    columns = ScoredColumns(model, keys)
    for judged in judged_rows(model, table, keys, watcher):
        tally.add(judged)
        yield columns.part(judged, start)


def scored_schema(model: Model, keys: Keys, table: TableSource | None = None) -> Any:
    """The pyarrow.Schema of what `scored_batches` gives; it depends on the names of the keys alone, not on a table."""
    from aspca.outputs.arrow_rows import arrow_schema

    return arrow_schema(ScoredColumns(model, keys).fields)


def scored_batches(
    model: Model, table: TableSource, keys: Keys, start: int = 0, watcher: Watcher | None = None
) -> Iterator[Any]:
    """The rows of a table judged, as pyarrow record batches of `scored_schema`.

    Parameters
    ----------
    start : int
        The number of the table's first row, where it is a part of a larger one.
    """
    from aspca.outputs.arrow_rows import arrow_schema, record_batch

    fields = ScoredColumns(model, keys).fields
    schema = arrow_schema(fields)
    for part in scored_parts(model, table, keys, Tally(), watcher or Silent(), start):
        yield record_batch(fields, schema, part)
