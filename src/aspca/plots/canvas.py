"""Where a plot is drawn: figures that grow with their content, panels inside given axes, labels that do not collide."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.plots.labels import minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.gridspec import GridSpecFromSubplotSpec

# Inches for one line of small text.
LINE = 0.16
SMALL = 8.0
_TINIEST = 4.0
# Points of a headline and of the line under it.
_SIZES = (11.0, 9.0)
# No figure grows beyond this in either direction: at 100 dots per inch, most viewers still open it.
_LARGEST = 80.0
# Width of a typical character over its height, in the default font.
_CHARACTER = 0.56


def pyplot() -> Any:
    """matplotlib.pyplot, imported only when something is drawn."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError("Plots need matplotlib, which is not installed: pip install aspca[plot]") from None
    return plt


def own_or_given(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes given, or those of a new figure of about this size in inches."""
    plt = pyplot()
    if ax is not None:
        return ax
    _, own = plt.subplots(figsize=(min(width, _LARGEST), min(height, _LARGEST)), layout="constrained")
    return own  # type: ignore[no-any-return]  # pyplot is imported late, so it is Any


def panels(
    ax: Axes, title: tuple[str, str], heights: Sequence[float], widths: Sequence[float]
) -> GridSpecFromSubplotSpec:
    """A grid of panels, with a title over all of them, in the place of some axes, which stay, invisible.

    Parameters
    ----------
    title : a headline, and particulars or nothing
    heights : inches of the rows, without what is written below them
    widths : relative, of the columns
    """
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError(
            "This plot has several panels, which need axes that are part of a grid; make them with plt.subplots(), or "
            "leave ax out."
        )
    ax.set_axis_off()
    figure = root_of(ax)
    lines = _title_lines(title, figure.get_size_inches()[0] * ax.get_position().width)
    # Titles of the axes themselves would be written over the panels.
    above = sum(size * 1.3 * len(found) for size, found in zip(_SIZES, lines, strict=True)) / 72.0
    room = figure.get_size_inches()[1] * ax.get_position().height
    outer = spec.subgridspec(2, 1, height_ratios=(above, max(room - above, above)), hspace=0.0)
    top = figure.add_subplot(outer[0])
    top.set_axis_off()
    _write(top, lines[0], 0.0, va="top", fontsize=_SIZES[0], fontweight="bold")
    _write(top, lines[1], -4.0 - len(lines[0]) * _SIZES[0] * 1.25, va="top", fontsize=_SIZES[1], color="0.3")
    return outer[1].subgridspec(len(heights), len(widths), height_ratios=heights, width_ratios=widths)


def entitle(ax: Axes, headline: str, detail: str = "", left: float = 0.0) -> None:
    """A bold line that says what is seen and a plain one with the particulars, wrapped to the room there is.

    `left` inches of the axes' place go to labels on their left.
    """
    inches = root_of(ax).get_size_inches()[0] * min(1.0, ax.get_position().width + 0.1) - left
    lines = _title_lines((headline, detail), inches)
    pad = 6.0 + len(lines[1]) * _SIZES[1] * 1.4
    ax.set_title("\n".join(lines[0]), loc="left", fontsize=_SIZES[0], fontweight="bold", pad=pad)
    _write(ax, lines[1], 4.0, va="bottom", fontsize=_SIZES[1], color="0.3")


def _title_lines(title: tuple[str, str], inches: float) -> list[list[str]]:
    # Bold letters are wider.
    widths = [max(22, int(inches * 72.0 / (size * wide))) for size, wide in zip(_SIZES, (0.64, 0.55), strict=True)]
    return [textwrap.wrap(text, width) for text, width in zip(title, widths, strict=True)]


def _write(ax: Axes, lines: list[str], height: float, **font: Any) -> None:
    """Lines at so many points above the upper left corner of the axes, without a part in the layout."""
    ax.annotate(
        "\n".join(lines),
        (0.0, 1.0),
        (0.0, height),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="left",
        annotation_clip=False,
        in_layout=False,
        **font,
    )


def room_for_labels(ax: Axes | None, most: int, part: float) -> int:
    """Characters that labels may have: `most`, or as many as fit in this part of the width of given axes."""
    if ax is None:
        return most
    inches = root_of(ax).get_size_inches()[0] * ax.get_position().width * part
    return int(np.clip(inches * 72.0 / (SMALL * _CHARACTER), 12, most))


def legend_below(ax: Axes, points: float, columns: int = 1, **options: Any) -> None:
    """A legend so many points below the axes, however tall they are: under the labels of the axis."""
    from matplotlib.transforms import ScaledTranslation

    shift = ScaledTranslation(0.0, -points / 72.0, root_of(ax).dpi_scale_trans)
    inches = root_of(ax).get_size_inches()[0] * ax.get_position().width
    ax.legend(
        loc="upper left",
        ncols=columns if inches > 6.0 else 1,
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=ax.transAxes + shift,
        frameon=False,
        fontsize=9,
        borderaxespad=0.0,
        **options,
    )


def root_of(ax: Axes) -> Figure:
    """The figure that the axes are part of, however deep."""
    figure: Figure | SubFigure | None = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("These axes have been removed from their figure; make new ones with plt.subplots().")
    return figure  # type: ignore[return-value]  # root=True never gives a SubFigure


def label_slots(ax: Axes, which: str, positions: Sequence[float], labels: Sequence[str], lines: int = 1) -> None:
    """Tick labels that do not touch: smaller where the slots are narrow, and only some where they are narrower still.

    Parameters
    ----------
    which : {"x", "y"}
        Labels of x are turned upright where they are long.
    positions : ascending, at least one apart
    lines : int
        Of the tallest label.
    """
    box = ax.get_window_extent()
    figure = root_of(ax)
    low, high = sorted(ax.get_xlim() if which == "x" else ax.get_ylim())
    points = (box.width if which == "x" else box.height) * 72.0 / figure.dpi
    slot = points / max(high - low, 1e-9)
    longest = max((len(line) for label in labels for line in label.split("\n")), default=1)
    upright = which == "x" and longest * SMALL * _CHARACTER > 0.9 * slot
    thickness = 1.25 * lines if which == "y" or upright else _CHARACTER * longest * 1.1
    gap = float(np.diff(positions).min()) if len(positions) > 1 else 1.0
    size = float(np.clip(slot * gap / thickness, _TINIEST, SMALL))
    step = max(1, math.ceil(thickness * size / (slot * gap) - 1e-9))
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_ticks(list(positions)[::step], list(labels)[::step], fontsize=size, rotation=90 if upright else 0)
    axis.set_tick_params(length=0)


def log_scale(ax: Axes, which: str, linear: float = 0.0) -> None:
    """A logarithmic axis whose labels do not touch; `linear` above zero: linear up to it, on both sides of zero."""
    from aspca.plots.ticks import log_ticks

    scale = ax.set_xscale if which == "x" else ax.set_yscale
    if linear > 0.0:
        scale("symlog", linthresh=linear)
    else:
        scale("log")
    log_ticks(ax, which)


def bare(ax: Axes, keep: Sequence[str] = ()) -> None:
    """Without the lines around it, but for those kept."""
    for name, spine in ax.spines.items():
        spine.set_visible(name in keep)


def percent_axis(ax: Axes, which: str) -> None:
    """Shares from 0 to 1 written as percentages."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_formatter(lambda value, _: minus(f"{100 * value:.3g} %"))
