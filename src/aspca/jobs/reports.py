"""Reports of what was found: into a folder of outputs, or wherever somebody asks for one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from aspca.jobs.errors import JobError, RequestError
from aspca.jobs.result import Detection, Outcome
from aspca.outputs.replaced_file import replaced_file
from aspca.report.evidence import Provenance as Whence
from aspca.report.summarize import summarize as report_of
from aspca.report.summary import Report

NAME = "report.html"
FORMATS = ("html", "json", "markdown")
MISSING = "Reports need jinja2, which is not installed: pip install 'aspca[report]'"


def can_write() -> bool:
    """Whether pages can be made: the extra is installed."""
    return find_spec("jinja2") is not None


def refuse_missing(kind: str) -> None:
    """Raise JobError if a report of this kind cannot be made, for want of the extra."""
    if kind == "html" and not can_write():
        raise JobError(f"{MISSING}.")


def text_of(report: Report, kind: str, row: int | None = None) -> str:
    """A report as text: ``html``, ``json`` or ``markdown``, of one row where it is given.

    Raises
    ------
    JobError
        The extra is not installed, or there is no such format.
    """
    if kind == "json":
        from aspca.report.documents import write_json as json_text

        return json_text(report)
    if kind == "markdown":
        from aspca.report.documents import write_markdown as markdown_text

        try:
            return markdown_text(report, row)
        except ValueError as error:
            raise RequestError(str(error)) from None
    if kind != "html":
        raise JobError(f"A report is written as {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, not as {kind!r}.")
    refuse_missing(kind)
    from aspca.report.page import render_page as page_text

    return page_text(report)


def write_reports(
    folder: Path, outcomes: Mapping[str | None, Outcome], whence: Whence, remarks: Sequence[str], *, private: bool
) -> list[str]:
    """report.html for each model: in the folder, or in that of each category. What is to be said if it cannot be."""
    if not can_write():
        return [f"No {NAME} was written. {MISSING}."]
    for number, (category, outcome) in enumerate(outcomes.items()):
        if outcome.evidence is None:
            continue
        place = folder if category is None else folder / f"category-{number:03d}"
        of_this = replace(whence, category=category)
        text = text_of(report_of(outcome.evidence, of_this, remarks, private=private), "html")
        (place / NAME).write_text(text, encoding="utf-8", newline="\n")
    return []


def reported(
    detection: Detection,
    path: str | os.PathLike[str] | None,
    kind: str,
    *,
    category: str | None,
    row: int | None,
    private: bool,
) -> str:
    """See `Detection.report`."""
    if category not in detection.outcomes:
        known = ", ".join(repr(name) for name in detection.outcomes)
        if detection.by is None:
            raise JobError(f"There is one model for all rows, so no category {category!r}; leave category out.")
        raise JobError(f"There is a report for each category of {detection.by!r}: give category, one of {known}.")
    evidence = detection.outcomes[category].evidence
    if evidence is None or detection.whence is None:
        raise JobError("Nothing was kept for a report: call detect without report=False.")
    whence = replace(detection.whence, category=category)
    text = text_of(report_of(evidence, whence, detection.remarks, private=private), kind, row)
    if path is not None:
        with replaced_file(path) as stream:
            stream.write(text)
    return text
