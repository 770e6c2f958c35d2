"""The report as data: typed, frozen, plain values.

Whatever is shown was decided here; pages and documents only render it.
"""

from __future__ import annotations

from dataclasses import dataclass

from aspca.report.summary.course import Bucket, Change, Course, Incident, Tick
from aspca.report.summary.record import (
    Certificates,
    Choice,
    Choices,
    Excluded,
    ExcludedCell,
    Flagged,
    Input,
    Reproduce,
    Step,
)
from aspca.report.summary.rows import Anomaly, Break, Cell, Group, Near, Needed, Neighbour, Unusual
from aspca.report.summary.rules import Column, Histogram, Rule, Term

__all__ = [
    "FORMAT",
    "Anomaly",
    "Break",
    "Bucket",
    "Cell",
    "Certificates",
    "Change",
    "Choice",
    "Choices",
    "Column",
    "Counts",
    "Course",
    "Excluded",
    "ExcludedCell",
    "Flagged",
    "Group",
    "Histogram",
    "Incident",
    "Input",
    "Near",
    "Needed",
    "Neighbour",
    "Report",
    "Reproduce",
    "Rule",
    "Step",
    "Term",
    "Tick",
    "Unusual",
]

FORMAT = "aspca-report-1"


@dataclass(frozen=True)
class Counts:
    """How many there are, of all rows judged; `far` of the anomalies are errors."""

    rows: int
    learned: int
    columns: int
    features: int
    rules: int
    anomalies: int
    beyond: int
    partly: int
    far: int
    shown: int
    sampled: int


@dataclass(frozen=True)
class Report:
    """All that a report says.

    Attributes
    ----------
    format : str
    title : str
        What was judged.
    category : str or None
        Where there is a model for each category, whose this is.
    private : bool
        Whether values are left out.
    headline : tuple of str
        What was found, in three sentences.
    expected : str
        How many rows are flagged where nothing is wrong, as a sentence.
    weaker : str
        What is to be said before the first anomaly that is no error; empty where all are of one kind.
    left_out : str
        What is not shown, as a sentence; empty where all is.
    """

    format: str
    title: str
    category: str | None
    private: bool
    headline: tuple[str, ...]
    expected: str
    weaker: str
    left_out: str
    counts: Counts
    remarks: tuple[str, ...]
    evaluation: str
    columns: tuple[Column, ...]
    rules: tuple[Rule, ...]
    anomalies: tuple[Anomaly, ...]
    groups: tuple[Group, ...]
    course: Course
    changes: tuple[Change, ...]
    incidents: tuple[Incident, ...]
    excluded: Excluded
    choices: Choices
    certificates: Certificates
    reproduce: Reproduce
