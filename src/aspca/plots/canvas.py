"""Where a plot is drawn: figures that grow with their content, panels inside given axes, labels that do not collide,
and colours that the colour-blind tell apart, too, and that differ in lightness, for paper.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.estimators.aspca import ASPCA
from aspca.estimators.pipelines import explain
from aspca.findings.explanation import Explanation
from aspca.linalg.arrays import Bools, Floats
from aspca.plots.labels import use_minus_sign, write_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

# Okabe and Ito (2008): Color Universal Design.
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, _, BLACK = CYCLE
# With the colours of the cycle these make lines that are told apart by shape as well.
DASHES = ("-", "--", "-.", ":")
# The last is what lies outside the rules, of a score.
ANOMALY, NORMAL, OUTSIDE = VERMILLION, "0.55", PURPLE
# Inches for one line of small text, the points of that text, and the width of a typical character over its height.
LINE, SMALL, CHARACTER = 0.16, 8.0, 0.56
# Points of a headline and of the line under it.
_SIZES = (11.0, 9.0)


class Display:
    """What was drawn: `ax_` and `figure_`, and in displays of several panels `axes_`, in the place of `ax_`."""

    ax_: Axes
    figure_: Figure

    def _open(self, ax: Axes | None, width: float, height: float) -> Axes:
        """The axes given, or those of a new figure of about this size in inches.

        matplotlib is imported only here, when something is drawn.
        """
        try:
            import matplotlib.pyplot as plt
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "matplotlib":
                raise
            raise ModuleNotFoundError(
                "Plots need matplotlib, which is not installed: pip install aspca[plot]"
            ) from None
        if ax is None:
            # At 100 dots per inch, most viewers still open a figure of 80 inches.
            _, ax = plt.subplots(figsize=(min(width, 80.0), min(height, 80.0)), layout="constrained")
        self.ax_, self.figure_ = ax, find_figure(ax)
        return ax


def get_diverging() -> ListedColormap:
    """Orange to purple (ColorBrewer's PuOr) without its white middle: whatever is not zero has a colour."""
    half = np.linspace(0.0, 0.43, 128)
    return _take_colours("PuOr", np.concatenate([half, 1.0 - half[::-1]]))


def get_sequential() -> ListedColormap:
    """Light to dark blue, which everyone sees alike, without its whitest part: empty cells are white."""
    return _take_colours("Blues", np.linspace(0.14, 1.0, 256))


def _take_colours(name: str, places: Floats) -> ListedColormap:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[name](places))


def find_figure(ax: Axes) -> Figure:
    """The figure that the axes are part of, however deep."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("These axes have been removed from their figure; make new ones with plt.subplots().")
    return figure


def _measure_width(ax: Axes) -> float:
    """Inches."""
    return float(find_figure(ax).get_size_inches()[0] * ax.get_position().width)


# ---- panels and titles


def add_panels(ax: Axes, title: tuple[str, str], heights: Sequence[float], widths: Sequence[float]) -> Any:
    """A grid of panels, with a title over all of them, in the place of some axes, which stay, invisible.

    The title is a headline, and particulars or nothing; heights of rows are in inches, without what is written below
    them, widths of columns relative.
    """
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError(
            "This plot has several panels, which need axes that are part of a grid; make them with plt.subplots(), or "
            "leave ax out."
        )
    ax.set_axis_off()
    figure = find_figure(ax)
    lines = _wrap_title(title, _measure_width(ax))
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
    inches = find_figure(ax).get_size_inches()[0] * min(1.0, ax.get_position().width + 0.1) - left
    lines = _wrap_title((headline, detail), inches)
    pad = 6.0 + len(lines[1]) * _SIZES[1] * 1.4
    ax.set_title("\n".join(lines[0]), loc="left", fontsize=_SIZES[0], fontweight="bold", pad=pad)
    _write(ax, lines[1], 4.0, va="bottom", fontsize=_SIZES[1], color="0.3")


def _wrap_title(title: tuple[str, str], inches: float) -> list[list[str]]:
    # Bold letters are wider.
    widths = [max(22, int(inches * 72.0 / (size * wide))) for size, wide in zip(_SIZES, (0.64, 0.55), strict=True)]
    return [textwrap.wrap(text, width) for text, width in zip(title, widths, strict=True)]


def _write(ax: Axes, lines: list[str], height: float, **font: Any) -> None:
    """Lines at so many points above the upper left corner of the axes, without a part in the layout."""
    style: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "left", **font}
    ax.annotate("\n".join(lines), (0.0, 1.0), (0.0, height), annotation_clip=False, in_layout=False, **style)


def add_legend_below(ax: Axes, columns: int = 1, **options: Any) -> None:
    """A legend below the axes, however tall they are: under the labels of the axis."""
    from matplotlib.transforms import ScaledTranslation

    shift = ScaledTranslation(0.0, -38.0 / 72.0, find_figure(ax).dpi_scale_trans)
    ax.legend(
        loc="upper left",
        ncols=columns if _measure_width(ax) > 6.0 else 1,
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=ax.transAxes + shift,
        frameon=False,
        fontsize=9,
        borderaxespad=0.0,
        **options,
    )


# ---- axes and their labels


def fit_labels(ax: Axes | None, most: int, part: float) -> int:
    """Characters that labels may have: `most`, or as many as fit in this part of the width of given axes."""
    return most if ax is None else int(np.clip(_measure_width(ax) * part * 72.0 / (SMALL * CHARACTER), 12, most))


def measure_labels(names: Sequence[str]) -> float:
    """Inches of the longest line of a name."""
    return max(len(line) for name in names for line in name.split("\n")) * (SMALL * CHARACTER / 72)


def label_slots(ax: Axes, which: str, positions: Sequence[float], labels: Sequence[str], lines: int = 1) -> None:
    """Tick labels that do not touch: smaller where the slots are narrow, and only some where they are narrower still.

    Long labels of x are turned upright. Positions ascend, at least one apart; the tallest label has so many lines.
    """
    box = ax.get_window_extent()
    low, high = sorted(ax.get_xlim() if which == "x" else ax.get_ylim())
    points = (box.width if which == "x" else box.height) * 72.0 / find_figure(ax).dpi
    slot = points / max(high - low, 1e-9)
    longest = max((len(line) for label in labels for line in label.split("\n")), default=1)
    upright = which == "x" and longest * SMALL * CHARACTER > 0.9 * slot
    thickness = 1.25 * lines if which == "y" or upright else CHARACTER * longest * 1.1
    gap = float(np.diff(positions).min()) if len(positions) > 1 else 1.0
    # Four points are the smallest that anyone reads.
    size = float(np.clip(slot * gap / thickness, 4.0, SMALL))
    step = max(1, math.ceil(thickness * size / (slot * gap) - 1e-9))
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_ticks(list(positions)[::step], list(labels)[::step], fontsize=size, rotation=90 if upright else 0)
    axis.set_tick_params(length=0)


def set_log_scale(ax: Axes, which: str, linear: float = 0.0) -> None:
    """A logarithmic axis whose labels do not touch; `linear` above zero: linear up to it, on both sides of zero."""
    from aspca.plots.ticks import set_log_ticks

    scale = ax.set_xscale if which == "x" else ax.set_yscale
    if linear > 0.0:
        scale("symlog", linthresh=linear)
    else:
        scale("log")
    set_log_ticks(ax, which)


def hide_spines(ax: Axes, keep: Sequence[str] = ("left", "bottom")) -> None:
    """Without the lines around it, but for those kept."""
    for name, spine in ax.spines.items():
        spine.set_visible(name in keep)


def show_percent(ax: Axes, which: str) -> None:
    """Shares from 0 to 1 written as percentages."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_formatter(lambda value, _: use_minus_sign(f"{100 * value:.3g} %"))


def draw_shares(axes: Axes, heights: Any, shares: Any, **style: Any) -> Any:
    """Shares of a score as bars to the right, each with its percentage."""
    bars = axes.barh(heights, shares, **style)
    axes.bar_label(bars, [write_share(value) for value in shares], fontsize=7.5, padding=3)
    show_percent(axes, "x")
    return bars


def finish_panel(axes: Axes, says: str, *, labelled: bool = True) -> None:
    """What the x axis says; without lines but the lower one, and without labels of y where a panel beside has them."""
    axes.set_xlabel(says, fontsize=8.5)
    axes.tick_params(axis="x", labelsize=8)
    if not labelled:
        axes.tick_params(axis="y", labelleft=False, length=0)
    hide_spines(axes, ("bottom",))


def explanation_of(source: Any, X: Any, plot: str) -> Explanation:
    """The explanation given, or that of rows X (n, p) by the model given."""
    if isinstance(source, Explanation):
        if X is not None:
            raise ValueError(f"{plot} got an explanation and rows; an explanation has its own rows, so leave X out.")
        return source
    if not isinstance(find_detector(source), ASPCA):
        raise TypeError(f"{plot} takes a fitted ASPCA and rows, or an aspca.Explanation, got {type(source).__name__}.")
    if X is None:
        raise ValueError(f"{plot} got a model without rows to explain; pass them as X, or pass model.explain(X).")
    return explain(source, X)


def model_of(source: Any, plot: str) -> Any:
    """The model of a fitted ASPCA."""
    if not isinstance(source, ASPCA):
        raise TypeError(f"{plot} takes a fitted ASPCA, got {type(source).__name__}.")
    return source.model_


def find_detector(estimator: Any) -> Any:
    """The detector itself, where it is the end of a scikit-learn pipeline."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def judge_rows(estimator: Any, X: Any) -> tuple[float | None, Bools | None]:
    """A fitted detector's threshold of the score, and which rows X (n, p) it calls anomalies; None while unknown."""
    detector = find_detector(estimator)
    offset = getattr(detector, "offset_", None)
    threshold = -float(offset) if offset is not None and np.isfinite(offset) else None
    if not hasattr(estimator, "predict"):
        return threshold, None
    if isinstance(detector, ASPCA):
        model = detector.model_
        # Where a limit that decides waits for rows, there is no verdict on any row, such as the mean.
        if model.judge(model.space.mean[None, :]).anomalies is None:
            return threshold, None
    return threshold, np.asarray(np.asarray(estimator.predict(X)) == -1)


def check_count(value: int, name: str) -> int:
    """A number of things to show: at least one."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
        raise ValueError(f"{name} must be a whole number, at least 1, got {value!r}.")
    return int(value)
