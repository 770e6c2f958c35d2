"""Every block of rows judged by the rules of all others: scores of rows that were not fitted, without spare rows.

Moments add up, so the moments of all rows but a block's are a sum, and each of five fits takes no pass over the rows.
One pass gathers the moments of the blocks and the rows to judge. Both are drawn by what rows hold (`moments.lots`), so
that order and parts of the table do not matter; where rows follow each other (`moments.succession`) blocks are
contiguous, or a row's neighbours would give away what it is.

A fit to fewer rows is a little worse, and more so with many features: scores and excesses are corrected by the ratio
of the laws (`judging.law`) of both, which is exact for Gaussian rows. What is not Gaussian stays in the scores.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from aspca.judging.folds import BlocksOfRows, Dealt, Folds
from aspca.judging.held_out import HeldOut, alarms_held_out, not_errors, tails_of
from aspca.judging.learned_from import LearnedFrom
from aspca.judging.measure import Measure
from aspca.judging.metric import READABLE
from aspca.judging.model import Model
from aspca.judging.outside import LARGE
from aspca.judging.outside_form import OutsideForm
from aspca.judging.small_errors import weights_of_rules, weights_of_scores
from aspca.linalg.arrays import Bools, Floats
from aspca.moments.lots import Lots, Repeats
from aspca.moments.rows import Rows
from aspca.settings import Settings


def crossfitted(
    model: Model,
    rows: Rows,
    n_rows: int,
    lots: Lots,
    learned: LearnedFrom | None = None,
    weights: Floats | None = None,
    folds: Folds | None = None,
) -> Model:
    """The same model, its automatic limits taken from its own rows; as it was where there are too few of them.

    Parameters
    ----------
    rows : Rows
        Those that the model was fitted to.
    n_rows : int
        How many they are.
    lots : Lots
        Of these rows, by the extremes of all of them.
    learned : LearnedFrom or None
        What tells which of them count as normal rows, where some were set aside. Rows with gaps never do.
    weights : ndarray of shape (n_rows,), or None
        How many rows each counts for.
    folds : Folds or None
        Of an earlier pass over the same rows.
    """
    if not takes_folds(model.settings):
        return model
    if weights is not None:
        # Rows that count for less than one each are as many as they are.
        weights = weights * max(1.0, float((weights > 0.0).sum() / weights.sum()))
    keep = None if learned is None else learned.normal
    dealt = Dealt.of(model.space.n_features, n_rows, lots, keep, weights, gaps=model.allows_gaps)
    if follow_each_other(model):
        folds = rows.gather(partial(Folds.nothing, replace(dealt, contiguous=True)))
    elif folds is None:
        repeats = rows.gather(lambda: Repeats.nothing(lots))
        folds = rows.gather(partial(Folds.nothing, replace(dealt, lots=repeats.lots)))
    found = folds.taken()
    if not found.enough:
        return model
    held = _held_out(Measure.of(model), model.settings, found, 0.0 if learned is None else learned.spoiled)
    return replace(model, alarms=alarms_held_out(model.alarms, model.table, model.floors, held))


def follow_each_other(model: Model) -> bool:
    """Whether the rows that a model was fitted to follow each other: then they are worth fewer than they are."""
    return model.space.worth < model.space.fitted_to


def takes_folds(settings: Settings) -> bool:
    """Whether limits are to rest on rows that were not fitted."""
    return settings.auto and settings.score in READABLE


def calibrated_by(model: Model, X: Floats, weights: Floats | None = None) -> Model:
    """The same model, its automatic limits taken from rows (n, p) that it was not fitted to."""
    if model.settings.score not in READABLE:
        return model
    measure = Measure.of(model)
    rows = np.asarray(X, dtype=np.float64)
    whole = ~np.isnan(rows).any(axis=1)
    rows, weights = rows[whole], None if weights is None else weights[whole]
    if not len(rows):
        raise ValueError("calibrate takes rows without gaps, and every row given has one; give some that are whole.")
    scaled = model.space.centred(rows)
    deviations = measure.deviations(scaled)
    scores, squares = measure.scores(scaled, deviations), np.square(deviations)
    tails = tails_of(squares, measure.units, weights)
    excess = (squares / (tails * measure.units))[:, ~model.table.exact].max(axis=1, initial=0.0)
    held = HeldOut(scores, excess, tails, weights, float(len(rows)), scores, excess)
    return replace(model, alarms=alarms_held_out(model.alarms, model.table, model.floors, held))


# ---- rules without a block


def _held_out(measure: Measure, settings: Settings, rows: BlocksOfRows, spoiled: float) -> HeldOut:
    level, many = settings.total[1], len(rows.values)
    worth = many * measure.space.worth / measure.space.fitted_to
    scores, excess = np.zeros(many), np.zeros(many)
    # A blurred covariance has no such law.
    expected = None if measure.space.blur else measure.limit(level)
    scaled = _by_column(measure.space.centred(rows.values))
    others: list[Measure] = []
    form: OutsideForm | None = None
    squares: list[Floats] = []
    for k, moments in enumerate(rows.without_each()):
        other = measure.refitted(moments, settings, form)
        form = other.form
        mine = rows.of_block(k)
        law = other.limit(level)
        deviations = other.deviations(scaled)
        found = other.scores(scaled[mine], deviations[mine])
        scores[mine] = found * (expected / law) if expected and law else found
        squares.append(np.square(deviations, out=deviations))
        others.append(other.without_outside())
    normal = not_errors(scores, worth)
    if _of_one_kind(rows.values, normal):
        normal[:] = True
    if spoiled:
        rows = replace(rows, weights=_certain(measure, others, rows, scores, squares, normal, spoiled))
    for k, other in enumerate(others):
        mine, varying = rows.of_block(k), ~other.table.exact
        if varying.any() and mine.start < mine.stop:
            chosen = np.array(normal)
            chosen[mine] = False
            units = tails_of(squares[k], other.units, rows.weights, chosen)
            narrower = measure.with_rules_of(other).widths() / other.widths()
            factors = np.where(varying, narrower / units / other.units, 0.0)
            excess[mine] = (squares[k][mine] * factors).max(axis=1)
    deviations = measure.deviations(scaled)
    own_scores = measure.scores(scaled, deviations)
    own_squares = np.square(deviations, out=deviations)
    tails = tails_of(own_squares, measure.units, rows.weights, normal)
    factors = np.where(measure.table.exact, 0.0, 1.0 / tails / measure.units)
    own_excess = (own_squares * factors).max(axis=1, initial=0.0)
    share, weights = float(normal.mean()), None if rows.weights is None else rows.weights[normal]
    return HeldOut(
        scores[normal], excess[normal], tails, weights, worth * share, own_scores[normal], own_excess[normal]
    )


def _by_column(scaled: Floats) -> Floats:
    """The same rows, of many columns one column after the other: as products with a few of them read them."""
    return np.asfortranarray(scaled) if scaled.shape[1] >= LARGE else scaled


def _certain(
    measure: Measure,
    others: list[Measure],
    rows: BlocksOfRows,
    scores: Floats,
    squares: list[Floats],
    normal: Bools,
    spoiled: float,
) -> Floats:
    """How many rows each (k,) counts for where others have gross cells."""
    weights = np.ones(scores.size) if rows.weights is None else rows.weights.copy()
    deviations = np.empty((scores.size, len(measure.table)))
    for k, found in enumerate(squares):
        mine = rows.of_block(k)
        deviations[mine] = found[mine] / others[k].units
    varying = ~measure.table.exact
    if varying.any():
        weights[normal] *= weights_of_rules(deviations[normal][:, varying], spoiled)
    else:
        weights[normal] *= weights_of_scores(scores[normal], measure.law.quantile, spoiled)
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
