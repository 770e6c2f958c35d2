"""Passing over the rows of a table: here, or part by part where an engine has them; and who is told how far it is.

Reading, judging and writing go on at once: the next part is made, or the last one written, while one is worked on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

import numpy as np

from aspca.linalg.arrays import LARGEST_VALUE, Floats
from aspca.moments.accumulator import Blocks, Rows, numbered
from aspca.moments.validation import values_allowed
from aspca.preparation import Preparation
from aspca.preparation.columns import CellError, Cells
from aspca.tables.column_checks import leave_out_words
from aspca.tables.errors import JobError, UndefinedError
from aspca.tables.parted import PartedTable
from aspca.tables.table import BATCH_ROWS, Batch, Table, find_column


class Watcher(Protocol):
    """Told at the start of each stage, and after each part of it."""

    def stage(self, what: str, total: int | None = None, unit: str = "rows") -> None:
        """A stage begins: `what` is done, to `total` things if that is known."""

    def advance(self, amount: int) -> None:
        """So many more are done."""


class Silent:
    """Nobody watches."""

    def stage(self, what: str, total: int | None = None, unit: str = "rows") -> None:
        pass

    def advance(self, amount: int) -> None:
        pass


Item = TypeVar("Item")
# From so many rows on it pays to do several things at once, and to hold BLAS to one thread meanwhile.
MANY = 100_000


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, of which one is made in a thread while the one before is worked on; no more than that."""
    # Not needed for small tables.
    from concurrent.futures import ThreadPoolExecutor

    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        try:
            while (item := coming.result()) is not end:
                coming = pool.submit(next, items, end)
                yield item  # type: ignore[misc]  # not the end
        finally:
            # Whoever stops early leaves one to be made, and nobody to hear of it.
            with contextlib.suppress(Exception):
                coming.result()
            if isinstance(items, Generator):
                items.close()


def write_behind(items: Iterable[Item], use: Callable[[Item], None]) -> None:
    """Use one item after the other, each in a thread while the next is made; what it raises is raised here."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        used = None
        for item in items:
            if used is not None:
                used.result()
            used = pool.submit(use, item)
        if used is not None:
            used.result()


def read_features(table: Table, plan: Preparation) -> Iterator[Batch]:
    """The features that a preparation makes of the rows of a table, in its order.

    Raises
    ------
    UndefinedError
        A cell of which no feature can be made.
    """
    if plan.plain:
        yield from table.batches(plan.names)
        return
    n = table.count()
    empty = {column.name for column in table.columns if column.n_missing == n}
    numeric = [column.name for column in plan.columns if not column.categorical and column.name not in empty]
    categorical = [column.name for column in plan.columns if column.categorical]
    texts = (row for rows in table.cells(categorical, BATCH_ROWS) for row in rows) if categorical else iter(())
    sizes = {start: min(BATCH_ROWS, n - start) for start in range(0, n, BATCH_ROWS)}
    without = (Batch(start, np.empty((size, 0))) for start, size in sizes.items())
    for batch in table.batches(numeric, BATCH_ROWS) if numeric else without:
        cells: dict[str, Cells] = dict(zip(numeric, batch.values.T, strict=True))
        if categorical:
            rows = islice(texts, len(batch.values))
            cells |= dict(zip(categorical, zip(*rows, strict=True), strict=True))
        # A column without any value is no column of numbers to its reader.
        nothing = np.full(len(batch.values), np.nan)
        made = []
        for column in plan.columns:
            try:
                made.append(column.encode(cells.get(column.name, nothing)))
            except CellError as error:
                where = table.locate(batch.start + error.row)
                raise UndefinedError(f"{where} {error.told}", column.name, column.kind) from None
        yield Batch(batch.start, np.hstack(made))


def rows_of(table: Table, plan: Preparation, watcher: Watcher, *, by_pass: bool = False) -> Rows:
    """The features that a plan makes of the rows of a table, read once more for each pass.

    What is watched are rows, or passes. A value that cannot be learned from is refused, with its column and row.
    """

    def over(task: Callable[[Blocks], Any], merge: Callable[[Any, Any], Any]) -> Any:
        if by_pass:
            watcher.advance(1)
        if isinstance(table, PartedTable):
            found = table.reduce(_PartTask(plan, task), merge, [column.name for column in plan.columns])
            watcher.advance(0 if by_pass else table.count())
            return found
        blocks = read_checked(table, plan, Silent() if by_pass else watcher, learning=True)
        return task(numbered(blocks if table.count() < MANY else prefetch(blocks)))

    return Rows(over, elsewhere=isinstance(table, PartedTable))


@dataclass(frozen=True)
class _PartTask:
    """A task over the blocks of one part of a table, where that is."""

    plan: Preparation
    task: Callable[[Blocks], Any]

    def __call__(self, part: Table, start: int) -> Any:
        # Others compute beside it, each with a thread of its own.
        from aspca.linalg.threads import blas_threads_for

        with blas_threads_for(len(self.plan.names)):
            return self.task(numbered(read_checked(part, self.plan, Silent(), learning=True), start))


def read_checked(table: Table, plan: Preparation, watcher: Watcher, *, learning: bool = False) -> Iterator[Floats]:
    """The features that a plan makes of the rows of a table, part by part; see `refuse_values`."""
    for batch in read_features(table, plan):
        if len(batch.values):
            refuse_values(table, batch, plan, learning=learning)
            yield batch.values
            watcher.advance(len(batch.values))


def refuse_values(table: Table, batch: Batch, plan: Preparation, *, learning: bool = False) -> None:
    """Raise JobError if a value of a batch is missing (unless the plan allows it), infinite or beyond +-1e150.

    `learning`: rules are yet to be learned, so that columns can still be left out.
    """
    names, gaps = plan.names, plan.missing == "allow"
    values = np.where(np.isnan(batch.values), 0.0, batch.values) if gaps else batch.values
    if not len(values) or values_allowed(values.min(axis=0), values.max(axis=0)):
        return
    row, column = (int(one) for one in np.argwhere(~(np.abs(values) <= LARGEST_VALUE))[0])
    where, value, name = table.locate(batch.start + row), values[row, column], repr(names[column])
    if np.isnan(value):
        missing = getattr(find_column(table, names[column]), "n_missing", None)
        count = f" ({missing} of {table.count()} rows lack one)" if missing else ""
        raise JobError(
            f"{where} has no value in column {name}{count}; fill missing values, leave out their rows or the column, "
            "or learn the rules with --allow-missing."
        )
    wild = [names[k] for k in np.flatnonzero((np.abs(values) > LARGEST_VALUE).any(axis=0)).tolist()]
    raise JobError(
        f"{where} has the value {value:g} in column {name}; values must lie within +-{LARGEST_VALUE:g}, so correct it, "
        "rescale the column, or leave it out with --ignore.",
        leave_out_words(wild) if learning and len(wild) < len(names) else (),
    )
