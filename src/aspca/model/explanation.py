"""Why a row scores what it scores: the exact split over rules and features, and what would be normal.

Notation: x a row, y (d,) its projections on the rules in the scaled space, z = y W the weighted ones of the score in
use (see `model.scores`). The score is sum_i z_i^2: rule i contributes z_i^2, and `model.blame` splits the score over
the features. Nothing is approximated: both splits are non-negative and sum to the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.model.blame import FeatureSplit
from aspca.model.frames import frame
from aspca.model.groups import Groups, groups_of
from aspca.model.incidents import Incident, incidents_of
from aspca.model.rules import Rule, name_text

# A sentence names rules until this share of the score is told, at most so many.
_TOLD = 0.8
_AT_MOST = 3
# And says what each feature would have to be, if there are no more than these.
_FEATURES_TOLD = 4


@dataclass(frozen=True, eq=False)
class Explanation:
    """Rows (n, p) explained by rules (d of them); every array is linear in the rows.

    Attributes
    ----------
    values : ndarray of shape (n, p)
        The rows, in the original units.
    scores : ndarray of shape (n,)
    projections : ndarray of shape (n, d)
        Signed deviations from the rules in the scaled space.
    rule_contributions : ndarray of shape (n, d)
        Non-negative; rows sum to the score.
    feature_contributions : ndarray of shape (n, p)
        Non-negative; rows sum to the score.
    deviations : ndarray of shape (n, d)
        Signed deviations from the rules in the rules' own units: how far ``coefficients . x`` is from its centre.
    threshold : float or None
        Score above which a row is an anomaly.
    rule_limits : ndarray of shape (d,)
        Squared projection above which a rule is broken.
    """

    rules: tuple[Rule, ...]
    names: tuple[str, ...]
    index: Sequence[object]
    values: Floats
    projections: Floats
    weighted: Floats
    loadings: Floats
    blame: FeatureSplit
    scaled: Floats
    scale: Floats
    threshold: float | None
    rule_limits: Floats
    library: str = "pandas"

    # ---- the split

    @cached_property
    def scores(self) -> Floats:
        return np.asarray(self.rule_contributions.sum(axis=1), dtype=np.float64)

    @cached_property
    def rule_contributions(self) -> Floats:
        return np.asarray(self.weighted**2, dtype=np.float64)

    @cached_property
    def feature_contributions(self) -> Floats:
        return self.blame(self.scaled, self.weighted)

    @cached_property
    def shares(self) -> Floats:
        """Each rule's part of the score (n, d), 0 to 1; zero where the score is zero."""
        scores = self.scores[:, None]
        return np.divide(self.rule_contributions, scores, out=np.zeros_like(self.rule_contributions), where=scores > 0)

    @cached_property
    def multiples(self) -> Floats:
        """Each rule's squared deviation in multiples of its limit (n, d)."""
        return np.asarray(self.projections**2 / np.maximum(self.rule_limits, 1e-300), dtype=np.float64)

    @cached_property
    def deviations(self) -> Floats:
        units = np.linalg.norm(self.loadings / self.scale[:, None], axis=0)
        return np.asarray(self.projections / units, dtype=np.float64)

    @cached_property
    def anomalies(self) -> Bools:
        """Which rows lie above the threshold (n,)."""
        if self.threshold is None:
            raise ValueError("This model has no threshold yet, so no row is an anomaly: call calibrate(X) first.")
        return np.asarray(self.scores > self.threshold)

    @cached_property
    def broken(self) -> Bools:
        """Which rules each row breaks, by the rule's own limit (n, d)."""
        return np.asarray(self.projections**2 > self.rule_limits)

    # ---- what would be normal

    @cached_property
    def repaired(self) -> Floats:
        """The nearest rows that obey every rule (n, p), in the original units; nearest in the scaled space."""
        return np.asarray(self.values - (self.projections @ self.loadings.T) * self.scale, dtype=np.float64)

    def needed(self, row: int, rule: int) -> dict[str, float]:
        """For one rule, the value that each of its features would need, the others as they are, for it to hold."""
        row = self._row(row)
        if not 0 <= rule < len(self.rules):
            raise ValueError(f"There is no rule {rule}: the model has {len(self.rules)}, numbered from 0.")
        column = self.loadings[:, rule]
        used = np.flatnonzero(column)
        wanted = self.values[row, used] - self.projections[row, rule] * self.scale[used] / column[used]
        return {self.names[j]: float(value) for j, value in zip(used, wanted, strict=True)}

    # ---- in words

    def text(self, row: int) -> str:
        """Two or three sentences about a row (its position, from 0)."""
        row = self._row(row)
        score = float(self.scores[row])
        told = self._told(row)
        name = f"Row {self.index[row]}"
        if self.threshold is not None and score <= self.threshold and not self.broken[row].any():
            return f"{name} is normal: score {score:.3g}, limit {self.threshold:.3g}."
        if self.threshold is None:
            opening = f"{name} has a score of {score:.3g}."
        elif score > self.threshold:
            times = score / max(self.threshold, 1e-300)
            opening = f"{name} is an anomaly: score {score:.3g}, {times:.3g} times the limit."
        else:
            opening = f"{name} keeps within the overall limit (score {score:.3g}), but breaks a rule."
        return " ".join([opening, *(self._about(row, int(rule)) for rule in told)])

    def _told(self, row: int) -> Ints:
        """The rules that make up most of a row's score, largest first; those broken by themselves at least."""
        order = np.argsort(-self.rule_contributions[row], kind="stable")
        reached = np.cumsum(self.shares[row, order])
        enough = int(np.searchsorted(reached, _TOLD)) + 1
        return order[: min(max(enough, 1), _AT_MOST)]

    def _about(self, row: int, rule: int) -> str:
        told = self.rules[rule]
        deviation = float(self.deviations[row, rule])
        # In the units of the sentence, whose coefficients are rounded multiples of the exact ones.
        size = f"{abs(deviation) * abs(told.equation.unit):.3g}"
        # Terms too small for the sentence are too small for its repair.
        shown = np.flatnonzero(told.equation.coefficients)
        if shown.size == 1:
            size = f"it is {size} too {'high' if deviation * told.coefficients[shown[0]] > 0 else 'low'}"
        else:
            size = f"its sides differ by {size}"
        if not told.exact and abs(deviation) < 1e6 * told.spread:
            size += f", {abs(deviation) / told.spread:.2g} times its spread"
        verb = "breaks" if self.broken[row, rule] else "strains"
        sentence = f"It {verb} the rule {told}: {size}, {100 * self.shares[row, rule]:.0f} % of the score."
        if shown.size <= _FEATURES_TOLD:
            needed = self.needed(row, rule)
            options = [
                f"{name_text(name)} {needed[name]:.4g} (not {self.values[row, self._position[name]]:.4g})"
                for name in (told.features[k] for k in shown)
            ]
            sentence += f" It would hold with {' or '.join(options)}."
        return sentence

    def _row(self, row: int) -> int:
        n = len(self.values)
        if not -n <= row < n:
            raise ValueError(f"There is no row {row}: {n} rows were explained, numbered from 0.")
        return int(row) % n

    # ---- as tables

    def to_frame(self) -> Any:
        """One line per row, rule and feature of the rule, in the caller's own data-frame library, worst rule first.

        Columns: row, score, anomaly, rule, text, broken, share, deviation, multiple, feature, value, needed. Only rules
        that a row breaks are listed, or its largest one where it breaks none; of a rule the features that its text
        shows.
        """
        return frame(self.lines(), self.library)

    def lines(self) -> dict[str, Any]:
        """The columns of `to_frame`, without a data-frame library."""
        listed = self.broken.copy()
        silent = np.flatnonzero(~listed.any(axis=1))
        listed[silent, self.rule_contributions[silent].argmax(axis=1)] = True
        rows, rules = np.nonzero(listed)
        # Within a row the worst rule first; ties as they are numbered.
        order = np.lexsort((rules, -self.rule_contributions[rows, rules], rows))
        rows, rules = rows[order], rules[order]
        used = [self._shown_features(rule) for rule in self.rules]
        sizes = np.array([features.size for features in used])[rules]
        features = np.concatenate([used[rule] for rule in rules]) if rules.size else np.empty(0, dtype=np.intp)
        rows, rules = np.repeat(rows, sizes), np.repeat(rules, sizes)
        values = self.values[rows, features]
        needed = values - self.projections[rows, rules] * self.scale[features] / self.loadings[features, rules]
        texts = [str(rule) for rule in self.rules]
        return {
            "row": [self.index[int(row)] for row in rows],
            "score": self.scores[rows],
            "anomaly": [None] * rows.size if self.threshold is None else self.anomalies[rows],
            "rule": rules,
            "text": [texts[rule] for rule in rules],
            "broken": self.broken[rows, rules],
            "share": self.shares[rows, rules],
            "deviation": self.deviations[rows, rules],
            "multiple": self.multiples[rows, rules],
            "feature": [self.names[feature] for feature in features],
            "value": values,
            "needed": needed,
        }

    def _shown_features(self, rule: Rule) -> Ints:
        """Positions of the features in a rule's text: terms too small for it are too small for a repair."""
        shown = np.flatnonzero(rule.equation.coefficients)
        return np.array([self._position[rule.features[k]] for k in shown], dtype=np.intp)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def _repr_html_(self) -> str:
        """The worst rows, in notebooks; names are hostile text here."""
        worst = np.argsort(-self.scores, kind="stable")[:10]
        items = "".join(f"<li>{escape(self.text(int(row)))}</li>" for row in worst)
        more = f"<p>{len(self.values)} rows explained; the {worst.size} of highest score:</p>"
        return f"<div>{more}<ol>{items}</ol></div>"

    # ---- signatures

    @cached_property
    def signatures(self) -> tuple[str, ...]:
        """Per row the rules at which it is low or high, as in ``"2L 5H"``; empty where no single rule stands out.

        As in the paper: low or high is beyond sqrt(limit / 2) either way, in the units of the score.
        """
        if self.threshold is None:
            raise ValueError(
                "Signatures need a threshold, which this model does not have yet: call calibrate(X) first."
            )
        edge = float(np.sqrt(0.5 * self.threshold))
        low, high = self.weighted <= -edge, self.weighted >= edge
        # Few patterns occur, in many rows: each is put into words once.
        pattern = np.packbits(np.hstack([low, high]), axis=1)
        _, first, kind = np.unique(pattern, axis=0, return_index=True, return_inverse=True)
        words = [
            " ".join(f"{rule}{'L' if low[row, rule] else 'H'}" for rule in np.flatnonzero(low[row] | high[row]))
            for row in first
        ]
        return tuple(words[k] for k in kind.ravel())

    def groups(self, labels: Sequence[object] | None = None, smallest: int | None = None) -> Groups:
        """The anomalies by signature, near-duplicates of a signature merged; see `model.groups` for the rule.

        Parameters
        ----------
        labels : sequence of n or None
            Counted per group, never used to group.
        smallest : int or None
            Signatures of fewer rows are merged into a near one; None is one in fifty anomalies. 1 merges nothing.
        """
        return groups_of(self, labels, smallest)

    def incidents(self, time: npt.ArrayLike | None = None, patience: float = 1.0) -> tuple[Incident, ...]:
        """Runs of anomalies, in time order, each with an explanation of its own.

        Two anomalies belong to one incident if they are at most `patience` apart: in units of `time` (n,; seconds for
        dates), or in rows where no time is given (1: only neighbours).
        """
        return incidents_of(self, time, patience)
