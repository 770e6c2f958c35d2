"""Partitions of a Dask data frame, which are pandas frames, as Arrow record batches whose columns are c0, c1, ..."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from aspca.engines.errors import SourceError
from aspca.engines.part import CHUNK_BYTES, CHUNK_ROWS, rows_of
from aspca.harmless import quoted


@dataclass(frozen=True)
class PandasColumn:
    """A column of a pandas frame.

    Attributes
    ----------
    label : what the frame calls it; None for its index.
    name : what users call it.
    type : pyarrow.DataType or None
        What its cells become; None where the frame does not say, so that cells must be looked at.
    as_text : whether its cells are of several types, or names of rows, and become text.
    """

    label: Any
    name: str
    type: Any
    as_text: bool = False
    is_index: bool = False

    def cells(self, frame: Any) -> Any:
        return frame.index if self.is_index else frame[self.label]

    def array(self, frame: Any, label: str) -> Any:
        """The cells of some rows as an Arrow array of the column's type."""
        pa = import_module("pyarrow")
        cells = self.cells(frame)
        try:
            if self.as_text:
                values = pa.array([None if lacks else str(cell) for cell, lacks in _told(cells)], self.type)
            else:
                values = pa.array(_plain(cells), self.type, from_pandas=True)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            raise SourceError(
                f"{label}: column {quoted(self.name)} holds cells that are no {self.type}, which it holds elsewhere; "
                "make it of one type in all partitions."
            ) from None
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        return values if values.type == self.type else values.cast(self.type)


def columns_of(meta: Any) -> list[PandasColumn]:
    """The columns of a frame, by its first rows or none; an index that has a name comes last, as text."""
    pa = import_module("pyarrow")
    found = []
    for place, label in enumerate(meta.columns):
        dtype = meta.dtypes.iloc[place]
        unsure = str(dtype) in ("object", "category")
        kind = None if unsure else pa.array(meta.iloc[:0, place], from_pandas=True).type
        found.append(PandasColumn(label, str(label).strip() or f"column_{place + 1}", kind))
    name = meta.index.name
    if name is not None and str(name) not in {column.name for column in found}:
        found.append(PandasColumn(None, str(name), pa.string(), as_text=True, is_index=True))
    return found


def types_in(frame: Any, columns: Sequence[PandasColumn]) -> list[Any]:
    """What the cells of columns are in one partition: a type of pyarrow, or None for several types."""
    pa = import_module("pyarrow")
    found: list[Any] = []
    for column in columns:
        try:
            found.append(pa.array(_plain(column.cells(frame)), from_pandas=True).type)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            found.append(None)
    return found


def agreed(column: PandasColumn, types: Sequence[Any]) -> PandasColumn:
    """The column with the type that holds the cells of all partitions, text where none does."""
    pa = import_module("pyarrow")
    if None not in types:
        try:
            schemas = [pa.schema([("cells", kind)]) for kind in set(types)]
            kind = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
            return replace(column, type=kind)
        except (pa.ArrowException, ValueError, TypeError):
            pass
    return replace(column, type=pa.string(), as_text=True)


def record_batches(frame: Any, columns: Sequence[tuple[int, PandasColumn]], label: str) -> Iterator[Any]:
    """The rows of a partition, some at a time, so that there is no second copy of the whole."""
    pa = import_module("pyarrow")
    each = frame.memory_usage(index=False).sum() / max(1, len(frame))
    size = min(CHUNK_ROWS, rows_of(CHUNK_BYTES, each))
    names = [f"c{index}" for index, _ in columns]
    for start in range(0, len(frame), size):
        rows = frame.iloc[start : start + size]
        yield pa.RecordBatch.from_arrays([column.array(rows, label) for _, column in columns], names=names)


def _plain(cells: Any) -> Any:
    """Categories as the values that they stand for."""
    if str(cells.dtype) != "category":
        return cells
    return cells.astype(cells.cat.categories.dtype if hasattr(cells, "cat") else cells.categories.dtype)


def _told(cells: Any) -> Iterator[tuple[Any, bool]]:
    return zip(cells, cells.isna(), strict=True)
