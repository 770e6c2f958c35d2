"""Tables as lines of text: CSV and JSON."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from aspca.escaping import for_json
from aspca.writers.columns import Field, Part, WritePart
from aspca.writers.csv_text import CsvWriter


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
        for values in zip(*map(_plain, part), strict=True):
            line = json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False, default=str)
            stream.write(for_json(line) + "\n")

    yield write


def _plain(column: Sequence[Any] | npt.NDArray[Any]) -> Sequence[Any]:
    cells: Sequence[Any] = column.tolist() if isinstance(column, np.ndarray) else column
    return cells
