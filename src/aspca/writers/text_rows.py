"""Tables as lines of text: JSON, and CSV that a spreadsheet may open, where nothing runs as a formula."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import numpy.typing as npt

from aspca.escaping import for_csv, for_json
from aspca.writers.fields import Field, Part, WritePart

if TYPE_CHECKING:
    from aspca.writers.duckdb_rows import DuckDBCsv

_QUOTED = re.compile(r'[",\r\n]')
# From so many cells on it pays to have them written by DuckDB.
_MANY = 20_000


class CsvWriter:
    """Rows to a stream, in lines that end as Unix tools like it; the csv module would not quote a lone \\r then.

    To be used in a `with` statement where many rows are written.
    """

    def __init__(self, stream: TextIO, header: Iterable[str]) -> None:
        self._stream = stream
        self._duckdb: DuckDBCsv | None = None
        self.columns(*([name] for name in header))

    def __enter__(self) -> CsvWriter:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was needed for writing; the stream stays open."""
        if self._duckdb is not None:
            self._duckdb.close()

    def columns(self, *columns: Sequence[object] | npt.NDArray[Any]) -> None:
        """Rows given as columns of one length: arrays of numbers or truth values, or plain Python values."""
        made = [_made(column) for column in columns]
        if len({len(column) for column in made}) != 1:
            raise ValueError("All columns of a file must have the same number of cells.")
        if self._duckdb is None and sum(map(len, made)) >= _MANY:
            # Without it the lines are the same, only slower.
            with contextlib.suppress(ImportError):
                from aspca.writers.duckdb_rows import DuckDBCsv

                self._duckdb = DuckDBCsv()
        if self._duckdb is not None and sum(map(len, made)) >= _MANY:
            self._stream.write(self._duckdb.lines(made))
            return
        texts = [column.tolist() if column.dtype.kind == "O" else map(repr, column.tolist()) for column in made]
        self._stream.write("".join([",".join(row) + "\n" for row in zip(*texts, strict=True)]))


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
        if cell not in known:
            known[cell] = _quoted(for_csv(cell))
        texts[place] = known[cell]
    return texts


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


@contextlib.contextmanager
def csv_rows(stream: TextIO, fields: Sequence[Field]) -> Iterator[WritePart]:
    """A function that writes parts as lines of CSV; what is missing is empty, truth values are 0 and 1."""
    with CsvWriter(stream, [field.name for field in fields]) as writer:
        yield lambda part: writer.columns(*part)


@contextlib.contextmanager
def json_rows(stream: TextIO, fields: Sequence[Field]) -> Iterator[WritePart]:
    """A function that writes parts as lines of JSON, one object each."""
    names = [field.name for field in fields]

    def write(part: Part) -> None:
        cells = [column.tolist() if isinstance(column, np.ndarray) else column for column in part]
        for values in zip(*cells, strict=True):
            line = json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False, default=str)
            stream.write(for_json(line) + "\n")

    yield write
