"""The table that jobs read: what a `Source` of `aspca.engines` is, and the same over arrays in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np

from aspca.engines.source import Batch, Column
from aspca.linalg.arrays import Floats


class Table(Protocol):
    """Rows in parts, read as often as asked for, always in the same order; see `aspca.engines.source.Source`."""

    @property
    def columns(self) -> Sequence[Column]: ...

    @property
    def description(self) -> str: ...

    def batches(self, names: Sequence[str], size: int = ...) -> Iterator[Batch]: ...

    def cells(self, names: Sequence[str], size: int = ...) -> Iterator[list[tuple[object, ...]]]: ...

    def count(self) -> int: ...

    def where(self, row: int) -> str:
        """The file and the place in it of a row, counted from 0."""


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """Numbers (n, p) in memory as a table, with columns of text beside them."""

    description: str
    names: tuple[str, ...]
    values: Floats
    texts: dict[str, Sequence[str]]

    @property
    def columns(self) -> tuple[Column, ...]:
        numbers = [Column(name, "number", 0) for name in self.names]
        return (*numbers, *(Column(name, "text", 0) for name in self.texts))

    def batches(self, names: Sequence[str], size: int = 65536) -> Iterator[Batch]:
        chosen = [self.names.index(name) for name in names]
        for start in range(0, len(self.values), size):
            yield Batch(start, np.ascontiguousarray(self.values[start : start + size, chosen]))

    def count(self) -> int:
        return len(self.values)

    def where(self, row: int) -> str:
        return f"{self.description}: row {row}"

    def cells(self, names: Sequence[str], size: int = 65536) -> Iterator[list[tuple[object, ...]]]:
        listed = [self.texts.get(n) or self.values[:, self.names.index(n)].tolist() for n in names]
        rows = zip(*listed, strict=True)
        while part := list(islice(rows, size)):
            yield part


def column_of(table: Table, name: str) -> Column | None:
    """The column of that name, if there is one."""
    return next((column for column in table.columns if column.name == name), None)


def cells_beside(table: Table, name: str) -> Iterator[object]:
    """The cells of one column, one by one, to be read beside batches of numbers."""
    for part in table.cells([name]):
        for (cell,) in part:
            yield cell
