"""Limits from rows that took no part in the fit: what such rows reach, and the level spent on it once.

A row has two figures: its score, and its *excess*, the largest of its squared deviations from the rules, each in units
of that rule's own tail. Half of the level goes to the rules: one number c, exceeded by the excess of so many rows, is
the limit of every rule in these units, so that rules with heavy tails have wide limits and others do not, and together
they let pass what they should, however much they have in common. The threshold of the score is then set so that both
together flag what the level says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aspca.judging.alarms import ABOVE_ROUNDING, Alarms, Floors
from aspca.judging.limits import ENOUGH_FOR_TAIL, Limit, inverted_cdf_quantile, inverted_cdf_quantiles, pot_limit
from aspca.judging.quantiles import chi2_quantile
from aspca.linalg.arrays import Bools, Floats
from aspca.rules.table import RuleTable
from aspca.settings import AUTO

HELD_OUT = "held-out"
ASSUMES = (
    "Rows to come are like the rows learned from, each of which was judged by rules learned without the block of rows "
    "it belongs to."
)
# Where a rule's tail is measured: as far out as so many rows reach, and at most so many per cent of them.
_TAIL_ROWS, _TAIL_SHARE = 5, 0.01
# A rule that hardly ever moves has hardly any tail; its unit is no less than this share of a Gaussian's.
_LEAST_TAIL = 0.25
# One gap in ten thousand is as wide; and no more than this share of the rows lies beyond.
_NO_TAIL, _MOST_ERRORS = float(np.log(1e4)), 0.2
_WIDE_GAP = float(np.log(2.0))
# Fewer independent rows than this meet hardly any extreme, and rows that follow each other the same one again.
_FEW = 50.0
# Beyond the largest value its tail is that of so many of the largest, at least.
_LARGEST, _LARGEST_SHARE = 5, 0.1


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What k rows reach that took no part in the fit.

    Attributes
    ----------
    scores : ndarray of shape (k,)
    excess : ndarray of shape (k,)
        See above; zero where no rule has noise.
    tails : ndarray of shape (m,)
        The units of the rules' squared deviations, over their variances.
    weights : ndarray of shape (k,), or None
        How many rows each counts for.
    worth : float
        How many independent rows they are worth, of `count`.
    own_scores, own_excess : ndarray of shape (k,)
        The same by the model itself. Rows that it was fitted to look more normal, so this adds nothing, but where many
        rows are off by the very same amount (a rounded number, a flag): then a limit may not fall short by a hair.
    """

    scores: Floats
    excess: Floats
    tails: Floats
    weights: Floats | None
    worth: float
    own_scores: Floats
    own_excess: Floats

    @property
    def count(self) -> float:
        """How many rows there are."""
        return float(self.scores.size if self.weights is None else self.weights.sum())


def not_errors(scores: Floats, worth: float) -> Bools:
    """Which of k scores (k,) are normal rows: none beyond a gap that no tail would leave.

    In a tail as heavy as one with a mean can be (an exponent of 1), the score of the j-th largest is exceeded by the
    next larger one by a factor of g with a probability of g^-j. So one row may stand apart by any factor, and three by
    twenty; but fifteen that score more than twice as much as all others are errors, and tell nothing of what normal
    rows reach.
    """
    order = np.argsort(scores, kind="stable")
    ascending = np.maximum(scores[order], 1e-300)
    normal = np.ones(scores.size, dtype=np.bool_)
    beyond = np.arange(scores.size - 1, 0, -1) * min(worth / scores.size, 1.0)
    gaps = np.diff(np.log(ascending))
    # Rounded numbers leave gaps everywhere, but small ones.
    unlikely = (beyond * gaps > _NO_TAIL) & (gaps > _WIDE_GAP)
    # Below, it is no tail.
    unlikely[: int((1.0 - _MOST_ERRORS) * scores.size)] = False
    if unlikely.any():
        normal[order[int(np.flatnonzero(unlikely)[0]) + 1 :]] = False
    return normal


def tails_of(squares: Floats, variances: Floats, weights: Floats | None, chosen: Bools | None = None) -> Floats:
    """How far the tail of each rule reaches (m,), 1 for a Gaussian: of squared deviations (k, m) over variances (m,).

    `chosen` (k,): which rows are asked; None: all.
    """
    count = len(squares) if chosen is None else int(chosen.sum())
    share = 1.0 - min(max(_TAIL_SHARE, _TAIL_ROWS / max(count, 1)), 0.5)
    reached = inverted_cdf_quantiles(squares, weights, share, chosen) / variances
    return np.asarray(np.maximum(reached / chi2_quantile(share, 1), _LEAST_TAIL))


def alarms_held_out(alarms: Alarms, table: RuleTable, floors: Floors, held: HeldOut) -> Alarms:
    """The same limits, those that are to rest on rows that were not fitted taken from these."""
    settings = alarms.settings
    asked, level = settings.total
    left = 1.0 - level
    total, rules = alarms.total, alarms.rules
    broken = np.zeros(held.scores.size, dtype=np.bool_)
    if settings.rule_limit == AUTO and len(table):
        share = 1.0 - (0.5 * left if settings.alarm == "any" else left)
        most = upper_quantile(held.excess, held.weights, share, held.worth)
        most = max(most, inverted_cdf_quantile(held.own_excess, held.weights, share))
        squares = np.maximum(most * held.tails * table.variances * ABOVE_ROUNDING, floors.squares)
        # What held exactly has no tail: only what float64 resolves is no break.
        squares = np.where(table.exact, alarms.the_rules(), squares)
        rules = tuple(Limit(HELD_OUT, share, float(value), ASSUMES) for value in squares)
        if settings.alarm == "any":
            broken = held.excess > most
    if asked != AUTO:
        return replace(alarms, rules=rules)
    value = max(_threshold(held, broken, left), inverted_cdf_quantile(held.own_scores, held.weights, level))
    value = max(value * ABOVE_ROUNDING, floors.total)
    total = Limit(HELD_OUT, level, value, ASSUMES)
    return replace(alarms, total=total, rules=rules, lift=None if alarms.lift is None else value)


def _threshold(held: HeldOut, broken: Bools, left: float) -> float:
    """The score that, with the rows that break rules, the share `left` of all is flagged by."""
    kept = ~broken
    weights = None if held.weights is None else held.weights[kept]
    share = float(kept.sum() if weights is None else weights.sum()) / held.count
    by_rules = 1.0 - share
    level = 1.0 - min(max(left - by_rules, 0.5 * left) / max(share, left), 0.5)
    return upper_quantile(held.scores[kept], weights, level, held.worth * share)


def upper_quantile(values: Floats, weights: Floats | None, level: float, worth: float) -> float:
    """What a further value exceeds with probability 1 - level, of k values that are worth so many independent ones.

    Of many the tail is smoothed by a generalised Pareto law. Of few it is the value of rank (n + 1) level, between two
    if need be: a new one exceeds that with probability 1 - level on average, whatever the law. Beyond the largest the
    tail goes on as an exponential law with the mean of the largest tenth. Values that follow each other reach less far
    than as many independent ones: between `worth` and as many as there are (their geometric mean) count, but of few no
    more than these.
    """
    if worth >= ENOUGH_FOR_TAIL:
        try:
            return pot_limit(values, weights, level)
        except ValueError:
            # Too few distinct values above the bulk: they are what they are.
            pass
    order = np.argsort(values, kind="stable")
    values = values[order]
    counts = np.ones(values.size) if weights is None else weights[order]
    reached = np.cumsum(counts)
    count = float(reached[-1])
    worth = min(worth, count)
    alike = float(np.sqrt(count * worth)) if worth >= _FEW else worth
    rank = level * count * (alike + 1.0) / alike
    if rank <= count:
        # A value that counts several times has as many ranks.
        ranks = np.stack([reached - counts + np.minimum(counts, 1.0), reached]).T.ravel()
        return float(np.interp(rank, ranks, np.repeat(values, 2)))
    tail = max(int(np.ceil(_LARGEST_SHARE * values.size)), min(_LARGEST, values.size))
    above, shares = values[-tail:] - values[-tail], counts[-tail:]
    mean = float(above[1:] @ shares[1:] / shares[1:].sum()) if tail > 1 else 0.0
    return float(values[-1] + mean * max(np.log(1.0 / ((alike + 1.0) * (1.0 - level))), 0.0))
