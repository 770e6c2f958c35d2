"""Why a row scores what it scores: the exact split over rules and features, and what would be normal.

Notation: x a row, y (d,) its projections on the rules in the scaled space, z = y W the weighted ones of the score in
use (see `judging.scores`). The score is sum_i z_i^2: rule i contributes z_i^2, and `judging.blame` splits the score over
the features. Nothing is approximated: both splits are non-negative and sum to the score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.judging.frames import frame
from aspca.judging.groups import Groups, groups_of
from aspca.judging.incidents import Incident, incidents_of
from aspca.judging.original import Original, value_text
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.preparation.feature import Feature, features_of_numbers, name_text
from aspca.rules.rule import Rule
from aspca.rules.sentence import breach_of, has_spread, shown_terms

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
    origins : tuple of Feature
        What the features are in the table, where columns were prepared; empty where they are taken as they are.
    used : ndarray of shape (n, d), or None
        Which rules could be computed, where values are missing: the others contribute nothing, and their deviations are
        NaN. See `judging.gaps` for the scores of such rows.
    """

    rules: tuple[Rule, ...]
    names: tuple[str, ...]
    index: Sequence[object]
    values: Floats
    projections: Floats
    weighted: Floats
    loadings: Floats
    blame: Callable[[Floats, Floats], Floats]
    scaled: Floats
    scale: Floats
    threshold: float | None
    rule_limits: Floats
    library: str = "pandas"
    origins: tuple[Feature, ...] = ()
    used: Bools | None = None

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
        # A deviation that is not known breaks nothing.
        return np.asarray(self.projections**2 > self.rule_limits)

    @cached_property
    def share_of_rules(self) -> Floats:
        """The share of the rules that each row was judged by (n,): below one where values were missing."""
        return np.ones(len(self.values)) if self.used is None else np.asarray(self.used.mean(axis=1))

    @cached_property
    def original(self) -> Original:
        """The rows in the terms of the table's columns."""
        return Original(self.origins or features_of_numbers(self.names), self.values)

    # ---- what would be normal

    @cached_property
    def repaired(self) -> Floats:
        """The nearest rows that obey every rule (n, p), in the units of `values`; nearest in the scaled space."""
        known = self.projections if self.used is None else np.where(self.used, self.projections, 0.0)
        return np.asarray(self.values - (known @ self.loadings.T) * self.scale, dtype=np.float64)

    def needed(self, row: int, rule: int) -> dict[str, float | str | None]:
        """For one rule, what each of its columns would need to be, the others as they are, for it to hold.

        In the terms of the table: numbers, dates as text, and None for a category, of which another might do as well,
        or where no value of the column would do.
        """
        row = self._row(row)
        if not 0 <= rule < len(self.rules):
            raise ValueError(f"There is no rule {rule}: the model has {len(self.rules)}, numbered from 0.")
        column = self.loadings[:, rule]
        used = np.flatnonzero(column)
        wanted = self.values[row, used] - self.projections[row, rule] * self.scale[used] / column[used]
        values = dict(zip(used.tolist(), wanted.tolist(), strict=True))
        chosen = self.original.distinct(used)
        return {self.original.features[j].column: self.original.wanted(j, values[j]) for j in chosen.tolist()}

    # ---- in words

    def text(self, row: int) -> str:
        """Two or three sentences about a row (its position, from 0)."""
        row = self._row(row)
        score = float(self.scores[row])
        told = self._told(row)
        name = f"Row {self.index[row]}"
        if self.threshold is not None and score <= self.threshold and not self.broken[row].any():
            return f"{name} is normal: score {score:.3g}, limit {self.threshold:.3g}.{self._by_fewer_rules(row)}"
        if self.threshold is None:
            opening = f"{name} has a score of {score:.3g}."
        elif score > self.threshold:
            times = score / max(self.threshold, 1e-300)
            opening = f"{name} is an anomaly: score {score:.3g}, {times:.3g} times the limit."
        else:
            opening = f"{name} keeps within the overall limit (score {score:.3g}), but breaks a rule."
        return " ".join([opening + self._by_fewer_rules(row), *(self._about(row, int(rule)) for rule in told)])

    def _by_fewer_rules(self, row: int) -> str:
        if self.used is None or self.used[row].all():
            return ""
        columns = [self.original.features[j].column for j in self.original.distinct(np.flatnonzero(self._gaps[row]))]
        names = " and ".join([", ".join(map(name_text, columns[:-1])), name_text(columns[-1])][len(columns) == 1 :])
        verb = "is" if len(columns) == 1 else "are"
        return f" It was judged by {self.used[row].sum()} of {len(self.rules)} rules, since {names} {verb} missing."

    @cached_property
    def _gaps(self) -> Bools:
        return np.isnan(self.values)

    def _told(self, row: int) -> Ints:
        """The rules that make up most of a row's score, largest first; those broken by themselves at least."""
        order = np.argsort(-self.rule_contributions[row], kind="stable")
        reached = np.cumsum(self.shares[row, order])
        enough = int(np.searchsorted(reached, _TOLD)) + 1
        return order[: min(max(enough, 1), _AT_MOST)]

    def _about(self, row: int, rule: int) -> str:
        told = self.rules[rule]
        deviation = float(self.deviations[row, rule])
        off = breach_of(told, deviation)
        if has_spread(told) and abs(deviation) < 1e6 * told.spread:
            off += f", {abs(deviation) / told.spread:.2g} times its spread"
        verb = "breaks" if self.broken[row, rule] else "strains"
        sentence = f"It {verb} the rule {told}: {off}, {100 * self.shares[row, rule]:.0f} % of the score."
        shown = self._shown_features(told)
        needed = self.needed(row, rule)
        columns = [(j, self.original.features[j].column) for j in shown.tolist()]
        options = [
            f"{name_text(column)} {value_text(needed[column])} (not {value_text(self.original.value(row, j))})"
            for j, column in columns
            if needed[column] is not None
        ]
        if options and shown.size <= _FEATURES_TOLD:
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
        shows. Where columns were prepared, `feature` is the column, `value` and `needed` are as in the table; where
        values may be missing, `share_of_rules` says how many of the rules could be used.
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
        values: Any = self.values[rows, features]
        needed: Any = values - self.projections[rows, rules] * self.scale[features] / self.loadings[features, rules]
        columns = [feature.column for feature in self.original.features]
        if not self.original.plain:
            needed = [
                self.original.wanted(j, value) for j, value in zip(features.tolist(), needed.tolist(), strict=True)
            ]
            values = [self.original.value(row, j) for row, j in zip(rows.tolist(), features.tolist(), strict=True)]
        texts = [str(rule) for rule in self.rules]
        judged = {} if self.used is None else {"share_of_rules": self.share_of_rules[rows]}
        return {
            "row": [self.index[int(row)] for row in rows],
            "score": self.scores[rows],
            "anomaly": [None] * rows.size if self.threshold is None else self.anomalies[rows],
            **judged,
            "rule": rules,
            "text": [texts[rule] for rule in rules],
            "broken": self.broken[rows, rules],
            "share": self.shares[rows, rules],
            "deviation": self.deviations[rows, rules],
            "multiple": self.multiples[rows, rules],
            "feature": [columns[feature] for feature in features],
            "value": values,
            "needed": needed,
        }

    def _shown_features(self, rule: Rule) -> Ints:
        """Positions of the features in a rule's text, one per column: what is too small for it needs no repair."""
        shown = shown_terms(rule)
        return self.original.distinct(self._position[rule.features[k]] for k in shown)

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
        """The anomalies by signature, near-duplicates of a signature merged; see `judging.groups` for the rule.

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
