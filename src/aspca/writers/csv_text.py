"""CSV that a spreadsheet may open: whatever would run as a formula there is made harmless."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import numpy.typing as npt

from aspca.escaping import for_csv

if TYPE_CHECKING:
    from aspca.writers.desk import Desk

_QUOTED = re.compile(r'[",\r\n]')
# From so many cells on it pays to have them written by DuckDB.
_MANY = 20_000


class CsvWriter:
    """Rows to a stream, in lines that end as Unix tools like it; the csv module would not quote a lone \\r then.

    To be used in a `with` statement, or closed, where many rows are written.
    """

    def __init__(self, stream: TextIO, header: Iterable[str]) -> None:
        self._stream = stream
        self._desk: Desk | None = None
        self.columns(*([name] for name in header))

    def __enter__(self) -> CsvWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove what was needed for writing; the stream stays open."""
        if self._desk is not None:
            self._desk.close()

    def columns(self, *columns: Sequence[object] | npt.NDArray[Any]) -> None:
        """Rows given as columns of one length: arrays of numbers or truth values, or plain Python values."""
        made = [_made(column) for column in columns]
        if len({len(column) for column in made}) != 1:
            raise ValueError("All columns of a file must have the same number of cells.")
        desk = None if sum(map(len, made)) < _MANY else self._a_desk()
        self._stream.write(_lines(made) if desk is None else desk.csv(made))

    def _a_desk(self) -> Desk | None:
        """Where DuckDB writes, if it is installed: without it the lines are the same, only slower."""
        if self._desk is None:
            from aspca.writers.desk import Desk

            with contextlib.suppress(ImportError):
                self._desk = Desk()
        return self._desk


def _made(column: Sequence[object] | npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column as an array of numbers, or of texts as they stand in the file."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "b":
            return column.view(np.int8)
        if column.dtype.kind in "iu" or (column.dtype.kind == "f" and not np.isnan(column).any()):
            return column
        column = column.tolist()
    # Names of rules and features come again and again, each to be looked at once.
    known: dict[str, str] = {}
    texts = np.empty(len(column), dtype=object)
    for place, cell in enumerate(column):
        if type(cell) is not str:
            texts[place] = _quoted(for_csv(cell))
            continue
        text = known.get(cell)
        if text is None:
            text = known[cell] = _quoted(for_csv(cell))
        texts[place] = text
    return texts


def _lines(columns: Sequence[npt.NDArray[Any]]) -> str:
    """The lines of columns as `_made` makes them."""
    texts = [column.tolist() if column.dtype.kind == "O" else map(repr, column.tolist()) for column in columns]
    return "".join([",".join(row) + "\n" for row in zip(*texts, strict=True)])


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
