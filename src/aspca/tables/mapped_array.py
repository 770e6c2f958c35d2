"""A NumPy array that is mapped from a file, as a table: read in slices, and never copied as a whole.

What a batch touched is handed back to the system, or all of the file would count as memory of the process by and by.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.preparation.cell_format import NO_FORMAT, BadCell
from aspca.tables.column_notes import describe_rounded
from aspca.tables.errors import SourceError
from aspca.tables.table import BATCH_ROWS, MOST_CELLS, Batch, Column


class MappedArray:
    """Numbers (n, p) of a memory map, columns called x0, x1, ...; see `aspca.tables.table.Table`. SourceError if it has
    not two dimensions, no rows or columns, or holds what is no number."""

    library = "pandas"
    cell_format = NO_FORMAT
    bad_cells: tuple[BadCell, ...] = ()

    def __init__(self, array: np.memmap[Any, Any], description: str) -> None:
        if array.ndim != 2:
            raise SourceError(
                f"{description}: a memory map must have rows and columns, but it has {array.ndim} dimension(s); "
                "reshape it."
            )
        if not array.shape[0] or not array.shape[1]:
            raise SourceError(f"{description}: the memory map has the shape {array.shape}; it must hold a row.")
        if array.dtype.kind not in "biuf":
            raise SourceError(
                f"{description}: the memory map holds {array.dtype}, but numbers are needed; convert it first."
            )
        self._array, self.description = array, description
        self._names = [f"x{place}" for place in range(array.shape[1])]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        missing = np.zeros(self._array.shape[1], dtype=np.intp)
        rounded = np.zeros(self._array.shape[1], dtype=bool)
        kind = self._array.dtype.kind
        for rows in self._slices(MOST_CELLS):
            if kind == "f":
                missing += np.isnan(rows).sum(axis=0)
            elif kind in "iu" and rows.itemsize == 8:
                # Up to 2^53 every whole number is a float64.
                for row, column in zip(
                    *np.nonzero((rows > 2**53) | (rows < -(2**53 if kind == "i" else 0))), strict=True
                ):
                    rounded[column] |= int(float(rows[row, column])) != int(rows[row, column])
        kinds = ["text" if lost else "boolean" if kind == "b" else "number" for lost in rounded]
        return tuple(map(Column, self._names, kinds, missing.tolist()))

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(describe_rounded(self.description, [one.name for one in self.columns if one.kind == "text"]))

    def count(self) -> int:
        return int(self._array.shape[0])

    def locate(self, row: int) -> str:
        return f"{self.description}: row {row}"

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Batch]:
        text = next((one.name for one in self.columns if one.name in set(names) and one.kind == "text"), None)
        if text is not None:
            raise SourceError(
                f"{self.description}: column {text!r} holds integers beyond 2^53, which are no numbers of 64 bits; "
                "leave it out."
            )
        chosen = [self._names.index(name) for name in names]
        everything = chosen == list(range(len(self._names)))
        start = 0
        for rows in self._slices(size * len(self._names)):
            # A copy in any case: what was mapped is handed back.
            values = np.array(rows if everything else rows[:, chosen], dtype=np.float64, order="C")
            yield Batch(start, values)
            start += len(values)

    def cells(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[list[tuple[object, ...]]]:
        return (self._cells(rows, names) for rows in self._slices(size * len(self._names)))

    def take(self, names: Sequence[str], rows: Sequence[int]) -> list[tuple[object, ...]]:
        return self._cells(self._array[list(rows)], names)

    def _cells(self, rows: npt.NDArray[Any], names: Sequence[str]) -> list[tuple[object, ...]]:
        chosen = [self._names.index(name) for name in names]
        texts = [self.columns[place].kind == "text" for place in chosen]
        return [
            tuple(str(cell) if text else None if cell != cell else cell for cell, text in zip(row, texts, strict=True))
            for row in rows[:, chosen].tolist()
        ]

    def _slices(self, n_cells: int) -> Iterator[npt.NDArray[Any]]:
        """All rows, about so many cells at a time."""
        size = max(1, min(n_cells, MOST_CELLS) // self._array.shape[1])
        mapped = getattr(self._array, "_mmap", None)
        for start in range(0, self.count(), size):
            yield np.asarray(self._array[start : start + size])
            # Of a private copy ("c") this would undo what was written into it.
            if mapped is not None and hasattr(mmap, "MADV_DONTNEED") and self._array.mode in ("r", "r+", "w+"):
                mapped.madvise(mmap.MADV_DONTNEED)
