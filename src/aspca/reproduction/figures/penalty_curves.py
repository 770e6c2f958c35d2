"""Table 9 as a picture: sparsity, variance and AUC over lambda, the paper's and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aspca.reproduction.published import rows_of
from aspca.reproduction.results import Figure
from aspca.reproduction.study import Study
from aspca.reproduction.tables.penalties import METHODS, measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Curve = dict[float, dict[str, float]]


def penalty_curves(study: Study) -> Figure:
    curves: dict[str, tuple[Curve, Curve]] = {}
    for method in METHODS:
        printed = rows_of("penalties", study.name, method)
        paper = {float(lam): {what: float(value) for what, value in row.items()} for lam, row in printed.items()}
        curves[method] = paper, {lam: measured(study.fit(method, lam)) for lam in paper}
    return Figure(
        f"table-9-lambda-{study.name}",
        "Table 9, drawn",
        "Sparsity, variance and AUC over lambda",
        "The text: the models are not very sensitive to lambda in terms of AUC.",
        lambda: _draw(curves),
    )


def _draw(curves: dict[str, tuple[Curve, Curve]]) -> Canvas:
    from aspca.plots.canvas import CYCLE, bare
    from aspca.reproduction.figures.sheet import sheet

    figure, axes = sheet(10.5, 3.6, 1, 3)
    for ax, what in zip(axes[0], ("L1", "variance", "AUC"), strict=True):
        for colour, (method, (paper, ours)) in zip(CYCLE, curves.items(), strict=False):
            places = range(len(paper))
            ax.plot(
                places,
                [row[what] for row in paper.values()],
                "o",
                ms=8,
                mfc="none",
                mec=colour,
                label=f"{method}, paper",
            )
            ax.plot(
                places,
                [row[what] for row in ours.values()],
                "-",
                color=colour,
                lw=1.6,
                marker=".",
                label=f"{method}, ours",
            )
            ax.set_xticks(places, [f"{lam:g}" for lam in paper], fontsize=8)
        ax.set_title(what, fontsize=10)
        ax.set_xlabel("lambda", fontsize=9)
        ax.tick_params(labelsize=8)
        bare(ax, ("left", "bottom"))
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8
    )
    return figure
