"""Figures 1 (b), 1 (c), 2, 4 and 8: loading matrices, features by components, the abnormal ones at the right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.reproduction.published import rows_of
from aspca.reproduction.results import Figure
from aspca.reproduction.study import METHODS, Study
from aspca.reproduction.tables.jspca import loadings as joint_loadings

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# Inches for a feature, and for a panel of a few or of many components.
_LINE, _FEW, _MANY = 0.17, 2.6, 3.3
_LONG_NAMES = 2.2
# So many features of joint sparse PCA are named.
_HEAVIEST = 6
# As the paper counts what is not zero.
_SEEN = 0.01


def loading_matrices(study: Study) -> Figure:
    """Of all five methods, with all p columns."""
    panels = {method: study.all_columns(method) for method in METHODS}
    synthetic = study.name == "synthetic"
    return Figure(
        f"{'figure-1bc' if synthetic else 'figure-4'}-loadings-{study.name}",
        "Figure 1 (b), (c)" if synthetic else "Figure 4",
        f"Loading matrices of {', '.join(METHODS)}",
        _said(synthetic, panels, study.n_components),
        lambda: _draw(panels, study.names, study.n_components),
    )


def _said(synthetic: bool, panels: Mapping[str, Floats], abnormal: int) -> str:
    if synthetic:
        return "The text: the last four directions of PCA can detect but are hard to read; those of ASPCA are sparse."
    forward, backward = (_entries(panels[method]) for method in ("ASPCA-F", "ASPCA-B"))
    return (
        "The text: ASPCA-F leaves some dense vectors towards the end, where the abnormal ones are; ASPCA-B leaves them "
        f"at the beginning. Ours: the densest of the last {abnormal} of F has {max(forward[-abnormal:])} features, of "
        f"B {max(backward[-abnormal:])}; the densest of the others {max(forward[:-abnormal])} and "
        f"{max(backward[:-abnormal])}."
    )


def _entries(columns: Floats) -> list[int]:
    return [int(count) for count in (np.abs(columns) > _SEEN).sum(axis=0)]


def joint_matrix(study: Study) -> Figure:
    """Of joint sparse PCA: whole rows are zero."""
    found = joint_loadings(study)
    printed = rows_of("jspca", study.name)["all"]
    weights = np.linalg.norm(found, axis=1)
    chosen = [study.names[j] for j in np.argsort(-weights, kind="stable")[:_HEAVIEST] if weights[j]]
    return Figure(
        f"figure-{2 if study.name == 'synthetic' else 8}-jspca-{study.name}",
        "Figure 2" if study.name == "synthetic" else "Figure 8",
        "Loading matrix of the abnormal components by joint sparse PCA",
        f"The text: one set of features for all anomalies, {', '.join(printed)}. Our heaviest: {', '.join(chosen)}.",
        lambda: _draw({"JSPCA": found}, study.names, found.shape[1], "loading over the largest"),
    )


def _draw(panels: Mapping[str, Floats], names: tuple[str, ...], abnormal: int, what: str = "loading") -> Canvas:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    from aspca.plots.canvas import diverging, label_slots
    from aspca.reproduction.figures.sheet import sheet

    few = len(names) <= 10
    long = max(map(len, names)) > 3
    width = (_FEW if few else _MANY) * len(panels) + (_LONG_NAMES if long else 0.4) + 0.8
    height = max(_LINE * len(names), 1.6) + 1.1
    figure, axes = sheet(width, height, 1, len(panels), sharey=True)
    for ax, (title, matrix) in zip(axes[0], panels.items(), strict=True):
        p, k = matrix.shape
        ax.pcolormesh(
            np.arange(k + 1) - 0.5,
            np.arange(p + 1) - 0.5,
            np.ma.masked_inside(matrix, -_SEEN, _SEEN),
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
    bar.set_label(f"{what}; white: at most {_SEEN}", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure
