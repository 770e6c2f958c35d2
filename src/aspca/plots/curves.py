"""Curves: how well detectors rank labelled rows (ROC), and what other numbers of rules and other alphas would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import auc, roc_curve

from aspca.escaping import for_picture
from aspca.estimators.selection import Choice, Selection, select
from aspca.linalg.arrays import Floats
from aspca.plots.canvas import (
    BLUE,
    CYCLE,
    DASHES,
    VERMILLION,
    add_legend_below,
    add_panels,
    bare,
    choose_axes,
    entitle,
    log_scale,
    show_percent,
)
from aspca.plots.labels import shorten, write_number
from aspca.plots.sources import last_step, verdicts

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class RocDisplay:
    """ROC curves of one or more detectors.

    Parameters
    ----------
    fpr, tpr : sequences of ndarray
        Shares of the normal rows, and of the anomalies, above each limit: one curve per detector.
    roc_auc : sequence of float
    names : sequence of str
    alarms : sequence of (float, float) or None
        Where each detector's own threshold stands; None: unknown.
    n_normal, n_anomalies : int

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of Line2D
    alarms_ : list of Line2D
        One point per detector with a known threshold.
    chance_level_ : Line2D
    """

    fpr: Sequence[Floats]
    tpr: Sequence[Floats]
    roc_auc: Sequence[float]
    names: Sequence[str]
    alarms: Sequence[tuple[float, float] | None]
    n_normal: int
    n_anomalies: int

    @classmethod
    def from_estimator(cls, estimators: Any, X: Any, labels: Any, *, ax: Axes | None = None) -> Self:
        """Score rows X (n, p) with one fitted detector, a list of them, or a mapping of names to them."""
        named = _name_detectors(estimators)
        scores = {name: -np.asarray(one.score_samples(X), dtype=np.float64) for name, one in named.items()}
        flagged = {name: verdicts(one, X)[1] for name, one in named.items()}
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
        truth = _check_labels(labels)
        curves = []
        for name, values in named.items():
            values = np.asarray(values, dtype=np.float64)
            if values.shape != truth.shape or not np.isfinite(values).all():
                raise ValueError(f"The scores of {name!r} must be {truth.size} finite numbers, one per label.")
            curves.append(roc_curve(truth, values)[:2])
        alarms = [_find_rates(truth, None if flagged is None else flagged.get(name)) for name in named]
        areas = [float(auc(fpr, tpr)) for fpr, tpr in curves]
        fprs, tprs = [fpr for fpr, _ in curves], [tpr for _, tpr in curves]
        n_anomalies = int(truth.sum())
        names = [str(name) for name in named]
        return cls(fprs, tprs, areas, names, alarms, truth.size - n_anomalies, n_anomalies).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves, the best one first in the legend."""
        ax, self.figure_ = choose_axes(ax, 6.6, 6.6 + 0.24 * len(self.names))
        self.ax_ = ax
        self.lines_: list[Any] = []
        self.alarms_: list[Any] = []
        for k, name in enumerate(self.names):
            colour, dash = CYCLE[k % len(CYCLE)], DASHES[k % len(DASHES)]
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
        for which in ("x", "y"):
            show_percent(ax, which)
        ax.grid(color="0.92", lw=0.8)
        ax.set_axisbelow(True)
        bare(ax, keep=("left", "bottom"))
        order = [*np.argsort([-area for area in self.roc_auc], kind="stable"), len(self.names)]
        handles = [*self.lines_, self.chance_level_]
        add_legend_below(ax, handles=[handles[k] for k in order])
        detail = "Circles: each detector's own threshold" if self.alarms_ else ""
        entitle(ax, "Anomalies found against false alarms (ROC)", detail)
        return self


def plot_roc(estimators: Any, X: Any, labels: Any, *, ax: Axes | None = None) -> RocDisplay:
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

    Returns
    -------
    RocDisplay
    """
    return RocDisplay.from_estimator(estimators, X, labels, ax=ax)


def _name_detectors(estimators: Any) -> dict[str, Any]:
    """Detectors by name: their classes' names, numbered where they repeat."""
    if isinstance(estimators, Mapping):
        return {str(name): one for name, one in estimators.items()}
    # A scikit-learn pipeline is a sequence, too.
    several = list(estimators) if isinstance(estimators, list | tuple) else [estimators]
    kinds = [type(last_step(one)).__name__ for one in several]
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


def _check_labels(labels: Any) -> Floats:
    truth = np.asarray(labels, dtype=np.float64)
    if truth.ndim != 1 or not np.isin(truth, (0.0, 1.0)).all() or np.unique(truth).size != 2:
        raise ValueError("labels must hold both 0 (normal) and 1 (anomaly), one per row, and nothing else.")
    return truth


class _Panel(NamedTuple):
    """What an axis says, whether it is a share, and the fields of `Choice` drawn in it, with their names."""

    says: str
    is_share: bool
    curves: dict[str, str]


_PANELS = (
    _Panel("features per rule", False, {"nonzeros": "mean", "largest": "largest rule"}),
    _Panel("share of variance\nin the rules", True, {"variance": "variance"}),
    _Panel("found again in\nhalf of the rows", True, {"stability": "rules", "subspace_stability": "subspace"}),
    _Panel("AUC", False, {"auc": "AUC"}),
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
        shown = [panel for panel in _PANELS if getattr(chosen, next(iter(panel.curves))) is not None]
        ax, self.figure_ = choose_axes(ax, 9.5, 1.3 + 1.75 * len(shown))
        self.ax_ = ax
        detail = (
            f"Chosen (dotted line): {chosen.n_components} rules, alpha {write_number(chosen.alpha)}; left at that "
            "alpha, right with that number of rules"
        )
        title = "What other numbers of rules and other alphas would give", detail
        grid = add_panels(ax, title, [1.75] * len(shown), (1.0, 1.0))
        sides = (("n_components", self.selection.over_components), ("alpha", self.selection.over_alphas))
        self.axes_ = np.empty((len(shown), 2), dtype=object)
        self.lines_: dict[tuple[str, str], Any] = {}
        for k, panel in enumerate(shown):
            for side, (setting, curve) in enumerate(sides):
                axes = self.axes_[k, side] = self.figure_.add_subplot(
                    grid[k, side],
                    sharex=self.axes_[0, side] if k else None,
                    sharey=self.axes_[k, 0] if side else None,
                )
                self._draw(axes, setting, curve, panel)
                axes.tick_params(labelsize=8, labelbottom=k == len(shown) - 1, labelleft=side == 0)
            first, second = self.axes_[k]
            # Both panels share limits, which are set once all is drawn: fixed earlier they would cut curves. No share
            # is above one, and none below zero.
            low, high = first.get_ylim()
            counts = panel is _PANELS[0]
            first.set_ylim(*((0.0, high) if counts else (max(low, -0.015), min(high, 1.015))))
            first.set_ylabel(panel.says, fontsize=8.5)
            if len(panel.curves) > 1:
                second.legend(
                    loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, borderaxespad=0.0
                )
        self.axes_[-1, 0].set_xlabel("number of rules", fontsize=8.5)
        self.axes_[-1, 1].set_xlabel("alpha" + (" (log scale)" if self._log_alpha() else ""), fontsize=8.5)
        self.figure_.align_ylabels(list(self.axes_[:, 0]))
        return self

    def _draw(self, axes: Axes, setting: str, curve: Sequence[Choice], panel: _Panel) -> None:
        from matplotlib.ticker import MaxNLocator

        curve = sorted(curve, key=lambda one: float(getattr(one, setting)))
        where = [float(getattr(one, setting)) for one in curve]
        styles = ((BLUE, "o-"), (VERMILLION, "s--"))
        for (name, label), (colour, style) in zip(panel.curves.items(), styles, strict=False):
            heights = [getattr(one, name) for one in curve]
            (self.lines_[name, setting],) = axes.plot(where, heights, style, c=colour, ms=3.5, lw=1.3, label=label)
        axes.axvline(float(getattr(self.selection.chosen, setting)), color="0.35", lw=1.2, ls=":", zorder=0)
        if setting == "alpha" and self._log_alpha():
            log_scale(axes, "x")
        elif setting == "n_components":
            axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        if panel.is_share:
            show_percent(axes, "y")
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
