"""The rules in words, how tight each is, and how much of the anomalies' score each accounts for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.plots.canvas import (
    LINE,
    bare,
    label_slots,
    log_scale,
    own_or_given,
    panels,
    percent_axis,
    room_for_labels,
    root_of,
)
from aspca.plots.colours import ANOMALY, BLUE, OUTSIDE
from aspca.plots.labels import OUTSIDE_THE_RULES, share, wrapped
from aspca.plots.sources import check_count, explanation_of, model_of
from aspca.rules.rule import AnyRule
from aspca.rules.sentence import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 62
_LINES = 3
# What an axis begins at where all rules are exact, which have no spread to speak of.
_TIGHTEST = 1e-4


@dataclass(eq=False)
class RulesDisplay:
    """Rules, one line each.

    Parameters
    ----------
    rules : sequence of m Rule
    names : sequence of p str
        Of all features.
    spreads : ndarray of shape (m,)
        Standard deviation along each rule over that of a typical feature, both in the scaled space: unlike the spreads
        in the rules' text these have no units and can be compared.
    shares : ndarray of shape (m,) or None
        Of the score of the flagged rows.
    outside : float or None
        What lies outside the rules, of the same score: with the shares it sums to one. None: nothing can.
    n_flagged, n_rows : int
        Rows that the shares are of, and rows there are.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The bounding axes, whose place the panels take.
    axes_ : tuple of Axes
        The panel of spreads, and that of shares where there are any.
    order_ : ndarray
        Numbers of the rules, from top to bottom.
    spreads_ : Line2D
        Exact rules at the left edge.
    shares_ : BarContainer or None
    outside_ : BarContainer or None
        One bar, below those of the rules.
    """

    rules: Sequence[AnyRule]
    names: Sequence[str]
    spreads: Floats
    shares: Floats | None = None
    outside: float | None = None
    n_flagged: int = 0
    n_rows: int = 0

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, n_rules: int = 50, sort: bool = True, ax: Axes | None = None
    ) -> Self:
        """Draw the rules of a fitted ASPCA; with rows X (n, p) also what the flagged among them break."""
        model = model_of(estimator, "plot_rules").model_
        typical = model.space.typical
        spreads = np.zeros(len(model.rules))
        if typical > 0:
            spreads[model.n_identities :] = np.sqrt(model.table.variances / typical)
        if X is None:
            return cls(model.rules, model.names, spreads).plot(ax, n_rules=n_rules, sort=sort)
        why = explanation_of(estimator, X, "plot_rules")
        flagged = why.anomalies
        total = float(why.scores[flagged].sum())
        if not total > 0:
            return cls(model.rules, model.names, spreads, n_rows=len(why)).plot(ax, n_rules=n_rules, sort=sort)
        shares = why.rule_contributions[flagged].sum(axis=0) / total
        outside = float(why.outside[flagged].sum()) / total if model.evidence is not None else None
        display = cls(model.rules, model.names, spreads, shares, outside, int(flagged.sum()), len(why))
        return display.plot(ax, n_rules=n_rules, sort=sort)

    def plot(self, ax: Axes | None = None, *, n_rules: int = 50, sort: bool = True) -> Self:
        """Draw at most `n_rules`, those of the largest shares first, or in their own order where `sort` is off."""
        self.order_ = order = self._order(check_count(n_rules, "n_rules"), sort)
        width = room_for_labels(ax, _WIDTH, 0.4)
        texts = [wrapped(f"{i}:  {self.rules[i]}", width, _LINES, self.names) for i in order]
        if self.outside is not None:
            texts.append(OUTSIDE_THE_RULES)
        # Axes without a line in them still need a place.
        texts = texts or [""]
        lines = np.array([text.count("\n") + 1 for text in texts])
        # One line of text is one unit of height, and some of it lies between rules.
        tops = np.concatenate([[0.0], np.cumsum(lines + 0.4)])
        middles = (tops[:-1] + tops[1:]) / 2
        columns = 1 if self.shares is None else 2
        height = LINE * float(tops[-1])
        ax = own_or_given(ax, 6.4 + 2.9 * columns, 1.3 + height)
        self.ax_, self.figure_ = ax, root_of(ax)
        grid = panels(ax, self._title(order), [height], (2.0, 3.0)[:columns])
        first = self.figure_.add_subplot(grid[0, 0])
        first.set_ylim(float(tops[-1]), 0.0)
        self._draw_spreads(first, middles[: order.size])
        label_slots(first, "y", middles.tolist(), texts)
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

    def _order(self, most: int, sort: bool) -> Ints:
        by_size = np.argsort(self.spreads if self.shares is None else -self.shares, kind="stable")[:most]
        return by_size if sort and self.shares is not None else np.sort(by_size)

    def _draw_spreads(self, axes: Axes, middles: Floats) -> None:
        exact = np.array([self.rules[i].exact for i in self.order_])
        spreads = self.spreads[self.order_]
        exact = exact.astype(np.bool_)
        least = float(spreads[~exact].min()) if not exact.all() else _TIGHTEST
        log_scale(axes, "x")
        left = least / (4.0 if exact.any() else 2.0)
        axes.set_xlim(left, 2.0 * max(1.0, float(spreads.max(initial=0.0))))
        # What float64 resolves of an exact rule is no spread.
        seen = np.where(exact, left, spreads)
        axes.hlines(middles, left, seen, color="0.8", lw=0.8)
        (self.spreads_,) = axes.plot(seen, middles, "o", ms=4.5, c=BLUE, clip_on=False)
        for k in np.flatnonzero(exact):
            axes.annotate("exact", (seen[k], middles[k]), (6, 0), textcoords="offset points", fontsize=7, va="center")
        axes.axvline(1.0, color="0.6", lw=0.8, ls=":")
        axes.set_xlabel("spread\n(1 = a typical feature's; log scale)", fontsize=8.5)
        axes.tick_params(axis="x", labelsize=8)
        bare(axes, keep=("bottom",))

    def _draw_shares(self, axes: Axes, middles: Floats, shares: Floats) -> None:
        self.shares_ = axes.barh(middles[: shares.size], shares, height=0.8, color=ANOMALY)
        axes.bar_label(self.shares_, [share(value) for value in shares], fontsize=7.5, padding=3)
        largest = float(shares.max(initial=0.0))
        if self.outside is not None:
            self.outside_ = axes.barh(middles[-1:], [self.outside], height=0.8, color=OUTSIDE)
            axes.bar_label(self.outside_, [share(self.outside)], fontsize=7.5, padding=3)
            largest = max(largest, self.outside)
        axes.set_xlim(0.0, max(largest, 1e-9) * 1.18)
        percent_axis(axes, "x")
        axes.tick_params(axis="y", labelleft=False, length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_xlabel("share of the flagged rows' score", fontsize=8.5)
        bare(axes, keep=("bottom",))

    def _title(self, order: Ints) -> tuple[str, str]:
        if not self.rules:
            return "No rules: nothing relates these columns that chance does not explain", self._flagged()
        count = f"{len(self.rules)} rules" if len(self.rules) != 1 else "The only rule"
        if len(order) < len(self.rules):
            count = f"{len(order)} of {len(self.rules)} rules"
        detail = self._flagged()
        if self.shares is None:
            return f"{count}: what normal rows obey, and how tightly", detail
        if len(order) < len(self.rules):
            detail += f"; the rules shown have {share(float(self.shares[order].sum()))} of their score"
        return f"{count}: how tight they are, and what the anomalies break", detail

    def _flagged(self) -> str:
        if self.shares is None:
            return f"None of the {self.n_rows:,} rows given is an anomaly" if self.n_rows else ""
        return f"Shares are of the {self.n_flagged:,} flagged of {counted(self.n_rows, 'row')}"


def plot_rules(
    estimator: Any, X: Any = None, *, n_rules: int = 50, sort: bool = True, ax: Axes | None = None
) -> RulesDisplay:
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

    Returns
    -------
    RulesDisplay
    """
    return RulesDisplay.from_estimator(estimator, X, n_rules=n_rules, sort=sort, ax=ax)
