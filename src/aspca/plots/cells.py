"""Matrices as coloured cells, empty where they are zero, and what the anomalies have in common: their scores split over
features or rules, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aspca.escaping import for_picture
from aspca.findings.explanation import Explanation
from aspca.linalg.arrays import Bools, Floats
from aspca.plots.canvas import (
    ANOMALY,
    CHARACTER,
    LINE,
    SMALL,
    choose_axes,
    entitle,
    label_slots,
    room_for_labels,
    root_of,
    sequential,
    show_percent,
)
from aspca.plots.labels import (
    ELLIPSIS,
    OUTSIDE_THE_RULES,
    shorten,
    shorten_names,
    use_minus_sign,
    wrap_rule,
    write_number,
)
from aspca.plots.sources import check_count, explanation_of
from aspca.rules.sentence import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

# Up to so many columns there is room to write labels from left to right, in lines, and numbers into the cells.
_MOST_IN_LINES, _MOST_WRITTEN = 6, 14
# Smaller shares are left empty, and columns that have no other are summed in one.
_LEAST_SHARE = 0.01


@dataclass(frozen=True)
class CellStyle:
    """How values are coloured and, where there is room, written."""

    cmap: Any
    norm: Any
    bar: str
    form: Callable[[float], str]


def draw_cells(
    ax: Axes, values: Floats, rows: Sequence[str], columns: Sequence[str], style: CellStyle
) -> tuple[QuadMesh, Any]:
    """Cells for `values` (r, c), the first row on top; zeros are left empty. Returns the mesh and its bar."""
    shown = np.ma.masked_equal(values, 0.0)
    r, c = values.shape
    ax.set_facecolor("white")
    mesh = ax.pcolormesh(np.arange(c + 1) - 0.5, np.arange(r + 1) - 0.5, shown, cmap=style.cmap, norm=style.norm)
    ax.set_xlim(-0.5, c - 0.5)
    ax.set_ylim(r - 0.5, -0.5)
    # Hairlines around the cells show where an empty one is.
    ax.hlines(np.arange(r + 1) - 0.5, -0.5, c - 0.5, color="0.88", lw=0.5)
    ax.vlines(np.arange(c + 1) - 0.5, -0.5, r - 0.5, color="0.88", lw=0.5)
    for spine in ax.spines.values():
        spine.set_color("0.6")
    bar = root_of(ax).colorbar(mesh, ax=ax, fraction=0.05, pad=0.02, aspect=25)
    bar.set_label(style.bar, fontsize=8.5)
    bar.ax.tick_params(labelsize=8)
    label_slots(ax, "y", list(range(r)), rows)
    label_slots(ax, "x", list(range(c)), columns, _count_lines(columns))
    for i, j in zip(*np.nonzero(values), strict=True) if c <= _MOST_WRITTEN else ():
        red, green, blue, _ = mesh.cmap(style.norm(values[i, j]))
        # Black or white, whichever reads better.
        ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
        text = use_minus_sign(style.form(float(values[i, j])))
        ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=ink, clip_on=True)
    return mesh, bar


def figure_size(rows: Sequence[str], columns: Sequence[str]) -> tuple[float, float]:
    """Inches for cells with these names at the sides, a bar and a title."""
    n, lines, longest = len(columns), _count_lines(columns), label_inches(columns)
    # Cells are wide enough to write in where there are few, and for labels of so many lines.
    width = max(0.24, LINE * (lines + 0.2))
    if n <= _MOST_IN_LINES and lines > 1:
        width = 1.3
    elif n <= _MOST_WRITTEN:
        width = 0.5
    below = longest if longest > 0.9 * width else LINE * lines
    # Less than 1.7 inches are too low for the bar beside the cells and its label.
    height = max(LINE * 1.15 * len(rows), 1.7) + below + 1.5
    return max(label_inches(rows) + width * n + 1.6, 6.5), max(height, 3.2)


def label_inches(names: Sequence[str]) -> float:
    """Of the longest line of a name."""
    return max(len(line) for name in names for line in name.split("\n")) * (SMALL * CHARACTER / 72)


def _count_lines(names: Sequence[str]) -> int:
    return max(name.count("\n") + 1 for name in names)


@dataclass(eq=False)
class HeatmapDisplay:
    """Contributions to the scores of rows.

    Parameters
    ----------
    contributions : ndarray of shape (r, c)
        Non-negative.
    rows : sequence of r str
    columns : sequence of c str
        Names of features, or texts of rules.
    by : {"features", "rules"}
        What the columns are.
    outside : ndarray of shape (r,) or None
        The part of the scores outside the columns, if any can be: with it rows sum to the scores.
    anomalies : ndarray of shape (r,), bool, or None
        Anomalies come first; None: not known.
    n_anomalies, n_explained : int
        How many anomalies and rows there are in all.
    threshold : float or None
    names : sequence of str
        Of all features, which texts of rules are made of.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    mesh_ : QuadMesh
        Its array holds shares of the row's score, masked below one percent.
    colorbar_ : Colorbar
    columns_ : ndarray
        Positions of the columns drawn; where there are others, one more column holds their sum, and the last one
        holds `outside`.
    """

    contributions: Floats
    rows: Sequence[str]
    columns: Sequence[str]
    by: str = "features"
    outside: Floats | None = None
    anomalies: Bools | None = None
    n_anomalies: int = 0
    n_explained: int = 0
    threshold: float | None = None
    names: Sequence[str] = ()

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        by: str = "features",
        n_rows: int | None = None,
        n_columns: int = 45,
        ax: Axes | None = None,
    ) -> Self:
        """Explain rows X (n, p) by a fitted ASPCA and draw the worst."""
        why = explanation_of(estimator, X, "plot_heatmap")
        return cls.from_explanation(why, by=by, n_rows=n_rows, n_columns=n_columns, ax=ax)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        by: str = "features",
        n_rows: int | None = None,
        n_columns: int = 45,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the anomalies, or as many rows as asked for, the highest score on top."""
        if by not in ("features", "rules"):
            raise ValueError(f"by must be one of features, rules, got {by!r}.")
        known = explanation.judgement.anomalies
        # A row with a cell that is not what its column holds is an anomaly, whatever its score is.
        first = np.zeros(len(explanation), dtype=np.bool_) if known is None else known
        order = np.lexsort((-explanation.scores, ~first))
        most = (min(int(first.sum()), 25) or 5) if n_rows is None else check_count(n_rows, "n_rows")
        # Of many rows only those that are drawn are split over features.
        why = explanation[order[:most]]
        parts, names, outside = why.feature_contributions, list(why.names), None
        if by == "rules":
            parts = why.rule_contributions
            names = [f"{i}:  {rule}" for i, rule in enumerate(why.rules)]
            outside = why.outside if why.model.evidence is not None else None
        return cls(
            parts,
            [str(name) for name in why.index],
            names,
            by,
            outside,
            why.judgement.anomalies,
            int(first.sum()),
            len(explanation),
            why.threshold,
            why.names,
        ).plot(ax, n_columns=n_columns)

    def plot(self, ax: Axes | None = None, *, n_columns: int = 45) -> Self:
        """Draw at most `n_columns`, the largest, in their own order, and the sum of the others."""
        from matplotlib.colors import Normalize

        beyond = np.zeros(len(self.rows)) if self.outside is None else self.outside
        scores = self.contributions.sum(axis=1) + beyond
        divisors = np.where(scores > 0, scores, 1.0)
        shares = self.contributions / divisors[:, None]
        largest = np.argsort(-shares.sum(axis=0), kind="stable")[: check_count(n_columns, "n_columns")]
        seen = np.sort(largest[(shares[:, largest] >= _LEAST_SHARE).any(axis=0)])
        self.columns_ = seen if seen.size else largest[:1]
        left_out = len(self.columns) - self.columns_.size
        columns = self._label_columns(ax)
        drawn = shares[:, self.columns_]
        # What is no single column stands apart, behind a line.
        apart = len(columns) - 0.5
        if left_out:
            drawn = np.column_stack([drawn, np.delete(shares, self.columns_, axis=1).sum(axis=1)])
            what = "other" if self.by == "features" else "other rule"
            columns.append(f"{left_out} {what}s" if left_out > 1 else f"1 {what}")
        if self.outside is not None:
            drawn = np.column_stack([drawn, beyond / divisors])
            columns.append(OUTSIDE_THE_RULES)
        drawn = np.where(drawn >= _LEAST_SHARE, drawn, 0.0)
        rows = [
            f"{for_picture(shorten(row, 22))}  ({write_number(float(score))})"
            for row, score in zip(self.rows, scores, strict=True)
        ]
        ax, self.figure_ = choose_axes(ax, *figure_size(rows, columns))
        self.ax_ = ax
        bar = f"share of the row's score\nempty: under {_LEAST_SHARE:.0%}"
        style = CellStyle(sequential(), Normalize(0.0, 1.0), bar, lambda part: f"{part:.0%}")
        self.mesh_, self.colorbar_ = draw_cells(ax, drawn, rows, columns, style)
        show_percent(self.colorbar_.ax, "y")
        if apart < len(columns) - 0.5:
            ax.axvline(apart, color="0.4", lw=1.2)
        flagged = len(rows) if self.anomalies is None else int(self.anomalies.sum())
        if 0 < flagged < len(rows):
            ax.axhline(flagged - 0.5, color=ANOMALY, lw=1.6)
        ax.set_ylabel("row  (score), the highest on top", fontsize=9)
        ax.set_xlabel(self.by[:-1], fontsize=9)
        entitle(ax, *self._title(), left=label_inches(rows))
        return self

    def _label_columns(self, ax: Axes | None) -> list[str]:
        if self.by == "features":
            names = shorten_names(self.columns, room_for_labels(ax, 30, 0.25))
            return [names[j] for j in self.columns_]
        width, lines = room_for_labels(ax, 40, 0.25), 2
        if ax is None and len(self.columns) < _MOST_IN_LINES:
            lines = 4
            few = [wrap_rule(self.columns[j], 18, lines, self.names) for j in self.columns_]
            # Long names do not fit from left to right; they are written upright, in as many lines.
            if not any(ELLIPSIS in label for label in few):
                return few
        return [wrap_rule(self.columns[j], width, lines, self.names) for j in self.columns_]

    def _title(self) -> tuple[str, str]:
        n, by = len(self.rows), f"by {self.by[:-1]}"
        total = f"{counted(self.n_explained, 'row')} explained"
        limit = "" if self.threshold is None else f"; the threshold of the score is {write_number(self.threshold)}"
        flagged = 0 if self.anomalies is None else int(self.anomalies.sum())
        if not flagged:
            of = f"the {n} highest scores come" if n > 1 else "the highest score comes"
            if self.anomalies is None:
                return f"Where {of} from, {by}", f"Of {total}"
            return f"No anomaly: where {of} from, {by}", f"None of {total} is an anomaly{limit}"
        of = f"{n} anomalies'" if n > 1 else "one anomaly's"
        if flagged < n:
            limit += f"; rows below the line are {'no anomalies' if n - flagged > 1 else 'no anomaly'}"
            of = f"the {n} highest"
        elif n < self.n_anomalies:
            of = f"the {n} worst of {self.n_anomalies:,} anomalies'" if n > 1 else "the worst anomaly's"
        return f"Where {of} score{'s come' if n > 1 else ' comes'} from, {by}", f"Of {total}{limit}"


def plot_heatmap(
    source: Any,
    X: Any = None,
    *,
    by: str = "features",
    n_rows: int | None = None,
    n_columns: int = 45,
    ax: Axes | None = None,
) -> HeatmapDisplay:
    """Contributions of features, or of rules and of what lies outside of them, to the scores of the anomalies.

    Parameters
    ----------
    source : fitted ASPCA or Explanation
    X : (n, p) rows or None
        Only with an estimator.
    by : {"features", "rules"}
    n_rows : int or None
        So many rows of highest score, a line below the last anomaly; None: the anomalies, at most 25, or, where there
        is none, five rows.
    n_columns : int
        At most so many are drawn; smaller ones are summed in one.
    ax : matplotlib Axes or None
        Where to draw; None makes a figure that grows with its content.

    Returns
    -------
    HeatmapDisplay
    """
    return HeatmapDisplay.from_estimator(source, X, by=by, n_rows=n_rows, n_columns=n_columns, ax=ax)
