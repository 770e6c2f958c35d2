"""Why rows score what they score: the exact split over rules and features, and what would be normal."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aspca.escaping import for_terminal, quoted
from aspca.findings.changes import Change, Course, Crossings, find_changes
from aspca.findings.explained import ExplainedRows
from aspca.findings.finding import Finding
from aspca.findings.groups import Groups, group_anomalies, make_signatures
from aspca.findings.incidents import Incident, find_incidents, order_rows
from aspca.findings.levels import find_beyond
from aspca.findings.rendering import make_frame, make_lines, render_explanation
from aspca.findings.values import Value
from aspca.findings.words import describe_row
from aspca.linalg.arrays import Bools, Ints, round_for_ranking
from aspca.rules.wording import counted

if TYPE_CHECKING:
    from aspca.model.model import Model


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(ExplainedRows):
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

    @classmethod
    def of(
        cls, model: Model, X: npt.NDArray[np.generic], index: Sequence[object], library: str = "pandas"
    ) -> Explanation:
        """Rows (n, p) judged by a model; `index` says what each is called, `library` what tables are made of."""
        values = np.asarray(X, dtype=np.float64)
        return cls(model, values, model.judge(values), index, library)

    def __getitem__(self, key: Any) -> Any:
        """A row by its position, from 0, as a `Finding`; for a slice, a mask (n,) or positions an Explanation."""
        if isinstance(key, slice | list | tuple) or np.ndim(key):
            rows = find_positions(len(self), key)
            index = [self.index[row] for row in rows.tolist()]
            filled = None if self.filled is None else self.filled[rows]
            return replace(
                self, values=self.values[rows], judgement=self.judgement.take(rows), index=index, filled=filled
            )
        try:
            position = position_in(len(self), key)
        except ValueError as error:
            raise IndexError(str(error)) from None
        return Finding(self, position, row=position)

    def __iter__(self) -> Iterator[Finding]:
        return (self[position] for position in range(len(self)))

    def __repr__(self) -> str:
        flagged = "" if self.judgement.anomalies is None else f", {counted(int(self.anomalies.sum()), 'anomaly')}"
        lines = [f"Explanation of {counted(len(self), 'row')} by {counted(len(self.rules), 'rule')}{flagged}"]
        order = np.argsort(-round_for_ranking(self.scores), kind="stable")[:5].tolist()
        worst = ", ".join(f"{_shorten(self.index[row])} ({self.scores[row]:.3g})" for row in order)
        rules = [_shorten(rule) for rule in self.rules[:5]]
        more = [f"{len(self.rules) - 5} more"] if len(self.rules) > 5 else []
        lines += [f"  highest scores: {worst}"] if worst else []
        lines += [f"  rules: {'; '.join([*rules, *more])}"] if rules else []
        return "\n".join(lines)

    def needed(self, row: Any, rule: int) -> dict[str, Value]:
        """For one rule, what each of its columns would need to be, the others as they are, for it to hold.

        The row is named as in `text`. In the terms of the table: numbers in the steps of their column, dates as text,
        and None for a category, of which another might do as well, or where no value that the column can have would do.
        """
        return self.needed_at(find_position(self.index, row), rule)

    def text(self, row: Any) -> str:
        """A few sentences about a row.

        Rows are named as by ``loc`` in pandas: a table with an index by its labels, also where these are numbers in
        another order; arrays and other tables by position, from 0. By position it is ``explanation[position].text``.
        """
        return describe_row(self, find_position(self.index, row))

    def to_frame(self) -> Any:
        """One line per row, rule and feature of the rule, in the caller's own data-frame library, worst rule first.

        Columns: row, score, anomaly, verdict, p_value, outside, rule, text, broken, share, deviation, multiple,
        feature, value, needed.
        Only rules that a row breaks are listed, or its largest one where it breaks none; of a rule the features that
        its text shows. Where columns were prepared, `feature` is the column, `value` and `needed` are as in the table;
        where values may be missing, `share_of_rules` says how many of the rules could be used.
        """
        return make_frame(self.lines(), self.library)

    def lines(self) -> dict[str, Any]:
        """The columns of `to_frame`, without a data-frame library."""
        return make_lines(self)

    def _repr_html_(self) -> str:
        """The worst rows, in notebooks."""
        return render_explanation(self)

    @cached_property
    def signatures(self) -> tuple[str, ...]:
        """Per row the rules at which it is low or high, as in ``"2L 5H"``; empty where no single rule stands out.

        Low or high is beyond the rule's own limit; for the paper's scores, as in the paper, beyond sqrt(limit / 2)
        either way in the units of the score.
        """
        return make_signatures(self.model, self.judgement)

    def groups(self, labels: Sequence[object] | None = None, smallest: int | None = None) -> Groups:
        """The anomalies by signature, near-duplicates of a signature merged; see `findings.groups` for the rule.

        Parameters
        ----------
        labels : sequence of n or None
            Counted per group, never used to group.
        smallest : int or None
            Signatures of fewer rows are merged into a near one; None is one in fifty anomalies. 1 merges nothing.
        """
        return group_anomalies(self, labels, smallest)

    def incidents(self, time: npt.ArrayLike | None = None, patience: float = 1.0) -> tuple[Incident, ...]:
        """Changes, and runs of anomalies beyond them, in time order, each with an explanation of its own.

        Every anomaly is in one of them. Two belong to one incident if they are at most `patience` apart: in units of
        `time` (n,; seconds for dates), or in rows where no time is given (1: only neighbours). What changes at once is
        one incident.
        """
        course = order_rows(self, time)
        changes = self._changes(course)
        return find_incidents(self, course, patience, changes, self._beyond(changes, course))

    def changes(self, time: npt.ArrayLike | None = None) -> tuple[Change, ...]:
        """Rules, and columns that rules leave free, that are off by like amounts for long, see `findings.changes`.

        In the order of `time` (n,), or of the rows where no time is given.
        """
        return self._changes(order_rows(self, time))

    def beyond(self, time: npt.ArrayLike | None = None) -> Bools:
        """Which rows (n,) are anomalies by more than the changes they lie in: off the new level too."""
        course = order_rows(self, time)
        return self._beyond(self._changes(course), course)

    def _beyond(self, changes: Sequence[Change], course: Course) -> Bools:
        return find_beyond(self.model, changes, course, self.values, self.judgement) if changes else self.anomalies

    def _changes(self, course: Course) -> tuple[Change, ...]:
        crossings = Crossings(self.model)
        # Without a threshold none is an anomaly, which is refused.
        crossings.add(replace(self.judgement, anomalies=self.anomalies), self.values)
        return find_changes(self.model, crossings, course)


def _shorten(text: object) -> str:
    shown = for_terminal(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."


# ---- rows by what they are called, or by where they stand


def find_position(index: Sequence[object], label: Any) -> int:
    """Where the row stands that is called `label`; where rows have no labels, `label` is its position.

    Raises
    ------
    ValueError
        No row, or several, are called so.
    """
    if isinstance(index, range) and index == range(len(index)):
        return position_in(len(index), label)
    found = [position for position, name in enumerate(index) if _same(name, label)]
    if not found and isinstance(label, str):
        # Dates may be given as they are written.
        found = [i for i, name in enumerate(index) if hasattr(name, "strftime") and str(name).startswith(label)]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")
        raise ValueError(
            f"{_called(label)} names {len(found)} rows, at the positions {shown}: take one of them by its position, as "
            f"in explanation[{found[0]}]."
        )
    raise ValueError(
        f"No row is called {_called(label)}: rows are called by their labels, the first being {_called(index[0])}; "
        "by position, from 0, it is explanation[position]."
        if len(index)
        else f"There is no row {_called(label)}: no rows were explained."
    )


def position_in(n: int, row: Any) -> int:
    """A position among n rows, counted from 0, or from the end if negative."""
    try:
        position = operator.index(row)
    except TypeError:
        position = None
    if position is None or isinstance(row, bool | np.bool_):
        raise ValueError(f"A row is taken by its position, a whole number from 0 to {n - 1}, got {_called(row)}.")
    if not -n <= position < n:
        raise ValueError(f"There is no row {position}: {n} rows were explained, numbered from 0.")
    return position % n


def find_positions(n: int, key: Any) -> Ints:
    """The positions among n rows that a slice, a mask (n,) or a list of positions chooses."""
    if isinstance(key, slice):
        return np.arange(n, dtype=np.intp)[key]
    chosen = np.asarray(key)
    if chosen.ndim == 1 and not chosen.size:
        return np.empty(0, dtype=np.intp)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        raise ValueError(
            "Rows are taken by a position, a slice, a mask of truth values or a list of positions; by label it is "
            f"text(label), got {_called(key)}."
        )
    if chosen.dtype.kind != "b":
        return np.array([position_in(n, one) for one in chosen.tolist()], dtype=np.intp)
    if chosen.size != n:
        raise ValueError(f"The mask has {chosen.size} entries, but {n} rows were explained.")
    return np.flatnonzero(chosen)


def _same(name: object, label: object) -> bool:
    # True is 1 for Python, but no label 1.
    if isinstance(name, bool | np.bool_) != isinstance(label, bool | np.bool_):
        return False
    try:
        return bool(name == label)
    except (TypeError, ValueError):
        return False


def _called(label: object) -> str:
    return quoted(label) if isinstance(label, str) else quoted(label)[1:-1]
