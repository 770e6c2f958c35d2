"""Figure 1 (a): the first 100 normal records of the synthetic data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aspca.linalg.arrays import Floats
from aspca.reproduction.results import Figure
from aspca.reproduction.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_ROWS = 100


def synthetic_rows(study: Study) -> Figure:
    first = study.data.data[~study.anomalous][:_ROWS]
    return Figure(
        "figure-1a-synthetic-rows",
        "Figure 1 (a)",
        f"The first {_ROWS} normal records of the synthetic data",
        "The text: A ≈ B, D ≈ C + A, F ≈ 0, G ≈ 0. A and B run alike, F and G stay at zero, E is free.",
        lambda: _draw(first, study.names),
    )


def _draw(rows: Floats, names: tuple[str, ...]) -> Canvas:
    from aspca.plots.canvas import BLUE, bare
    from aspca.reproduction.figures.sheet import sheet

    figure, axes = sheet(7.5, 5.6, len(names), sharex=True, sharey=True)
    for ax, name, column in zip(axes[:, 0], names, rows.T, strict=True):
        ax.plot(column, color=BLUE, lw=1.0)
        ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
        ax.axhline(0.0, color="0.8", lw=0.6, zorder=0)
        ax.tick_params(labelsize=7)
        bare(ax, ("left",))
    axes[-1, 0].set_xlabel("record", fontsize=9)
    return figure
