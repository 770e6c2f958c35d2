"""What was found in a table, as a report is made of it: the rows that it shows, and what is known of all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.judging.change_text import Change, moment_text
from aspca.judging.changes import Course
from aspca.judging.incidents import Incident
from aspca.judging.judgement import Judgement
from aspca.judging.model import Model
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.report.around import Around
from aspca.report.gathering import Gathering


@dataclass(frozen=True, eq=False)
class ShownRows:
    """The anomalies that are shown (k of them), the worst first, then the sample.

    Attributes
    ----------
    rows, positions : ndarray of shape (k,)
        Their numbers in the file, and among the rows judged.
    values : ndarray of shape (k, p)
    judgement : Judgement
    names : sequence of k str or None
    keys, cells : sequence of k mappings of column to text, or None where it is missing
        The key columns, and the whole row as it stands in the table.
    beyond : ndarray of shape (k,)
        Which are more than rows of a change.
    n_worst : int
        How many are the worst; the others are the sample.
    """

    rows: Ints
    positions: Ints
    values: Floats
    judgement: Judgement
    names: Sequence[str | None]
    keys: Sequence[Mapping[str, str | None]]
    cells: Sequence[Mapping[str, str | None]]
    beyond: Bools
    n_worst: int

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Span:
    """Where an incident lies: the places of its first and last row in time order, and the number of its worst row."""

    start: int
    stop: int
    peak: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that a report of one model and one table is made of.

    Attributes
    ----------
    columns : mapping of str to str
        What each column of the table is used for: "feature", "name", "time", "category", "label" or "not used".
    gathering : Gathering
        Of all rows.
    shown : ShownRows
    around : Around
        The rows near them.
    course : Course
        The order of rows.
    incidents : tuple of Incident
    spans : tuple of Span
        One for each incident.
    n_anomalies, n_beyond, n_partly : int
    evaluation : str
        How anomalies and labels agree; empty without labels.
    """

    model: Model
    columns: Mapping[str, str]
    gathering: Gathering
    shown: ShownRows
    around: Around
    course: Course
    changes: tuple[Change, ...]
    incidents: tuple[Incident, ...]
    spans: tuple[Span, ...]
    n_anomalies: int
    n_beyond: int
    n_partly: int
    evaluation: str

    @cached_property
    def _whole_days(self) -> bool:
        """Whether times are dates without a time of day."""
        when = self.course.when
        return when is not None and when.dtype.kind == "M" and bool((when.astype("datetime64[D]") == when).all())

    def moment(self, time: object) -> str:
        """A time as it is told."""
        text = moment_text(time)
        return text.removesuffix(" 00:00:00") if self._whole_days else text

    @property
    def graded(self) -> bool:
        """Whether errors are told from unusual rows."""
        return self.model.thresholds.error is not None

    @property
    def limit(self) -> float | None:
        """Of the score; None where nothing can be promised below infinity."""
        limit = self.model.threshold
        return limit if np.isfinite(limit) else None


@dataclass(frozen=True)
class Whence:
    """Where a report comes from: what was judged, by which command, of what version, and the inputs with checksums.

    Attributes
    ----------
    title : str
    version, command : str
    inputs : tuple of (name, purpose, sha256 or None)
    category : str or None
    learned_elsewhere : bool
        Whether rules were learned from another table, so that excluded cells are of that one.
    """

    title: str
    version: str
    command: str
    inputs: tuple[tuple[str, str, str | None], ...] = ()
    category: str | None = None
    learned_elsewhere: bool = False
