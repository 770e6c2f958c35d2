"""What was found in a table, as a report is made of it: the rows that it shows, those near them, and what is known of
all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.findings.change_text import Change, moment_text
from aspca.findings.changes import Course
from aspca.findings.explanation import Explanation
from aspca.findings.incidents import Incident
from aspca.findings.reasons import columns_standing_out, select_rules
from aspca.findings.values import Original, value_text
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.ranking import round_for_ranking
from aspca.model.judgement import Judgement
from aspca.model.model import Model
from aspca.report.collect import RowStatistics, deviation_units

# So many rows to either side of an anomaly are drawn, and so many of them with values, of so many columns.
_DRAWN, _WITH_VALUES, _COLUMNS = 10, 2, 4


class Neighbourhood:
    """The rows before and after each anomaly that is shown: what they are, and how far off.

    The rows are to be added, as `wanted` says.

    Parameters
    ----------
    why : Explanation
        Of the anomalies, in the order in which they are shown.
    course : Course
        The order of all rows.
    positions : ndarray of shape (k,)
        Where the anomalies stand among all rows.

    Attributes
    ----------
    rules : list of int or None
        For each anomaly the rule whose deviations are compared; None: scores are.
    features : list of list of int
        For each anomaly the features whose values are shown.
    """

    def __init__(self, why: Explanation, course: Course, positions: Ints) -> None:
        self._course = course
        self._model = why.model
        self.rules = [next(iter(select_rules(why, i)[0]), None) for i in range(len(why))]
        self.features = [self._choose_features(why, i, rule) for i, rule in enumerate(self.rules)]
        # With a category all others of its column are needed, to know which it is.
        features = self._model.space.features
        columns = {features[j].column for chosen in self.features for j in chosen}
        self._used = np.flatnonzero([feature.column in columns for feature in features])
        self._ranks = course.ranks(positions)
        near = np.unique((self._ranks[:, None] + np.arange(-_DRAWN, _DRAWN + 1)).ravel())
        near = near[(near >= 0) & (near < course.n)]
        self._wanted = np.sort(near if course.order is None else course.order[near])
        self._scores = np.full(self._wanted.size, np.nan)
        self._multiples = np.full((self._wanted.size, len(self._model.rules)), np.nan)
        self._values = np.full((self._wanted.size, self._used.size), np.nan)
        self._units = deviation_units(self._model)

    @staticmethod
    def _choose_features(why: Explanation, i: int, rule: int | None) -> list[int]:
        blame = round_for_ranking(why.feature_contributions[i])
        chosen = columns_standing_out(why, i) if rule is None else why.shown_features(rule).tolist()
        return sorted(sorted(chosen, key=lambda j: -blame[j])[:_COLUMNS])

    def wanted(self, start: int, count: int) -> Ints:
        """Which of so many rows from `start` on are to be added: places among them."""
        first, last = np.searchsorted(self._wanted, [start, start + count])
        return np.asarray(self._wanted[first:last] - start)

    def add(self, positions: Ints, values: Floats, judgement: Judgement) -> None:
        """Some of the rows wanted."""
        places = np.searchsorted(self._wanted, positions)
        self._scores[places] = judgement.scores
        self._multiples[places] = judgement.deviations / self._units
        self._values[places] = values[:, self._used]

    def near(self, i: int) -> Iterator[tuple[int, float | None, bool]]:
        """Positions of the rows around anomaly i in order, how far off each is, in multiples of a limit, and
        whether it is so near that its values are shown."""
        limit = self._model.threshold
        rank, rule = int(self._ranks[i]), self.rules[i]
        for place in range(max(0, rank - _DRAWN), min(self._course.n, rank + _DRAWN + 1)):
            position = place if self._course.order is None else int(self._course.order[place])
            at = np.searchsorted(self._wanted, position)
            multiple = float(self._scores[at] / limit if rule is None else self._multiples[at, rule])
            yield position, multiple if np.isfinite(multiple) else None, abs(place - rank) <= _WITH_VALUES

    def values(self, i: int, position: int) -> list[str]:
        """What the features shown of anomaly i are in another row."""
        at = int(np.searchsorted(self._wanted, position))
        features = np.searchsorted(self._used, self.features[i]).tolist()
        return [value_text(self._original.value(at, feature)) for feature in features]

    @cached_property
    def _original(self) -> Original:
        """The rows in the terms of the table, once all were added."""
        return Original(tuple(self._model.space.features[j] for j in self._used), self._values)


@dataclass(frozen=True, eq=False)
class ShownRows:
    """The anomalies that are shown (k of them), the worst first, then the sample."""

    rows: Ints  # their numbers in the file
    positions: Ints  # where they stand among the rows judged
    values: Floats  # (k, p)
    judgement: Judgement
    names: Sequence[str | None]
    keys: Sequence[Mapping[str, str | None]]  # by column, the texts of the key columns; None where one is missing
    cells: Sequence[Mapping[str, str | None]]  # the same of the whole row, as it stands in the table
    beyond: Bools  # which are more than rows of a change
    n_worst: int  # how many are the worst; the others are the sample

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
    """All that a report of one model and one table is made of."""

    model: Model
    columns: Mapping[str, str]  # what each is used for: feature, name, time, category, label or not used
    gathering: RowStatistics  # of all rows
    shown: ShownRows
    around: Neighbourhood  # the rows near those shown
    course: Course  # the order of rows
    changes: tuple[Change, ...]
    incidents: tuple[Incident, ...]
    spans: tuple[Span, ...]  # one for each incident
    n_anomalies: int
    n_beyond: int
    n_partly: int
    evaluation: str  # how anomalies and labels agree; empty without labels

    @cached_property
    def _whole_days(self) -> bool:
        """Whether times are dates without a time of day."""
        when = self.course.when
        return when is not None and when.dtype.kind == "M" and bool((when.astype("datetime64[D]") == when).all())

    def moment(self, time: object) -> str:
        """A time as it is written."""
        text = moment_text(time)
        return text.removesuffix(" 00:00:00") if self._whole_days else text

    @property
    def graded(self) -> bool:
        """Whether errors are distinguished from unusual rows."""
        return self.model.thresholds.error is not None

    @property
    def limit(self) -> float | None:
        """Of the score; None where nothing can be promised below infinity."""
        limit = self.model.threshold
        return limit if np.isfinite(limit) else None


@dataclass(frozen=True)
class Provenance:
    """Where a report comes from: what was judged, by which command, of what version, and the inputs with checksums."""

    title: str
    version: str
    command: str
    inputs: tuple[tuple[str, str, str | None], ...] = ()  # name, purpose, SHA-256
    category: str | None = None
    learned_elsewhere: bool = False  # from another table than the one judged: excluded cells are of that one
