"""The paper's figures: what each shows, computed; and their drawings, made with matplotlib when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_curve

from aspca.linalg.arrays import Floats
from aspca.paper.claims import fit_jspca, split_malignant_records
from aspca.paper.published import Figure, get_rows
from aspca.paper.study import METHODS, MOST_LEAVES, NONZERO, PLAIN, Node, Study
from aspca.paper.tables import ROTATED
from aspca.plots import RocDisplay
from aspca.plots.canvas import (
    BLUE,
    CYCLE,
    DASHES,
    GREEN,
    ORANGE,
    VERMILLION,
    get_diverging,
    hide_spines,
    label_slots,
)
from aspca.plots.heatmap import draw_cells

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure as Canvas

# By lambda, measures by their names.
Curve = Mapping[float, Mapping[str, float]]
_TREE_COLOURS = {"flagged anomalies": VERMILLION, "false alarms": ORANGE, "not flagged": GREEN}
# F and FG have one subspace, so one curve; so have B and BG.
_SUBSPACES = {PLAIN: PLAIN, "ASPCA-F(G)": "ASPCA-F", "ASPCA-B(G)": "ASPCA-B"}
_TREES = {
    "synthetic": (6, "The text: only the anomalies with a large value of F are easy for the tree."),
    "breast-cancer": (9, "The text: it splits on concavity_mean, which is orthogonal to ASPCA-BG's abnormal subspace."),
    "kdd99": (
        10,
        "The text: low same_srv_rate, where it stops with several types of attacks; high protocol_type (ICMP) for "
        "ipsweep and smurf; low dst_host_srv_count with high hot for warezclient and guess_passwd.",
    ),
}


def show_synthetic_rows(study: Study) -> Figure:
    """Figure 1 (a)."""
    first = study.data.data[~study.anomalous][:100]
    return Figure(
        "figure-1a-synthetic-rows",
        "Figure 1 (a)",
        f"The first {len(first)} normal records of the synthetic data",
        "The text: A ≈ B, D ≈ C + A, F ≈ 0, G ≈ 0. A and B run alike, F and G stay at zero, E is free.",
        partial(draw_rows, first, study.names),
    )


def show_loading_matrices(study: Study) -> Figure:
    """Figures 1 (b), 1 (c) and 4: of all five methods, with all p columns."""
    panels = {method: study.build_basis(method) for method in METHODS}
    abnormal = study.n_components
    if study.name == "synthetic":
        key, source = "figure-1bc", "Figure 1 (b), (c)"
        says = "The text: the last four directions of PCA can detect but are hard to read; those of ASPCA are sparse."
    else:
        key, source = "figure-4", "Figure 4"
        forward, backward = ((np.abs(panels[m]) > NONZERO).sum(axis=0) for m in ("ASPCA-F", "ASPCA-B"))
        says = (
            "The text: ASPCA-F leaves some dense vectors towards the end, where the abnormal ones are; ASPCA-B leaves "
            f"them at the beginning. Ours: the densest of the last {abnormal} of F has {max(forward[-abnormal:])} "
            f"features, of B {max(backward[-abnormal:])}; the densest of the others {max(forward[:-abnormal])} and "
            f"{max(backward[:-abnormal])}."
        )
    title = f"Loading matrices of {', '.join(METHODS)}"
    draw = partial(draw_loadings, panels, study.names, abnormal, "loading")
    return Figure(f"{key}-loadings-{study.name}", source, title, says, draw)


def show_jspca_matrix(study: Study) -> Figure:
    """Figures 2 and 8: of joint sparse PCA, whose rows are zero as a whole."""
    found = fit_jspca(study)
    weights = np.linalg.norm(found, axis=1)
    heaviest = [study.names[j] for j in np.argsort(-weights, kind="stable")[:6] if weights[j]]
    number = 2 if study.name == "synthetic" else 8
    return Figure(
        f"figure-{number}-jspca-{study.name}",
        f"Figure {number}",
        "Loading matrix of the abnormal components by joint sparse PCA",
        f"The text: one set of features for all anomalies, {', '.join(get_rows('jspca', study.name)['all'])}. "
        f"Our heaviest: {', '.join(heaviest)}.",
        partial(draw_loadings, {"JSPCA": found}, study.names, found.shape[1], "loading over the largest"),
    )


def show_number_of_components(study: Study) -> Figure:
    """Figure 11."""
    curves = {name: study.compute_aucs_by_number(method) for name, method in _SUBSPACES.items()}
    p = len(study.names)
    chosen, best = p - study.n_components, p - 1 - int(curves[PLAIN].argmax())
    return Figure(
        f"figure-11-number-{study.name}",
        "Figure 11",
        "AUC over the number of normal components",
        f"The text: {chosen} normal components, where PCA's AUC is highest. Ours is highest at {best}.",
        partial(draw_aucs, curves, chosen),
    )


def show_penalties(study: Study) -> Figure:
    """Table 9 as a picture."""
    curves = {}
    for method in ROTATED:
        printed = get_rows("penalties", study.name, method)
        paper = {float(lam): {what: float(value) for what, value in row.items()} for lam, row in printed.items()}
        curves[method] = paper, {lam: study.fit(method, lam).measures for lam in paper}
    return Figure(
        f"table-9-lambda-{study.name}",
        "Table 9, drawn",
        "Sparsity, variance and AUC over lambda",
        "The text: the models are not very sensitive to lambda in terms of AUC.",
        partial(draw_penalties, curves),
    )


def show_roc_curves(study: Study) -> Figure:
    """Figure 3."""
    scores = {name: study.fit(method).scores for name, method in _SUBSPACES.items()}
    scores["aspca detect, defaults"] = study.product[1].scores
    areas = {name: study.compute_auc(values) for name, values in scores.items()}
    words = ", ".join(f"{name} {area:.3f}" for name, area in areas.items())
    curves = [_thin_out(*roc_curve(study.data.labels, values)[:2]) for values in scores.values()]
    n_anomalous = int(study.anomalous.sum())
    return Figure(
        f"figure-3-roc-{study.name}",
        "Figure 3" if study.name != "synthetic" else "Section 4.3.1",
        "ROC curves",
        f"The text: F(G) and B(G) perform similarly to PCA or better; on the synthetic data all are perfect. {words}.",
        partial(draw_roc, curves, areas, study.anomalous.size - n_anomalous, n_anomalous),
    )


def _thin_out(false: Floats, true: Floats) -> tuple[Floats, Floats]:
    """A curve without steps that are too small to be seen: a thousandth."""
    cells = np.column_stack([np.round(false / (1 / 1000)), np.round(true / (1 / 1000))])
    moved = np.any(np.diff(cells, axis=0) != 0, axis=1)
    # A corner is kept on both of its sides.
    keep = np.r_[True, moved] | np.r_[moved, True]
    return false[keep], true[keep]


def show_synthetic_projections(study: Study) -> Figure:
    """Figure 5."""
    kinds = np.array(study.data.kinds)[study.anomalous]
    rows = [f"{k + 1}: breaks {kind}" for k, kind in enumerate(kinds)]
    return Figure(
        "figure-5-projections-synthetic",
        "Figure 5",
        "Projections of the 15 anomalies on the abnormal components",
        "The text: anomalies that break a rule have large projections on its component, here D = C + A on PC 1, A = B "
        "on PC 2, F = 0 on PC 3.",
        partial(draw_projections, study.projections, rows, study.matched.labels, 0),
    )


def show_malignant_projections(study: Study) -> Figure:
    """Figure 7."""
    first, second = split_malignant_records(study)
    order = [*first, *second]
    rows = [f"record {record + 1}" for record in order]
    return Figure(
        "figure-7-projections-breast-cancer",
        "Figure 7",
        "Projections of the 10 malignant records on the abnormal components",
        "The text: the first four records have large projections on PCs 2, 3 and 4, the others on PC 1 and moderate "
        "ones on PC 6. Both patterns are there; the four of the first are not the first of the file "
        f"({', '.join(str(record + 1) for record in first)}), and stand on top here. Numbers in brackets: components "
        "that the paper does not print.",
        partial(draw_projections, study.projections[order], rows, study.matched.labels, len(first)),
    )


def show_tree(study: Study) -> Figure:
    """Figures 6, 9 and 10."""
    number, text = _TREES[study.name]
    return Figure(
        f"figure-{number}-tree-{study.name}",
        f"Figure {number}",
        "Decision tree that imitates ASPCA-BG",
        f"{text} Ours, cut at {MOST_LEAVES} leaves where the paper trimmed by hand, splits on "
        f"{', '.join(study.tree.features)}. In each node: flagged anomalies, false alarms, rows not flagged.",
        partial(draw_tree, study.tree),
    )


# ---- drawings


def make_sheet(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Canvas, Any]:
    """A figure of so many inches outside of pyplot's list of open ones, and its axes (rows, columns) as an array."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def draw_rows(rows: Floats, names: Sequence[str]) -> Canvas:
    """A panel for each feature."""
    figure, axes = make_sheet(7.5, 5.6, len(names), sharex=True, sharey=True)
    for ax, name, column in zip(axes[:, 0], names, rows.T, strict=True):
        ax.plot(column, color=BLUE, lw=1.0)
        ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
        ax.axhline(0.0, color="0.8", lw=0.6, zorder=0)
        ax.tick_params(labelsize=7)
        hide_spines(ax, ("left",))
    axes[-1, 0].set_xlabel("record", fontsize=9)
    return figure


def draw_loadings(panels: Mapping[str, Floats], names: Sequence[str], abnormal: int, what: str) -> Canvas:
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
            cmap=get_diverging(),
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
    mesh = ScalarMappable(Normalize(-1.0, 1.0), get_diverging())
    bar = figure.colorbar(mesh, ax=axes, fraction=0.03, pad=0.01, aspect=30)
    bar.set_label(f"{what}; white: at most {NONZERO}", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure


def draw_aucs(curves: Mapping[str, Floats], chosen: int) -> Canvas:
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
    hide_spines(ax, ("left", "bottom"))
    return figure


def draw_penalties(curves: Mapping[str, tuple[Curve, Curve]]) -> Canvas:
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
        hide_spines(ax, ("left", "bottom"))
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8
    )
    return figure


def draw_roc(
    curves: Sequence[tuple[Floats, Floats]], areas: Mapping[str, float], n_normal: int, n_anomalous: int
) -> Canvas:
    """Curves of false and true positive rates, by methods with their areas."""
    figure, axes = make_sheet(6.2, 6.6)
    false, true = ([curve[k] for curve in curves] for k in (0, 1))
    names, thresholds = list(areas), [None] * len(areas)
    RocDisplay(false, true, list(areas.values()), names, thresholds, n_normal, n_anomalous).plot(axes[0, 0])
    return figure


def draw_projections(values: Floats, rows: Sequence[str], labels: Sequence[str], line: int) -> Canvas:
    """Rows by components, with a line below the first so many rows."""
    figure, axes = make_sheet(2.4 + 0.62 * len(labels), 1.0 + 0.24 * len(rows))
    largest = float(np.abs(values).max())
    columns = [f"PC {label}" for label in labels]

    def write(value: float) -> str:
        return f"{round(value, 2) + 0.0:.2f}"

    draw_cells(axes[0, 0], values, rows, columns, (-largest, largest), "projection", write)
    if line:
        axes[0, 0].axhline(line - 0.5, color="black", lw=1.4)
    return figure


def draw_tree(root: Node) -> Canvas:
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
