"""What a report needs of all rows, collected part by part while they are judged: memory does not grow with the rows.

Where rows have times, their scores are kept as well, beside their times: in which bucket a row belongs is known at the
end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from aspca.findings.groups import signatures_of
from aspca.linalg.arrays import Floats, Ints
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
# The odd part of the golden ratio times 2^64: multiples of it are spread evenly (Fibonacci hashing).
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class SignatureTotals:
    """Anomalies of one signature: how many, and the sums of their scores and of the rules' parts (m,)."""

    count: int
    score: float
    parts: Floats


@dataclass(eq=False)
class RowStatistics:
    """All rows so far."""

    model: Model
    n_rows: int  # how many there will be
    timed: bool  # whether they are in another order than that of their positions
    seen: int = 0  # how many there were so far
    keeping: int = 0  # anomalies that break no rule by itself
    far: int = 0  # anomalies that are errors or, where these are not told from others, at least FAR times the limit
    kinds: dict[str, SignatureTotals] = field(default_factory=dict)  # by signature
    _scores: list[npt.NDArray[np.float32]] = field(default_factory=list)
    _flagged: list[Ints] = field(default_factory=list)

    def __post_init__(self) -> None:
        m = len(self.model.rules)
        limit = self.model.threshold
        self._units = deviation_units(self.model)
        self._bins = np.zeros((m, BINS + 2), dtype=np.int64)
        self._unknown = np.zeros(m, dtype=np.int64)
        # Rows that break each rule, below and above.
        self.broken = np.zeros((m, 2), dtype=np.int64)
        self._least = np.full(BUCKETS, np.inf)
        self._largest = np.full(BUCKETS, -np.inf)
        self._anomalies = np.zeros(BUCKETS, dtype=np.int64)
        self._tail = np.zeros((_BELOW + _ABOVE) * _PER_DECADE + 2, dtype=np.int64)
        self._lowest = max(limit if np.isfinite(limit) else 1.0, 1e-290) * 10.0**-_BELOW

    def add(self, judgement: Judgement) -> None:
        """The next rows."""
        start = self.seen
        self.seen += len(judgement)
        flagged = np.flatnonzero(judgement.anomalies) if judgement.anomalies is not None else np.empty(0, dtype=np.intp)
        self._add_deviations(judgement)
        self._add_scores(judgement.scores, flagged, start)
        if flagged.size:
            self._add_signatures(judgement.take(flagged))
        self.keeping += flagged.size
        far = judgement.scores >= FAR * self.model.threshold if judgement.errors is None else judgement.errors
        self.far += int(far[flagged].sum())
        self.keeping -= int(judgement.broken[flagged].any(axis=1).sum())

    def _add_deviations(self, judgement: Judgement) -> None:
        for k, unit in enumerate(self._units):
            deviations = judgement.deviations[:, k]
            known = deviations[~np.isnan(deviations)]
            self._unknown[k] += deviations.size - known.size
            places = np.floor((np.clip(known / unit, -2 * REACH, 2 * REACH) + REACH) * (BINS / (2 * REACH)))
            self._bins[k] += np.bincount(np.clip(places, -1, BINS).astype(np.intp) + 1, minlength=BINS + 2)
            off = deviations[judgement.broken[:, k]]
            self.broken[k] += (int((off < 0.0).sum()), int((off > 0.0).sum()))

    def _add_scores(self, scores: Floats, flagged: Ints, start: int) -> None:
        n = self._tail.size
        with np.errstate(divide="ignore"):
            places = np.floor(np.log10(np.maximum(scores, 1e-300) / self._lowest) * _PER_DECADE)
        self._tail += np.bincount(np.clip(places, -1, n - 2).astype(np.intp) + 1, minlength=n)
        if self.timed:
            self._scores.append(scores.astype(np.float32))
            self._flagged.append(start + flagged)
        else:
            self._fill(np.arange(start, start + scores.size), scores, start + flagged)

    def _fill(self, places: Ints, scores: Floats | npt.NDArray[np.float32], flagged: Ints) -> None:
        buckets = places * BUCKETS // max(self.n_rows, 1)
        np.minimum.at(self._least, buckets, scores)
        np.maximum.at(self._largest, buckets, scores)
        np.add.at(self._anomalies, flagged * BUCKETS // max(self.n_rows, 1), 1)

    def _add_signatures(self, flagged: Judgement) -> None:
        signatures = np.array(signatures_of(self.model, flagged), dtype=object)
        for signature in dict.fromkeys(signatures.tolist()):
            rows = signatures == signature
            totals = self.kinds.setdefault(signature, SignatureTotals(0, 0.0, np.zeros(self._units.size)))
            totals.count += int(rows.sum())
            totals.score += float(flagged.scores[rows].sum())
            totals.parts = totals.parts + flagged.contributions[rows].sum(axis=0)

    # ---- what it came to

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


def deviation_units(model: Model) -> Floats:
    """What deviations (m,) of the scaled space are counted in: their limit, else their spread."""
    spreads = model.rule_spreads
    limits = np.sqrt(model.rule_limits)
    units = np.where((limits > 0.0) & np.isfinite(limits), limits, spreads)
    return np.asarray(np.where(units > 0.0, units, 1.0))


def scatter(positions: Ints) -> Floats:
    """Numbers in no order, always the same for a position: those of the largest are as good as drawn at random."""
    return ((positions.astype(np.uint64) + np.uint64(1)) * _SPREAD).astype(np.float64)
