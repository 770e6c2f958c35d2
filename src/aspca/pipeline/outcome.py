"""What one model found: anomalies as a person reads them, and all that was counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aspca.findings.changes import Change, event_text, events_of
from aspca.findings.explanation import Explanation
from aspca.findings.finding import Finding
from aspca.findings.incidents import Incident
from aspca.linalg.arrays import Bools, Floats
from aspca.model.model import Model
from aspca.pipeline.judged_rows import JudgedRows
from aspca.rules.rule import AnyRule
from aspca.rules.wording import count_verdicts, group_by_kind
from aspca.tables.keys import NO_KEYS, Evaluation, Keys

if TYPE_CHECKING:
    from aspca.report.collect import Evidence


def make_findings(
    judged: JudgedRows, why: Explanation, beyond: Bools | None = None, category: str | None = None
) -> tuple[Finding, ...]:
    """One finding for each of some judged rows, in their order; `beyond` (n,) says which are more than a change."""
    return tuple(
        Finding(
            explanation=why,
            position=i,
            row=row,
            name=judged.name(i),
            keys=judged.keys.texts(judged.beside[i]),
            category=category,
            beyond=beyond is None or bool(beyond[i]),
        )
        for i, row in enumerate(judged.rows.tolist())
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one model found in the rows that it judged."""

    model: Model
    n_rows: int
    n_anomalies: int  # rows that are unusual or worse
    n_errors: int
    n_partly: int  # rows with gaps, that were judged by some of the rules only
    n_beyond: int  # anomalies that are more than rows of a change: outside of changes, or off the new level too
    n_unread: int  # anomalies that have cells which are not what their columns hold
    changes: tuple[Change, ...]  # in time order, or as rows are listed
    # The anomalies of highest score, worst first. Where something changed, first those beyond changes, by how far they
    # are off the level of the rows around them, and then, where there is room, rows of changes.
    findings: tuple[Finding, ...]
    explanation: Explanation  # of the same rows, in the same order: every array behind the findings
    evaluation: Evaluation | None  # how verdicts and labels agree, where labels were given
    incidents: tuple[Incident, ...] | None  # changes, and runs of other anomalies, where times were given
    shifts: Floats  # (p,), means of the features in the rows judged, off those learned, in deviations
    remarks: tuple[str, ...] = ()  # what was noticed about the rows: their times, values that stand still, copies
    keys: Keys = NO_KEYS  # the columns that stand beside each finding
    evidence: Evidence | None = None  # what a report is made of; None where none was asked for
    # Where the rows differ as a whole from those learned from, the share that was flagged before they were compared
    # with each other.
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
    def graded(self) -> bool:
        """Whether errors are told from unusual rows by p-values."""
        return self.model.thresholds.error is not None

    @property
    def headline(self) -> str:
        """How many anomalies there are, and what makes them such."""
        what, unread = f"score above {self.limit:.3g}", "with cells that are not what their columns hold"
        if not self.n_anomalies:
            return "No errors and no unusual rows" if self.graded else f"No anomalies (no {what})"
        events = f"{len(self.events):,} change{'s' * (len(self.events) != 1)}"
        beyond = f": {self.n_anomalies - self.n_beyond:,} rows of {events}, {self.n_beyond:,} beyond"
        if self.graded:
            told = count_verdicts(self.n_errors, self.n_anomalies)
            told += f", {self.n_unread:,} {unread}" if self.n_unread else ""
            return f"{told}{beyond if self.changes else self._worst}"
        many = f"{self.n_anomalies:,} anomal{'y' if self.n_anomalies == 1 else 'ies'}"
        if self.n_unread == self.n_anomalies:
            what = unread.removeprefix("with ")
        elif self.n_unread:
            what = f"{self.n_unread:,} {unread}, the others with a {what}"
        return f"{many}{beyond} ({what})" if self.changes else f"{many} ({what}){self._worst}"

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
        for heading, numbers in group_by_kind([rule.kind for rule in self.rules]):
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
