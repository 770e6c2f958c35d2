"""What other numbers of rules and other alphas would give: the curves of `aspca.select`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aspca.estimators.selection import Choice, Selection, select
from aspca.plots.canvas import bare, log_scale, own_or_given, panels, percent_axis, root_of
from aspca.plots.colours import BLUE, VERMILLION
from aspca.plots.labels import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Per panel: what its axis says, whether it is a share, and the fields drawn in it with their names.
_PANELS: tuple[tuple[str, bool, tuple[tuple[str, str], ...]], ...] = (
    ("features per rule", False, (("nonzeros", "mean"), ("largest", "largest rule"))),
    ("share of variance\nin the rules", True, (("variance", "variance"),)),
    ("found again in\nhalf of the rows", True, (("stability", "rules"), ("subspace_stability", "subspace"))),
    ("AUC", False, (("auc", "AUC"),)),
)


@dataclass(eq=False)
class SelectionDisplay:
    """Curves over the number of rules (left) and over alpha (right).

    Parameters
    ----------
    selection : Selection

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The bounding axes, whose place the panels take.
    axes_ : ndarray of shape (panels, 2) of Axes
    lines_ : dict of (str, str) to Line2D
        By field of `Choice` and curve, "n_components" or "alpha".
    """

    selection: Selection

    @classmethod
    def from_selection(cls, selection: Selection, *, ax: Axes | None = None) -> Self:
        """Draw curves that are at hand."""
        if not isinstance(selection, Selection):
            raise TypeError(f"plot_selection takes what aspca.select returns, got {type(selection).__name__}.")
        return cls(selection).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, labels: Any = None, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Run `aspca.select` on rows X (n, p) with the settings of an estimator, and draw its curves."""
        return cls(select(X, labels, estimator=estimator, **options)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw what was measured: one row of panels per measure."""
        chosen = self.selection.chosen
        kinds = [kind for kind in _PANELS if getattr(chosen, kind[2][0][0]) is not None]
        ax = own_or_given(ax, 9.5, 1.3 + 1.75 * len(kinds))
        self.ax_, self.figure_ = ax, root_of(ax)
        detail = (
            f"Chosen (dotted line): {chosen.n_components} rules, alpha {number(chosen.alpha)}; left at that alpha, "
            "right with that number of rules"
        )
        title = "What other numbers of rules and other alphas would give", detail
        grid = panels(ax, title, [1.75] * len(kinds), (1.0, 1.0))
        curves = (("n_components", self.selection.over_components), ("alpha", self.selection.over_alphas))
        self.axes_ = np.empty((len(kinds), 2), dtype=object)
        self.lines_: dict[tuple[str, str], Any] = {}
        for k, kind in enumerate(kinds):
            for side, (field, curve) in enumerate(curves):
                axes = self.figure_.add_subplot(
                    grid[k, side],
                    sharex=self.axes_[0, side] if k else None,
                    sharey=self.axes_[k, 0] if side else None,
                )
                self.axes_[k, side] = axes
                self._draw(axes, field, curve, kind)
                axes.tick_params(labelsize=8, labelbottom=k == len(kinds) - 1, labelleft=side == 0)
            self._limit(self.axes_[k, 0], kind)
            self.axes_[k, 0].set_ylabel(kind[0], fontsize=8.5)
            if len(kind[2]) > 1:
                self.axes_[k, 1].legend(
                    loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, borderaxespad=0.0
                )
        self.axes_[-1, 0].set_xlabel("number of rules", fontsize=8.5)
        self.axes_[-1, 1].set_xlabel("alpha" + (" (log scale)" if self._log_alpha() else ""), fontsize=8.5)
        self.figure_.align_ylabels(list(self.axes_[:, 0]))
        return self

    def _limit(self, axes: Axes, kind: Any) -> None:
        """Limits of both panels of a row, which share them, once all is drawn: fixed earlier they would cut curves."""
        low, high = axes.get_ylim()
        if kind[0] == "features per rule":
            axes.set_ylim(0.0, high)
        else:
            # No share is above one, and none below zero.
            axes.set_ylim(max(low, -0.015), min(high, 1.015))

    def _draw(self, axes: Axes, field: str, curve: Sequence[Choice], kind: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        curve = sorted(curve, key=lambda one: float(getattr(one, field)))
        where = [float(getattr(one, field)) for one in curve]
        for (name, label), colour, style in zip(kind[2], (BLUE, VERMILLION), ("o-", "s--"), strict=False):
            heights = [getattr(one, name) for one in curve]
            (line,) = axes.plot(where, heights, style, c=colour, ms=3.5, lw=1.3, label=label)
            self.lines_[name, field] = line
        axes.axvline(float(getattr(self.selection.chosen, field)), color="0.35", lw=1.2, ls=":", zorder=0)
        if field == "alpha" and self._log_alpha():
            log_scale(axes, "x")
        elif field == "n_components":
            axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        if kind[1]:
            percent_axis(axes, "y")
        axes.grid(axis="y", color="0.92", lw=0.8)
        axes.set_axisbelow(True)
        bare(axes, keep=("left", "bottom"))

    def _log_alpha(self) -> bool:
        return all(one.alpha > 0 for one in self.selection.over_alphas)


def plot_selection(selection: Selection, *, ax: Axes | None = None) -> SelectionDisplay:
    """The curves of `aspca.select`: sparsity, variance, stability and, with labels, AUC.

    Parameters
    ----------
    selection : Selection
        What `aspca.select` returns.
    ax : matplotlib Axes or None
        A subplot, whose place the panels take; None makes a figure.

    Returns
    -------
    SelectionDisplay
    """
    return SelectionDisplay.from_selection(selection, ax=ax)
