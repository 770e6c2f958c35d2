"""Why a row scores what it scores: the exact split over rules and features, and what would be normal.

An explanation reads a `Judgement`, and computes no verdict of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aspca.escaping import for_terminal
from aspca.findings.attribution import blamed
from aspca.findings.change_text import Change, changes_of
from aspca.findings.changes import Course, Crossings
from aspca.findings.explained_row import ExplainedRow, position_in, position_of, positions_in
from aspca.findings.explanation_lines import lines_of
from aspca.findings.frames import frame
from aspca.findings.groups import Groups, groups_of
from aspca.findings.incidents import Incident, course_of, incidents_of
from aspca.findings.levels import told_apart
from aspca.findings.likely_cells import likely_wrong_cells
from aspca.findings.notebook import explanation_html
from aspca.findings.original_values import Original
from aspca.findings.proposals import Proposals, Value
from aspca.findings.row_text import row_text
from aspca.findings.short_reasons import proposals_of, shown_features, solved_value
from aspca.findings.signatures import signatures_of
from aspca.identities import Repair
from aspca.identities.localize import localize
from aspca.identities.localize import repaired as with_repairs
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.ranking import round_for_ranking
from aspca.linalg.row_blocks import across, cached_parts, row_products
from aspca.model.judgement import Judgement, multiples_of, squared
from aspca.preparation.cell_format import BadCell
from aspca.rules.rule import AnyRule
from aspca.rules.sentence import counted

if TYPE_CHECKING:
    from aspca.model.model import Model

# So many rows and rules are named where an explanation is printed, each with at most so many signs.
_SHOWN = 5
_LONGEST = 60
_NO_THRESHOLD = "This model has no threshold yet, so no row is an anomaly: call calibrate(X) first."


@dataclass(frozen=True, eq=False)
class Explanation:
    """Rows (n, p) explained by m rules; every array is linear in the rows.

    Attributes
    ----------
    model : Model
    values : ndarray of shape (n, p)
        The rows, in the units of the features.
    judgement : Judgement
        The verdict on them.
    index : sequence of n
        What each row is called; a range from 0 where rows have no labels.
    filled : ndarray of shape (n, p) or None
        Which values were missing in the table, and filled in before the model saw them.
    scores : ndarray of shape (n,)
    rule_contributions : ndarray of shape (n, m)
        Non-negative; with `outside` they sum to the score.
    outside : ndarray of shape (n,)
        The part of the score that lies outside the rules, non-negative.
    feature_contributions : ndarray of shape (n, p)
        Non-negative; rows sum to the score.
    deviations : ndarray of shape (n, m)
        Signed deviations from the rules in the rules' own units: how far the sides of an identity differ, and how far
        ``coefficients . x`` of a relation is from its centre. NaN where a value is missing.
    repairs : dict of int to Repair
        For every row that violates an identity, by its position: which cells are wrong, and what they should be.
    anomalies : ndarray of shape (n,)
        The verdict.
    broken : ndarray of shape (n, m)
        Which rules each row breaks, by the rule's own limit.
    threshold : float or None
        Score above which a row is an anomaly.
    """

    model: Model
    values: Floats
    judgement: Judgement
    index: Sequence[object]
    library: str = "pandas"
    filled: Bools | None = None

    @classmethod
    def of(
        cls, model: Model, X: npt.NDArray[np.generic], index: Sequence[object], library: str = "pandas"
    ) -> Explanation:
        """Rows (n, p) judged by a model; `index` says what each is called, `library` what tables are made of."""
        values = np.asarray(X, dtype=np.float64)
        return cls(model, values, model.judge(values), index, library)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, key: Any) -> Any:
        """A row by its position, from 0, as an `ExplainedRow`; for a slice, a mask (n,) or positions an Explanation."""
        if isinstance(key, slice | list | tuple) or np.ndim(key):
            rows = positions_in(len(self), key)
            index = [self.index[row] for row in rows.tolist()]
            filled = None if self.filled is None else self.filled[rows]
            return replace(
                self, values=self.values[rows], judgement=self.judgement.take(rows), index=index, filled=filled
            )
        try:
            return ExplainedRow(self, position_in(len(self), key))
        except ValueError as error:
            raise IndexError(str(error)) from None

    def __iter__(self) -> Iterator[ExplainedRow]:
        return (ExplainedRow(self, position) for position in range(len(self)))

    def __repr__(self) -> str:
        flagged = "" if self.judgement.anomalies is None else f", {counted(int(self.anomalies.sum()), 'anomaly')}"
        lines = [f"Explanation of {counted(len(self), 'row')} by {counted(len(self.rules), 'rule')}{flagged}"]
        worst = ", ".join(f"{_short(self.index[row])} ({self.scores[row]:.3g})" for row in self._worst(_SHOWN).tolist())
        rules = [_short(rule) for rule in self.rules[:_SHOWN]]
        more = [f"{len(self.rules) - _SHOWN} more"] if len(self.rules) > _SHOWN else []
        lines += [f"  highest scores: {worst}"] if worst else []
        lines += [f"  rules: {'; '.join([*rules, *more])}"] if rules else []
        return "\n".join(lines)

    def _worst(self, most: int) -> Ints:
        """Positions of the rows of highest score, at most so many."""
        return np.asarray(np.argsort(-round_for_ranking(self.scores), kind="stable")[:most])

    # ---- the verdict

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        return self.model.rules

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.names

    @property
    def scores(self) -> Floats:
        return self.judgement.scores

    @property
    def rule_contributions(self) -> Floats:
        return self.judgement.contributions

    @property
    def outside(self) -> Floats:
        return self.judgement.outside

    def bad_cells(self, row: int) -> tuple[BadCell, ...]:
        """The cells of a row, by its position, that were not what their columns hold when it was read."""
        cells = self.judgement.bad_cells
        return () if cells is None else cells[row]

    @property
    def threshold(self) -> float | None:
        return None if self.model.thresholds.total is None else self.model.thresholds.total.value

    @property
    def anomalies(self) -> Bools:
        if self.judgement.anomalies is None:
            raise ValueError(_NO_THRESHOLD)
        return self.judgement.anomalies

    @property
    def errors(self) -> Bools:
        """Which of the anomalies are errors (n,); the others are unusual."""
        if self.judgement.errors is None:
            return self.anomalies & np.isin(np.arange(len(self)), list(self.repairs))
        return self.judgement.errors

    @property
    def verdicts(self) -> list[str | None]:
        """Of each row (n): error, unusual or normal; None while the threshold waits for rows."""
        return self.judgement.verdicts

    @property
    def p_values(self) -> Floats | None:
        """Of the rows (n,); None where they are not judged by tail models."""
        return self.judgement.p_values

    @property
    def broken(self) -> Bools:
        return self.judgement.broken

    @property
    def share_of_rules(self) -> Floats:
        """The share of the rules that each row was judged by (n,): below one where values were missing."""
        return self.judgement.share_of_rules

    # ---- the split

    @cached_property
    def feature_contributions(self) -> Floats:
        return blamed(self.model, self.values, self.judgement)

    @cached_property
    def shares(self) -> Floats:
        """Each rule's part of the score (n, m), 0 to 1; zero where the score is zero."""
        scores = self.scores[:, None]
        return np.divide(self.rule_contributions, scores, out=np.zeros_like(self.rule_contributions), where=scores > 0)

    @cached_property
    def multiples(self) -> Floats:
        """Each rule's squared deviation in multiples of its limit (n, m)."""
        return multiples_of(squared(self.judgement.deviations), self.model.rule_limits)

    @cached_property
    def deviations(self) -> Floats:
        units = np.linalg.norm(self.model.table.loadings / self.model.space.scale[:, None], axis=0)
        residuals = [identity.residual(self.values)[:, None] for identity in self.model.identities]
        return np.hstack([*residuals, self.judgement.deviations[:, self.model.n_identities :] / units])

    @cached_property
    def repairs(self) -> dict[int, Repair]:
        return {repair.row: repair for repair in localize(self.model.identities, self.values)}

    @cached_property
    def likely_wrong(self) -> dict[int, tuple[int, float]]:
        """For every error that violates no identity, by its position, the feature that is most likely wrong and the
        value that its column, and the other columns of the row, let expect."""
        return likely_wrong_cells(self)

    @cached_property
    def original(self) -> Original:
        """The rows in the terms of the table's columns."""
        return Original(self.model.space.features, self.values, self.filled)

    # ---- what would be normal

    @cached_property
    def repaired(self) -> Floats:
        """Rows that obey every rule (n, p), in the units of `values`: wrong cells are what identities ask for, the free
        columns the nearest in the scaled space that obey the relations, and the others what follows from these."""
        back = np.asarray(np.linalg.pinv(self.model.table.loadings), dtype=np.float64)
        repaired = np.empty(self.values.shape)
        for part in cached_parts(*self.values.shape):
            deviations = self.judgement.deviations[part, self.model.n_identities :]
            # Where nothing is missing, to look costs less than to copy.
            known = deviations if np.isfinite(deviations).all() else np.nan_to_num(deviations, nan=0.0)
            moved = row_products(known, back)
            across(np.multiply, moved, self.model.space.scale, moved)
            np.subtract(self.values[part], moved, out=repaired[part])
        if self.model.n_identities:
            repaired = self._following(with_repairs(repaired, list(self.repairs.values())))
        return repaired

    def _following(self, rows: Floats) -> Floats:
        """Rows (n, p) with the columns that identities determine as these ask for, where they are not kept."""
        for identity, column in zip(self.model.identities, self.model.identities.determined, strict=False):
            with np.errstate(invalid="ignore"):
                off = np.abs(identity.multiples(rows)) > 1.0
            if identity.accuses and off.any():
                wanted = identity.solve(rows[off], column)
                rows[off, column] = np.where(np.isfinite(wanted), wanted, rows[off, column])
        return rows

    @cached_property
    def proposals(self) -> Proposals:
        """What columns would have to be for rules to hold."""
        return proposals_of(self.model)

    def needed(self, row: Any, rule: int) -> dict[str, Value]:
        """For one rule, what each of its columns would need to be, the others as they are, for it to hold.

        The row is named as in `text`. In the terms of the table: numbers in the steps of their column, dates as text,
        and None for a category, of which another might do as well, or where no value that the column can have would do.
        """
        return self.needed_at(position_of(self.index, row), rule)

    def needed_at(self, row: int, rule: int) -> dict[str, Value]:
        """The same for a row by its position."""
        if rule not in range(len(self.rules)):
            raise ValueError(f"There is no rule {rule}: the model has {len(self.rules)}, numbered from 0.")
        rule = int(rule)
        chosen = self.original.distinct(self.model.rule_columns(rule))
        return {self.original.features[j].column: self.needed_value(row, rule, j) for j in chosen.tolist()}

    def needed_value(self, row: int, rule: int, feature: int) -> Value:
        """The same for one feature of the rule."""
        deviation = float(self.judgement.deviations[row, rule])
        if np.isnan(deviation):
            return None
        relation = rule - self.model.n_identities
        if relation < 0:
            return solved_value(self.model, rule, feature, self.values[row])
        value = self.proposals.wanted(relation, feature, float(self.values[row, feature]), deviation)
        return self.proposals.original(feature, value, relation)

    # ---- in words

    def text(self, row: Any) -> str:
        """A few sentences about a row.

        Rows are named as by ``loc`` in pandas: a table with an index by its labels, also where these are numbers in
        another order; arrays and other tables by position, from 0. By position it is ``explanation[position].text``.
        """
        return row_text(self, position_of(self.index, row))

    def shown_features(self, rule: int) -> Ints:
        """Positions of the features in a rule's text, one per column: what is too small for it needs no repair."""
        return shown_features(self.model, rule)

    # ---- as tables

    def to_frame(self) -> Any:
        """One line per row, rule and feature of the rule, in the caller's own data-frame library, worst rule first.

        Columns: row, score, anomaly, verdict, p_value, outside, rule, text, broken, share, deviation, multiple,
        feature, value, needed.
        Only rules that a row breaks are listed, or its largest one where it breaks none; of a rule the features that
        its text shows. Where columns were prepared, `feature` is the column, `value` and `needed` are as in the table;
        where values may be missing, `share_of_rules` says how many of the rules could be used.
        """
        return frame(self.lines(), self.library)

    def lines(self) -> dict[str, Any]:
        """The columns of `to_frame`, without a data-frame library."""
        return lines_of(self)

    def _repr_html_(self) -> str:
        """The worst rows, in notebooks."""
        return explanation_html(self)

    # ---- signatures

    @cached_property
    def signatures(self) -> tuple[str, ...]:
        """Per row the rules at which it is low or high, as in ``"2L 5H"``; empty where no single rule stands out.

        Low or high is beyond the rule's own limit; for the paper's scores, as in the paper, beyond sqrt(limit / 2)
        either way in the units of the score.
        """
        return signatures_of(self.model, self.judgement)

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
        """Changes, and runs of anomalies beyond them, in time order, each with an explanation of its own.

        Every anomaly is in one of them. Two belong to one incident if they are at most `patience` apart: in units of
        `time` (n,; seconds for dates), or in rows where no time is given (1: only neighbours). What changes at once is
        one incident.
        """
        course = course_of(self, time)
        changes = self._changes(course)
        return incidents_of(self, course, patience, changes, self._beyond(changes, course))

    def changes(self, time: npt.ArrayLike | None = None) -> tuple[Change, ...]:
        """Rules, and columns that rules leave free, that are off by like amounts for long: see `judging.changes`.

        In the order of `time` (n,), or of the rows where no time is given.
        """
        return self._changes(course_of(self, time))

    def beyond(self, time: npt.ArrayLike | None = None) -> Bools:
        """Which rows (n,) are anomalies by more than the changes they lie in: off the new level too."""
        course = course_of(self, time)
        return self._beyond(self._changes(course), course)

    def _beyond(self, changes: Sequence[Change], course: Course) -> Bools:
        return told_apart(self.model, changes, course, self.values, self.judgement) if changes else self.anomalies

    def _changes(self, course: Course) -> tuple[Change, ...]:
        if self.judgement.anomalies is None:
            raise ValueError(_NO_THRESHOLD)
        crossings = Crossings(self.model)
        crossings.add(self.judgement, self.values)
        return changes_of(self.model, crossings, course)


def _short(text: object) -> str:
    shown = for_terminal(text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."
