"""What a model is: which features each component, or each rule, relates, and the rules in words, with how tight they
are and how much of the anomalies' score each accounts for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import aspca.plots.canvas as canvas
from aspca.linalg.arrays import Floats, Ints
from aspca.plots.canvas import check_count, explanation_of, model_of
from aspca.plots.heatmap import draw_cells, measure_cells
from aspca.plots.labels import OUTSIDE_THE_RULES, shorten_names, wrap_rule, write_share
from aspca.rules.rule import AnyRule
from aspca.rules.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class LoadingsDisplay(canvas.Display):
    """The matrix of loadings, features by components or by rules.

    Drawn are `mesh_` (QuadMesh), whose array is masked where a loading is zero, its `colorbar_`, and the features at
    the positions `features_`, from top to bottom.
    """

    loadings: Floats  # (p, d), of length one in the scaled space, with exact zeros; those of components orthogonal
    names: Sequence[str]  # p
    of: str = "components"  # or rules: what the columns are

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, of: str = "components", n_features: int = 80, ax: Axes | None = None
    ) -> Self:
        """The matrix of loadings, features by components or by rules: zeros are empty cells.

        Parameters
        ----------
        estimator : fitted ASPCA
        of : {"components", "rules"}
            `components_`, orthonormal, or the readable rules, which span the same.
        n_features : int
            At most so many are drawn: those of the largest loadings, in their own order.
        ax : matplotlib Axes or None
            Where to draw; None makes a figure that grows with the matrix.
        """
        if of not in ("components", "rules"):
            raise ValueError(f"of must be one of components, rules, got {of!r}.")
        model = model_of(estimator, "plot_loadings")
        loadings = model.loadings if of == "components" else model.table.loadings
        return cls(loadings, model.names, of).plot(ax, n_features=n_features)

    def plot(self, ax: Axes | None = None, *, n_features: int = 80) -> Self:
        """Draw the features in their own order; where they are more than `n_features`, those that weigh most."""
        p, d = self.loadings.shape
        if not d:
            raise ValueError(f"There are no {self.of} to draw; of='components' draws what they are sought in.")
        weight = np.square(self.loadings).sum(axis=1)
        most = np.argsort(-weight, kind="stable")[: check_count(n_features, "n_features")]
        self.features_ = np.sort(most)
        labels = shorten_names(self.names, canvas.fit_labels(ax, 34, 0.3))
        rows, columns = [labels[j] for j in self.features_], [str(i) for i in range(d)]
        ax = self._open(ax, *measure_cells(rows, columns))
        shown, bar = self.loadings[self.features_], "loading (no unit)\nempty: exactly zero"
        self.mesh_, self.colorbar_ = draw_cells(ax, shown, rows, columns, (-1.0, 1.0), bar, _write_loading)
        ax.set_xlabel(f"number of the {self.of[:-1]}", fontsize=9)
        detail = f"{int((self.loadings != 0).sum())} of {p * d} loadings are not zero"
        if len(rows) < p:
            detail += f"; {len(rows)} of {p} features are drawn, those of the largest loadings"
        each = f"the {self.of[:-1]} relates" if d == 1 else f"each of {d} {self.of} relates"
        canvas.entitle(
            ax, f"Loadings: which of {counted(p, 'feature')} {each}", detail, left=canvas.measure_labels(rows)
        )
        return self


plot_loadings = LoadingsDisplay.from_estimator


def _write_loading(value: float) -> str:
    """Two decimals; what would look like zero by its size, as in 3e-5."""
    return f"{value:.2f}" if abs(value) >= 0.0095 else f"{value:.0e}".replace("e-0", "e-")


@dataclass(eq=False)
class RulesDisplay(canvas.Display):
    """Rules, one line each.

    Drawn are, in the panels `axes_` (the second where there are shares), the rules of the numbers `order_`, from top to
    bottom: `spreads_` (Line2D), exact rules at the left edge, `shares_` (BarContainer or None), and `outside_` (the
    same, of one bar below those of the rules).
    """

    rules: Sequence[AnyRule]  # m
    names: Sequence[str]  # of all features
    # (m,) standard deviation along each rule over that of a typical feature, both in the scaled space: unlike the
    # spreads in the rules' text these have no units and can be compared.
    spreads: Floats
    shares: Floats | None = None  # (m,) of the score of the flagged rows
    outside: float | None = None  # what lies outside the rules, of the same score; None: nothing can
    n_flagged: int = 0  # rows that the shares are of
    n_rows: int = 0

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, n_rules: int = 50, sort: bool = True, ax: Axes | None = None
    ) -> Self:
        """Rules with their text, spread and share of the flagged rows' score.

        Parameters
        ----------
        estimator : fitted ASPCA
        X : (n, p) rows or None
            Without rows, or where none is an anomaly, there are no shares.
        n_rules : int
            At most so many are drawn: those of the largest shares, or the tightest.
        sort : bool
            The largest share first; otherwise rules in their own order, by number.
        ax : matplotlib Axes or None
            A subplot, whose place two panels take; None makes a figure as tall as the rules need.
        """
        model = model_of(estimator, "plot_rules")
        typical, spreads = model.space.typical, np.zeros(len(model.rules))
        if typical > 0:
            spreads[model.n_identities :] = np.sqrt(model.table.variances / typical)
        display = cls(model.rules, model.names, spreads)
        if X is not None:
            why = explanation_of(estimator, X, "plot_rules")
            flagged = why.anomalies
            display.n_rows, total = len(why), float(why.scores[flagged].sum())
            if total > 0:
                display.n_flagged = int(flagged.sum())
                display.shares = why.rule_contributions[flagged].sum(axis=0) / total
                if model.evidence is not None:
                    display.outside = float(why.outside[flagged].sum()) / total
        return display.plot(ax, n_rules=n_rules, sort=sort)

    def plot(self, ax: Axes | None = None, *, n_rules: int = 50, sort: bool = True) -> Self:
        """Draw at most `n_rules`, those of the largest shares first, or in their own order where `sort` is off."""
        most = check_count(n_rules, "n_rules")
        order = np.argsort(self.spreads if self.shares is None else -self.shares, kind="stable")[:most]
        self.order_ = order = order if sort and self.shares is not None else np.sort(order)
        width = canvas.fit_labels(ax, 62, 0.4)
        texts = [wrap_rule(f"{i}:  {self.rules[i]}", width, 3, self.names) for i in order]
        if self.outside is not None:
            texts.append(OUTSIDE_THE_RULES)
        # Axes without a line in them still need a place.
        texts = texts or [""]
        lines = np.array([text.count("\n") + 1 for text in texts])
        # One line of text is one unit of height, and some of it lies between rules.
        tops = np.concatenate([[0.0], np.cumsum(lines + 0.4)])
        middles = (tops[:-1] + tops[1:]) / 2
        columns = 1 if self.shares is None else 2
        height = canvas.LINE * float(tops[-1])
        ax = self._open(ax, 6.4 + 2.9 * columns, 1.3 + height)
        grid = canvas.add_panels(ax, self._write_title(order), [height], (2.0, 3.0)[:columns])
        first = self.figure_.add_subplot(grid[0, 0])
        first.set_ylim(float(tops[-1]), 0.0)
        self._draw_spreads(first, middles[: order.size])
        canvas.label_slots(first, "y", middles.tolist(), texts)
        self.axes_: tuple[Axes, ...] = (first,)
        self.shares_: Any = None
        self.outside_: Any = None
        if self.shares is not None:
            second = self.figure_.add_subplot(grid[0, 1], sharey=first)
            self._draw_shares(second, middles, self.shares[order])
            self.axes_ = (first, second)
        for axes in self.axes_:
            # Every other rule on a band of grey leads the eye from the text to its numbers.
            for top, bottom in list(pairwise(tops))[::2]:
                axes.axhspan(top, bottom, color="0.96", lw=0, zorder=0)
        return self

    def _draw_spreads(self, axes: Axes, middles: Floats) -> None:
        exact = np.array([self.rules[i].exact for i in self.order_], dtype=np.bool_)
        spreads = self.spreads[self.order_]
        # Exact rules have no spread to speak of; where all are, the axis begins somewhere.
        least = float(spreads[~exact].min()) if not exact.all() else 1e-4
        canvas.set_log_scale(axes, "x")
        left = least / (4.0 if exact.any() else 2.0)
        axes.set_xlim(left, 2.0 * max(1.0, float(spreads.max(initial=0.0))))
        # What float64 resolves of an exact rule is no spread.
        seen = np.where(exact, left, spreads)
        axes.hlines(middles, left, seen, color="0.8", lw=0.8)
        (self.spreads_,) = axes.plot(seen, middles, "o", ms=4.5, c=canvas.BLUE, clip_on=False)
        for k in np.flatnonzero(exact):
            axes.annotate("exact", (seen[k], middles[k]), (6, 0), textcoords="offset points", fontsize=7, va="center")
        axes.axvline(1.0, color="0.6", lw=0.8, ls=":")
        canvas.finish_panel(axes, "spread\n(1 = a typical feature's; log scale)")

    def _draw_shares(self, axes: Axes, middles: Floats, shares: Floats) -> None:
        self.shares_ = canvas.draw_shares(axes, middles[: shares.size], shares, height=0.8, color=canvas.ANOMALY)
        largest = float(shares.max(initial=0.0))
        if self.outside is not None:
            self.outside_ = canvas.draw_shares(axes, middles[-1:], [self.outside], height=0.8, color=canvas.OUTSIDE)
            largest = max(largest, self.outside)
        axes.set_xlim(0.0, max(largest, 1e-9) * 1.18)
        canvas.finish_panel(axes, "share of the flagged rows' score", labelled=False)

    def _write_title(self, order: Ints) -> tuple[str, str]:
        n, detail = len(self.rules), f"Shares are of the {self.n_flagged:,} flagged of {counted(self.n_rows, 'row')}"
        if self.shares is None:
            detail = f"None of the {self.n_rows:,} rows given is an anomaly" if self.n_rows else ""
        if not n:
            return "No rules: nothing relates these columns that chance does not explain", detail
        count = f"{n} rules" if n != 1 else "The only rule"
        if len(order) < n:
            count = f"{len(order)} of {n} rules"
        if self.shares is None:
            return f"{count}: what normal rows obey, and how tightly", detail
        if len(order) < n:
            detail += f"; the rules shown have {write_share(float(self.shares[order].sum()))} of their score"
        return f"{count}: how tight they are, and what the anomalies break", detail


plot_rules = RulesDisplay.from_estimator
