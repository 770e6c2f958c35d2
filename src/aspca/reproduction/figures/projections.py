"""Figures 5 and 7: projections of the anomalies on the abnormal components, under the paper's numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.reproduction.results import Figure
from aspca.reproduction.study import Study
from aspca.reproduction.tables.claims import malignant_patterns
from aspca.reproduction.tables.components import in_the_papers_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def of_synthetic(study: Study) -> Figure:
    order = in_the_papers_order(study)
    kinds = np.array(study.data.kinds)[study.anomalous]
    rows = [f"{k + 1}: breaks {kind}" for k, kind in enumerate(kinds)]
    values = study.rows[study.anomalous] @ order.loadings
    return Figure(
        "figure-5-projections-synthetic",
        "Figure 5",
        "Projections of the 15 anomalies on the abnormal components",
        "The text: anomalies that break a rule have large projections on its component, here D = C + A on PC 1, A = B "
        "on PC 2, F = 0 on PC 3.",
        lambda: _draw(values, rows, [f"PC {label}" for label in order.labels], 0),
    )


def of_breast_cancer(study: Study) -> Figure:
    order = in_the_papers_order(study)
    first, second = malignant_patterns(study)
    values = (study.rows[study.anomalous] @ order.loadings)[[*first, *second]]
    rows = [f"record {record + 1}" for record in (*first, *second)]
    return Figure(
        "figure-7-projections-breast-cancer",
        "Figure 7",
        "Projections of the 10 malignant records on the abnormal components",
        "The text: the first four records have large projections on PCs 2, 3 and 4, the others on PC 1 and moderate "
        "ones on PC 6. Both patterns are there; the four of the first are not the first of the file "
        f"({', '.join(str(record + 1) for record in first)}), and stand on top here. Numbers in brackets: components "
        "that the paper does not print.",
        lambda: _draw(values, rows, [f"PC {label}" for label in order.labels], len(first)),
    )


def _draw(values: Floats, rows: list[str], columns: list[str], line: int) -> Canvas:
    from matplotlib.colors import Normalize

    from aspca.plots.canvas import diverging
    from aspca.plots.cells import CellStyle, draw_cells
    from aspca.reproduction.figures.sheet import sheet

    figure, axes = sheet(2.4 + 0.62 * len(columns), 1.0 + 0.24 * len(rows))
    largest = float(np.abs(values).max())
    style = CellStyle(
        diverging(), Normalize(-largest, largest), "projection", lambda value: f"{round(value, 2) + 0.0:.2f}"
    )
    draw_cells(axes[0, 0], values, rows, columns, style)
    if line:
        axes[0, 0].axhline(line - 0.5, color="black", lw=1.4)
    return figure
