"""Every block of rows judged by the rules of all others: scores of rows that were not fitted, without spare rows.

Moments add up, so the moments of all rows but a block's are a sum, and each of five fits takes no pass over the rows.
One pass gathers the moments of the blocks and the rows to judge. Blocks are scattered evenly; where rows follow each
other (`moments.succession`) they are contiguous, or a row's neighbours would give away what it is.

A fit to fewer rows is a little worse, and more so with many features: scores and excesses are corrected by the ratio
of the laws (`judging.law`) of both, which is exact for Gaussian rows. What is not Gaussian stays in the scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aspca.judging.held_out import HeldOut, alarms_held_out, not_errors, tails_of
from aspca.judging.law import ScoreLaw, few_rows_quantile
from aspca.judging.learned_from import Keep, LearnedFrom
from aspca.judging.metric import READABLE, Metric, metric_of
from aspca.judging.model import Model
from aspca.judging.small_errors import weights_of_rules, weights_of_scores
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments import Moments
from aspca.robust.order import Batches, scattered
from aspca.rules.given import moved_onto
from aspca.rules.table import RuleTable
from aspca.settings import Settings
from aspca.subspace.space import ScaledSpace

_FOLDS = 5
# Rows to judge: more tell no more about a limit, and no more values than this are kept of them.
_MOST_ROWS, _MOST_VALUES, _FEW_ENOUGH = 20_000, 2**22, 2_000
# Fewer rows than ten to a block are no basis for five fits.
_LEAST_ROWS = 50
# Laws of more and of fewer rows are compared where both leave so many degrees of freedom: below, neither is known.
_ENOUGH_FREEDOM = 10
# A level at which laws of more and of fewer rows are compared, for rules.
_LEVEL = 0.99
_LARGEST = 1e150
# Another irrational step than that of the blocks: rows to judge are evenly spread over these.
_SILVER = 0.4142135623730951


def crossfitted(
    model: Model,
    batches: Batches,
    n_rows: int,
    learned: LearnedFrom | None = None,
    weights: Floats | None = None,
) -> Model:
    """The same model, its automatic limits taken from its own rows; as it was where there are too few of them.

    Parameters
    ----------
    batches : callable
        Gives the rows the model was fitted to, in batches (m, p).
    n_rows : int
        How many they are.
    learned : LearnedFrom or None
        What tells which of them count as normal rows, where some were set aside. Rows with gaps never do.
    weights : ndarray of shape (n_rows,), or None
        How many rows each counts for.
    """
    if not (model.settings.auto and model.settings.score in READABLE):
        return model
    if weights is not None:
        # Rows that count for less than one each are as many as they are.
        weights = weights * max(1.0, float((weights > 0.0).sum() / weights.sum()))
    serial = model.space.worth < model.space.fitted_to
    rows = _gathered(model, batches, n_rows, None if learned is None else learned.normal, weights, contiguous=serial)
    if not rows.enough:
        return model
    parts = _Parts(model.space, model.table, model.metric)
    held = _held_out(parts, model.settings, rows, 0.0 if learned is None else learned.spoiled)
    return replace(model, alarms=alarms_held_out(model.alarms, model.table, model.floors, held))


def calibrated_by(model: Model, X: Floats, weights: Floats | None = None) -> Model:
    """The same model, its automatic limits taken from rows (n, p) that it was not fitted to."""
    if model.settings.score not in READABLE:
        return model
    parts = _Parts(model.space, model.table, model.metric)
    rows = np.asarray(X, dtype=np.float64)
    whole = ~np.isnan(rows).any(axis=1)
    rows, weights = rows[whole], None if weights is None else weights[whole]
    if not len(rows):
        raise ValueError("calibrate takes rows without gaps, and every row given has one; give some that are whole.")
    scores, squares = parts.measured(rows)
    tails = tails_of(squares, weights)
    excess = (squares / tails)[:, ~model.table.exact].max(axis=1, initial=0.0)
    held = HeldOut(scores, excess, tails, weights, float(len(rows)), scores, excess)
    return replace(model, alarms=alarms_held_out(model.alarms, model.table, model.floors, held))


# ---- rows


@dataclass(frozen=True, eq=False)
class _Rows:
    """Moments of each block, and rows to judge (k, p) with their blocks (k,) and weights (k,)."""

    blocks: tuple[Moments, ...]
    values: Floats
    block: Ints
    weights: Floats | None

    @property
    def enough(self) -> bool:
        """Whether five fits can be made of them."""
        counts = [block.n_rows for block in self.blocks]
        return sum(counts) >= _LEAST_ROWS and 2 * max(counts) <= sum(counts)

    def without(self, k: int) -> Moments:
        """The moments of all rows but those of a block."""
        total = Moments.empty(self.blocks[0].n_features)
        for j, block in enumerate(self.blocks):
            if j != k and block.n_rows:
                total = total.merge(block)
        return total

    def taken(self, chosen: Bools) -> tuple[Floats, Floats | None]:
        return self.values[chosen], None if self.weights is None else self.weights[chosen]


def _gathered(
    model: Model, batches: Batches, n_rows: int, keep: Keep | None, weights: Floats | None, *, contiguous: bool
) -> _Rows:
    p = model.space.n_features
    blocks = [Moments.empty(p) for _ in range(_FOLDS)]
    most = max(min(_MOST_ROWS, _MOST_VALUES // p), _FEW_ENOUGH)
    values, members, counted = [np.empty((0, p))], [np.empty(0, dtype=np.intp)], [np.empty(0)]
    start = 0
    for rows in batches():
        positions = np.arange(start, start + len(rows))
        whole = np.ones(len(rows), dtype=np.bool_) if keep is None else keep(rows, start)
        if model.allows_gaps:
            whole &= ~np.isnan(rows).any(axis=1)
        if weights is not None:
            whole &= weights[positions] > 0.0
        start += len(rows)
        spread = positions * _FOLDS / n_rows if contiguous else scattered(positions) * _FOLDS
        block = spread.astype(np.intp)
        for k in range(_FOLDS):
            mine = whole & (block == k)
            if mine.any():
                blocks[k] = blocks[k].update(rows[mine], None if weights is None else weights[positions[mine]])
        chosen = whole & (positions * _SILVER % 1.0 < most / n_rows)
        values.append(np.asarray(rows[chosen], dtype=np.float64))
        members.append(block[chosen])
        if weights is not None:
            counted.append(weights[positions[chosen]])
    return _Rows(
        tuple(blocks),
        np.concatenate(values),
        np.concatenate(members),
        None if weights is None else np.concatenate(counted),
    )


# ---- rules without a block


@dataclass(frozen=True, eq=False)
class _Parts:
    """What rows are measured by: rules and what lies outside of them, in a space."""

    space: ScaledSpace
    table: RuleTable
    metric: Metric

    @property
    def rows(self) -> float:
        """How many independent rows the covariance is as good as.

        Between what successive rows are worth and as many as there are: neighbours of a block, even of a contiguous
        one, tell a little about it.
        """
        return float(np.sqrt(self.space.fitted_to * self.space.worth))

    def measured(self, rows: Floats) -> tuple[Floats, Floats]:
        """Scores (k,) of rows (k, p), without what rules held exactly, and squared deviations over variances (k, m)."""
        scaled = self.space.centred(rows)
        deviations = np.clip(scaled @ self.table.loadings, -_LARGEST, _LARGEST)
        weighted = deviations @ np.where(self.table.exact, 0.0, self.metric.weights)
        beside = np.square(np.clip(scaled @ self.metric.outside, -_LARGEST, _LARGEST)).sum(axis=1)
        usual, beyond = self.metric.outside_parts(beside)
        scores = np.square(np.clip(weighted, -_LARGEST, _LARGEST)).sum(axis=1) + usual + beyond
        return scores, self._squares(deviations)

    def squares(self, rows: Floats) -> Floats:
        """Squared deviations over variances (k, m) of rows (k, p)."""
        return self._squares(np.clip(self.space.centred(rows) @ self.table.loadings, -_LARGEST, _LARGEST))

    def _squares(self, deviations: Floats) -> Floats:
        variances = np.where(self.table.variances > 0.0, self.table.variances, 1.0)
        deviations /= np.sqrt(variances)
        return np.square(deviations, out=deviations)

    def limit(self, level: float) -> float | None:
        """What the law lets expect of a score; None where there are too few rows to tell."""
        return self.law.quantile(level) if self.rows - self.law.fitted >= _ENOUGH_FREEDOM else None

    @cached_property
    def law(self) -> ScoreLaw:
        """The law of normal rows' scores."""
        return ScoreLaw.of(self.metric, int(self.table.exact.sum()), self.rows, self.space.n_varying)

    def widths(self) -> Floats:
        """What the laws let expect of each rule's squared deviation (m,), over its variance."""
        terms = (self.table.loadings != 0.0).sum(axis=0)
        return np.array([few_rows_quantile(_LEVEL, self.rows, int(many)) for many in terms])


def _held_out(parts: _Parts, settings: Settings, rows: _Rows, spoiled: float) -> HeldOut:
    level, many = settings.total[1], len(rows.values)
    worth = many * parts.space.worth / parts.space.fitted_to
    scores, excess = np.zeros(many), np.zeros(many)
    # A blurred covariance has no such law.
    expected = None if parts.space.blur else parts.limit(level)
    others = [_refitted(parts, settings, rows, k) for k in range(_FOLDS)]
    squares = []
    for k, other in enumerate(others):
        mine = rows.block == k
        law = other.limit(level)
        found, deviations = other.measured(rows.values[mine])
        scores[mine] = found * (expected / law) if expected and law else found
        squares.append(deviations)
    normal = not_errors(scores, worth)
    if _of_one_kind(rows.values, normal):
        normal[:] = True
    if spoiled:
        rows = replace(rows, weights=_certain(parts, rows, scores, squares, normal, spoiled))
    for k, other in enumerate(others):
        mine, varying = rows.block == k, ~other.table.exact
        if varying.any() and mine.any():
            known, weights = rows.taken(~mine & normal)
            units = tails_of(other.squares(known), weights)
            narrower = replace(parts, table=other.table).widths() / other.widths()
            excess[mine] = (squares[k] / units * narrower)[:, varying].max(axis=1)
    known, weights = rows.taken(normal)
    own_scores, deviations = parts.measured(known)
    tails = tails_of(deviations, weights)
    own_excess = (deviations / tails)[:, ~parts.table.exact].max(axis=1, initial=0.0)
    share = float(normal.mean())
    return HeldOut(scores[normal], excess[normal], tails, weights, worth * share, own_scores, own_excess)


def _certain(
    parts: _Parts, rows: _Rows, scores: Floats, squares: list[Floats], normal: Bools, spoiled: float
) -> Floats:
    """How many rows each (k,) counts for where others have gross cells."""
    weights = np.ones(scores.size) if rows.weights is None else rows.weights.copy()
    deviations = np.empty((scores.size, len(parts.table)))
    for k, found in enumerate(squares):
        deviations[rows.block == k] = found
    varying = ~parts.table.exact
    if varying.any():
        weights[normal] *= weights_of_rules(deviations[normal][:, varying], spoiled)
    else:
        weights[normal] *= weights_of_scores(scores[normal], parts.law.quantile, spoiled)
    return weights


def _of_one_kind(values: Floats, normal: Bools) -> bool:
    """Whether most rows (k, p) that are not normal have a value in common which normal ones have not: a flag, a code.

    Errors are each of their own kind; these are few, but as they should be.
    """
    for column in values.T if not normal.all() else ():
        found, counts = np.unique(column[~normal], return_counts=True)
        top = int(counts.argmax())
        if 2 * counts[top] > (~normal).sum() > 1 and 2.0 * (column[normal] == found[top]).mean() < 1.0:
            return True
    return False


def _refitted(parts: _Parts, settings: Settings, rows: _Rows, k: int) -> _Parts:
    """The same rules, refitted to the rows without a block.

    On the features that all rows chose: with rules looked for anew without each block, limits hold no better (measured
    from 60 rows of 10 and 40 columns on), and five searches take longer than all else.
    """
    moments = rows.without(k)
    space = ScaledSpace.scaled(moments, parts.space.scale, parts.space.features, parts.space.succession)
    space = moved_onto(parts.table.given, space)
    table = _on_same_features(parts, space)
    metric = metric_of(settings.score, space, table, settings.total[1], like=parts.space)
    return _Parts(space, table, metric)


def _on_same_features(parts: _Parts, space: ScaledSpace) -> RuleTable:
    """Each rule as tight as other rows have it on its features: one step of inverse iteration from where it is.

    Those that were given are what they are.
    """
    loadings = np.array(parts.table.loadings)
    fixed = len(parts.table.given)
    for k in fixed + np.flatnonzero(~parts.table.exact[fixed:]):
        used = np.flatnonzero(loadings[:, k])
        used = used[space.variances[used] > 0.0]
        if used.size < 2:
            continue
        inner = np.ix_(used, used)
        deviations = np.sqrt(space.variances[used])
        # In units of the columns, so that a ridge of rounding is one for each of them.
        now = space.covariance[inner] / deviations[:, None] / deviations
        pull = (parts.space.covariance[inner] @ loadings[used, k]) / deviations
        ridge = 4.0 * used.size * float(np.finfo(np.float64).eps)
        moved = np.linalg.solve(now + ridge * np.eye(used.size), pull) / deviations
        loadings[used, k] = moved * (np.linalg.norm(loadings[used, k]) / np.linalg.norm(moved))
        loadings[:, k] /= np.linalg.norm(loadings[:, k])
    return RuleTable.of(space, loadings, parts.table.sparsest, parts.table.given, chance=False)
