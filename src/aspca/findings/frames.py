"""Columns as a data frame of the library asked for, imported only then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any


def frame(columns: Mapping[str, Sequence[Any]], library: Any) -> Any:
    """A table with these columns, of `library`: pandas, polars or pyarrow."""
    if find_spec(library) is None:
        raise ModuleNotFoundError(f"A data frame needs {library}, which is not installed: pip install {library}.")
    # Here, so that judging rows needs numpy only.
    import narwhals.stable.v2 as nw

    made = {name: column if library == "pandas" else _of_one_type(column) for name, column in columns.items()}
    return nw.from_dict(made, backend=library).to_native()


def _of_one_type(column: Sequence[Any]) -> Sequence[Any]:
    """As texts, where numbers and texts stand in one column: only pandas takes both."""
    if not isinstance(column, list) or len({isinstance(cell, str) for cell in column if cell is not None}) < 2:
        return column
    return [None if cell is None else str(cell) for cell in column]
