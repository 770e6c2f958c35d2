"""What the worst rows have in common: their scores split over features or rules, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aspca.judging.explanation import Explanation
from aspca.linalg.arrays import Floats
from aspca.plots.canvas import entitle, own_or_given, percent_axis, room_for_labels, root_of
from aspca.plots.cells import CellStyle, draw_cells, figure_size, label_inches
from aspca.plots.colours import sequential
from aspca.plots.labels import harmless, number, share, short_names, shortened
from aspca.plots.sources import check_count, explanation_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = ("features", "rules")
_WIDTH = 30
_ROW_WIDTH = 22
# Smaller shares are left empty, and columns that have no other are summed in one.
_WORTH_A_COLOUR = 0.005


@dataclass(eq=False)
class HeatmapDisplay:
    """Contributions to the scores of rows.

    Parameters
    ----------
    contributions : ndarray of shape (r, c)
        Non-negative; rows sum to the scores.
    rows : sequence of r str
    columns : sequence of c str
    by : {"features", "rules"}
        What the columns are.
    n_explained : int
        How many rows these are the worst of.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    mesh_ : QuadMesh
        Its array holds shares of the row's score, masked below half a percent.
    colorbar_ : Colorbar
    columns_ : ndarray
        Positions of the columns drawn; where there are others, one more column holds their sum.
    """

    contributions: Floats
    rows: Sequence[str]
    columns: Sequence[str]
    by: str = "features"
    n_explained: int = 0

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        by: str = "features",
        n_rows: int = 25,
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
        n_rows: int = 25,
        n_columns: int = 45,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the rows of highest score, the worst on top."""
        if by not in _KINDS:
            raise ValueError(f"by must be one of {', '.join(_KINDS)}, got {by!r}.")
        worst = np.argsort(-explanation.scores, kind="stable")[: check_count(n_rows, "n_rows")]
        if by == "rules":
            parts, names = explanation.rule_contributions[worst], [str(i) for i in range(len(explanation.rules))]
        else:
            # Of many rows only the worst are split over features.
            parts = explanation.blame(explanation.scaled[worst], explanation.weighted[worst])
            names = list(explanation.names)
        rows = [str(explanation.index[int(row)]) for row in worst]
        return cls(parts, rows, names, by, len(explanation.scores)).plot(ax, n_columns=n_columns)

    def plot(self, ax: Axes | None = None, *, n_columns: int = 45) -> Self:
        """Draw at most `n_columns`, the largest, in their own order, and the sum of the others."""
        from matplotlib.colors import Normalize

        scores = self.contributions.sum(axis=1, keepdims=True)
        shares = np.divide(
            self.contributions, scores, out=np.zeros(self.contributions.shape), where=np.asarray(scores > 0)
        )
        largest = np.argsort(-shares.sum(axis=0), kind="stable")[: check_count(n_columns, "n_columns")]
        seen = np.sort(largest[(shares[:, largest] >= _WORTH_A_COLOUR).any(axis=0)])
        self.columns_ = seen if seen.size else largest[:1]
        left_out = len(self.columns) - self.columns_.size
        names = short_names(self.columns, room_for_labels(ax, _WIDTH, 0.25))
        columns = [names[j] for j in self.columns_]
        drawn = shares[:, self.columns_]
        if left_out:
            drawn = np.column_stack([drawn, np.delete(shares, self.columns_, axis=1).sum(axis=1)])
            columns.append(f"{left_out} others" if left_out > 1 else "1 other")
        drawn = np.where(drawn >= _WORTH_A_COLOUR, drawn, 0.0)
        rows = [
            f"{harmless(shortened(row, _ROW_WIDTH))}  ({number(float(score))})"
            for row, score in zip(self.rows, scores[:, 0], strict=True)
        ]
        ax = own_or_given(ax, *figure_size(rows, columns))
        self.ax_, self.figure_ = ax, root_of(ax)
        bar = f"share of the row's score (empty: under {share(_WORTH_A_COLOUR)})"
        style = CellStyle(sequential(), Normalize(0.0, 1.0), bar, ".0%")
        self.mesh_, self.colorbar_ = draw_cells(ax, drawn, rows, columns, style)
        percent_axis(self.colorbar_.ax, "y")
        if left_out:
            ax.axvline(len(columns) - 1.5, color="0.4", lw=1.2)
        ax.set_ylabel("row  (score), the worst on top", fontsize=9)
        ax.set_xlabel("feature" if self.by == "features" else "number of the rule", fontsize=9)
        entitle(ax, *self._title(), left=label_inches(rows))
        return self

    def _title(self) -> tuple[str, str]:
        n = len(self.rows)
        which = f"the {n} worst rows' scores come" if n > 1 else "the worst row's score comes"
        detail = f"Of {self.n_explained:,} rows explained" if self.n_explained > n else ""
        return f"Where {which} from, by {self.by[:-1]}", detail


def plot_heatmap(
    source: Any,
    X: Any = None,
    *,
    by: str = "features",
    n_rows: int = 25,
    n_columns: int = 45,
    ax: Axes | None = None,
) -> HeatmapDisplay:
    """Contributions of features, or of rules, to the scores of the worst rows.

    Parameters
    ----------
    source : fitted ASPCA or Explanation
    X : (n, p) rows or None
        Only with an estimator.
    by : {"features", "rules"}
    n_rows, n_columns : int
        At most so many are drawn; smaller columns are summed in one.
    ax : matplotlib Axes or None
        Where to draw; None makes a figure that grows with its content.

    Returns
    -------
    HeatmapDisplay
    """
    why = explanation_of(source, X, "plot_heatmap")
    return HeatmapDisplay.from_explanation(why, by=by, n_rows=n_rows, n_columns=n_columns, ax=ax)
