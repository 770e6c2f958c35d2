"""Scores of rows, in order or in time, with the threshold and the anomalies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import aspca.plots.canvas as canvas
from aspca.escaping import for_picture
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.plots.canvas import find_detector, judge_rows
from aspca.plots.labels import write_number, write_share
from aspca.rules.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class ScoresDisplay(canvas.Display):
    """Scores of rows (n,), the higher, the less normal.

    Drawn are `normal_` and `anomalies_` (Line2D, or None where there are none): every anomaly, and of the other rows
    those that are not behind another; `threshold_` (Line2D or None); and `log_`, whether the axis is logarithmic.
    """

    scores: Floats
    anomalies: Bools | None = None  # (n,) rows to mark; None: none is known
    threshold: float | None = None
    time: Any = None  # (n,) numbers or dates; None: rows in order, from 0
    name: str | None = None  # of the detector, for the title
    limit: str = ""  # what the threshold is, in a few words

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, time: Any = None, ax: Axes | None = None, log: bool | None = None
    ) -> Self:
        """Scores of rows in order, or in time, with the threshold and the anomalies.

        Parameters
        ----------
        estimator : ASPCA or another fitted detector with `score_samples` and `predict`
        X : (n, p) rows
        time : (n,) or None
            Numbers or dates; None takes the index of X where it holds dates, otherwise the order of the rows.
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        log : bool or None
            A logarithmic axis of scores; None: where it helps.
        """
        scores = -np.asarray(estimator.score_samples(X), dtype=np.float64)
        threshold, anomalies = judge_rows(estimator, X)
        detector = find_detector(estimator)
        known = getattr(detector, "threshold_limit_", None)
        limit = "" if known is None else known.name + ("" if known.level is None else f", level {known.level:.4g}")
        if time is None and np.asarray(getattr(X, "index", range(0))).dtype.kind == "M":
            time = X.index
        more: Any = {"time": time, "name": type(detector).__name__, "limit": limit, "ax": ax, "log": log}
        return cls.from_predictions(scores, anomalies, threshold=threshold, **more)

    @classmethod
    def from_predictions(
        cls,
        scores: Any,
        anomalies: Any = None,
        *,
        threshold: float | None = None,
        time: Any = None,
        name: str | None = None,
        limit: str = "",
        ax: Axes | None = None,
        log: bool | None = None,
    ) -> Self:
        """Draw scores (n,), high for anomalies; without `anomalies` (n,), those above the threshold are marked."""
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
            raise ValueError("scores must be one finite number per row, for at least one row.")
        marked = None if anomalies is None else np.asarray(anomalies, dtype=bool)
        if marked is None and threshold is not None:
            marked = values > threshold
        if marked is not None and marked.shape != values.shape:
            raise ValueError(f"anomalies has shape {marked.shape}, but there are {values.size} scores; give one each.")
        return cls(values, marked, threshold, _check_times(time, values.size), name, limit).plot(ax, log=log)

    def plot(self, ax: Axes | None = None, *, log: bool | None = None) -> Self:
        """Draw; `log` makes the axis of scores logarithmic or not, None where it helps."""
        ax = self._open(ax, 10.0, 4.8)
        largest, positive = float(self.scores.max()), self.scores[self.scores > 0]
        # A logarithm helps where the largest is many times the median.
        helps = float(self.scores.min()) >= 0 and largest > 0 and largest > 30.0 * float(np.median(self.scores))
        self.log_ = helps if log is None else bool(log)
        if self.log_ and largest <= 0:
            raise ValueError("No score is above zero, so there is no logarithm to draw; use log=False.")
        # Far below the median a score is as good as zero: it is drawn at the edge.
        floor = float(max(positive.min(), 1e-4 * np.median(positive))) if self.log_ else -np.inf
        heights = np.maximum(self.scores, floor)
        at = np.arange(self.scores.size) if self.time is None else self.time
        marked = np.zeros(self.scores.size, dtype=bool) if self.anomalies is None else self.anomalies
        self.normal_: Any = None
        self.anomalies_: Any = None
        self.threshold_: Any = None
        if not marked.all():
            rows = np.flatnonzero(~marked)
            label = f"{rows.size:,} {'other rows' if self.anomalies is not None else 'rows'}"
            # A few thousand are all drawn.
            if rows.size > 5_000:
                seen = np.log(heights[rows]) if self.log_ else heights[rows]
                rows = rows[thin_points(at[rows].astype(np.float64), seen)]
            # As pixels also in vector files, which thousands of dots would make unwieldy.
            style: Any = {"ms": 2.4, "mew": 0, "c": canvas.NORMAL, "label": label, "rasterized": True}
            (self.normal_,) = ax.plot(at[rows], heights[rows], "o", **style)
        if marked.any():
            label = f"{marked.sum():,} anomalies" if marked.sum() > 1 else "1 anomaly"
            (self.anomalies_,) = ax.plot(at[marked], heights[marked], "D", ms=3.2, mew=0, c=canvas.ANOMALY, label=label)
        if self.threshold is not None:
            limit = f" ({for_picture(self.limit)})" if self.limit else ""
            words = f"threshold {write_number(self.threshold)}{limit}"
            self.threshold_ = ax.axhline(max(self.threshold, floor), color=canvas.BLACK, lw=1.2, ls="--", label=words)
        self._finish(ax, floor)
        return self

    def _finish(self, ax: Axes, floor: float) -> None:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
        from matplotlib.ticker import MaxNLocator

        if self.log_:
            canvas.set_log_scale(ax, "y")
        elif float(self.scores.min()) >= 0:
            ax.set_ylim(bottom=0)
        ax.set_ylabel("score (log scale)" if self.log_ else "score")
        ax.set_xlabel("row, in order" if self.time is None else "time")
        if self.time is None:
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
            if self.scores.size == 1:
                # Around a single row matplotlib would find fractions of it.
                ax.set_xticks([0])
        elif self.time.dtype.kind == "M":
            locator = AutoDateLocator()  # type: ignore[no-untyped-call]  # matplotlib.dates has no types
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        ax.margins(x=0.01)
        canvas.hide_spines(ax)
        details, below = [], int((self.scores < floor).sum())
        if self.anomalies is not None:
            count = int(self.anomalies.sum())
            verb = "is an anomaly" if count == 1 else "are anomalies"
            details.append(f"{count:,} of them ({write_share(count / self.scores.size)}) {verb}")
        if below:
            details.append(f"{below:,} scores below {write_number(floor)} are drawn there")
        by = f" by {for_picture(self.name)}" if self.name else ""
        canvas.entitle(ax, f"Scores of {counted(self.scores.size, 'row')}{by}", "; ".join(details))
        canvas.add_legend_below(ax, columns=3)


plot_scores = ScoresDisplay.from_estimator


def _check_times(time: Any, n: int) -> Any:
    if time is None:
        return None
    values = np.asarray(time)
    if values.dtype.kind in "iuf":
        known = np.isfinite(values)
    else:
        try:
            values = np.asarray(time, dtype="datetime64[ns]")
        except (TypeError, ValueError):
            raise ValueError("time must hold numbers or dates; leave it out to draw rows in order.") from None
        known = ~np.isnat(values)
    if values.shape != (n,):
        raise ValueError(f"time has shape {values.shape}, but there are {n} rows; give one time per row.")
    if not known.all():
        raise ValueError(f"time is missing in row {int(np.flatnonzero(~known)[0])}; give one time per row.")
    return values


def thin_points(x: Floats, y: Floats, columns: int = 700, rows: int = 250) -> Ints:
    """Ascending positions of one point (n,), the highest, in each cell of a grid over the points' own extent.

    The grid is finer than the markers drawn on it; where an axis is logarithmic, `x` and `y` are logarithms.
    """
    if x.size == 0:
        return np.empty(0, dtype=np.intp)
    cells = _find_cells(x, columns) * rows + _find_cells(y, rows)
    order = np.argsort(-y, kind="stable")
    _, first = np.unique(cells[order], return_index=True)
    return np.sort(order[first])


def _find_cells(values: Floats, count: int) -> Ints:
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return np.zeros(values.size, dtype=np.intp)
    return np.minimum((values - low) / (high - low) * count, count - 1).astype(np.intp)
