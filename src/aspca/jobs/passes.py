"""The rows of a table, as fitting passes over them: here, or part by part where an engine has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from aspca.jobs.ahead import MANY, made_ahead
from aspca.jobs.preparing import refuse_values
from aspca.jobs.progress import Silent, Watcher
from aspca.jobs.tables import Parted, TableSource, prepared
from aspca.linalg.arrays import Floats
from aspca.moments.rows import Blocks, Rows, numbered
from aspca.preparation import Preparation


def rows_of(table: TableSource, plan: Preparation, watcher: Watcher, *, by_pass: bool = False) -> Rows:
    """The features that a plan makes of the rows of a table, read once more for each pass.

    What is watched are rows, or passes. A value that cannot be learned from is refused, with its column and row.
    """

    def over(task: Callable[[Blocks], Any], merge: Callable[[Any, Any], Any]) -> Any:
        if by_pass:
            watcher.advance(1)
        if isinstance(table, Parted):
            found = table.each(_PartTask(plan, task), merge, [column.name for column in plan.columns])
            watcher.advance(0 if by_pass else table.count())
            return found
        batches = _batches(table, plan, Silent() if by_pass else watcher)
        return task(numbered(batches if table.count() < MANY else made_ahead(batches)))

    return Rows(over, elsewhere=isinstance(table, Parted))


@dataclass(frozen=True)
class _PartTask:
    """A task over the blocks of one part of a table, where that is."""

    plan: Preparation
    task: Callable[[Blocks], Any]

    def __call__(self, part: TableSource, start: int) -> Any:
        # Others compute beside it, each with a thread of its own.
        from aspca.linalg.threads import blas_threads_for

        with blas_threads_for(len(self.plan.names)):
            return self.task(numbered(_batches(part, self.plan, Silent()), start))


def _batches(table: TableSource, plan: Preparation, watcher: Watcher) -> Iterator[Floats]:
    for batch in prepared(table, plan).batches(plan.names):
        if len(batch.values):
            refuse_values(table, batch, plan.names, gaps=plan.missing == "allow", learning=True)
            yield batch.values
            watcher.advance(len(batch.values))
