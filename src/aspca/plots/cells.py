"""A matrix as coloured cells, empty where it is zero, with its names along the sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.plots.canvas import LINE, SMALL, label_slots, root_of
from aspca.plots.colours import ink_on
from aspca.plots.labels import minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

_NARROW, _WIDE, _WIDEST = 0.24, 0.5, 1.3
# Up to so many columns there is room to write labels from left to right, in lines.
MOST_IN_LINES = 6
# Inches of all cells together: less is too low for the bar beside them and its label.
_LOWEST = 1.7
# Up to so many columns there is room to write the numbers into the cells.
MOST_WRITTEN = 14
# Inches for a character of a label.
_CHARACTER = SMALL * 0.56 / 72


@dataclass(frozen=True)
class CellStyle:
    """How values are coloured and, where there is room, written."""

    cmap: Any
    norm: Any
    bar: str
    form: Callable[[float], str]


def figure_size(rows: Sequence[str], columns: Sequence[str]) -> tuple[float, float]:
    """Inches for cells with these names at the sides, a bar and a title."""
    longest = label_inches(columns)
    lines = _lines(columns)
    width = cell_width(len(columns), lines)
    below = longest if longest > 0.9 * width else LINE * lines
    height = max(LINE * 1.15 * len(rows), _LOWEST) + below + 1.5
    return max(label_inches(rows) + width * len(columns) + 1.6, 6.5), max(height, 3.2)


def label_inches(names: Sequence[str]) -> float:
    """Of the longest line of a name."""
    return max(len(line) for name in names for line in name.split("\n")) * _CHARACTER


def cell_width(columns: int, lines: int = 1) -> float:
    """Inches: wide enough to write in where there are few, and for labels of so many lines."""
    if columns <= MOST_IN_LINES and lines > 1:
        return _WIDEST
    return _WIDE if columns <= MOST_WRITTEN else max(_NARROW, LINE * (lines + 0.2))


def _lines(names: Sequence[str]) -> int:
    return max(name.count("\n") + 1 for name in names)


def draw_cells(
    ax: Axes, values: Floats, rows: Sequence[str], columns: Sequence[str], style: CellStyle
) -> tuple[QuadMesh, Any]:
    """Cells for `values` (r, c), the first row on top; zeros are left empty. Returns the mesh and its bar."""
    shown = np.ma.masked_equal(values, 0.0)
    r, c = values.shape
    ax.set_facecolor("white")
    mesh = ax.pcolormesh(np.arange(c + 1) - 0.5, np.arange(r + 1) - 0.5, shown, cmap=style.cmap, norm=style.norm)
    ax.set_xlim(-0.5, c - 0.5)
    ax.set_ylim(r - 0.5, -0.5)
    # Hairlines around the cells show where an empty one is.
    ax.hlines(np.arange(r + 1) - 0.5, -0.5, c - 0.5, color="0.88", lw=0.5)
    ax.vlines(np.arange(c + 1) - 0.5, -0.5, r - 0.5, color="0.88", lw=0.5)
    for spine in ax.spines.values():
        spine.set_color("0.6")
    bar = root_of(ax).colorbar(mesh, ax=ax, fraction=0.05, pad=0.02, aspect=25)
    bar.set_label(style.bar, fontsize=8.5)
    bar.ax.tick_params(labelsize=8)
    label_slots(ax, "y", list(range(r)), rows)
    label_slots(ax, "x", list(range(c)), columns, _lines(columns))
    if c <= MOST_WRITTEN:
        _write(ax, mesh, values, style)
    return mesh, bar


def _write(ax: Axes, mesh: QuadMesh, values: Floats, style: CellStyle) -> None:
    for i, j in zip(*np.nonzero(values), strict=True):
        colour = mesh.cmap(style.norm(values[i, j]))
        text = minus(style.form(float(values[i, j])))
        ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=ink_on(colour), clip_on=True)
