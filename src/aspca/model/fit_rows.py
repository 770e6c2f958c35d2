"""From rows to a model: identities, tail models of a sample, relations without the cells of errors, the law of scores.

Passes over all rows: moments (before), a sample and how rows follow each other, the count of identities, and, where
some rows are errors, moments without the cells that these are accused of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from aspca.identities.finding import SAMPLE as IDENTITY_SAMPLE
from aspca.identities.formula import Formula
from aspca.identities.localize import localize
from aspca.identities.sampling import LeastRows, RowHash
from aspca.linalg.arrays import Bools, Floats, Ints, frozen
from aspca.model.columns import find_rounding, find_steps, shrink
from aspca.model.constants import SAMPLE_ROWS, SAMPLE_VALUES, TAIL
from aspca.model.cross_fit import Learned, Sample, cap_patterns, fold_of, learn_evidence, rank_columns
from aspca.model.evidence import Evidence, RowLaw, learn_law
from aspca.model.fit import are_rules, fit_model, judge_by
from aspca.model.free_columns import FreePart
from aspca.model.model import Gaps, Model, complete_moments
from aspca.model.outliers import Excluded, ExcludedOf, Exclusion, OffGiven, find_off_given, find_words
from aspca.model.tails import Tail
from aspca.moments import IncompleteMoments, Moments
from aspca.moments.accumulator import CompositeAccumulator, MomentsAccumulator, Rows
from aspca.moments.autocorrelation import LagSums, compute_lag_one_correlation
from aspca.moments.space import ScaledSpace
from aspca.preparation import Preparation
from aspca.rules.table import RuleTable
from aspca.rules.user_rules import parse_linear_rules
from aspca.settings import Settings

# Called with a few words about what comes next.
Stage = Callable[[str], None]
Known = Moments | IncompleteMoments
# Weights are counts of rows if a common unit makes whole numbers of them, none above this.
_MOST_COPIES = 1000


def learn_model(
    rows: Rows,
    known: Known,
    settings: Settings,
    preparation: Preparation,
    given: tuple[tuple[str, Formula], ...] = (),
    weights: Floats | None = None,
    callback: Callable[[int, int, float], None] | None = None,
    stage: Stage = lambda words: None,
) -> Model:
    """The model of rows, with its thresholds; see `fit_model` for what is refused.

    Parameters
    ----------
    known : Moments, or IncompleteMoments where values may be missing
        Of all of them.
    given : tuple of (text, Formula)
        Rules that the user wrote.
    weights : ndarray of shape (n,), or None
        How many rows each counts for.
    callback : callable or None
        As in `fit_model`.
    """
    stage("Finding exact relations")
    low, high = known.extremes if isinstance(known, IncompleteMoments) else (known.minimum, known.maximum)
    counts = None if weights is None else count_copies(weights)
    copied = rows if counts is None else rows.through(_Copied(counts))
    hashes = RowHash.between(low, high)
    most = max(min(SAMPLE_ROWS, SAMPLE_VALUES // max(low.size, 1)), IDENTITY_SAMPLE)
    seen = copied.reduce(
        lambda: CompositeAccumulator(
            LeastRows(hashes, IDENTITY_SAMPLE), LeastRows(hashes, most), LagSums.empty(low, high)
        )
    )
    few, many, pairs = seen.parts
    part = FreePart.of(copied, rows, known, settings, preparation, given, few.found(low.size), weights)
    sampled, judges = None, settings.judges_by_evidence
    if (judges or settings.robust in (True, "on")) and len(many.keys):
        stage("Learning tails")
        sampled = _Sampled.of(part, many.found(low.size), hashes.only(part.free), int(many.n_seen))
    excluded, moments, gaps = None, None, None
    if sampled is not None and settings.excludes_outliers:
        stage("Excluding outliers")
        moments, gaps, excluded = _learn_without_errors(sampled, part, weights)
    if moments is None:
        moments, gaps = complete_moments(part.known)
    stage("Finding rules")
    model = fit_model(
        moments,
        part.settings,
        part.preparation,
        callback=callback,
        gaps=gaps,
        excluded=excluded,
        autocorrelation=compute_lag_one_correlation(pairs.only(part.free), moments) if moments.n_rows else None,
        keep=sampled.are_rules if sampled is not None and judges else None,
    )
    model = part.embed(model)
    if sampled is not None and judges:
        model = sampled.complete(model)
    return with_kept_shares(model, rows, weights)


@dataclass(frozen=True, eq=False)
class _Sampled:
    """A sample of rows, and what was learned of it."""

    part: FreePart
    sample: Sample
    identity_p: Floats  # (n, k): p-values of identities
    confirmed: Bools  # (n, p): cells that are part of an identity which their row satisfies
    n_rows: int  # how many rows there are in all
    words: tuple[tuple[int, float], ...]
    given: tuple[OffGiven, ...]
    learned: Learned

    @classmethod
    def of(cls, part: FreePart, X: Floats, hashes: RowHash, n_rows: int) -> _Sampled:
        """Of rows (n, p); `hashes` are of the free columns, so that copies of a column change no fold."""
        identities, (n, p) = part.identities, X.shape
        wrong, violating = np.zeros(X.shape, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
        for repair in localize(identities, X):
            violating[repair.row] = True
            wrong[repair.row, [*repair.cells, *(j for cells, _ in repair.ties for j in cells)]] = True
        robust = part.whole[2].excludes_outliers
        words = find_words(X) if robust else ()
        for column, value in words:
            wrong[:, column] |= X[:, column] == value
        known = parse_linear_rules(part.settings.rules, part.preparation.features) if robust else ()
        given = find_off_given(known, part.free, X)
        for rule in given:
            far = rule.far(X)
            violating |= far
            wrong[np.ix_(far, rule.columns)] = True
        determined = np.ones(p, dtype=np.bool_)
        determined[part.free] = False
        sample = Sample(X, fold_of(hashes.keys(X[:, part.free])), wrong, violating, determined)
        multiples = identities.multiples(X)
        p_values = [one.p_values(multiples[:, k])[:, None] for k, one in enumerate(identities)]
        identity_p = np.hstack([np.empty((n, 0)), *p_values])
        confirmed = identities.confirm(multiples, p)
        return cls(part, sample, identity_p, confirmed, n_rows, words, given, learn_evidence(sample, robust=robust))

    def learn_law(self, evidence: Evidence, deviations: Floats, *, identities: bool = True) -> RowLaw:
        """The law of the scores of these rows."""
        settings = self.part.whole[2]
        accusing = self.part.identities.accusing if identities else np.zeros(0, dtype=np.bool_)
        identity_p = self.identity_p if identities else np.empty((len(self.sample.X), 0))
        cells = self.learned.cells
        if identities:
            cells = evidence.confirm_cells(cells, self.confirmed)
        scores = evidence.parts(identity_p, accusing, deviations, cells).scores
        if not identities and not self.sample.violating.all():
            scores = scores[~self.sample.violating]
        return learn_law(scores, settings.level, settings.false_discovery_rate, self.n_rows)

    def exclusion(self) -> Exclusion:
        """Which cells are excluded."""
        law = self.learn_law(self.learned.evidence, np.zeros((len(self.sample.X), 0)), identities=False)
        words = tuple((column, value) for column, value in self.words if column in self.part.free)
        evidence = self.learned.evidence.with_law(law)
        # What more rows than a tail has are off is no relation: there are two kinds of rows.
        related = evidence.far_off(self.sample.X).mean(axis=0) <= TAIL
        return Exclusion(evidence, self.part.free, self.sample.X.shape[1], words, self.given, related)

    def are_rules(self, table: RuleTable, space: ScaledSpace) -> Bools:
        """Which rules of the free columns are rules indeed."""
        # Of fewer rows than columns coefficients are too uncertain to be asked what is left.
        rows = slice(0, 0) if space.short_of_rows else slice(None)
        free = np.where(self.sample.wrong, np.nan, self.sample.X)[rows, self.part.free]
        with np.errstate(invalid="ignore"):
            return are_rules(table.loadings, table.variances, table.exact, space.variances, space.centred(free))

    def complete(self, model: Model) -> Model:
        """A model of all columns, with the tails of its relations, the law of scores, and thresholds."""
        X = self.sample.X
        deviations = model.beyond_rounding(model.deviate(X))
        used = (model.table.loadings != 0.0).astype(np.float64)
        good = (self.sample.wrong.astype(np.float64) @ used == 0.0) & ~self.sample.violating[:, None]
        evidence = with_relations(self.learned.evidence, deviations, good, X, model)
        evidence = evidence.with_law(self.learn_law(evidence, deviations))
        return judge_by(model, evidence, "held-out")


def with_relations(evidence: Evidence, deviations: Floats, good: Bools, X: Floats, model: Model) -> Evidence:
    """The same with tails of relations, from deviations (n, m) of rows (n, p), of which some may be learned from."""
    tails, caps = [], np.full((2, deviations.shape[1]), -np.inf)
    ranks = rank_columns(X) if deviations.shape[1] else X
    n_terms = (model.table.loadings != 0.0).sum(axis=0)
    loadings = np.where(model.table.exact, 0.0, model.table.loadings / model.space.scale[:, None])
    rounding = find_rounding(loadings, find_steps(X), np.sqrt(model.table.variances))
    beyond = shrink(deviations, rounding)
    for k in range(deviations.shape[1]):
        mine = deviations[good[:, k] & ~np.isnan(deviations[:, k]), k]
        # Rows that were fitted are nearer than others, by as much as each takes part.
        stretched = mine * (1.0 + n_terms[k] / max(mine.size, 1))
        if model.table.exact[k] and (n_terms[k] > 1 or k < len(model.table.given)):
            tail = Tail.exact(mine.size, float(np.sqrt(model.roundings[k])))
        else:
            tail = Tail.of_sizes(stretched if mine.size else np.zeros(1))
        tails.append(tail)
        others = (model.table.loadings[:, k] == 0.0) & ~model.determined
        caps[:, k] = cap_patterns(tail.log_p_values(beyond[:, k]), ranks[:, others])
    return replace(evidence, relations=tuple(tails), relation_caps=frozen(caps), relation_rounding=frozen(rounding))


def calibrate_by(model: Model, X: Floats, weights: Floats | None = None) -> Model:
    """The same model, its automatic thresholds taken from rows (n, p) that it was not fitted to.

    `weights` (n,) say how many rows each counts for.
    """
    evidence = model.evidence
    if weights is not None:
        X = np.repeat(X, count_copies(weights), axis=0)
    if evidence is None:
        found = model.thresholds.from_scores(replace(model.settings, limit="quantile"), model.score(X))
        limit = found.total and replace(found.total, name="held-out")
        return replace(model, thresholds=replace(found, total=limit))
    settings, deviations = model.settings, model.beyond_rounding(model.deviate(X))
    evidence = with_relations(evidence, deviations, np.ones(deviations.shape, dtype=np.bool_), X, model)
    scores = replace(model, evidence=evidence).judge(X).scores
    law = learn_law(scores, settings.level, settings.false_discovery_rate, len(X))
    return judge_by(model, evidence.with_law(law), "held-out")


def _learn_without_errors(
    sampled: _Sampled, part: FreePart, weights: Floats | None
) -> tuple[Moments | None, Gaps | None, Excluded]:
    """Moments without the cells that errors are accused of, what was missing, and these cells; None: there are none."""
    q = part.free.size
    exclusion = sampled.exclusion()
    sample = sampled.sample
    # Where the sample is the whole table; rows that violate identities are repaired before.
    clean = sampled.n_rows <= len(sample.X) and not sample.violating.any()
    if clean and not exclusion(sample.X[:, part.free])[0].any():
        return None, None, Excluded.nothing(q)
    found = part.rows.reduce(lambda: ExcludedOf.begin(exclusion)).excluded
    if not found.cells.any():
        return None, None, found
    rows = part.rows.through(exclusion.step)
    if isinstance(part.known, IncompleteMoments):
        known = rows.reduce(lambda: MomentsAccumulator(IncompleteMoments.empty(q), weights)).moments
        moments, gaps = complete_moments(known)
        return moments, gaps and replace(gaps, missing=part.known.n_missing), found
    return rows.reduce(lambda: MomentsAccumulator(Moments.empty(q), weights)).moments.rounded(), None, found


def in_common_unit(weights: Floats) -> Floats:
    """Weights (n,) in a unit of their own: a common divisor if they are whole numbers of one, else their mean.

    So rows may be counted in thousands, and a weight of two is as good as a second row.
    """
    some = np.unique(weights[weights > 0.0])
    if not some.size:
        return weights
    unit = float(some[0])
    for value in some[1:].tolist():
        unit = _divide(value, unit, 1e-9 * float(some[-1]))
    counts = weights / unit
    if np.abs(counts - np.rint(counts)).max() <= 1e-6 and counts.max() <= _MOST_COPIES:
        return np.asarray(np.rint(counts))
    return np.asarray(weights / weights[weights > 0.0].mean())


def _divide(one: float, other: float, rounding: float) -> float:
    """The largest common divisor of two numbers."""
    while other > rounding:
        one, other = other, one % other
        if one - other < rounding:
            other = 0.0
    return one


def count_copies(weights: Floats) -> Ints:
    """How many rows each row (n,) stands for: none at a weight of zero, at least one above it."""
    counts = np.clip(np.rint(in_common_unit(weights)), 1.0, _MOST_COPIES)
    return np.where(weights > 0.0, counts, 0.0).astype(np.intp)


class _Copied:
    """Rows as often as they count."""

    def __init__(self, counts: Ints) -> None:
        self._counts = counts

    def __call__(self, rows: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        times = self._counts[numbers]
        return np.repeat(rows, times, axis=0), np.repeat(numbers, times)


def with_kept_shares(model: Model, rows: Rows, weights: Floats | None = None) -> Model:
    """The same model, with the share of rows, which weights (n,) may count, that keep each rule that was given."""
    given = model.table.given
    if not given:
        return model
    limits = np.sqrt(model.thresholds.rules[: len(given)])
    # How far a row is off what was written, where that is not what it is judged by.
    off = np.array(
        [0.0 if rule.holds else rule.off(model.space.plain) / rule.loading(model.space)[1] for rule in given]
    )
    found = rows.reduce(lambda: _Keeping(model, limits, off, weights, np.zeros(off.size), np.zeros(off.size)))
    return replace(model, kept=found.kept / np.where(found.known > 0.0, found.known, 1.0))


@dataclass(eq=False)
class _Keeping:
    """How many rows keep each rule (g,), of those of which that is known (g,)."""

    stays_here: ClassVar[tuple[str, ...]] = ("model", "limits", "off", "weights")

    model: Model
    limits: Floats
    off: Floats
    weights: Floats | None
    kept: Floats
    known: Floats

    def add(self, rows: Floats, numbers: Ints) -> None:
        first = self.model.n_identities
        deviations = self.model.judge(rows).deviations[:, first : first + len(self.off)] + self.off
        counts = np.ones(len(rows)) if self.weights is None else self.weights[numbers]
        self.kept = self.kept + counts @ (np.abs(deviations) <= self.limits)
        self.known = self.known + counts @ ~np.isnan(deviations)

    def merge(self, later: _Keeping) -> None:
        self.kept, self.known = self.kept + later.kept, self.known + later.known
