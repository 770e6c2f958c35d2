"""From a sample of rows to tail models: each row judged by models that were fitted without it.

Cells that are outlying by their column or given the others are masked while means and covariances are learned. Where
the rows that a column accuses can be told from the others by the remaining columns, they are another kind of rows and
no errors: their p-values are no smaller than their share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints, frozen
from aspca.linalg.row_blocks import multiply_rows
from aspca.model.columns import (
    Distance,
    Moments,
    Scales,
    View,
    choose_plain_shrinkage,
    choose_shrinkages,
    fill_gaps,
    find_rounding,
    find_steps,
    shrink,
)
from aspca.model.constants import (
    CENSORED,
    CLEARLY_BETTER,
    DISTINCT,
    FAR_OUT,
    FEWEST_IN_TAIL,
    FOLDS,
    GAUSSIAN_SIZE,
    GROSS,
    OUTLYING,
    PATTERN_LEVEL,
    TAIL,
    TIGHT,
)
from aspca.model.evidence import Cells, Evidence, Steady
from aspca.model.tails import Tail

# Rows that shrinkages are chosen by.
_CHOOSING = 4000
# Steps of concentration, and the share of a row's cells beyond which none of it is learned from.
_MOST_STEPS, _MOST_MASKED = 20, 0.5
# Two cells of a row, and this share of them, are several: the distance of whole rows is not learned from it. Not
# varied; with it benchmarks/dirty.py has an AUC of 0.972 after 10 % of gross rows in 10 columns, without it 0.706.
_SEVERAL = 0.2


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that are learned from."""

    X: Floats  # (n, p): naN where a value is missing
    folds: Ints  # (n,): 0 to FOLDS - 1, by what rows hold
    wrong: Bools  # (n, p): cells that violated identities accuse: not learned from
    violating: Bools  # (n,): rows that violate an identity which accuses
    determined: Bools  # (p,): columns that identities determine


@dataclass(frozen=True, eq=False)
class Learned:
    """Tail models, and the sample's own log p-values, each row by models that were fitted without it."""

    evidence: Evidence
    cells: Cells


def learn_evidence(sample: Sample, *, robust: bool = True) -> Learned:
    """Tail models of columns by themselves, given the others, and of whole rows; relations and law are added later.

    `robust`: whether outlying cells are masked while means and covariances are learned.
    """
    X, known = sample.X, np.where(sample.wrong, np.nan, sample.X)
    differing, judged = describe_columns(known)
    steady = _find_steady(known, ~sample.determined & (differing < FEWEST_IN_TAIL))
    free = np.flatnonzero(~sample.determined & (differing >= FEWEST_IN_TAIL))
    judged = judged[free]
    scales = [Scales.of(known, free, np.zeros(free.size, dtype=np.bool_)), Scales.of(known, free, judged)]
    scales = scales[: 1 + bool(scales[1].sides.any())]
    ranges = tuple(_tail_of(known[:, j]) if use else None for j, use in zip(free.tolist(), judged, strict=True))
    masked, good = np.isnan(known[:, free]), ~sample.violating
    if robust:
        for k, tail in enumerate(ranges):
            if tail is not None:
                masked[:, k] |= tail.log_p_values(X[:, free[k]]) < np.log(OUTLYING)
        # By both scales, or what is far out in one would be what the other is for.
        masked = np.logical_and.reduce([_concentrate(one.standardise(X), masked, judged) for one in scales])
        several = (masked & ~np.isnan(X[:, free])).sum(axis=1) >= max(2.0, _SEVERAL * free.size)
        # Whole rows that are gross: nothing at all is learned from them.
        gross = masked.all(axis=1) & ~np.isnan(known[:, free]).all(axis=1)
        if gross.any():
            good, known[gross] = good & ~gross, np.nan
            ranges = tuple(tail and _tail_of(known[:, j]) for j, tail in zip(free.tolist(), ranges, strict=True))
    views = [_Columns.of(one, X, np.isnan(known[:, free])) for one in scales]
    evidence, residuals = _learn_given_masks(views, masked, sample.folds, good, ranges, steady)
    nowhere = np.zeros(len(X))
    if robust and free.size:
        # Again, without the cells that were found.
        given_others = evidence.judge_cells(X, residuals, nowhere).conditionals
        accused = np.flatnonzero(given_others.min(axis=1) < np.log(OUTLYING))
        masked[accused, given_others.argmin(axis=1)[accused]] = True
        evidence, residuals = _learn_given_masks(views, masked, sample.folds, good, ranges, steady)
    cells = evidence.judge_cells(X, residuals, nowhere)
    evidence = replace(evidence, caps=frozen(_find_caps(sample, evidence, cells)))
    cells = evidence.judge_cells(X, residuals, nowhere)
    # Whole rows are learned from but for cells that are gross by themselves, and rows of which several are far out.
    masked = np.isnan(known[:, free])
    if robust:
        masked |= np.minimum(cells.ranges, cells.conditionals) < np.log(GROSS)
        masked |= several[:, None]
    distance, distances = _learn_distance(views[0].Z, masked, sample.folds, good)
    evidence = replace(evidence, distance=distance, whole=Tail.counted(distances))
    return Learned(evidence, evidence.judge_cells(X, residuals, distances))


@dataclass(frozen=True, eq=False)
class _Columns:
    """Standardised rows (n, q), and the range that predictors are brought back into (q,)."""

    scales: Scales
    Z: Floats
    clips: tuple[Floats, Floats]

    @classmethod
    def of(cls, scales: Scales, X: Floats, wrong: Bools) -> _Columns:
        """Of rows (n, p), of which these cells (n, q) are wrong."""
        Z = scales.standardise(X)
        low, high = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
        for k, column in enumerate(np.where(wrong, np.nan, Z).T):
            if not np.isnan(column).all():
                low[k], high[k] = np.quantile(column[~np.isnan(column)], [0.5 * CENSORED, 1.0 - 0.5 * CENSORED])
        return cls(scales, Z, (frozen(low), frozen(high)))


def _learn_given_masks(
    several: list[_Columns],
    masked: Bools,
    folds: Ints,
    good: Bools,
    ranges: tuple[Tail | None, ...],
    steady: Steady,
) -> tuple[Evidence, Floats]:
    """Tail models of columns where these cells are masked, and residuals (n, q) of rows not fitted."""
    steps = find_steps(np.where(masked, np.nan, several[0].Z))
    views, found = [], []
    for one in several:
        residuals, shrinkages = _cross_fit(one, masked, folds, good)
        found.append(residuals)
        views.append(View(one.scales, Moments.of(one.Z, masked).conditional(shrinkages, one.clips)))
    # By a column's usual residual, in units of the column: logarithms unless plain values are clearly better.
    sizes = np.array([[_usual_size(column) for column in residuals.T] for residuals in found])
    chosen = np.zeros(masked.shape[1], dtype=np.intp)
    if len(several) > 1:
        chosen = np.where(sizes[0] < CLEARLY_BETTER * sizes[1], 0, 1)
    residuals = np.column_stack([found[view][:, k] for k, view in enumerate(chosen)] or [np.zeros((len(good), 0))])
    q = masked.shape[1]
    usual = sizes[chosen, np.arange(q)]
    # Columns as they are: of a logarithm steps are no rounding.
    plain = views[0].conditional.coefficients[:, chosen == 0]
    rounding = np.zeros(q)
    rounding[chosen == 0] = find_rounding(plain, steps, usual[chosen == 0] / GAUSSIAN_SIZE)
    tight = usual <= TIGHT * GAUSSIAN_SIZE
    conditionals = tuple(
        _tail_of(residuals[good, k], tight=bool(tight[k])) if tail is not None and q > 1 else None
        for k, tail in enumerate(ranges)
    )
    caps = frozen(np.full((2, q), -np.inf))
    # Whole rows are learned later.
    distance, whole = Distance(np.zeros(q), np.zeros((q, q))), Tail.counted(np.zeros(1))
    found_evidence = Evidence(
        tuple(views), chosen, ranges, conditionals, distance, whole, steady, caps, frozen(rounding)
    )
    return found_evidence, shrink(residuals, rounding)


def _usual_size(residuals: Floats) -> float:
    known = residuals[~np.isnan(residuals)]
    return float(np.median(np.abs(known))) if known.size else 0.0


def _concentrate(Z: Floats, masked: Bools, judged: Bools) -> Bools:
    """Cells (n, q) that are masked, those that are far out, and those that are far off the others' word where these are
    not looked at: row by row the farthest first, until there are none; and rows of which more than half is masked.

    As in concentration steps (Rousseeuw and Van Driessen 1999), cell by cell: without the farthest, the others are
    known better. Only judged columns (q,) have a vote.
    """
    masked = masked | (np.abs(Z) > FAR_OUT)
    if Z.shape[1] < 2:
        return masked
    shrinkage = choose_plain_shrinkage(Z.shape[1], len(Z))
    for _ in range(_MOST_STEPS):
        moments = Moments.of(Z, masked)
        precision = moments.precision(shrinkage)
        coefficients = precision / np.diag(precision)
        known = np.where(masked, np.nan, Z - moments.mean)
        filled, wider = fill_gaps(known, masked, coefficients)
        residuals = np.where(masked, 0.0, np.abs(multiply_rows(filled, coefficients)) * wider)
        usual = np.array(
            [
                np.median(column[~gone]) if not gone.all() else np.inf
                for column, gone in zip(residuals.T, masked.T, strict=True)
            ]
        )
        far = np.where(judged, residuals / np.where(usual > 0.0, usual, np.inf), 0.0) * GAUSSIAN_SIZE
        rows = np.flatnonzero(far.max(axis=1) > FAR_OUT)
        if not rows.size:
            break
        masked[rows, far[rows].argmax(axis=1)] = True
        masked[masked.mean(axis=1) > _MOST_MASKED] = True
    return masked


def _find_steady(X: Floats, which: Bools) -> Steady:
    """Of some columns (p,), those in which nearly all rows have one value."""
    columns, values, log_p = [], [], []
    for j in np.flatnonzero(which).tolist():
        known = X[~np.isnan(X[:, j]), j]
        some, counts = np.unique(known, return_counts=True)
        differing = int(known.size - counts.max(initial=0))
        if known.size and differing < TAIL * known.size:
            columns.append(j)
            values.append(float(some[counts.argmax()]))
            log_p.append(float(np.log((differing + 0.5) / (known.size + 0.5))))
    return Steady(np.array(columns, dtype=np.intp), frozen(np.array(values)), frozen(np.array(log_p)))


def describe_columns(X: Floats) -> tuple[Ints, Bools]:
    """For each column (p,) how many rows differ from its commonest value, and whether it has tails to judge by."""
    differing, judged = np.zeros(X.shape[1], dtype=np.intp), np.zeros(X.shape[1], dtype=np.bool_)
    for j, column in enumerate(X.T):
        counts = np.unique(column[~np.isnan(column)], return_counts=True)[1]
        differing[j] = counts.sum() - counts.max(initial=0)
        judged[j] = counts.size > DISTINCT and differing[j] >= max(TAIL * counts.sum(), FEWEST_IN_TAIL)
    return differing, judged


def _tail_of(values: Floats, *, tight: bool = False) -> Tail | None:
    known = values[~np.isnan(values)]
    return Tail.two_sided(known, tight=tight) if known.size else None


def _cross_fit(columns: _Columns, masked: Bools, folds: Ints, good: Bools) -> tuple[Floats, Ints]:
    """Residuals (n, q) of rows by models fitted without their fold, and the shrinkages chosen."""
    Z = columns.Z
    if not Z.shape[1]:
        return Z, np.zeros(0, dtype=np.intp)
    without = _moments_without(Z, masked, folds)
    chosen, _ = choose_shrinkages(without, *_choosing(Z, folds, good))
    residuals = np.empty(Z.shape)
    for fold, moments in enumerate(without):
        mine = folds == fold
        residuals[mine] = moments.conditional(chosen, columns.clips).residuals(Z[mine])
    return residuals, chosen


def _learn_distance(Z: Floats, masked: Bools, folds: Ints, good: Bools) -> tuple[Distance, Floats]:
    """How far whole rows (n, q) are from the middle, and distances (n,) by models fitted without their fold."""
    if not Z.shape[1]:
        return Distance(np.zeros(0), np.zeros((0, 0))), np.zeros(len(Z))
    without = _moments_without(Z, masked, folds)
    _, shrinkage = choose_shrinkages(without, *_choosing(Z, folds, good))
    distances = np.empty(len(Z))
    for fold, moments in enumerate(without):
        mine = folds == fold
        distances[mine] = moments.distance(shrinkage).distances(Z[mine])
    return Moments.of(Z, masked).distance(shrinkage), distances


def _moments_without(Z: Floats, masked: Bools, folds: Ints) -> list[Moments]:
    return [Moments.of(Z[folds != fold], masked[folds != fold]) for fold in range(FOLDS)]


def _choosing(Z: Floats, folds: Ints, good: Bools) -> tuple[Floats, Ints]:
    """Rows that shrinkages are chosen by, and their folds."""
    rows = np.flatnonzero(good if good.any() else ~good)[:_CHOOSING]
    return Z[rows], folds[rows]


# ---- patterns


def _find_caps(sample: Sample, evidence: Evidence, cells: Cells) -> Floats:
    """The caps (2, q) of columns."""
    least = np.where(sample.violating[:, None], 0.0, np.minimum(cells.ranges, cells.conditionals))
    caps = np.full((2, evidence.columns.size), -np.inf)
    ranks = rank_columns(sample.X)
    for k, j in enumerate(evidence.columns.tolist()):
        others = ~sample.determined
        others[j] = False
        caps[:, k] = cap_patterns(least[:, k], ranks[:, others])
    return caps


def cap_patterns(log_p: Floats, ranks: Floats) -> Floats:
    """What log p-values (n,) of outlying, and of gross rows are no smaller than (2,): the share of the outlying, where
    these are no random rows by the ranks (n, m) of other columns."""
    outlying, gross = (log_p < np.log(level) for level in (OUTLYING, GROSS))
    if not outlying.any():
        return np.full(2, -np.inf)
    patterned = np.array([differ_from_others(outlying, ranks), differ_from_others(gross, ranks)])
    return np.where([patterned.any(), patterned[1]], np.log(outlying.mean()), -np.inf)


def rank_columns(X: Floats) -> Floats:
    """Ranks of each column from -1/2 to 1/2, ties alike, 0 where a value is missing."""
    found = np.zeros(X.shape)
    for j, column in enumerate(X.T):
        known = ~np.isnan(column)
        values, inverse, counts = np.unique(column[known], return_inverse=True, return_counts=True)
        if values.size:
            middles = np.cumsum(counts) - 0.5 * counts
            found[known, j] = middles[inverse] / counts.sum() - 0.5
    return found


def differ_from_others(accused: Bools, ranks: Floats) -> bool:
    """Whether some rows (n,) can be told from the others by ranks (n, m) of columns that do not accuse them.

    Level and extremeness of each column, against draws without replacement, Bonferroni.
    """
    # Loads for long, and is not needed to judge.
    from scipy.special import ndtr

    n, k = accused.size, int(accused.sum())
    if k < 3 or 2 * k > n:
        return False
    both = np.hstack([ranks, np.abs(ranks)])
    spreads = both.std(axis=0)
    both, spreads = both[:, spreads > 1e-9], spreads[spreads > 1e-9]
    if not spreads.size:
        return False
    z = np.abs(both[accused].mean(axis=0) - both.mean(axis=0)) / (spreads * np.sqrt((1.0 - k / n) / k))
    return bool(2.0 * ndtr(-z.max()) * z.size < PATTERN_LEVEL)


def fold_of(keys: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Ints:
    """The fold of each row by its key: rows that are alike are in one."""
    return np.asarray((keys >> np.uint64(20)) % np.uint64(FOLDS), dtype=np.intp)
