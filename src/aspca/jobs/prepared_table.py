"""A table seen through a preparation: its columns are the features of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from aspca.engines.source import Batch, Column
from aspca.jobs.errors import JobError
from aspca.jobs.table import Table
from aspca.linalg.arrays import Floats
from aspca.preparation import ColumnPlan, Preparation
from aspca.preparation.columns import Cells


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """What `Table` asks for; `batches` are of features, all else is the table's own."""

    table: Table
    plan: Preparation

    @property
    def columns(self) -> Sequence[Column]:
        return self.table.columns

    @property
    def description(self) -> str:
        return self.table.description

    def count(self) -> int:
        return self.table.count()

    def where(self, row: int) -> str:
        return self.table.where(row)

    def cells(self, names: Sequence[str], size: int = 65536) -> Iterator[list[tuple[object, ...]]]:
        return self.table.cells(names, size)

    def batches(self, names: Sequence[str], size: int = 65536) -> Iterator[Batch]:
        """All features, in the order of the plan, which `names` must be."""
        if tuple(names) != self.plan.names:
            raise ValueError("A prepared table has the features of its plan, and no others.")
        empty = {column.name for column in self.columns if column.n_missing == self.count()}
        numeric = [plan.name for plan in self.plan.columns if not plan.categorical and plan.name not in empty]
        texts = [plan.name for plan in self.plan.columns if plan.categorical]
        if not numeric:
            start = 0
            for part in self.table.cells(texts, size):
                yield self._encoded(Batch(start, np.empty((len(part), 0))), [], part, texts)
                start += len(part)
            return
        beside = (row for part in self.table.cells(texts, size) for row in part) if texts else iter(())
        for batch in self.table.batches(numeric, size):
            yield self._encoded(batch, numeric, list(islice(beside, len(batch.values))) if texts else [], texts)

    def _encoded(
        self, numbers: Batch, numeric: list[str], texts: list[tuple[object, ...]], categorical: list[str]
    ) -> Batch:
        columns: dict[str, Cells] = dict(zip(numeric, numbers.values.T, strict=True))
        columns |= dict(zip(categorical, zip(*texts, strict=True), strict=True)) if texts else {}
        # A column without any value is no column of numbers to its reader.
        nothing = np.full(len(numbers.values), np.nan)
        parts = [self._column(plan, columns.get(plan.name, nothing), numbers.start) for plan in self.plan.columns]
        return Batch(numbers.start, np.hstack(parts))

    def _column(self, plan: ColumnPlan, cells: Cells, start: int) -> Floats:
        try:
            return plan.encode(cells, start)
        except ValueError as error:
            raise JobError(f"{self.description}: {error}") from None


def prepared(table: Table, plan: Preparation | None) -> Table:
    """The table as a model with this preparation sees it."""
    return table if plan is None or plan.plain else PreparedTable(table, plan)
