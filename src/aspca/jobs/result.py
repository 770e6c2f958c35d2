"""What was found in a table: all that `aspca detect` prints and writes, as one object."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.jobs.findings import Finding
from aspca.jobs.keys import NO_KEYS, Keys
from aspca.jobs.labels import Evaluation
from aspca.judging.change_text import Change, event_text, events_of
from aspca.judging.explanation import Explanation
from aspca.judging.frames import frame
from aspca.judging.incidents import Incident
from aspca.judging.model import Model
from aspca.judging.notebook import paragraph_html, rules_html, table_html
from aspca.judging.row_text import amount
from aspca.linalg.arrays import Floats
from aspca.linalg.ranking import round_for_ranking
from aspca.rules.headings import told_apart
from aspca.rules.rule import AnyRule
from aspca.rules.sentence import count_verdicts

if TYPE_CHECKING:
    from aspca.report.evidence import Evidence
    from aspca.report.evidence import Provenance as Whence

# Findings, and models, that a notebook shows.
_SHOWN = 10
_SEVERAL = "There is one {what} for each category of {by!r}: see outcomes, a mapping from categories."


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


@dataclass(frozen=True, eq=False)
class Detection:
    """What `aspca.detect` found: everything that the command prints and writes.

    Attributes
    ----------
    source : str
        What was judged.
    by : str or None
        The column that each category of has a model of its own.
    outcomes : mapping of str or None to Outcome
        What was found, by category, in sorted order; where there is one model, its outcome under None.
    remarks : tuple of str
        Sentences about what was decided without being asked.
    output : str or None
        The folder that was written.
    library : str
        What tables are made of.
    whence : Whence or None
        How to get it again; None where no report was asked for.
    """

    source: str
    by: str | None
    outcomes: Mapping[str | None, Outcome]
    remarks: tuple[str, ...]
    output: str | None
    library: str = "pandas"
    whence: Whence | None = None

    @property
    def n_rows(self) -> int:
        """Rows judged."""
        return sum(outcome.n_rows for outcome in self.outcomes.values())

    @property
    def n_anomalies(self) -> int:
        return sum(outcome.n_anomalies for outcome in self.outcomes.values())

    @property
    def n_errors(self) -> int:
        return sum(outcome.n_errors for outcome in self.outcomes.values())

    @property
    def model(self) -> Model:
        return self._single("model").model

    @property
    def models(self) -> dict[str | None, Model]:
        """By category; under None where there is one."""
        return {category: outcome.model for category, outcome in self.outcomes.items()}

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """The rules that judged."""
        return self._single("list of rules").rules

    @property
    def evaluation(self) -> Evaluation | None:
        return self._single("evaluation").evaluation

    @property
    def changes(self) -> tuple[Change, ...]:
        """Rules that are off by like amounts for long."""
        return self._single("list of changes").changes

    @property
    def incidents(self) -> tuple[Incident, ...] | None:
        return self._single("list of incidents").incidents

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The worst anomalies, worst first: by score, or by multiples of their own limits where models are several.

        Those beyond changes come before rows of changes.
        """
        if self.by is None:
            return self.outcomes[None].findings
        everything = [finding for outcome in self.outcomes.values() for finding in outcome.findings]
        sizes = round_for_ranking(np.array([one.times or one.score for one in everything]))
        order = np.lexsort([[one.row for one in everything], (-sizes).tolist(), [not one.beyond for one in everything]])
        return tuple(everything[k] for k in order)

    @property
    def text(self) -> str:
        """What the command shows, in plain words."""
        parts = []
        for category, outcome in self.outcomes.items():
            title = [] if self.by is None else [f"== {self.by} = {category}"]
            parts.append("\n".join([*title, outcome.text]))
        return "\n\n".join(parts)

    def to_frame(self) -> Any:
        """The findings as a table: one line per row, rule and column, see `Explanation.to_frame`."""
        tables = [
            {**({} if self.by is None else {"category": [category] * len(lines["row"])}), **lines}
            for category, lines in ((category, outcome.lines()) for category, outcome in self.outcomes.items())
        ]
        return frame({name: [cell for table in tables for cell in table[name]] for name in tables[0]}, self.library)

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        format: str = "html",
        *,
        category: str | None = None,
        row: int | None = None,
        private: bool = False,
    ) -> str:
        """All of it as one file to hand on; its text is returned, and written where a path is given.

        Parameters
        ----------
        path : path or None
            A file, which is replaced as a whole.
        format : {"html", "json", "markdown"}
            A page that needs nothing else, the same as data (docs/report.md), or for a ticket.
        category : str or None
            Which of several models, where there is one for each category.
        row : int or None
            For Markdown: this anomaly only.
        private : bool
            Show no value of a row.

        Raises
        ------
        JobError
            jinja2 is not installed, there are several models, or nothing was kept for a report.
        """
        # Reports are made of results.
        from aspca.jobs.reports import reported

        return reported(self, path, format, category=category, row=row, private=private)

    def _single(self, what: str) -> Outcome:
        if self.by is not None:
            raise ValueError(_SEVERAL.format(what=what, by=self.by))
        return self.outcomes[None]

    def _repr_html_(self) -> str:
        """What was found, in notebooks; of several models each by itself."""
        parts = [paragraph_html(repr(self))]
        for category, outcome in list(self.outcomes.items())[:_SHOWN]:
            parts += [] if self.by is None else [paragraph_html(f"{self.by} = {category}")]
            parts += [rules_html(outcome.rules), paragraph_html(outcome.headline)]
            rows = [
                (finding.row, finding.name or "", "" if finding.times is None else amount(finding.times), finding.text)
                for finding in outcome.findings[:_SHOWN]
            ]
            parts += [table_html(("row", "name", "times the limit", "why"), rows)] if rows else []
        parts += [] if self.whence is None else [paragraph_html('All of it as a page: .report("report.html")')]
        return f"<div>{''.join(parts)}</div>"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        rules = sum(len(outcome.rules) for outcome in self.outcomes.values())
        models = "" if self.by is None else f" in {len(self.outcomes)} categories of {self.by!r}"
        found = f"{self.n_anomalies:,} anomalies"
        if all(outcome.graded for outcome in self.outcomes.values()):
            found = count_verdicts(self.n_errors, self.n_anomalies)
        return f"Detection({found} in {self.n_rows:,} rows by {rules:,} rules{models})"
