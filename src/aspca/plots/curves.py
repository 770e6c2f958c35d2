"""Curves: how well detectors rank labelled rows (ROC), and what other numbers of rules and other alphas would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics import auc, roc_curve

import aspca.plots.canvas as canvas
from aspca.escaping import for_picture
from aspca.estimators.selection import Choice, Selection, select
from aspca.linalg.arrays import Floats
from aspca.plots.canvas import find_detector, judge_rows
from aspca.plots.labels import shorten, write_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class RocDisplay(canvas.Display):
    """ROC curves of one or more detectors.

    Drawn are `lines_` (Line2D), `alarms_` (the same, one point per detector with a known threshold), and
    `chance_level_`.
    """

    fpr: Sequence[Floats]  # shares of the normal rows above each limit, one curve per detector
    tpr: Sequence[Floats]  # and of the anomalies
    roc_auc: Sequence[float]
    names: Sequence[str]
    alarms: Sequence[tuple[float, float] | None]  # where each detector's own threshold stands; None: unknown
    n_normal: int
    n_anomalies: int

    @classmethod
    def from_estimator(cls, estimators: Any, X: Any, labels: Any, *, ax: Axes | None = None) -> Self:
        """ROC curves of detectors on labelled rows, and where their own thresholds stand.

        Parameters
        ----------
        estimators : fitted detector, list of them, or mapping of names to them
            Anything with `score_samples`, the higher the more normal.
        X : (n, p) rows
        labels : (n,)
            1 (or True) for anomalies, 0 for normal rows.
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        """
        named = _name_detectors(estimators)
        scores = {name: -np.asarray(one.score_samples(X), dtype=np.float64) for name, one in named.items()}
        flagged = {name: judge_rows(one, X)[1] for name, one in named.items()}
        return cls.from_predictions(labels, scores, flagged=flagged, ax=ax)

    @classmethod
    def from_predictions(
        cls, labels: Any, scores: Any, *, flagged: Mapping[str, Any] | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the curves of scores (n,), high for anomalies, or of a mapping of names to scores.

        `labels` (n,) has 1 for anomalies and 0 for normal rows; `flagged` maps names to the rows (n,) that were
        called anomalies, or to None.
        """
        named = dict(scores) if isinstance(scores, Mapping) else {"score": scores}
        if not named:
            raise ValueError("There is no detector to draw; give at least one.")
        truth = np.asarray(labels, dtype=np.float64)
        if truth.ndim != 1 or not np.isin(truth, (0.0, 1.0)).all() or np.unique(truth).size != 2:
            raise ValueError("labels must hold both 0 (normal) and 1 (anomaly), one per row, and nothing else.")
        curves = []
        for name, values in named.items():
            values = np.asarray(values, dtype=np.float64)
            if values.shape != truth.shape or not np.isfinite(values).all():
                raise ValueError(f"The scores of {name!r} must be {truth.size} finite numbers, one per label.")
            curves.append(roc_curve(truth, values)[:2])
        alarms = [_find_rates(truth, (flagged or {}).get(name)) for name in named]
        areas = [float(auc(fpr, tpr)) for fpr, tpr in curves]
        fprs, tprs = [fpr for fpr, _ in curves], [tpr for _, tpr in curves]
        n_anomalies = int(truth.sum())
        return cls(fprs, tprs, areas, list(map(str, named)), alarms, truth.size - n_anomalies, n_anomalies).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves, the best one first in the legend."""
        ax = self._open(ax, 6.6, 6.6 + 0.24 * len(self.names))
        self.lines_: list[Any] = []
        self.alarms_: list[Any] = []
        for k, name in enumerate(self.names):
            colour, dash = canvas.CYCLE[k % len(canvas.CYCLE)], canvas.DASHES[k % len(canvas.DASHES)]
            # Words first: a label that begins with an underscore is left out of legends.
            label = f"AUC {self.roc_auc[k]:.3f}:  {for_picture(shorten(name, 44))}"
            self.lines_ += ax.plot(self.fpr[k], self.tpr[k], dash, c=colour, lw=1.8, label=label)
            at = self.alarms[k]
            if at is not None:
                self.alarms_ += ax.plot(*at, "o", ms=7, mfc="white", mec=colour, mew=1.8, zorder=5, clip_on=False)
        (self.chance_level_,) = ax.plot((0, 1), (0, 1), color="0.7", lw=1, ls=":", label="AUC 0.500:  chance")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.set_xlabel(f"false alarms: share of the {self.n_normal:,} normal rows that are flagged", fontsize=9)
        ax.set_ylabel(f"found: share of the {self.n_anomalies:,} anomalies that are flagged", fontsize=9)
        canvas.show_percent(ax, "x")
        canvas.show_percent(ax, "y")
        ax.grid(color="0.92", lw=0.8)
        ax.set_axisbelow(True)
        canvas.hide_spines(ax)
        order = np.argsort([-area for area in self.roc_auc], kind="stable")
        canvas.add_legend_below(ax, handles=[*(self.lines_[k] for k in order), self.chance_level_])
        detail = "Circles: each detector's own threshold" if self.alarms_ else ""
        canvas.entitle(ax, "Anomalies found against false alarms (ROC)", detail)
        return self


plot_roc = RocDisplay.from_estimator


def _name_detectors(estimators: Any) -> dict[str, Any]:
    """Detectors by name: their classes' names, numbered where they repeat."""
    if isinstance(estimators, Mapping):
        return {str(name): one for name, one in estimators.items()}
    # A scikit-learn pipeline is a sequence, too.
    several = list(estimators) if isinstance(estimators, list | tuple) else [estimators]
    kinds = [type(find_detector(one)).__name__ for one in several]
    return {
        kind if kinds.count(kind) == 1 else f"{kind} {kinds[: k + 1].count(kind)}": one
        for k, (kind, one) in enumerate(zip(kinds, several, strict=True))
    }


def _find_rates(truth: Floats, flagged: Any) -> tuple[float, float] | None:
    if flagged is None:
        return None
    marked = np.asarray(flagged, dtype=bool)
    if marked.shape != truth.shape:
        raise ValueError(f"flagged has shape {marked.shape}, but there are {truth.size} labels; give one each.")
    return float(marked[truth == 0].mean()), float(marked[truth == 1].mean())


# What an axis says, and the fields of `Choice` that are drawn in it, with their names.
_PANELS: dict[str, dict[str, str]] = {
    "features per rule": {"nonzeros": "mean", "largest": "largest rule"},
    "share of variance\nin the rules": {"variance": "variance"},
    "found again in\nhalf of the rows": {"stability": "rules", "subspace_stability": "subspace"},
    "AUC": {"auc": "AUC"},
}


@dataclass(eq=False)
class SelectionDisplay(canvas.Display):
    """Curves over the number of rules (left) and over alpha (right).

    Drawn are, in the panels `axes_` (panels, 2), the `lines_` (Line2D) by field of `Choice` and setting,
    "n_components" or "alpha".
    """

    selection: Selection

    @classmethod
    def from_selection(cls, selection: Selection, *, ax: Axes | None = None) -> Self:
        """The curves of `aspca.select`: sparsity, variance, stability and, with labels, AUC.

        Parameters
        ----------
        selection : Selection
            What `aspca.select` returns.
        ax : matplotlib Axes or None
            A subplot, whose place the panels take; None makes a figure.
        """
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
        chosen, found = self.selection.chosen, self.selection
        panels = {says: curves for says, curves in _PANELS.items() if getattr(chosen, next(iter(curves))) is not None}
        ax = self._open(ax, 9.5, 1.3 + 1.75 * len(panels))
        detail = (
            f"Chosen (dotted line): {chosen.n_components} rules, alpha {write_number(chosen.alpha)}; left at that "
            "alpha, right with that number of rules"
        )
        title = "What other numbers of rules and other alphas would give", detail
        grid = canvas.add_panels(ax, title, [1.75] * len(panels), (1.0, 1.0))
        in_logarithms = all(one.alpha > 0 for one in found.over_alphas)
        self.axes_ = np.empty((len(panels), 2), dtype=object)
        self.lines_: dict[tuple[str, str], Any] = {}
        for k, (says, curves) in enumerate(panels.items()):
            for side, setting in enumerate(("n_components", "alpha")):
                axes = self.axes_[k, side] = self.figure_.add_subplot(
                    grid[k, side],
                    sharex=self.axes_[0, side] if k else None,
                    sharey=self.axes_[k, 0] if side else None,
                )
                self._draw_curves(axes, setting, found.over_alphas if side else found.over_components, curves)
                if side and in_logarithms:
                    canvas.set_log_scale(axes, "x")
                if says.startswith(("share", "found")):
                    canvas.show_percent(axes, "y")
                axes.tick_params(labelsize=8, labelbottom=k == len(panels) - 1, labelleft=side == 0)
            first, second = self.axes_[k]
            # Both panels share limits, which are set once all is drawn: fixed earlier they would cut curves. No share
            # is above one, and none below zero.
            low, high = first.get_ylim()
            first.set_ylim(*((0.0, high) if "nonzeros" in curves else (max(low, -0.015), min(high, 1.015))))
            first.set_ylabel(says, fontsize=8.5)
            if len(curves) > 1:
                beside: Any = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "borderaxespad": 0.0}
                second.legend(frameon=False, fontsize=8, **beside)
        self.axes_[-1, 0].set_xlabel("number of rules", fontsize=8.5)
        self.axes_[-1, 1].set_xlabel("alpha" + (" (log scale)" if in_logarithms else ""), fontsize=8.5)
        self.figure_.align_ylabels(list(self.axes_[:, 0]))
        return self

    def _draw_curves(self, axes: Axes, setting: str, choices: Sequence[Choice], curves: Mapping[str, str]) -> None:
        from matplotlib.ticker import MaxNLocator

        choices = sorted(choices, key=lambda one: float(getattr(one, setting)))
        where = [float(getattr(one, setting)) for one in choices]
        styles = ((canvas.BLUE, "o-"), (canvas.VERMILLION, "s--"))
        for (name, label), (colour, style) in zip(curves.items(), styles, strict=False):
            heights = [getattr(one, name) for one in choices]
            (self.lines_[name, setting],) = axes.plot(where, heights, style, c=colour, ms=3.5, lw=1.3, label=label)
        axes.axvline(float(getattr(self.selection.chosen, setting)), color="0.35", lw=1.2, ls=":", zorder=0)
        if setting == "n_components":
            axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.grid(axis="y", color="0.92", lw=0.8)
        axes.set_axisbelow(True)
        canvas.hide_spines(axes)


plot_selection = SelectionDisplay.from_selection
