"""One row: which rules it breaks, which features that comes from, and what would be normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import aspca.plots.canvas as canvas
from aspca.escaping import for_picture
from aspca.findings.explanation import Explanation, position_in
from aspca.linalg.arrays import Floats, Ints
from aspca.plots.canvas import check_count, explanation_of
from aspca.plots.labels import (
    OUTSIDE_THE_RULES,
    shorten,
    shorten_names,
    use_minus_sign,
    wrap_rule,
    write_number,
    write_pair,
)
from aspca.rules.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class ExplanationDisplay(canvas.Display):
    """One row explained.

    Drawn are, in the three panels `axes_`, shares of the rules at the positions `rules_` as `rule_bars_`, shares of
    the features at `features_` as `feature_bars_` (BarContainer), the largest on top, one more bar for the sum of the
    others, and `values_` beside `normal_` (Line2D): distances of the row and of the nearest normal row from the mean,
    in units of the model's scale. `outside_bar_` is that of `rule_bars_` which stands for what lies outside the rules;
    None for scores to which nothing does.
    """

    explanation: Explanation
    row: int  # its position in the explanation

    @classmethod
    def from_estimator(
        cls,
        source: Any,
        X: Any = None,
        row: int = 0,
        *,
        n_rules: int = 6,
        n_features: int = 12,
        ax: Axes | None = None,
    ) -> Self:
        """One row: what each rule, what lies outside the rules and each feature adds to its score; its values beside
        normal ones.

        Parameters
        ----------
        source : fitted ASPCA or Explanation
        X : (n, p) rows or None
            Only with an estimator.
        row : int
            Position of the row, from 0.
        n_rules, n_features : int
            At most so many are drawn; smaller ones are summed in one bar.
        ax : matplotlib Axes or None
            A subplot, at least 8 by 5 inches, whose place three panels take; None makes a figure.

        Notes
        -----
        What would be normal is `Explanation.repaired`: the nearest row that obeys every rule.
        """
        why = explanation_of(source, X, "plot_explanation")
        return cls(why, position_in(len(why), row)).plot(ax, n_rules=n_rules, n_features=n_features)

    def plot(self, ax: Axes | None = None, *, n_rules: int = 6, n_features: int = 12) -> Self:
        """Draw at most so many rules and features, and the sums of the others."""
        why = self.explanation[[self.row]]
        score = float(why.scores[0])
        shares = why.feature_contributions[0] / score if score > 0 else np.zeros(len(why.names))
        self.rules_, by_rule = _find_largest(why.shares[0], check_count(n_rules, "n_rules"))
        self.features_, by_feature = _find_largest(shares, check_count(n_features, "n_features"))
        width = canvas.fit_labels(ax, 62, 0.35)
        texts = [wrap_rule(f"{i}:  {why.rules[i]}", width, 2, why.names) for i in self.rules_]
        names = shorten_names(why.names, min(30, width))
        labels = [names[j] for j in self.features_]
        if by_rule.size > len(texts):
            texts.append(_count_others(len(why.rules) - len(texts), "rule"))
        if by_feature.size > len(labels):
            labels.append(_count_others(len(why.names) - len(labels), "feature"))
        colours = [canvas.ANOMALY] * self.rules_.size
        outside = None
        if why.model.evidence is not None:
            part = float(why.outside[0]) / score if score > 0 else 0.0
            outside = int((by_rule[: self.rules_.size] >= part).sum())
            by_rule = np.insert(by_rule, outside, part)
            texts.insert(outside, OUTSIDE_THE_RULES)
            colours.insert(outside, canvas.OUTSIDE)
        tallest = max(text.count("\n") + 1 for text in texts)
        heights = (canvas.LINE * (tallest + 0.5) * max(2, len(texts)), canvas.LINE * 1.5 * max(3, len(labels)))
        ax = self._open(ax, 10.5, sum(heights) + 1.9)
        grid = canvas.add_panels(ax, _write_title(why), heights, (1.0, 1.0))
        top, left = self.figure_.add_subplot(grid[0, :]), self.figure_.add_subplot(grid[1, 0])
        right = self.figure_.add_subplot(grid[1, 1], sharey=left)
        self.axes_ = (top, left, right)
        self.rule_bars_ = _draw_labelled_bars(top, by_rule, texts, tallest, colours, "rule")
        self.outside_bar_ = None if outside is None else self.rule_bars_[outside]
        self.feature_bars_ = _draw_labelled_bars(
            left, by_feature, labels, 1, [canvas.BLUE] * len(self.features_), "feature"
        )
        self._draw_values(why, right)
        return self

    def _draw_values(self, why: Explanation, axes: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        features = self.features_
        value = why.model.space.centred(why.values)[0, features]
        normal = why.model.space.centred(why.repaired)[0, features]
        heights = np.arange(features.size, dtype=np.float64)
        axes.axvline(0.0, color="0.6", lw=0.8, ls=":")
        axes.hlines(heights, np.minimum(value, normal), np.maximum(value, normal), color="0.75", lw=1.5)
        ring: Any = {"ms": 5.5, "mfc": "white", "mec": canvas.BLUE, "mew": 1.4}
        (self.normal_,) = axes.plot(normal, heights, "o", label="nearest normal", **ring)
        (self.values_,) = axes.plot(value, heights, "D", ms=4.5, c=canvas.ANOMALY, label="this row")
        says, drawn = "distance from the mean,\nin units of the feature's scale", np.concatenate([value, normal])
        sizes = np.abs(drawn[(drawn != 0) & np.isfinite(drawn)])
        # Values so many times the median one would squeeze it against zero.
        if sizes.size and sizes.max() > 30.0 * np.median(sizes):
            canvas.set_log_scale(axes, "x", linear=float(np.median(sizes)))
            says += " (log scale)"
        else:
            axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
            axes.xaxis.set_major_formatter(lambda value, _: use_minus_sign(f"{value:.6g}"))
        axes.margins(x=0.08)
        style: Any = {"transform": axes.get_yaxis_transform(), "fontsize": 7.5, "va": "center", "ha": "left"}
        for k, j in enumerate(features):
            # In standard deviations: a value this near to a normal one is normal, and needs no more digits.
            same = 1e-4 * float(why.model.space.deviations[j])
            axes.text(1.03, k, write_pair(float(why.values[0, j]), float(why.repaired[0, j]), same), **style)
        axes.text(1.03, -0.85, "value  (normal)", weight="bold", **style)
        canvas.finish_panel(axes, says, labelled=False)
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize=8, borderaxespad=0.0)


plot_explanation = ExplanationDisplay.from_estimator


def _write_title(why: Explanation) -> tuple[str, str]:
    name = f"Row {for_picture(shorten(str(why.index[0]), 40))}"
    score = write_number(float(why.scores[0]))
    if why.judgement.anomalies is None or why.threshold is None:
        return f"{name}: why its score is {score}", ""
    broken = int(why.judgement.broken[0].sum())
    rules = f"it breaks {broken} of {counted(len(why.rules), 'rule')} by their own limits"
    if not why.rules:
        rules = "there are no rules to break"
    detail = f"Score {score}, threshold {write_number(why.threshold)}; {rules}"
    if why.anomalies[0]:
        unusual = not broken and why.outside[0] > 0.5 * why.scores[0]
        return f"{name}: why it is an anomaly" + (", though it keeps its rules" if unusual else ""), detail
    return f"{name}: within the threshold" + (", but it breaks a rule" if broken else ""), detail


def _count_others(count: int, what: str) -> str:
    return f"{count} other {what}{'s' * (count != 1)}"


def _find_largest(shares: Floats, most: int) -> tuple[Ints, Floats]:
    """Positions of the largest shares, at least one, and what to draw: those shares, then the sum of the others, to
    which what hardly adds anything goes too."""
    order = np.argsort(-shares, kind="stable")
    chosen = order[: max(1, min(most, int((shares >= 1e-3).sum())))]
    rest = float(shares[order[chosen.size :]].sum())
    return chosen, np.append(shares[chosen], rest) if rest > 0 else shares[chosen]


def _draw_labelled_bars(axes: Axes, shares: Floats, labels: list[str], lines: int, colours: list[str], by: str) -> Any:
    """Bars from the top, those beyond the colours given (sums of others) grey."""
    heights = np.arange(shares.size)
    axes.set_ylim(shares.size - 0.5, -0.5)
    thickness = 0.65 if lines == 1 else 0.5
    bars = canvas.draw_shares(axes, heights, shares, height=thickness, color=[*colours, "0.7"][: shares.size])
    axes.set_xlim(0.0, max(float(shares.max()), 1e-9) * 1.15)
    canvas.label_slots(axes, "y", heights.tolist(), labels, lines)
    canvas.finish_panel(axes, f"share of the score, by {by}")
    return bars
