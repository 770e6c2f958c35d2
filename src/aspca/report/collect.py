"""What a report is made of, collected part by part while rows are judged: statistics of all of them, the rows that it
shows, and those around these. Memory does not grow with the rows.

Where rows have times, their scores are kept as well, beside their times: in which bucket a row belongs is known at the
end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from aspca.findings.changes import Change, Course, moment_text
from aspca.findings.explanation import Explanation
from aspca.findings.finding import Finding
from aspca.findings.groups import make_signatures
from aspca.findings.incidents import Incident
from aspca.findings.reasons import select_outlying_columns, select_rules
from aspca.findings.values import Original, value_text
from aspca.linalg.arrays import Floats, Ints, round_for_ranking
from aspca.model.judgement import Judgement
from aspca.model.model import Model
from aspca.report.names import round_to
from aspca.report.summary import FAR, Bucket, Histogram

# A histogram reaches so many limits to either side, in so many bins: one to a side of the middle.
REACH, BINS = 3.0, 72
# Rows are thinned to so many stretches, each with its least and largest score: about one for each pixel.
BUCKETS = 720
# Scores are counted in so many bins for each power of ten, from limits / 1e4 to limits * 1e8.
_PER_DECADE, _BELOW, _ABOVE = 40, 4, 8
# The worst anomalies that are shown, and of the others so many: a page of a few MB.
WORST, SAMPLED = 500, 100
# So many rows to either side of an anomaly are drawn, and so many of them with values, of so many columns.
_DRAWN, _WITH_VALUES, _COLUMNS = 10, 2, 4


# ---- all rows


class RowStatistics:
    """All rows so far, of `n_rows`; `timed`: their order is another than that of their positions."""

    def __init__(self, model: Model, n_rows: int, *, timed: bool) -> None:
        m, limit = len(model.rules), model.threshold
        self.model, self._n, self._timed = model, max(n_rows, 1), timed
        self.seen = 0  # rows so far
        self.keeping = 0  # anomalies that break no rule by itself
        self.far = 0  # anomalies that are errors or, where these are not told from others, at least FAR times the limit
        self.signatures: Counter[str] = Counter()  # how many anomalies have each
        # Of the anomalies in which no rule stands out: the sums of their scores, and of the rules' parts of these.
        self.apart = np.zeros(2)
        self.broken = np.zeros((m, 2), dtype=np.int64)  # rows that break each rule, below and above
        self._units = choose_units(model)
        self._bins = np.zeros((m, BINS + 2), dtype=np.int64)
        self._unknown = np.zeros(m, dtype=np.int64)
        self._least, self._largest = np.full(BUCKETS, np.inf), np.full(BUCKETS, -np.inf)
        self._anomalies = np.zeros(BUCKETS, dtype=np.int64)
        self._tail = np.zeros((_BELOW + _ABOVE) * _PER_DECADE + 2, dtype=np.int64)
        self._lowest = max(limit if np.isfinite(limit) else 1.0, 1e-290) * 10.0**-_BELOW
        self._scores: list[npt.NDArray[np.float32]] = []
        self._flagged: list[Ints] = []

    def add(self, judgement: Judgement) -> None:
        """The next rows."""
        start, scores = self.seen, judgement.scores
        flagged = np.flatnonzero(judgement.anomalies) if judgement.anomalies is not None else np.empty(0, dtype=np.intp)
        self.seen += len(judgement)
        self._add_deviations(judgement)
        with np.errstate(divide="ignore"):
            places = np.floor(np.log10(np.maximum(scores, 1e-300) / self._lowest) * _PER_DECADE)
        self._tail += np.bincount(
            np.clip(places, -1, self._tail.size - 2).astype(np.intp) + 1, minlength=len(self._tail)
        )
        if self._timed:
            self._scores.append(scores.astype(np.float32))
            self._flagged.append(start + flagged)
        else:
            self._fill(np.arange(start, start + scores.size), scores, start + flagged)
        if not flagged.size:
            return
        signatures = np.array(make_signatures(self.model, judgement.take(flagged)), dtype=object)
        self.signatures.update(signatures.tolist())
        apart = flagged[signatures == ""]
        self.apart += (scores[apart].sum(), judgement.contributions[apart].sum())
        far = scores >= FAR * self.model.threshold if judgement.errors is None else judgement.errors
        self.far += int(far[flagged].sum())
        self.keeping += int((~judgement.broken[flagged].any(axis=1)).sum())

    def _add_deviations(self, judgement: Judgement) -> None:
        for k, unit in enumerate(self._units):
            deviations = judgement.deviations[:, k]
            known = deviations[~np.isnan(deviations)]
            self._unknown[k] += deviations.size - known.size
            places = np.floor((np.clip(known / unit, -2 * REACH, 2 * REACH) + REACH) * (BINS / (2 * REACH)))
            self._bins[k] += np.bincount(np.clip(places, -1, BINS).astype(np.intp) + 1, minlength=BINS + 2)
            off = deviations[judgement.broken[:, k]]
            self.broken[k] += (int((off < 0.0).sum()), int((off > 0.0).sum()))

    def _fill(self, places: Ints, scores: Floats | npt.NDArray[np.float32], flagged: Ints) -> None:
        buckets = places * BUCKETS // self._n
        np.minimum.at(self._least, buckets, scores)
        np.maximum.at(self._largest, buckets, scores)
        np.add.at(self._anomalies, flagged * BUCKETS // self._n, 1)

    def histogram(self, rule: int, *, turned: bool = False) -> Histogram:
        """How all rows lie around a rule; `turned`: with the sides exchanged."""
        below, *counts, above = self._bins[rule, ::-1].tolist() if turned else self._bins[rule].tolist()
        return Histogram(-REACH, REACH, tuple(counts), below, above, int(self._unknown[rule]))

    def buckets(self, ranks: Ints | None) -> tuple[Bucket, ...]:
        """Scores in time order; `ranks` (n,) say where each row stands there, None: as they came."""
        if self._scores:
            scores = np.concatenate(self._scores)
            places = np.arange(scores.size) if ranks is None else ranks
            self._fill(places, scores, places[np.concatenate(self._flagged)])
            self._scores, self._flagged = [], []
        return tuple(
            Bucket(round_to(least, 5), round_to(largest, 5), int(count))
            for least, largest, count in zip(self._least, self._largest, self._anomalies, strict=True)
            if np.isfinite(least)
        )

    def count_above(self) -> tuple[Floats, Ints]:
        """Limits, ascending, and how many rows have a score above each."""
        edges = self._lowest * 10.0 ** (np.arange(self._tail.size - 1) / _PER_DECADE)
        return edges, np.cumsum(self._tail[::-1])[::-1][1:]


def choose_units(model: Model) -> Floats:
    """What deviations (m,) of the scaled space are counted in: their limit, else their spread."""
    limits = np.sqrt(model.rule_limits)
    units = np.where((limits > 0.0) & np.isfinite(limits), limits, model.rule_spreads)
    return np.asarray(np.where(units > 0.0, units, 1.0))


def scatter(positions: Ints) -> Floats:
    """Numbers in no order, always the same for a position: those of the largest are as good as drawn at random.

    They are multiples of the odd part of the golden ratio times 2^64, which are spread evenly (Fibonacci hashing).
    """
    return ((positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)).astype(np.float64)


# ---- rows around those shown


class Neighbourhood:
    """The rows before and after each anomaly that is shown: what they are, and how far off.

    The rows are to be added, as `wanted` says.
    """

    def __init__(self, why: Explanation, course: Course, positions: Ints) -> None:
        """Of anomalies in the order in which they are shown, which stand at these positions among all rows."""
        self._course, self._model = course, why.model
        # For each anomaly the rule whose deviations are compared, None where scores are, and the features shown.
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
        self._units = choose_units(self._model)

    @staticmethod
    def _choose_features(why: Explanation, i: int, rule: int | None) -> list[int]:
        blame = round_for_ranking(why.feature_contributions[i])
        chosen = select_outlying_columns(why, i) if rule is None else why.shown_features(rule).tolist()
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
        rank, rule = int(self._ranks[i]), self.rules[i]
        for place in range(max(0, rank - _DRAWN), min(self._course.n, rank + _DRAWN + 1)):
            position = place if self._course.order is None else int(self._course.order[place])
            at = np.searchsorted(self._wanted, position)
            multiple = self._scores[at] / self._model.threshold if rule is None else self._multiples[at, rule]
            yield position, float(multiple) if np.isfinite(multiple) else None, abs(place - rank) <= _WITH_VALUES

    def values(self, i: int, position: int) -> list[str]:
        """What the features shown of anomaly i are in another row."""
        at = int(np.searchsorted(self._wanted, position))
        features = np.searchsorted(self._used, self.features[i]).tolist()
        return [value_text(self._original.value(at, feature)) for feature in features]

    @cached_property
    def _original(self) -> Original:
        """The rows in the terms of the table, once all were added."""
        return Original(tuple(self._model.space.features[j] for j in self._used), self._values)


# ---- all of it


@dataclass(frozen=True, eq=False)
class ShownRows:
    """The anomalies that are shown (k of them), the worst first, then the sample."""

    findings: tuple[Finding, ...]
    explanation: Explanation  # theirs, which calls them by their numbers in the file
    positions: Ints  # where they stand among the rows judged
    cells: Sequence[Mapping[str, str | None]]  # the whole rows as they stand in the table, by column
    n_worst: int  # how many are the worst; the others are the sample

    @property
    def rows(self) -> Ints:
        return np.array([finding.row for finding in self.findings], dtype=np.intp)


@dataclass(frozen=True)
class Span:
    """Where an incident lies."""

    start: int  # the place of its first row in time order
    stop: int  # and of its last
    peak: int  # the number of its worst row


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that a report of one model and one table is made of."""

    model: Model
    columns: Mapping[str, str]  # what each is used for: feature, name, time, category, label or not used
    statistics: RowStatistics  # of all rows
    shown: ShownRows
    neighbourhood: Neighbourhood  # the rows near those shown
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
        return self.model.threshold if np.isfinite(self.model.threshold) else None


@dataclass(frozen=True)
class Provenance:
    """Where a report comes from."""

    title: str  # what was judged
    version: str
    command: str
    inputs: tuple[tuple[str, str, str | None], ...] = ()  # name, purpose, SHA-256
    category: str | None = None
    learned_elsewhere: bool = False  # from another table than the one judged: excluded cells are of that one
