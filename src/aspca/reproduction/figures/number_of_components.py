"""Figure 11: AUC over the number of normal components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.reproduction.results import Figure
from aspca.reproduction.study import PLAIN, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_CURVES = {PLAIN: PLAIN, "ASPCA-F(G)": "ASPCA-F", "ASPCA-B(G)": "ASPCA-B"}


def number_of_components(study: Study) -> Figure:
    curves = {name: study.aucs_by_number(method) for name, method in _CURVES.items()}
    p = len(study.names)
    best = p - 1 - int(curves[PLAIN].argmax())
    return Figure(
        f"figure-11-number-{study.name}",
        "Figure 11",
        "AUC over the number of normal components",
        f"The text: {p - study.n_components} normal components, where PCA's AUC is highest. Ours is highest at {best}.",
        lambda: _draw(curves, p, p - study.n_components),
    )


def _draw(curves: dict[str, Floats], p: int, chosen: int) -> Canvas:
    from aspca.plots.canvas import CYCLE, DASHES, bare
    from aspca.reproduction.figures.sheet import sheet

    figure, axes = sheet(7.0, 4.0)
    ax = axes[0, 0]
    # With d abnormal components there are p - d normal ones.
    normal = p - np.arange(1, p)
    for k, (name, values) in enumerate(curves.items()):
        ax.plot(normal, values, DASHES[k], color=CYCLE[k], lw=1.6, marker="o", ms=3, label=name)
    ax.axvline(chosen, color="0.5", lw=0.9, ls=":", label=f"the paper's choice: {chosen}")
    ax.set_xlabel("normal components", fontsize=9)
    ax.set_ylabel("AUC", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.legend(frameon=False, fontsize=8)
    bare(ax, ("left", "bottom"))
    return figure
