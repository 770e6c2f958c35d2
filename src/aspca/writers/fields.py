"""Tables as they are written: named columns of a few kinds, given in parts, each a list of columns of one length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from aspca.preparation.columns import cell_text

# A cell is whatever the table that was read has there, and a text where columns have types.
Kind = Literal["integer", "number", "truth", "cell", "text"]
Part = Sequence[Sequence[Any] | npt.NDArray[Any]]
# Stands with a table of a database that may be replaced.
TABLE_MARK = "Written by aspca, which replaces this table as a whole."
# Takes part after part; None stands for a missing cell.
WritePart = Callable[[Part], None]


@dataclass(frozen=True)
class Field:
    """A column that is written: `kind` says what stands in it."""

    name: str
    kind: Kind


def as_texts(cells: Sequence[object] | npt.NDArray[Any]) -> list[str | None]:
    """Cells as texts, numbers as CSV has them; None where missing."""
    return [
        cell if type(cell) is str else str(cell) if type(cell) in (int, float) else cell_text(cell) for cell in cells
    ]


def typed_arrays(fields: Sequence[Field], part: Part) -> list[npt.NDArray[Any]]:
    """The columns of a part as arrays: numbers and truth values as they are, anything else as texts or None."""
    made = []
    for field, column in zip(fields, part, strict=True):
        if isinstance(column, np.ndarray) and field.kind not in ("cell", "text"):
            made.append(column)
        else:
            texts = np.empty(len(column), dtype=object)
            texts[:] = as_texts(column) if field.kind == "cell" else column
            made.append(texts)
    return made
