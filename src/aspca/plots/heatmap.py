"""Matrices as coloured cells, empty where they are zero, and what the anomalies have in common: their scores split over
features or rules, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import aspca.plots.canvas as canvas
from aspca.escaping import for_picture
from aspca.findings.explanation import Explanation
from aspca.linalg.arrays import Floats
from aspca.plots.canvas import check_count, explanation_of
from aspca.plots.labels import (
    ELLIPSIS,
    OUTSIDE_THE_RULES,
    shorten,
    shorten_names,
    use_minus_sign,
    wrap_rule,
    write_number,
)
from aspca.rules.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Up to so many columns there is room to write labels from left to right, in lines, and numbers into the cells.
_MOST_IN_LINES, _MOST_WRITTEN = 6, 14
# Smaller shares are left empty, and columns that have no other are summed in one.
_LEAST_SHARE = 0.01


def draw_cells(
    ax: Axes,
    values: Floats,
    rows: Sequence[str],
    columns: Sequence[str],
    limits: tuple[float, float],
    bar_label: str,
    write: Callable[[float], str],
) -> tuple[Any, Any]:
    """Cells for `values` (r, c) between limits, the first row on top, as a mesh and its bar; zeros are left empty.

    Where there is room, values are written into the cells, by `write`.
    """
    from matplotlib.colors import Normalize

    norm, colours = Normalize(*limits), canvas.get_diverging() if limits[0] < 0.0 else canvas.get_sequential()
    r, c = values.shape
    across, down = np.arange(c + 1) - 0.5, np.arange(r + 1) - 0.5
    ax.set_facecolor("white")
    mesh = ax.pcolormesh(across, down, np.ma.masked_equal(values, 0.0), cmap=colours, norm=norm)
    ax.set_xlim(-0.5, c - 0.5)
    ax.set_ylim(r - 0.5, -0.5)
    # Hairlines around the cells show where an empty one is.
    ax.hlines(down, -0.5, c - 0.5, color="0.88", lw=0.5)
    ax.vlines(across, -0.5, r - 0.5, color="0.88", lw=0.5)
    for spine in ax.spines.values():
        spine.set_color("0.6")
    bar = canvas.find_figure(ax).colorbar(mesh, ax=ax, fraction=0.05, pad=0.02, aspect=25)
    bar.set_label(bar_label, fontsize=8.5)
    bar.ax.tick_params(labelsize=8)
    canvas.label_slots(ax, "y", list(range(r)), rows)
    canvas.label_slots(ax, "x", list(range(c)), columns, _count_lines(columns))
    for i, j in zip(*np.nonzero(values), strict=True) if c <= _MOST_WRITTEN else ():
        red, green, blue, _ = mesh.cmap(norm(values[i, j]))
        # Black or white, whichever reads better.
        ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
        text = use_minus_sign(write(float(values[i, j])))
        ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=ink, clip_on=True)
    return mesh, bar


def measure_cells(rows: Sequence[str], columns: Sequence[str]) -> tuple[float, float]:
    """Inches of a figure for cells with these names at the sides, a bar and a title."""
    n, lines, longest = len(columns), _count_lines(columns), canvas.measure_labels(columns)
    # Cells are wide enough to write in where there are few, and for labels of so many lines.
    width = max(0.24, canvas.LINE * (lines + 0.2))
    if n <= _MOST_IN_LINES and lines > 1:
        width = 1.3
    elif n <= _MOST_WRITTEN:
        width = 0.5
    below = longest if longest > 0.9 * width else canvas.LINE * lines
    # Less than 1.7 inches are too low for the bar beside the cells and its label.
    height = max(canvas.LINE * 1.15 * len(rows), 1.7) + below + 1.5
    return max(canvas.measure_labels(rows) + width * n + 1.6, 6.5), max(height, 3.2)


def _count_lines(names: Sequence[str]) -> int:
    return max(name.count("\n") + 1 for name in names)


@dataclass(eq=False)
class HeatmapDisplay(canvas.Display):
    """Contributions to the scores of rows.

    Drawn are `mesh_` (QuadMesh), whose array holds shares of the row's score, masked below one percent, its
    `colorbar_`, and of all columns those at the positions `columns_`; where there are others, one more column holds
    their sum, and by rules the last one holds what lies outside of them, where anything can.
    """

    explanation: Explanation  # of the rows drawn, anomalies first
    by: str = "features"  # or rules: what the columns are
    n_anomalies: int = 0  # in all
    n_explained: int = 0  # rows in all

    @classmethod
    def from_estimator(
        cls,
        source: Any,
        X: Any = None,
        *,
        by: str = "features",
        n_rows: int | None = None,
        n_columns: int = 45,
        ax: Axes | None = None,
    ) -> Self:
        """Contributions of features, or of rules and of what lies outside of them, to the scores of the anomalies.

        Parameters
        ----------
        source : fitted ASPCA or Explanation
        X : (n, p) rows or None
            Only with an estimator.
        by : {"features", "rules"}
        n_rows : int or None
            So many rows of highest score, a line below the last anomaly; None: the anomalies, at most 25, or, where
            there is none, five rows.
        n_columns : int
            At most so many are drawn; smaller ones are summed in one.
        ax : matplotlib Axes or None
            Where to draw; None makes a figure that grows with its content.
        """
        why = explanation_of(source, X, "plot_heatmap")
        if by not in ("features", "rules"):
            raise ValueError(f"by must be one of features, rules, got {by!r}.")
        known = why.judgement.anomalies
        # A row with a cell that is not what its column holds is an anomaly, whatever its score is.
        first = np.zeros(len(why), dtype=np.bool_) if known is None else known
        order = np.lexsort((-why.scores, ~first))
        most = (min(int(first.sum()), 25) or 5) if n_rows is None else check_count(n_rows, "n_rows")
        # Of many rows only those that are drawn are split over features.
        return cls(why[order[:most]], by, int(first.sum()), len(why)).plot(ax, n_columns=n_columns)

    def plot(self, ax: Axes | None = None, *, n_columns: int = 45) -> Self:
        """Draw at most `n_columns`, the largest, in their own order, and the sum of the others."""
        why = self.explanation
        parts, beyond = why.feature_contributions, None
        if self.by == "rules":
            parts, beyond = why.rule_contributions, why.outside if why.model.evidence is not None else None
        scores = parts.sum(axis=1) + (0.0 if beyond is None else beyond)
        divisors = np.where(scores > 0, scores, 1.0)
        shares = parts / divisors[:, None]
        largest = np.argsort(-shares.sum(axis=0), kind="stable")[: check_count(n_columns, "n_columns")]
        seen = np.sort(largest[(shares[:, largest] >= _LEAST_SHARE).any(axis=0)])
        self.columns_ = seen if seen.size else largest[:1]
        left_out = shares.shape[1] - self.columns_.size
        columns = self._label_columns(ax)
        drawn = shares[:, self.columns_]
        # What is no single column stands apart, behind a line.
        apart = len(columns) - 0.5
        if left_out:
            drawn = np.column_stack([drawn, np.delete(shares, self.columns_, axis=1).sum(axis=1)])
            what = "other" if self.by == "features" else "other rule"
            columns.append(f"{left_out} {what}s" if left_out > 1 else f"1 {what}")
        if beyond is not None:
            drawn = np.column_stack([drawn, beyond / divisors])
            columns.append(OUTSIDE_THE_RULES)
        drawn = np.where(drawn >= _LEAST_SHARE, drawn, 0.0)
        rows = [
            f"{for_picture(shorten(str(row), 22))}  ({write_number(float(score))})"
            for row, score in zip(why.index, scores, strict=True)
        ]
        ax = self._open(ax, *measure_cells(rows, columns))
        bar = f"share of the row's score\nempty: under {_LEAST_SHARE:.0%}"
        self.mesh_, self.colorbar_ = draw_cells(ax, drawn, rows, columns, (0.0, 1.0), bar, "{:.0%}".format)
        canvas.show_percent(self.colorbar_.ax, "y")
        if apart < len(columns) - 0.5:
            ax.axvline(apart, color="0.4", lw=1.2)
        if 0 < self._count_flagged() < len(rows):
            ax.axhline(self._count_flagged() - 0.5, color=canvas.ANOMALY, lw=1.6)
        ax.set_ylabel("row  (score), the highest on top", fontsize=9)
        ax.set_xlabel(self.by[:-1], fontsize=9)
        canvas.entitle(ax, *self._write_title(), left=canvas.measure_labels(rows))
        return self

    def _count_flagged(self) -> int:
        """Anomalies among the rows drawn."""
        return min(self.n_anomalies, len(self.explanation))

    def _label_columns(self, ax: Axes | None) -> list[str]:
        why = self.explanation
        if self.by == "features":
            names = shorten_names(why.names, canvas.fit_labels(ax, 30, 0.25))
            return [names[j] for j in self.columns_]
        texts = [f"{j}:  {why.rules[j]}" for j in self.columns_]
        width, lines = canvas.fit_labels(ax, 40, 0.25), 2
        if ax is None and len(why.rules) < _MOST_IN_LINES:
            lines = 4
            few = [wrap_rule(text, 18, lines, why.names) for text in texts]
            # Long names do not fit from left to right; they are written upright, in as many lines.
            if not any(ELLIPSIS in label for label in few):
                return few
        return [wrap_rule(text, width, lines, why.names) for text in texts]

    def _write_title(self) -> tuple[str, str]:
        n, by, threshold = len(self.explanation), f"by {self.by[:-1]}", self.explanation.threshold
        total = f"{counted(self.n_explained, 'row')} explained"
        limit = "" if threshold is None else f"; the threshold of the score is {write_number(threshold)}"
        flagged = self._count_flagged()
        if not flagged:
            of = f"the {n} highest scores come" if n > 1 else "the highest score comes"
            if self.explanation.judgement.anomalies is None:
                return f"Where {of} from, {by}", f"Of {total}"
            return f"No anomaly: where {of} from, {by}", f"None of {total} is an anomaly{limit}"
        of = f"{n} anomalies'" if n > 1 else "one anomaly's"
        if flagged < n:
            limit += f"; rows below the line are {'no anomalies' if n - flagged > 1 else 'no anomaly'}"
            of = f"the {n} highest"
        elif n < self.n_anomalies:
            of = f"the {n} worst of {self.n_anomalies:,} anomalies'" if n > 1 else "the worst anomaly's"
        return f"Where {of} score{'s come' if n > 1 else ' comes'} from, {by}", f"Of {total}{limit}"


plot_heatmap = HeatmapDisplay.from_estimator
