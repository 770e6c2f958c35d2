"""Data frames as tables, the rows of each category, and a table seen through a preparation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.pipeline.errors import JobError, RequestError, UndefinedError
from aspca.preparation import ColumnPlan, Preparation
from aspca.preparation.columns import CellError, Cells, cell_text
from aspca.tables.column_notes import describe_rounded
from aspca.tables.memory import MemoryColumn, MemoryTable
from aspca.tables.table import BATCH_ROWS, Batch, Table, read_cells
from aspca.tables.views import RowsView

# A model for each of more categories is nothing that a person would read.
MOST_CATEGORIES = 100


def frame_table(frame: Any, description: str) -> MemoryTable:
    """A data frame (pandas, polars, pyarrow) or a two-dimensional array as a table.

    Raises
    ------
    JobError
        It is something else, or holds what is no number, text or date.
    """
    from aspca.estimators.cells import raw_columns
    from aspca.estimators.tables import library_of, refuse_odd_shapes, row_labels

    try:
        refuse_odd_shapes(frame)
        columns = raw_columns(frame, leave_odd=True)
    except (ValueError, TypeError) as error:
        raise JobError(f"{description}: {error}") from None
    names = [column.name for column in columns]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise JobError(f"{description} has several columns {doubled!r}, but each must be unique; rename the others.")
    content = {one.name: MemoryColumn(one.kind, one.numbers, one.cells, one.remark) for one in columns}
    beyond = [name for name, column in content.items() if _would_be_rounded(column)]
    for name in beyond:
        texts = [None if cell_text(cell) is None else str(cell) for cell in content[name].cells]
        content[name] = MemoryColumn("text", None, texts)
    labels = row_labels(frame, len(columns[0].cells))
    index = None
    if list(labels) != list(range(len(labels))):
        index = str(getattr(getattr(frame, "index", None), "name", None) or "index")
        if index in content:
            index = None
        else:
            content[index] = MemoryColumn("text", None, [str(label) for label in labels])
    return MemoryTable(description, content, index, library_of(frame), tuple(describe_rounded(description, beyond)))


def _would_be_rounded(column: MemoryColumn) -> bool:
    """Whether it holds integers that are no float64: ids, mostly, and others would be taken for them."""
    cells = column.cells
    if column.kind != "number" or column.numbers is None:
        return False
    if isinstance(cells, np.ndarray) and cells.dtype.kind not in "iu":
        return False
    large = (cells[row] for row in np.flatnonzero(np.abs(column.numbers) >= 2.0**53).tolist())
    return any(isinstance(cell, int | np.integer) and int(float(cell)) != int(cell) for cell in large)


def tables_by_category(table: Table, column: str) -> dict[str, RowsView]:
    """The rows of each category of a column, in sorted order.

    Raises
    ------
    RequestError
        A row has no category, or there are more than a hundred.
    """
    rows_of: dict[str, list[int]] = {}
    for row, cell in enumerate(read_cells(table, column)):
        category = cell_text(cell)
        if category is None:
            raise RequestError(f"--by: {table.where(row)} has no category in column {column!r}; every row needs one.")
        rows_of.setdefault(category, []).append(row)
        if len(rows_of) > MOST_CATEGORIES:
            raise RequestError(
                f"--by: column {column!r} of {table.description} has more than {MOST_CATEGORIES} categories, and each "
                "would get a model of its own; name a column with fewer."
            )
    return {
        category: RowsView(table, np.array(rows_of[category]), f"{table.description}, {column} {category!r}")
        for category in sorted(rows_of)
    }


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
    empty = {column.name for column in table.columns if column.n_missing == table.count()}
    numeric = [column.name for column in plan.columns if not column.categorical and column.name not in empty]
    categorical = [column.name for column in plan.columns if column.categorical]
    for batch, rows in _numbers_and_texts(table, numeric, categorical):
        columns: dict[str, Cells] = dict(zip(numeric, batch.values.T, strict=True))
        columns |= dict(zip(categorical, zip(*rows, strict=True), strict=True)) if rows else {}
        # A column without any value is no column of numbers to its reader.
        nothing = np.full(len(batch.values), np.nan)
        made = [_encode(table, one, columns.get(one.name, nothing), batch.start) for one in plan.columns]
        yield Batch(batch.start, np.hstack(made))


def _numbers_and_texts(
    table: Table, numeric: Sequence[str], categorical: Sequence[str]
) -> Iterator[tuple[Batch, list[tuple[object, ...]]]]:
    """The rows of a table in parts: their numbers, and the cells of their categories."""
    if not numeric:
        start = 0
        for rows in table.cells(categorical, BATCH_ROWS):
            yield Batch(start, np.empty((len(rows), 0))), rows
            start += len(rows)
        return
    texts = (row for rows in table.cells(categorical, BATCH_ROWS) for row in rows) if categorical else iter(())
    for batch in table.batches(numeric, BATCH_ROWS):
        yield batch, list(islice(texts, len(batch.values)))


def _encode(table: Table, plan: ColumnPlan, cells: Cells, start: int) -> Floats:
    try:
        return plan.encode(cells)
    except CellError as error:
        raise UndefinedError(f"{table.where(start + error.row)} {error.told}", plan.name, plan.kind) from None
