"""An empty figure to draw on, outside of pyplot's list of open ones."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure


def sheet(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure of so many inches, and its axes (rows, columns) as an array."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)
