"""What was found in a table: all that `aspca detect` prints and writes, as one object."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aspca.findings.changes import Change
from aspca.findings.finding import Finding
from aspca.findings.incidents import Incident
from aspca.findings.rendering import make_frame, paragraph_html, rules_html, table_html
from aspca.findings.words import amount
from aspca.linalg.arrays import round_for_ranking
from aspca.model.model import Model
from aspca.pipeline.outcome import Outcome
from aspca.pipeline.report import format_of, text_of
from aspca.report.collect import Provenance
from aspca.report.summarize import summarize
from aspca.rules.rule import AnyRule
from aspca.rules.wording import count_verdicts
from aspca.tables.errors import JobError
from aspca.tables.keys import Evaluation
from aspca.writers.replaced_file import replaced_file

# Findings, and models, that a notebook shows.
_SHOWN = 10


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
    whence : Provenance or None
        How to get it again; None where no report was asked for.
    """

    source: str
    by: str | None
    outcomes: Mapping[str | None, Outcome]
    remarks: tuple[str, ...]
    output: str | None
    library: str = "pandas"
    whence: Provenance | None = None

    @property
    def n_rows(self) -> int:
        """Rows judged."""
        return sum(outcome.n_rows for outcome in self.outcomes.values())

    @property
    def n_anomalies(self) -> int:
        """Rows flagged."""
        return sum(outcome.n_anomalies for outcome in self.outcomes.values())

    @property
    def n_errors(self) -> int:
        """Rows classified as errors."""
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
        titles = {category: "" if self.by is None else f"== {self.by} = {category}\n" for category in self.outcomes}
        return "\n\n".join(titles[category] + outcome.text for category, outcome in self.outcomes.items())

    def to_frame(self) -> Any:
        """The findings as a table: one line per row, rule and column, see `Explanation.to_frame`."""
        columns: dict[str, list[object]] = {}
        for category, outcome in self.outcomes.items():
            lines = outcome.lines()
            if self.by is not None:
                columns.setdefault("category", []).extend([category] * len(lines["row"]))
            for name, cells in lines.items():
                columns.setdefault(name, []).extend(cells)
        return make_frame(columns, self.library)

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        format: str | None = None,
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
        format : {"html", "json", "markdown"} or None
            A page that needs nothing else, the same as data (docs/report.md), or for a ticket. None: what the path
            ends in (.html, .json, .md), or HTML.
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
        if category not in self.outcomes:
            known = ", ".join(repr(name) for name in self.outcomes)
            if self.by is None:
                raise JobError(f"There is one model for all rows, so no category {category!r}; leave category out.")
            raise JobError(f"There is a report for each category of {self.by!r}: give category, one of {known}.")
        evidence = self.outcomes[category].evidence
        if evidence is None or self.whence is None:
            raise JobError("Nothing was kept for a report: call detect without report=False.")
        whence = replace(self.whence, category=category)
        text = text_of(summarize(evidence, whence, self.remarks, private=private), format_of(path, format), row)
        if path is not None:
            with replaced_file(path) as stream:
                stream.write(text)
        return text

    def _single(self, what: str) -> Outcome:
        if self.by is not None:
            raise ValueError(
                f"There is one {what} for each category of {self.by!r}: see outcomes, a mapping from categories."
            )
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
