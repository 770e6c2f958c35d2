"""Figures 6, 9 and 10: decision trees that imitate ASPCA-BG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aspca.reproduction.results import Figure
from aspca.reproduction.study import Study
from aspca.reproduction.surrogate import MOST_LEAVES, Node, surrogate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_NUMBER = {"synthetic": 6, "breast-cancer": 9, "kdd99": 10}
_SAYS = {
    "synthetic": "The text: only the anomalies with a large value of F are easy for the tree.",
    "breast-cancer": "The text: it splits on concavity_mean, which is orthogonal to ASPCA-BG's abnormal subspace.",
    "kdd99": "The text: low same_srv_rate, where it stops with several types of attacks; high protocol_type (ICMP) for "
    "ipsweep and smurf; low dst_host_srv_count with high hot for warezclient and guess_passwd.",
}
# Inches for a leaf and for a level.
_LEAF, _LEVEL = 1.62, 1.05
Place = tuple[Node, float, int, tuple[float, int] | None]


def tree(study: Study) -> Figure:
    root = surrogate(study)
    number = _NUMBER[study.name]
    return Figure(
        f"figure-{number}-tree-{study.name}",
        f"Figure {number}",
        "Decision tree that imitates ASPCA-BG",
        f"{_SAYS[study.name]} Ours, cut at {MOST_LEAVES} leaves where the paper trimmed by hand, splits on "
        f"{', '.join(root.features)}. In each node: flagged anomalies, false alarms, rows not flagged.",
        lambda: _draw(root),
    )


def _placed(node: Node, depth: int, first: float) -> tuple[float, list[Place], float]:
    """Where the node stands, all places below it, and where the next leaf goes."""
    if node.left is None or node.right is None:
        return first, [(node, first, depth, None)], first + 1.0
    left, below, after = _placed(node.left, depth + 1, first)
    right, more, after = _placed(node.right, depth + 1, after)
    x = (left + right) / 2.0
    children = [
        (one, place, level, (x, depth) if level == depth + 1 and one in (node.left, node.right) else above)
        for one, place, level, above in (*below, *more)
    ]
    return x, [(node, x, depth, None), *children], after


def _draw(root: Node) -> Canvas:
    from aspca.reproduction.figures.sheet import sheet

    _, places, leaves = _placed(root, 0, 0.0)
    depth = max(level for _, _, level, _ in places)
    figure, axes = sheet(max(_LEAF * leaves + 0.4, 5.0), _LEVEL * (depth + 1) + 0.5)
    ax = axes[0, 0]
    ax.set_axis_off()
    ax.set(xlim=(-0.55, leaves - 0.45), ylim=(-depth - 0.5, 0.5))
    for node, x, level, above in places:
        if above is not None:
            _edge(ax, above, (x, level))
        _box(ax, node, x, -level)
    _key(figure)
    return figure


def _edge(ax: Any, above: tuple[float, int], here: tuple[float, int]) -> None:
    (x0, level0), (x1, level1) = above, here
    ax.plot((x0, x1), (-level0, -level1), color="0.7", lw=1.0, zorder=0)
    ax.text(
        (x0 + x1) / 2,
        -(level0 + level1) / 2,
        "yes" if x1 < x0 else "no",
        fontsize=8,
        ha="center",
        va="center",
        bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"},
    )


def _box(ax: Any, node: Node, x: float, y: float) -> None:
    from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea, VPacker

    counts = HPacker(
        children=[
            TextArea(f"{count:,}", textprops={"color": colour, "fontsize": 8, "fontweight": "bold"})
            for count, colour in zip((node.found, node.false_alarms, node.passed), _colours(), strict=True)
        ],
        pad=0,
        sep=6,
    )
    lines = [TextArea(text, textprops={"fontsize": size, "multialignment": "center"}) for text, size in _words(node)]
    box = VPacker(
        children=[*lines[:1], counts, *lines[1:]] if node.feature else [counts, *lines], align="center", pad=0, sep=2
    )
    style = {"boxstyle": "round,pad=0.3", "fc": "white" if node.feature else "0.96", "ec": "0.6"}
    ax.add_artist(AnnotationBbox(box, (x, y), bboxprops=style, pad=0.3))


def _words(node: Node) -> Iterator[tuple[str, float]]:
    if node.feature:
        yield f"{node.feature}\n≤ {node.threshold:.3g}?", 7.5
        return
    for kind, count in node.kinds:
        yield f"{count:,} of {kind}", 6.5


def _colours() -> tuple[str, str, str]:
    from aspca.plots.canvas import GREEN, ORANGE, VERMILLION

    return VERMILLION, ORANGE, GREEN


def _key(figure: Canvas) -> None:
    from matplotlib.lines import Line2D

    names = ("flagged anomalies", "false alarms", "not flagged")
    marks = [Line2D([], [], marker="s", ls="", color=colour) for colour in _colours()]
    figure.legend(marks, names, loc="outside upper left", ncols=3, frameon=False, fontsize=8, handletextpad=0.2)
