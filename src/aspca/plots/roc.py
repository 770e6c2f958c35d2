"""How well detectors rank labelled rows: ROC curves, and where each detector's own threshold stands on its curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics import auc, roc_curve

from aspca.harmless import for_picture
from aspca.linalg.arrays import Floats
from aspca.plots.canvas import bare, entitle, legend_below, own_or_given, percent_axis, root_of
from aspca.plots.colours import CYCLE, DASHES
from aspca.plots.labels import shortened
from aspca.plots.sources import last_step, verdicts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 44


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
    lines_: list[Any] = field(default_factory=list, init=False, repr=False)
    alarms_: list[Any] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimators: Any, X: Any, labels: Any, *, ax: Axes | None = None) -> Self:
        """Score rows X (n, p) with one fitted detector, a list of them, or a mapping of names to them."""
        named = _named(estimators)
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
        truth = _checked(labels)
        curves = []
        for name, values in named.items():
            values = np.asarray(values, dtype=np.float64)
            if values.shape != truth.shape or not np.isfinite(values).all():
                raise ValueError(f"The scores of {name!r} must be {truth.size} finite numbers, one per label.")
            curves.append(roc_curve(truth, values)[:2])
        alarms = [_rates(truth, None if flagged is None else flagged.get(name)) for name in named]
        areas = [float(auc(fpr, tpr)) for fpr, tpr in curves]
        fprs, tprs = [fpr for fpr, _ in curves], [tpr for _, tpr in curves]
        n_anomalies = int(truth.sum())
        names = [str(name) for name in named]
        return cls(fprs, tprs, areas, names, alarms, truth.size - n_anomalies, n_anomalies).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves, the best one first in the legend."""
        ax = own_or_given(ax, 6.6, 6.6 + 0.24 * len(self.names))
        self.ax_, self.figure_ = ax, root_of(ax)
        self.lines_, self.alarms_ = [], []
        for k, name in enumerate(self.names):
            colour, dash = CYCLE[k % len(CYCLE)], DASHES[k % len(DASHES)]
            # Words first: a label that begins with an underscore is left out of legends.
            label = f"AUC {self.roc_auc[k]:.3f}:  {for_picture(shortened(name, _WIDTH))}"
            self.lines_ += ax.plot(self.fpr[k], self.tpr[k], dash, c=colour, lw=1.8, label=label)
            at = self.alarms[k]
            if at is not None:
                self.alarms_ += ax.plot(*at, "o", ms=7, mfc="white", mec=colour, mew=1.8, zorder=5, clip_on=False)
        (self.chance_level_,) = ax.plot((0, 1), (0, 1), color="0.7", lw=1, ls=":", label="AUC 0.500:  chance")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.set_xlabel(f"false alarms: share of the {self.n_normal:,} normal rows that are flagged", fontsize=9)
        ax.set_ylabel(f"found: share of the {self.n_anomalies:,} anomalies that are flagged", fontsize=9)
        for which in ("x", "y"):
            percent_axis(ax, which)
        ax.grid(color="0.92", lw=0.8)
        ax.set_axisbelow(True)
        bare(ax, keep=("left", "bottom"))
        order = [*np.argsort([-area for area in self.roc_auc], kind="stable"), len(self.names)]
        handles = [*self.lines_, self.chance_level_]
        legend_below(ax, 38.0, handles=[handles[k] for k in order])
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


def _named(estimators: Any) -> dict[str, Any]:
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


def _rates(truth: Floats, flagged: Any) -> tuple[float, float] | None:
    if flagged is None:
        return None
    marked = np.asarray(flagged, dtype=bool)
    if marked.shape != truth.shape:
        raise ValueError(f"flagged has shape {marked.shape}, but there are {truth.size} labels; give one each.")
    return float(marked[truth == 0].mean()), float(marked[truth == 1].mean())


def _checked(labels: Any) -> Floats:
    truth = np.asarray(labels, dtype=np.float64)
    if truth.ndim != 1 or not np.isin(truth, (0.0, 1.0)).all() or np.unique(truth).size != 2:
        raise ValueError("labels must hold both 0 (normal) and 1 (anomaly), one per row, and nothing else.")
    return truth
