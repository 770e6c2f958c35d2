"""A row's score split over its features: who is to blame for it.

Where tail models judge, the evidence splits it (`Evidence.attribute`). What follows is for scores of components.

Notation: x (p,) a centred and scaled row, B (p, d) the weighted loadings, z = x B. The score is |z|^2.

Changing one feature j alone, by the best amount, removes g_j = (z . b_j)^2 / |b_j|^2 of it, b_j its row of B (the
reconstruction-based contribution). Let g be the largest gain, and r = |z|^2 - g what that change leaves. Chance alone
leaves about d. So r / d tells two kinds of rows apart:

- *One feature moved*: r is of the size of d. For Gaussian rows the likelihood of "only j moved" is exp(g_j / 2) times a
  constant, and features share by it: a gain that is lower by ten rules a feature out, whether the score is 50 or
  5 million, and inside the usual range too. Features that explain the row equally well share equally.
- *Several moved*: r is far beyond d. No single cause is true, and the likelihoods of wrong models decide nothing.
  Features share by relative gains, (g_j / g)^4.

What the best change removes, g, is shared by both weights, mixed by phi and 1 - phi, phi = 1 / (1 + (r / 3d)^2).

Of the remainder, what stands out of chance in some direction i, r_i^2 (r_i^2 / (r_i^2 + 6))^2, is split by the sizes of
its terms: by |x_j B_ji|, since what is far from its mean makes large terms. The rest of it is what any normal row shows
in so many directions, and no reason: it is counted with what the best change removes. All parts are non-negative and
sum to the score. Chosen by operators' causes (benchmarks/causes.py) and by single moved features (planted rules, sums,
factor models, spoiled tables), see docs/choices.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aspca.identities.localize import localize
from aspca.linalg.arrays import Floats, round_for_ranking
from aspca.linalg.row_blocks import cached_parts, multiply_rows, sum_rows
from aspca.model.judgement import Judgement

if TYPE_CHECKING:
    from aspca.model.model import Model

# Sums of squares of weighted deviations stay finite.
_LARGEST = 1e150
# A remainder this many times beyond what chance leaves is as likely several features' as one's.
_TOLERATED = 3.0
# A remainder of less than this in some direction, in squared spreads, is mostly chance.
_CHANCE = 6.0
# How sharply relative gains count: (g_j / g)^4, by squaring the root of g_j / g three times.
_SQUARINGS = 3
# Gains that differ by less than this share of the largest are equal: rounding decides between no two features. No more
# than rounding, since a value far outside its range tells two features of one tight rule apart by a tiny share.
_RESOLUTION = 1e-15


def split_by_components(loadings: Floats, scaled: Floats, weighted: Floats) -> Floats:
    """Contributions (n, p) of rows x (n, p) with z (n, d), by the weighted loadings B (p, d)."""
    units = loadings / _positive(np.linalg.norm(loadings, axis=1))[:, None]
    # Features' shares of what one change removes, that, and what it leaves of z.
    along = multiply_rows(weighted, units.T)
    sizes = np.abs(along)
    best = round_for_ranking(sizes).argmax(axis=1)[:, None]
    steps = np.take_along_axis(along, best, axis=1)
    rest = weighted - steps * units[best[:, 0]]
    # In units of their largest, no power of the gains overflows.
    relative = np.divide(sizes, _positive(sizes.max(axis=1, keepdims=True)), out=sizes)
    # g - g_j as a product keeps its digits; a constant factor g / max(1, c g) is min(g, 1 / c).
    shares = np.exp((relative - 1.0) * (relative + 1.0) * (0.5 * np.minimum(steps * steps, 1.0 / _RESOLUTION)))
    for _ in range(_SQUARINGS):
        relative *= relative
    # Bounded, so that its square is finite.
    beyond = np.minimum(np.linalg.norm(rest, axis=1, keepdims=True), 1e70) ** 2
    beyond /= _TOLERATED * max(weighted.shape[1], 1)
    one = 1.0 / (1.0 + beyond * beyond)
    # What no direction sees cannot be what moved: a value that is missing, a feature of no rule.
    shares *= units.any(axis=1)
    shares *= one / _positive(shares.sum(axis=1, keepdims=True))
    shares += relative * ((1.0 - one) / _positive(relative.sum(axis=1, keepdims=True)))
    # What is mostly chance goes with what the best change removes, the rest by the sizes of its rule's terms.
    squares = np.square(rest)
    stands_out = squares / (squares + _CHANCE)
    rest *= stands_out
    shares *= steps * steps + (squares * (1.0 - np.square(stands_out))).sum(axis=1, keepdims=True)
    terms, absolute = np.abs(scaled), np.abs(loadings)
    # Where no feature is off its mean there is no rest either.
    total = _positive(multiply_rows(terms, absolute))
    terms *= multiply_rows(rest / total * rest, absolute.T)
    return np.asarray(shares + terms)


def split_over_features(model: Model, values: Floats, judgement: Judgement) -> Floats:
    """The scores of rows (n, p) split over the features (n, p); zero for what is missing."""
    if model.evidence is not None:
        # What held exactly says nothing about the other columns: those that it names share its part.
        exact = np.flatnonzero(model.table.exact)
        own = judgement.contributions[:, model.n_identities + exact]
        related = np.flatnonzero(~model.table.exact)
        others = judgement.outside + sum_rows(judgement.contributions[:, model.n_identities + related])
        parts = model.evidence.attribute(values, others)
        used = (model.table.loadings[:, exact] != 0.0).astype(np.float64)
        parts += multiply_rows(own, (used / used.sum(axis=0)).T)
        _add_wrong_cells(model, values, judgement, parts)
        return parts
    loadings = model.table.loadings * model.component_weights
    parts = np.empty(values.shape)
    # A few rows at a time: what is computed of them is many times their size, and stays in the cache.
    for rows in cached_parts(*values.shape):
        scaled = np.nan_to_num(model.space.centred(values[rows]), nan=0.0)
        weighted = np.nan_to_num(judgement.deviations[rows]) * model.component_weights
        found = split_by_components(loadings, scaled, np.clip(weighted, -_LARGEST, _LARGEST))
        found[np.isnan(values[rows])] = 0.0
        # Components that cannot be computed count as the others do.
        found *= (judgement.scores[rows] / _positive(found.sum(axis=1)))[:, None]
        parts[rows] = found
    return parts


def _add_wrong_cells(model: Model, values: Floats, judgement: Judgement, parts: Floats) -> None:
    """Add what violated identities make of scores to the cells that are wrong; of ties each its share."""
    if not model.n_identities:
        return
    added = sum_rows(judgement.contributions[:, : model.n_identities])
    rest = added > 0.0
    for repair in localize(model.identities, values):
        rest[repair.row] = False
        cells = sorted({*repair.cells, *(j for others, _ in repair.ties for j in others)})
        parts[repair.row, cells] += added[repair.row] / len(cells)
    # What no cell explains is everybody's.
    some = np.flatnonzero(rest)
    parts[some] += (added[some] / parts.shape[1])[:, None]


def _positive(values: Floats) -> Floats:
    """Divisors: one where there is nothing to divide."""
    return np.where(values > 0, values, 1.0)
