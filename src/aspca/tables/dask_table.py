"""Dask data frames as tables: passes are tasks of Dask, on the cluster of the active client or in this process.

Partitions are pandas frames; they become Arrow record batches whose columns are called c0, c1, ...
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from aspca.escaping import quoted
from aspca.tables.errors import SourceError
from aspca.tables.parted import PartedTable, Write
from aspca.tables.parts import CHUNK_BYTES, CHUNK_ROWS, Mapped, Pass, merge_outcomes, rows_of

# How many results are merged at once, on the worker of one of them.
FAN_IN = 8


def read_dask(paths: Sequence[str]) -> Any:
    """A Dask data frame of Parquet files or folders."""
    files = list(map(os.path.abspath, paths))
    frames = _dask("--engine dask", "dask.dataframe")
    try:
        return frames.read_parquet(files if len(files) > 1 else files[0], dtype_backend="pyarrow")
    except Exception as error:
        raise SourceError(
            f"{', '.join(paths)}: Dask cannot read it as Parquet ({type(error).__name__}); check the files."
        ) from error


class DaskTable(PartedTable):
    """The table of a Dask data frame: its columns, and its index if that has a name, as text."""

    engine = "Dask"

    def __init__(self, frame: Any, description: str, missing: tuple[str, ...] = ()) -> None:
        pa, self._dask = import_module("pyarrow"), _dask(description, "dask")
        self._frame, self.description = frame, description
        self._pandas = self._typed(_columns_of(frame._meta))
        schema = pa.schema([(f"c{index}", column.type) for index, column in enumerate(self._pandas)])
        super().__init__(description, [column.name for column in self._pandas], schema, missing)

    def _typed(self, columns: list[PandasColumn]) -> list[PandasColumn]:
        """The same, each with a type: cells are looked at, in all partitions, where the frame does not say."""
        unsure = [index for index, column in enumerate(columns) if column.type is None]
        if not unsure:
            return columns
        asked = [columns[index] for index in unsure]
        parts = self._frame[[column.label for column in asked]].to_delayed()
        # Not as an argument, of which Dask would look into every part.
        look = self._dask.delayed(partial(_types_of, columns=asked))
        try:
            types = self._dask.compute(*(look(part) for part in parts))
        except Exception as error:
            raise self._explained(error) from error
        for index, column, found in zip(unsure, asked, zip(*types, strict=True), strict=True):
            columns[index] = _unify_types(column, found)
        return columns

    def _delayed(self, columns: Sequence[int]) -> tuple[list[Any], list[tuple[int, PandasColumn]]]:
        """The partitions, with as few columns as need be, and what to take of each."""
        chosen = [(index, self._pandas[index]) for index in columns]
        labels = [column.label for _, column in chosen if not column.is_index]
        # A frame without columns would not have its index either.
        return self._frame[labels or [self._pandas[0].label]].to_delayed(), chosen

    def _share(self, work: Any, chosen: list[tuple[int, PandasColumn]]) -> Any:
        """Work, once in the graph and not once for each part: it may carry as much as what comes back."""
        return self._dask.delayed(_Sent(work, chosen, self.description), pure=False, traverse=False)

    def _pass(self, work: Pass | Write, columns: Sequence[int], small: bool) -> bytes:
        delayed = self._dask.delayed
        parts, chosen = self._delayed(columns)
        shared = self._share(work, chosen)
        wanted = work.only if isinstance(work, Pass) else None
        run, merge = delayed(_run, pure=False), delayed(_merge, pure=False)
        level = [run(shared, part, number) for number, part in enumerate(parts) if wanted is None or number in wanted]
        while len(level) > 1:
            level = [merge(shared, level[start : start + FAN_IN]) for start in range(0, len(level), FAN_IN)]
        (found,) = self._dask.compute(level[0])
        return bytes(found)

    def _read_rows(self, columns: Sequence[int], first: int, end: int) -> Iterator[Any]:
        parts, chosen = self._delayed(columns)
        for number, low, high in self._layout.between(first, end):
            yield from _record_batches(parts[number].iloc[low:high].compute(), chosen, self.description)

    def _lazy(self, work: Mapped, columns: Sequence[int]) -> Any:
        pandas = import_module("pandas")
        parts, chosen = self._delayed(columns)
        shared = self._share(work, chosen)
        make = self._dask.delayed(_make_frame, pure=False)
        meta = work.schema.empty_table().to_pandas(types_mapper=pandas.ArrowDtype)
        made = [make(shared, part, number) for number, part in enumerate(parts)]
        return _dask(self.description, "dask.dataframe").from_delayed(made, meta=meta, verify_meta=False)


class _Sent:
    """Work, and how a partition is to be seen for it."""

    def __init__(self, work: Any, chosen: list[tuple[int, PandasColumn]], label: str) -> None:
        self.work, self._chosen, self._label = work, chosen, label

    def run(self, frame: Any, number: int) -> Any:
        return self.work(number, _record_batches(frame, self._chosen, self._label))


def _run(sent: _Sent, frame: Any, number: int) -> Any:
    return sent.run(frame, number)


def _merge(sent: _Sent, outcomes: list[bytes]) -> Any:
    return merge_outcomes(sent.work.merge, outcomes)


def _make_frame(sent: _Sent, frame: Any, number: int) -> Any:
    pa, pandas = import_module("pyarrow"), import_module("pandas")
    made = pa.Table.from_batches(sent.run(frame, number), schema=sent.work.schema)
    return made.to_pandas(types_mapper=pandas.ArrowDtype)


def _dask(label: str, module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise SourceError(
            f"{label}: this needs Dask, which is not installed; run: pip install 'aspca[dask]'."
        ) from None


# ---- partitions as record batches


@dataclass(frozen=True)
class PandasColumn:
    """A column of a pandas frame, or its index."""

    label: Any  # what the frame calls it; None for its index
    name: str  # what users call it
    type: Any  # of pyarrow, which its cells become; None where the frame does not say, so that cells must be looked at
    as_text: bool = False  # whether its cells are of several types, or names of rows, and become text
    is_index: bool = False

    def cells(self, frame: Any) -> Any:
        return frame.index if self.is_index else frame[self.label]

    def array(self, frame: Any, label: str) -> Any:
        """The cells of some rows as an Arrow array of the column's type."""
        pa = import_module("pyarrow")
        cells = self.cells(frame)
        try:
            if self.as_text:
                values = pa.array(
                    [None if lacks else str(cell) for cell, lacks in zip(cells, cells.isna(), strict=True)], self.type
                )
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


def _columns_of(meta: Any) -> list[PandasColumn]:
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


def _types_of(frame: Any, columns: Sequence[PandasColumn]) -> list[Any]:
    """What the cells of columns are in one partition: a type of pyarrow, or None for several types."""
    pa = import_module("pyarrow")

    def type_of(column: PandasColumn) -> Any:
        try:
            return pa.array(_plain(column.cells(frame)), from_pandas=True).type
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return None

    return [type_of(column) for column in columns]


def _unify_types(column: PandasColumn, types: Sequence[Any]) -> PandasColumn:
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


def _record_batches(frame: Any, columns: Sequence[tuple[int, PandasColumn]], label: str) -> Iterator[Any]:
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
