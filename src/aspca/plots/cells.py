"""A matrix as coloured cells, empty where it is zero, with its names along the sides."""

from __future__ import annotations

from collections.abc import Sequence
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

_NARROW, _WIDE = 0.24, 0.5
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
    form: str


def figure_size(rows: Sequence[str], columns: Sequence[str]) -> tuple[float, float]:
    """Inches for cells with these names at the sides, a bar and a title."""
    longest = label_inches(columns)
    width = cell_width(len(columns))
    below = longest if longest > 0.9 * width else LINE
    return max(label_inches(rows) + width * len(columns) + 1.6, 6.5), max(LINE * 1.15 * len(rows) + below + 1.5, 3.2)


def label_inches(names: Sequence[str]) -> float:
    """Of the longest name."""
    return max(len(name) for name in names) * _CHARACTER


def cell_width(columns: int) -> float:
    """Inches: wide enough to write in where there are few."""
    return _WIDE if columns <= MOST_WRITTEN else _NARROW


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
    label_slots(ax, "x", list(range(c)), columns)
    if c <= MOST_WRITTEN:
        _write(ax, mesh, values, style)
    return mesh, bar


def _write(ax: Axes, mesh: QuadMesh, values: Floats, style: CellStyle) -> None:
    for i, j in zip(*np.nonzero(values), strict=True):
        colour = mesh.cmap(style.norm(values[i, j]))
        text = minus(format(values[i, j], style.form))
        ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=ink_on(colour), clip_on=True)
