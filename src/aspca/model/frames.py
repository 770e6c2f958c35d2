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
    return getattr(module, _BUILDERS[library])(dict(columns))
