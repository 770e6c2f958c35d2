"""Drawings of the paper's figures with matplotlib, which is imported when something is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.paper.study import NONZERO, Node
from aspca.plots import RocDisplay
from aspca.plots.canvas import BLUE, CYCLE, DASHES, GREEN, ORANGE, VERMILLION, bare, diverging, label_slots
from aspca.plots.heatmap import draw_cells

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

# By lambda, measures by their names.
Curve = Mapping[float, Mapping[str, float]]
_TREE_COLOURS = {"flagged anomalies": VERMILLION, "false alarms": ORANGE, "not flagged": GREEN}


def make_sheet(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure of so many inches outside of pyplot's list of open ones, and its axes (rows, columns) as an array."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def draw_rows(rows: Floats, names: Sequence[str]) -> Figure:
    """A panel for each feature."""
    figure, axes = make_sheet(7.5, 5.6, len(names), sharex=True, sharey=True)
    for ax, name, column in zip(axes[:, 0], names, rows.T, strict=True):
        ax.plot(column, color=BLUE, lw=1.0)
        ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
        ax.axhline(0.0, color="0.8", lw=0.6, zorder=0)
        ax.tick_params(labelsize=7)
        bare(ax, ("left",))
    axes[-1, 0].set_xlabel("record", fontsize=9)
    return figure


def draw_loadings(panels: Mapping[str, Floats], names: Sequence[str], abnormal: int, what: str) -> Figure:
    """Matrices, features by components, the abnormal ones at the right."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    # Inches for a panel of few or of many components, for long names, and for a feature.
    panel = 2.6 if len(names) <= 10 else 3.3
    width = panel * len(panels) + (2.2 if max(map(len, names)) > 3 else 0.4) + 0.8
    height = max(0.17 * len(names), 1.6) + 1.1
    figure, axes = make_sheet(width, height, 1, len(panels), sharey=True)
    for ax, (title, matrix) in zip(axes[0], panels.items(), strict=True):
        p, k = matrix.shape
        ax.pcolormesh(
            np.arange(k + 1) - 0.5,
            np.arange(p + 1) - 0.5,
            np.ma.masked_inside(matrix, -NONZERO, NONZERO),
            cmap=diverging(),
            norm=Normalize(-1.0, 1.0),
        )
        ax.set(xlim=(-0.5, k - 0.5), ylim=(p - 0.5, -0.5))
        if abnormal < k:
            ax.axvline(k - abnormal - 0.5, color="black", lw=1.0, ls="--")
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("component", fontsize=9)
        step = 1 if k <= 12 else 5
        ax.set_xticks(range(0, k, step), [str(i + 1) for i in range(0, k, step)], fontsize=7)
        ax.tick_params(length=2)
    label_slots(axes[0, 0], "y", list(range(len(names))), names)
    mesh = ScalarMappable(Normalize(-1.0, 1.0), diverging())
    bar = figure.colorbar(mesh, ax=axes, fraction=0.03, pad=0.01, aspect=30)
    bar.set_label(f"{what}; white: at most {NONZERO}", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure


def draw_aucs(curves: Mapping[str, Floats], chosen: int) -> Figure:
    """AUC with 1, 2, ..., p - 1 abnormal components over the number of normal ones."""
    figure, axes = make_sheet(7.0, 4.0)
    ax = axes[0, 0]
    for k, (name, values) in enumerate(curves.items()):
        # With d abnormal components there are p - d normal ones.
        normal = np.arange(values.size, 0, -1)
        ax.plot(normal, values, DASHES[k], color=CYCLE[k], lw=1.6, marker="o", ms=3, label=name)
    ax.axvline(chosen, color="0.5", lw=0.9, ls=":", label=f"the paper's choice: {chosen}")
    ax.set_xlabel("normal components", fontsize=9)
    ax.set_ylabel("AUC", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.legend(frameon=False, fontsize=8)
    bare(ax, ("left", "bottom"))
    return figure


def draw_penalties(curves: Mapping[str, tuple[Curve, Curve]]) -> Figure:
    """The paper's as circles, ours as lines."""
    figure, axes = make_sheet(10.5, 3.6, 1, 3)
    for ax, what in zip(axes[0], ("L1", "variance", "AUC"), strict=True):
        for colour, (method, (paper, ours)) in zip(CYCLE, curves.items(), strict=False):
            places = range(len(paper))
            printed, found = ([row[what] for row in curve.values()] for curve in (paper, ours))
            ax.plot(places, printed, "o", ms=8, mfc="none", mec=colour, label=f"{method}, paper")
            ax.plot(places, found, "-", color=colour, lw=1.6, marker=".", label=f"{method}, ours")
            ax.set_xticks(places, [f"{lam:g}" for lam in paper], fontsize=8)
        ax.set_title(what, fontsize=10)
        ax.set_xlabel("lambda", fontsize=9)
        ax.tick_params(labelsize=8)
        bare(ax, ("left", "bottom"))
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8
    )
    return figure


def draw_roc(
    curves: Sequence[tuple[Floats, Floats]], areas: Mapping[str, float], n_normal: int, n_anomalous: int
) -> Figure:
    """Curves of false and true positive rates, by methods with their areas."""
    figure, axes = make_sheet(6.2, 6.6)
    false, true = ([curve[k] for curve in curves] for k in (0, 1))
    names, thresholds = list(areas), [None] * len(areas)
    RocDisplay(false, true, list(areas.values()), names, thresholds, n_normal, n_anomalous).plot(axes[0, 0])
    return figure


def draw_projections(values: Floats, rows: Sequence[str], labels: Sequence[str], line: int) -> Figure:
    """Rows by components, with a line below the first so many rows."""
    from matplotlib.colors import Normalize

    figure, axes = make_sheet(2.4 + 0.62 * len(labels), 1.0 + 0.24 * len(rows))
    largest = float(np.abs(values).max())
    columns, norm = [f"PC {label}" for label in labels], Normalize(-largest, largest)

    def write(value: float) -> str:
        return f"{round(value, 2) + 0.0:.2f}"

    draw_cells(axes[0, 0], values, rows, columns, diverging(), norm, "projection", write)
    if line:
        axes[0, 0].axhline(line - 0.5, color="black", lw=1.4)
    return figure


def draw_tree(root: Node) -> Figure:
    """Boxes from the root down, each with its counts, and its split or its most frequent kinds of anomalies."""
    from matplotlib.lines import Line2D

    places = _place(root, 0, count())
    depth = max(level for _, _, level in places)
    leaves = sum(not node.children for node, _, _ in places)
    figure, axes = make_sheet(max(1.62 * leaves + 0.4, 5.0), 1.05 * (depth + 1) + 0.5)
    ax = axes[0, 0]
    ax.set_axis_off()
    ax.set(xlim=(-0.55, leaves - 0.45), ylim=(-depth - 0.5, 0.5))
    # Parents come before their children: the last node of the level above is the parent.
    latest: dict[int, float] = {}
    for node, x, level in places:
        latest[level] = x
        if level:
            _draw_edge(ax, latest[level - 1], x, level)
        _draw_box(ax, node, x, -level)
    marks = [Line2D([], [], marker="s", ls="", color=colour) for colour in _TREE_COLOURS.values()]
    names = list(_TREE_COLOURS)
    figure.legend(marks, names, loc="outside upper left", ncols=3, frameon=False, fontsize=8, handletextpad=0.2)
    return figure


def _place(node: Node, level: int, leaves: Iterator[int]) -> list[tuple[Node, float, int]]:
    """The node and all below, each with its place from the left and its level: a parent in the middle of its two."""
    below = [_place(child, level + 1, leaves) for child in node.children]
    x = sum(part[0][1] for part in below) / 2.0 if below else float(next(leaves))
    return [(node, x, level), *chain.from_iterable(below)]


def _draw_edge(ax: Any, above: float, x: float, level: int) -> None:
    ax.plot((above, x), (1 - level, -level), color="0.7", lw=1.0, zorder=0)
    ax.text(
        (above + x) / 2,
        -(2 * level - 1) / 2,
        "yes" if x < above else "no",
        fontsize=8,
        ha="center",
        va="center",
        bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"},
    )


def _draw_box(ax: Any, node: Node, x: float, y: float) -> None:
    from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea, VPacker

    def make_text(text: str, size: float) -> TextArea:
        return TextArea(text, textprops={"fontsize": size, "multialignment": "center"})

    numbers = zip((node.found, node.false_alarms, node.passed), _TREE_COLOURS.values(), strict=True)
    styles = [(f"{number:,}", {"color": c, "fontsize": 8, "fontweight": "bold"}) for number, c in numbers]
    counts = HPacker(children=[TextArea(text, textprops=style) for text, style in styles], pad=0, sep=6)
    lines: list[Artist]
    if node.feature:
        lines = [make_text(f"{node.feature}\n≤ {node.threshold:.3g}?", 7.5), counts]
    else:
        lines = [counts, *(make_text(f"{number:,} of {kind}", 6.5) for kind, number in node.kinds)]
    box = VPacker(children=lines, align="center", pad=0, sep=2)
    style = {"boxstyle": "round,pad=0.3", "fc": "white" if node.feature else "0.96", "ec": "0.6"}
    ax.add_artist(AnnotationBbox(box, (x, y), bboxprops=style, pad=0.3))
