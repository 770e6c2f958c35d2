"""Columns as a data frame of the library asked for, imported only then."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

_BUILDERS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


def frame(columns: Mapping[str, Sequence[Any]], library: str) -> Any:
    """A table with these columns, of `library`: pandas, polars or pyarrow."""
    try:
        module = importlib.import_module(library)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"A data frame needs {library}, which is not installed: pip install {library}."
        ) from None
    made = {name: column if library == "pandas" else _of_one_type(column) for name, column in columns.items()}
    return getattr(module, _BUILDERS[library])(made)


def _of_one_type(column: Sequence[Any]) -> Sequence[Any]:
    """As texts, where numbers and texts stand in one column: only pandas takes both."""
    if not isinstance(column, list) or len({isinstance(cell, str) for cell in column if cell is not None}) < 2:
        return column
    return [None if cell is None else str(cell) for cell in column]
