"""The rules in words, how tight each is, and how much of the anomalies' score each accounts for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.plots.canvas import LINE, bare, label_slots, own_or_given, panels, percent_axis, room_for_labels, root_of
from aspca.plots.colours import ANOMALY, BLUE
from aspca.plots.labels import share, wrapped
from aspca.plots.sources import check_count, model_of
from aspca.rules.rule import Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 62
_LINES = 3
# Spreads below this share of a typical feature's are drawn at it: an exact rule has none.
_TIGHTEST = 1e-4


@dataclass(eq=False)
class RulesDisplay:
    """Rules, one line each.

    Parameters
    ----------
    rules : sequence of d Rule
    spreads : ndarray of shape (d,)
        Standard deviation along each rule over that of a typical feature, both in the scaled space: unlike the spreads
        in the rules' text these have no units and can be compared.
    shares : ndarray of shape (d,) or None
        Of the score of the flagged rows; sums to one.
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
    shares_ : BarContainer or None
    """

    rules: Sequence[Rule]
    spreads: Floats
    shares: Floats | None = None
    n_flagged: int = 0
    n_rows: int = 0

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, n_rules: int = 50, sort: bool = True, ax: Axes | None = None
    ) -> Self:
        """Draw the rules of a fitted ASPCA; with rows X (n, p) also what the flagged among them break."""
        model = model_of(estimator, "plot_rules")
        variances = np.maximum(np.diag(model.model_.projected), 0.0)
        typical = model.model_.typical
        spreads = np.sqrt(variances / typical) if typical > 0 else np.zeros(variances.size)
        if X is None:
            return cls(model.rules_, spreads).plot(ax, n_rules=n_rules, sort=sort)
        why = model.explain(X)
        flagged: Bools = np.asarray(model.predict(X)) == -1
        total = float(why.scores[flagged].sum())
        by_rule = why.rule_contributions[flagged].sum(axis=0)
        shares = by_rule / total if total > 0 else np.zeros(by_rule.size)
        display = cls(model.rules_, spreads, shares, int(flagged.sum()), len(why.scores))
        return display.plot(ax, n_rules=n_rules, sort=sort)

    def plot(self, ax: Axes | None = None, *, n_rules: int = 50, sort: bool = True) -> Self:
        """Draw at most `n_rules`, those of the largest shares first, or in their own order where `sort` is off."""
        self.order_ = order = self._order(check_count(n_rules, "n_rules"), sort)
        width = room_for_labels(ax, _WIDTH, 0.4)
        texts = [wrapped(f"{i}:  {self.rules[i]}", width, _LINES) for i in order]
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
        self._draw_spreads(first, middles)
        label_slots(first, "y", middles.tolist(), texts)
        self.axes_: tuple[Axes, ...] = (first,)
        self.shares_: Any = None
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
        seen = np.maximum(self.spreads[self.order_], _TIGHTEST)
        axes.set_xscale("log")
        axes.set_xlim(_TIGHTEST / 1.5 if seen.min() <= _TIGHTEST else float(seen.min()) / 2, 2.0 * max(1.0, seen.max()))
        axes.hlines(middles, axes.get_xlim()[0], seen, color="0.8", lw=0.8)
        (self.spreads_,) = axes.plot(seen, middles, "o", ms=4.5, c=BLUE)
        for k in np.flatnonzero(self.spreads[self.order_] < _TIGHTEST):
            axes.annotate("exact", (seen[k], middles[k]), (6, 0), textcoords="offset points", fontsize=7, va="center")
        axes.axvline(1.0, color="0.6", lw=0.8, ls=":")
        axes.set_xlabel("spread\n(1 = a typical feature's; log scale)", fontsize=8.5)
        axes.tick_params(axis="x", labelsize=8)
        bare(axes, keep=("bottom",))

    def _draw_shares(self, axes: Axes, middles: Floats, shares: Floats) -> None:
        self.shares_ = axes.barh(middles, shares, height=0.8, color=ANOMALY)
        axes.bar_label(self.shares_, [share(value) for value in shares], fontsize=7.5, padding=3)
        axes.set_xlim(0.0, max(float(shares.max()), 1e-9) * 1.18)
        percent_axis(axes, "x")
        axes.tick_params(axis="y", labelleft=False, length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_xlabel("share of the flagged rows' score", fontsize=8.5)
        bare(axes, keep=("bottom",))

    def _title(self, order: Ints) -> tuple[str, str]:
        count = f"{len(self.rules)} rules" if len(self.rules) != 1 else "The only rule"
        if len(order) < len(self.rules):
            count = f"{len(order)} of {len(self.rules)} rules"
        if self.shares is None:
            return f"{count}: what normal rows obey, and how tightly", ""
        detail = f"Shares are of the {self.n_flagged:,} flagged of {self.n_rows:,} rows"
        if len(order) < len(self.rules):
            detail += f"; the rules shown have {share(float(self.shares[order].sum()))} of their score"
        return f"{count}: how tight they are, and what the anomalies break", detail


def plot_rules(
    estimator: Any, X: Any = None, *, n_rules: int = 50, sort: bool = True, ax: Axes | None = None
) -> RulesDisplay:
    """Rules with their text, spread and share of the flagged rows' score.

    Parameters
    ----------
    estimator : fitted ASPCA
    X : (n, p) rows or None
        Without rows there are no shares.
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
