"""From rows to a model: what is gross set aside if asked for, rules from moments, limits from the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from aspca.judging.crossfit import crossfitted, follow_each_other, takes_folds
from aspca.judging.fit import fit_model
from aspca.judging.folds import Dealt, Folds
from aspca.judging.kept_rules import with_kept_shares
from aspca.judging.learned_from import LearnedFrom
from aspca.judging.model import Model
from aspca.linalg.arrays import Floats, Ints
from aspca.moments import IncompleteMoments, Moments
from aspca.moments.lots import Lots
from aspca.moments.rows import Rows, Together
from aspca.moments.succession import Pairs, succession
from aspca.preparation import Preparation
from aspca.settings import Settings

# Called with a few words about what comes next, and whether it is a pass over all rows.
Stage = Callable[[str, bool], None]


@dataclass(eq=False)
class Seen:
    """How rows follow each other, and their blocks where limits rest on these."""

    pairs: Pairs
    folds: Folds | None


def learned_model(
    rows: Rows,
    n_rows: int,
    known: Moments | IncompleteMoments,
    learned: LearnedFrom,
    settings: Settings,
    preparation: Preparation,
    weights: Floats | None = None,
    seen: Seen | None = None,
    callback: Callable[[int, int, float], None] | None = None,
    stage: Stage = lambda words, passing: None,
) -> Model:
    """The model of rows, with its limits; see `fit_model` for what is refused.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    known : Moments, or IncompleteMoments where values may be missing
        Of all of them.
    learned : LearnedFrom
        What rules are learned from.
    weights : ndarray of shape (n_rows,), or None
        How many rows each counts for.
    seen : Seen or None
        Of an earlier pass over the rows, see `seen_at_once`.
    callback : callable or None
        As in `fit_model`.
    """
    moments, lots = learned.moments, Lots.between(*extremes_of(known))
    sifted = None if learned.aside is None else learned
    if seen is None:
        stage("Looking at rows together", True)
        keep = None if sifted is None else sifted.normal
        dealt = Dealt.of(moments.n_features, n_rows, lots, keep, gaps=learned.gaps is not None)
        seen = _seen(rows, dealt if takes_folds(settings) else None, moments.minimum, moments.maximum, weights)
    # Blocks of many features are large, and nobody else needs them.
    folds, seen.folds = seen.folds, None
    stage("Finding rules", False)
    model = fit_model(
        moments,
        settings,
        preparation,
        callback=callback,
        gaps=learned.gaps,
        aside=learned.aside,
        succession=succession(seen.pairs, moments) if moments.n_rows else None,
    )
    stage("Setting limits", True)
    if follow_each_other(model):
        folds = None
    model = crossfitted(model, rows, n_rows, lots, sifted, weights, folds)
    return with_kept_shares(model, rows, weights)


def seen_at_once(rows: Rows, n_rows: int, low: Floats, high: Floats) -> tuple[Moments, Seen]:
    """All that a plain fit needs of rows, in one pass; `low` and `high` (p,) are the extremes of their columns.

    Returns
    -------
    known : Moments
        Of all rows.
    seen : Seen
    """
    dealt = replace(Dealt.of(low.size, n_rows, Lots.between(low, high)), decimals=True)
    # Nothing is beyond these extremes, so nothing is to be looked for there.
    beyond = np.full(low.size, np.inf)
    seen = _seen(rows, dealt, -beyond, beyond)
    return (Moments.empty(low.size) if seen.folds is None else seen.folds.whole), seen


def _seen(rows: Rows, dealt: Dealt | None, low: Floats, high: Floats, weights: Floats | None = None) -> Seen:
    begin_pairs = partial(Pairs.nothing, low, high)
    if weights is not None:
        # Blocks of weighted rows come later.
        return Seen(_weighty(rows, weights).gather(begin_pairs), None)
    if dealt is None:
        return Seen(rows.gather(begin_pairs), None)
    seen = Seen(*rows.gather(lambda: Together(begin_pairs(), Folds.nothing(dealt))).parts)
    lots = dealt.lots if seen.folds is None else seen.folds.repeats.lots
    if lots.uneven:
        # Some rows are met very often, and must be dealt out otherwise.
        seen.folds = None
        seen.folds = rows.gather(partial(Folds.nothing, replace(dealt, lots=lots)))
    return seen


def extremes_of(known: Moments | IncompleteMoments) -> tuple[Floats, Floats]:
    """The least and the largest value of each column (p,)."""
    return known.extremes if isinstance(known, IncompleteMoments) else (known.minimum, known.maximum)


def _weighty(rows: Rows, weights: Floats) -> Rows:
    """Those of positive weight (n,)."""

    def counted(some: Floats, numbers: Ints) -> tuple[Floats, Ints]:
        those = weights[numbers] > 0.0
        return some[those], numbers[those]

    return rows.through(counted)
