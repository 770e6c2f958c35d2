"""Figure 3: ROC curves. F and FG have one subspace, so one curve; so have B and BG."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import roc_curve

from aspca.linalg.arrays import Floats
from aspca.reproduction.results import Figure
from aspca.reproduction.study import PLAIN, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# Steps smaller than this cannot be seen.
_STEP = 1 / 1000


def roc_curves(study: Study) -> Figure:
    scores = {
        PLAIN: study.fit(PLAIN).scores,
        "ASPCA-F(G)": study.fit("ASPCA-F").scores,
        "ASPCA-B(G)": study.fit("ASPCA-B").scores,
        "aspca detect, defaults": study.product[1].scores,
    }
    areas = {name: study.auc(values) for name, values in scores.items()}
    words = ", ".join(f"{name} {area:.3f}" for name, area in areas.items())
    curves = {name: _thinned(*roc_curve(study.data.labels, values)[:2]) for name, values in scores.items()}
    return Figure(
        f"figure-3-roc-{study.name}",
        "Figure 3" if study.name != "synthetic" else "Section 4.3.1",
        "ROC curves",
        f"The text: F(G) and B(G) perform similarly to PCA or better; on the synthetic data all are perfect. {words}.",
        lambda: _draw(study, curves, areas),
    )


def _thinned(false: Floats, true: Floats) -> tuple[Floats, Floats]:
    cells = np.column_stack([np.round(false / _STEP), np.round(true / _STEP)])
    moved = np.any(np.diff(cells, axis=0) != 0, axis=1)
    # A corner is kept on both of its sides.
    keep = np.r_[True, moved] | np.r_[moved, True]
    return false[keep], true[keep]


def _draw(study: Study, curves: dict[str, tuple[Floats, Floats]], areas: dict[str, float]) -> Canvas:
    from aspca.plots import RocDisplay
    from aspca.reproduction.figures.sheet import sheet

    figure, axes = sheet(6.2, 6.6)
    RocDisplay(
        [false for false, _ in curves.values()],
        [true for _, true in curves.values()],
        list(areas.values()),
        list(areas),
        [None] * len(areas),
        int((~study.anomalous).sum()),
        int(study.anomalous.sum()),
    ).plot(axes[0, 0])
    return figure
