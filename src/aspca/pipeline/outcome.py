"""What one model found: anomalies as a person reads them, and all that was counted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aspca.findings.breaks import Break, break_of, outside_share, told_rules
from aspca.findings.change_text import Change, event_text, events_of
from aspca.findings.explanation import Explanation
from aspca.findings.incidents import Incident
from aspca.findings.proposals import Value
from aspca.findings.row_text import confidence_of
from aspca.findings.short_reasons import in_column
from aspca.findings.standing_out import StandsOut, unusual_columns
from aspca.linalg.arrays import Bools, Floats
from aspca.model.model import Model
from aspca.pipeline.judged_rows import JudgedRows
from aspca.pipeline.keys import NO_KEYS, Evaluation, Keys
from aspca.preparation.cell_format import BadCell
from aspca.rules.headings import told_apart
from aspca.rules.rule import AnyRule
from aspca.rules.sentence import count_verdicts

if TYPE_CHECKING:
    from aspca.report.evidence import Evidence

# Of the rules that a row breaks, those that matter most to its score.
_MOST = 3


@dataclass(frozen=True)
class Finding:
    """An anomaly.

    Attributes
    ----------
    row : int
        Its number, from 0.
    name : str or None
        Its own name, if columns hold one.
    keys : dict of str to str or None
        What stands in its key columns, in the table's own words: names, time, categories, label.
    category : str or None
        Whose model judged it, where there is one for each category.
    score : float
    times : float or None
        The score in multiples of the limit.
    breaks : tuple of Break
        The rules that it breaks, those that matter most first. Where it breaks none, but small deviations add up, the
        rules that add most (``broken`` is False); where it keeps its rules, none.
    outside : float
        The share of the score that lies outside the rules.
    unusual : tuple of StandsOut
        The columns that stand out, where a good part of the score lies outside the rules.
    text : str
        All of it in a few sentences.
    bad_cells : tuple of BadCell
        Cells that are not what their columns hold.
    beyond : bool
        False if it is nothing but a row of a change: see `Outcome.changes`.
    verdict : {"error", "unusual"}
    p_value : float or None
        How often normal rows are as far out; None where rows are not judged by tail models.
    confidence : str or None
        Of an error, how sure it is that it is wrong: certain, very likely or likely.
    repair : dict of str to pairs
        Its wrong cells by column: what they are, and what they should be.
    approximate : bool
        Whether these are what the other columns let expect, and not what an exact relation asks for.
    ties : tuple of such dicts
        Other cells that may be the wrong ones as well.
    """

    row: int
    name: str | None
    category: str | None
    score: float
    times: float | None
    breaks: tuple[Break, ...]
    outside: float
    unusual: tuple[StandsOut, ...]
    text: str
    keys: dict[str, str | None]
    bad_cells: tuple[BadCell, ...] = ()
    beyond: bool = True
    verdict: str = "unusual"
    p_value: float | None = None
    confidence: str | None = None
    approximate: bool = False
    repair: dict[str, tuple[Value, Value]] = field(default_factory=dict)
    ties: tuple[dict[str, tuple[Value, Value]], ...] = ()

    @property
    def breaks_a_rule(self) -> bool:
        return any(each.broken for each in self.breaks)


def findings_of(model: Model, judged: JudgedRows, beyond: Bools, category: str | None = None) -> tuple[Finding, ...]:
    """One finding for each of some judged rows, in their order; `beyond` (n,) says which are more than a change."""
    if not len(judged):
        return ()
    why = judged.explained(model, named=True)
    return tuple(_finding(why, judged, i, bool(beyond[i]), category) for i in range(len(judged)))


def _finding(why: Explanation, judged: JudgedRows, i: int, beyond: bool, category: str | None) -> Finding:
    score, limit = float(why.scores[i]), why.threshold
    told, mostly_outside = told_rules(why, i)
    bad_cells = why.bad_cells(i)
    return Finding(
        row=int(judged.rows[i]),
        name=judged.name(i),
        category=category,
        score=score,
        times=None if not limit or (bad_cells and score <= limit) else score / limit,
        breaks=tuple(break_of(why, i, rule) for rule in told[:_MOST]),
        outside=outside_share(why, i),
        unusual=unusual_columns(why, i) if mostly_outside else (),
        text=why[i].text,
        keys=judged.keys.texts(judged.beside[i]),
        bad_cells=bad_cells,
        beyond=beyond,
        verdict="error" if why.errors[i] else "unusual",
        p_value=None if why.p_values is None else float(why.p_values[i]),
        **_wrong_cells(why, i),
    )


def _wrong_cells(why: Explanation, i: int) -> dict[str, Any]:
    repair, sure = why.repairs.get(i), confidence_of(why, i) if why.errors[i] else None
    if repair is None and i not in why.likely_wrong:
        return {"confidence": sure}
    if repair is None:
        j, value = why.likely_wrong[i]
        origin = why.original.features[j]
        cell = {origin.column: (why.original.value(i, j), in_column(origin, value))}
        return {"confidence": sure, "repair": cell, "approximate": True}
    first, *ties = [
        {
            why.original.features[j].column: (why.original.value(i, j), in_column(why.original.features[j], value))
            for j, value in zip(cells, values, strict=True)
        }
        for cells, values in ((repair.cells, repair.values), *repair.ties)
    ]
    return {"confidence": sure, "repair": first, "ties": tuple(ties)}


# ---- all that one model found


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one model found in the rows that it judged.

    Attributes
    ----------
    model : Model
    n_rows, n_anomalies, n_errors : int
        Rows judged; those that are unusual or worse; those that are errors.
    n_partly : int
        Rows with gaps, that were judged by some of the rules only.
    n_beyond : int
        Anomalies that are more than rows of a change: outside of changes, or off the new level too.
    n_unread : int
        Anomalies that have cells which are not what their columns hold.
    changes : tuple of Change
        Rules and columns that are off by like amounts for long, in time order, or as rows are listed.
    findings : tuple of Finding
        The anomalies of highest score, worst first. Where something changed, first those beyond changes, by how far
        they are off the level of the rows around them, and then, where there is room, rows of changes.
    explanation : Explanation
        Of the same rows, in the same order: every array behind the findings.
    evaluation : Evaluation or None
        How verdicts and labels agree, where labels were given.
    incidents : tuple of Incident, or None
        Changes, and runs of other anomalies, where times were given.
    shifts : ndarray of shape (p,)
        Means of the features in the rows judged, off those of the rows learned from, in deviations.
    remarks : tuple of str
        What was noticed while rows were judged: about their times, and values that stand still.
    keys : Keys
        The columns that stand beside each finding.
    evidence : Evidence or None
        What a report is made of; None where none was asked for.
    unlike : float or None
        Where the rows differ as a whole from those learned from, the share that was flagged before they were compared
        with each other.
    """

    model: Model
    n_rows: int
    n_anomalies: int
    n_errors: int
    n_partly: int
    n_beyond: int
    n_unread: int
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]
    explanation: Explanation
    evaluation: Evaluation | None
    incidents: tuple[Incident, ...] | None
    shifts: Floats
    remarks: tuple[str, ...] = ()
    keys: Keys = NO_KEYS
    evidence: Evidence | None = None
    unlike: float | None = None

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """The rules that judged."""
        return self.model.rules

    @property
    def limit(self) -> float:
        """The score above which a row is an anomaly."""
        return self.model.threshold

    @property
    def headline(self) -> str:
        """How many anomalies there are, and what makes them such."""
        what = f"score above {self.limit:.3g}"
        if not self.n_anomalies:
            return "No errors and no unusual rows" if self.graded else f"No anomalies (no {what})"
        many = f"{self.n_anomalies:,} anomal{'y' if self.n_anomalies == 1 else 'ies'}"
        if self.graded:
            return f"{count_verdicts(self.n_errors, self.n_anomalies)}{self._of_which}"
        if self.n_unread == self.n_anomalies:
            what = "cells that are not what their columns hold"
        elif self.n_unread:
            what = f"{self.n_unread:,} with cells that are not what their columns hold, the others with a {what}"
        if not self.changes:
            return f"{many} ({what}){self._worst}"
        events = f"{len(self.events):,} change{'s' * (len(self.events) != 1)}"
        return f"{many}: {self.n_anomalies - self.n_beyond:,} rows of {events}, {self.n_beyond:,} beyond ({what})"

    @property
    def graded(self) -> bool:
        """Whether errors are told from unusual rows by p-values."""
        return self.model.thresholds.error is not None

    @property
    def _of_which(self) -> str:
        told = f", {self.n_unread:,} with cells that are not what their columns hold" if self.n_unread else ""
        if not self.changes:
            return f"{told}{self._worst}"
        events = f"{len(self.events):,} change{'s' * (len(self.events) != 1)}"
        return f"{told}: {self.n_anomalies - self.n_beyond:,} rows of {events}, {self.n_beyond:,} beyond"

    @property
    def headline_beyond(self) -> str:
        """What the findings are, where something changed."""
        return f"Beyond {'the change' if len(self.events) == 1 else 'the changes'}{self._worst}"

    @property
    def _worst(self) -> str:
        return f", the worst {len(self.apart):,}" if 0 < len(self.apart) < self.n_beyond else ""

    @property
    def apart(self) -> tuple[Finding, ...]:
        """The findings that are not told by a change."""
        return tuple(finding for finding in self.findings if finding.beyond)

    @cached_property
    def events(self) -> tuple[tuple[Change, ...], ...]:
        """Changes by what changed at once."""
        return events_of(self.changes)

    @property
    def text(self) -> str:
        """Rules, anomalies, changes, incidents and evaluation, a sentence each."""
        lines = [f"{self.model.space.n_rows:,} rows learned from, {len(self.model.names):,} features"]
        for heading, numbers in told_apart(self.rules):
            lines += [heading, *(f"  {number}  {self.rules[number]}" for number in numbers)]
        lines += [self.headline, *(f"  {event_text(event)}" for event in self.events)]
        lines += [self.headline_beyond] if self.changes and self.apart else []
        lines += [f"  {finding.text}" for finding in self.apart]
        if self.incidents:
            lines += [f"{len(self.incidents):,} incidents", *(f"  {incident.text}" for incident in self.incidents)]
        if self.evaluation is not None:
            lines += [self.evaluation.text]
        return "\n".join(lines)

    def lines(self) -> dict[str, Any]:
        """The columns of `Explanation.to_frame` for the findings, with their numbers and key columns."""
        made = replace(self.explanation, index=range(len(self.findings))).lines()
        told = [self.findings[position] for position in made.pop("row")]
        titles = self.keys.header(["row", "category", *made])
        keys = {
            title: [finding.keys[column] for finding in told]
            for title, column in zip(titles, self.keys.columns, strict=True)
        }
        return {"row": [finding.row for finding in told], **keys, **made}
