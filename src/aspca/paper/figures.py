"""The paper's figures: what each shows, computed; `drawing` draws it when somebody asks."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.metrics import roc_curve

from aspca.linalg.arrays import Floats
from aspca.paper import drawing
from aspca.paper.claims import fit_jspca, split_malignant_records
from aspca.paper.published import get_rows
from aspca.paper.results import Figure
from aspca.paper.study import METHODS, MOST_LEAVES, NONZERO, PLAIN, Study
from aspca.paper.tables import ROTATED

# F and FG have one subspace, so one curve; so have B and BG.
_SUBSPACES = {PLAIN: PLAIN, "ASPCA-F(G)": "ASPCA-F", "ASPCA-B(G)": "ASPCA-B"}
_TREES = {
    "synthetic": (6, "The text: only the anomalies with a large value of F are easy for the tree."),
    "breast-cancer": (
        9,
        "The text: it splits on concavity_mean, which is orthogonal to ASPCA-BG's abnormal subspace.",
    ),
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
        partial(drawing.draw_rows, first, study.names),
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
    draw = partial(drawing.draw_loadings, panels, study.names, abnormal, "loading")
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
        partial(drawing.draw_loadings, {"JSPCA": found}, study.names, found.shape[1], "loading over the largest"),
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
        partial(drawing.draw_aucs, curves, chosen),
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
        partial(drawing.draw_penalties, curves),
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
        partial(drawing.draw_roc, curves, areas, study.anomalous.size - n_anomalous, n_anomalous),
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
        partial(drawing.draw_projections, study.projections, rows, study.matched.labels, 0),
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
        partial(drawing.draw_projections, study.projections[order], rows, study.matched.labels, len(first)),
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
        partial(drawing.draw_tree, study.tree),
    )
