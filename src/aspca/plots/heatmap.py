"""What the anomalies have in common: their scores split over features or rules, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aspca.harmless import for_picture
from aspca.judging.explanation import Explanation
from aspca.linalg.arrays import Bools, Floats
from aspca.plots.canvas import entitle, own_or_given, percent_axis, room_for_labels, root_of
from aspca.plots.cells import MOST_IN_LINES, CellStyle, draw_cells, figure_size, label_inches
from aspca.plots.colours import ANOMALY, sequential
from aspca.plots.labels import ELLIPSIS, OUTSIDE_THE_RULES, number, short_names, shortened, wrapped
from aspca.plots.sources import check_count, explanation_of
from aspca.rules.sentence import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = ("features", "rules")
_WIDTH = 30
_RULE_WIDTH, _RULE_LINES = 40, 2
# Where few rules are written from left to right.
_FEW_WIDTH, _FEW_LINES = 18, 4
# Of anomalies so many are drawn, and where there is none so many rows.
_MOST, _FEW = 25, 5
_ROW_WIDTH = 22
# Smaller shares are left empty, and columns that have no other are summed in one.
_WORTH_A_COLOUR = 0.01


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
        if by not in _KINDS:
            raise ValueError(f"by must be one of {', '.join(_KINDS)}, got {by!r}.")
        known = explanation.judgement.anomalies
        # A row with a cell that is not what its column holds is an anomaly, whatever its score is.
        first = np.zeros(len(explanation), dtype=np.bool_) if known is None else known
        order = np.lexsort((-explanation.scores, ~first))
        most = (min(int(first.sum()), _MOST) or _FEW) if n_rows is None else check_count(n_rows, "n_rows")
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
        seen = np.sort(largest[(shares[:, largest] >= _WORTH_A_COLOUR).any(axis=0)])
        self.columns_ = seen if seen.size else largest[:1]
        left_out = len(self.columns) - self.columns_.size
        columns = self._labels(ax)
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
        drawn = np.where(drawn >= _WORTH_A_COLOUR, drawn, 0.0)
        rows = [
            f"{for_picture(shortened(row, _ROW_WIDTH))}  ({number(float(score))})"
            for row, score in zip(self.rows, scores, strict=True)
        ]
        ax = own_or_given(ax, *figure_size(rows, columns))
        self.ax_, self.figure_ = ax, root_of(ax)
        bar = f"share of the row's score\nempty: under {_WORTH_A_COLOUR:.0%}"
        style = CellStyle(sequential(), Normalize(0.0, 1.0), bar, _percent)
        self.mesh_, self.colorbar_ = draw_cells(ax, drawn, rows, columns, style)
        percent_axis(self.colorbar_.ax, "y")
        if apart < len(columns) - 0.5:
            ax.axvline(apart, color="0.4", lw=1.2)
        flagged = len(rows) if self.anomalies is None else int(self.anomalies.sum())
        if 0 < flagged < len(rows):
            ax.axhline(flagged - 0.5, color=ANOMALY, lw=1.6)
        ax.set_ylabel("row  (score), the highest on top", fontsize=9)
        ax.set_xlabel(self.by[:-1], fontsize=9)
        entitle(ax, *self._title(), left=label_inches(rows))
        return self

    def _labels(self, ax: Axes | None) -> list[str]:
        if self.by == "features":
            names = short_names(self.columns, room_for_labels(ax, _WIDTH, 0.25))
            return [names[j] for j in self.columns_]
        width, lines = room_for_labels(ax, _RULE_WIDTH, 0.25), _RULE_LINES
        if ax is None and len(self.columns) < MOST_IN_LINES:
            lines = _FEW_LINES
            few = [wrapped(self.columns[j], _FEW_WIDTH, lines, self.names) for j in self.columns_]
            # Long names do not fit from left to right; they are written upright, in as many lines.
            if not any(ELLIPSIS in label for label in few):
                return few
        return [wrapped(self.columns[j], width, lines, self.names) for j in self.columns_]

    def _title(self) -> tuple[str, str]:
        n, by = len(self.rows), f"by {self.by[:-1]}"
        total = f"{counted(self.n_explained, 'row')} explained"
        limit = "" if self.threshold is None else f"; the threshold of the score is {number(self.threshold)}"
        if self.anomalies is None:
            of = f"the {n} highest scores come" if n > 1 else "the highest score comes"
            return f"Where {of} from, {by}", f"Of {total}"
        flagged = int(self.anomalies.sum())
        if not flagged:
            of = f"the {n} highest scores come" if n > 1 else "the highest score comes"
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
    why = explanation_of(source, X, "plot_heatmap")
    return HeatmapDisplay.from_explanation(why, by=by, n_rows=n_rows, n_columns=n_columns, ax=ax)


def _percent(part: float) -> str:
    """Whole percents, but no share that is drawn becomes none."""
    return f"{part:.0%}" if part >= 0.0095 else f"{part:.1%}"
