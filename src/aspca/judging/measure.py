"""What limits measure rows by: rules and what lies outside of them, of a model or refitted without a block of rows.

Scores only, no parts of them: so any root of a covariance will do, and of many features no direction is made at all
(`outside_form`). All rows are scaled once, as the model sees them; a refit, whose scales are the same, sees them from
another point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aspca.judging.hotelling import t2_limit
from aspca.judging.law import ScoreLaw, few_rows_quantile
from aspca.judging.metric import score_weights, share_outside, tempered
from aspca.judging.model import Model
from aspca.judging.outside import LARGE, outside_directions, unresolved_outside
from aspca.judging.outside_form import OutsideForm
from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.thin import thinned
from aspca.moments import Moments
from aspca.rules.given import moved_onto
from aspca.rules.table import RuleTable
from aspca.settings import Settings
from aspca.subspace.space import ScaledSpace

# Laws of more and of fewer rows are compared where both leave so many degrees of freedom: below, neither is known.
_ENOUGH_FREEDOM = 10
# A level at which laws of more and of fewer rows are compared, for rules.
_LEVEL = 0.99
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class Measure:
    """Rules and what lies outside of them, in a space.

    Attributes
    ----------
    weights : ndarray of shape (m, m)
        Of which deviations y score sum_k ((y W)_k)^2.
    beside : OutsideForm, or ndarray of shape (p, r)
        What lies outside; the form, or directions.
    outside_limit, outside_share : float
        As in `Metric`.
    whole : ScaledSpace
        The space that rows to measure are scaled in.
    """

    space: ScaledSpace
    table: RuleTable
    weights: Floats
    beside: OutsideForm | Floats
    outside_limit: float
    outside_share: float
    whole: ScaledSpace

    @classmethod
    def of(cls, model: Model) -> Measure:
        """What a model measures by."""
        metric, space = model.metric, model.space
        return cls(
            space, model.table, metric.weights, metric.outside, metric.outside_limit, metric.outside_share, space
        )

    def refitted(self, moments: Moments, settings: Settings, like: OutsideForm | None = None) -> Measure:
        """The same rules, refitted to other rows, of which the moments are given; `like`: another such refit's form.

        On the features that all rows chose: with rules looked for anew without each block, limits hold no better
        (measured from 60 rows of 10 and 40 columns on), and five searches take longer than all else.
        """
        space = ScaledSpace.scaled(moments, self.space.scale, self.space.features, self.space.succession)
        space = moved_onto(self.table.given, space)
        table = on_same_features(self.table, self.space, space)
        kind = settings.score
        weights = score_weights(kind, table.covariance, table.variances, table.unresolved, symmetric=False)
        p, m = table.loadings.shape
        if kind != "complete" or m >= p:
            return Measure(space, table, weights, np.zeros((p, 0)), 0.0, 0.0, self.whole)
        beside = self._beside(space, table, weights, like)
        rank = _rank(beside)
        limit = t2_limit(rank, space.fitted_to, settings.total[1]).value
        return Measure(space, table, weights, beside, limit, share_outside(rank, m), self.whole)

    def _beside(
        self, space: ScaledSpace, table: RuleTable, weights: Floats, like: OutsideForm | None
    ) -> OutsideForm | Floats:
        # What does not vary among these rows may vary among the others, and few rows are met as they are there.
        covariance, blur = space.covariance, self.space.blur
        form = None
        if len(covariance) - len(table) >= LARGE:
            form = OutsideForm.of(
                covariance,
                table.loadings,
                weights,
                table.exact,
                blur=blur,
                unresolved=unresolved_outside(covariance),
                like=like,
            )
        if form is not None:
            return form
        return outside_directions(covariance, table.loadings, weights, table.exact, still=False, blur=blur)

    @property
    def form(self) -> OutsideForm | None:
        """What lies outside, where there are no directions of it."""
        return self.beside if isinstance(self.beside, OutsideForm) else None

    @property
    def rows(self) -> float:
        """How many independent rows the covariance is as good as.

        Between what successive rows are worth and as many as there are: neighbours of a block, even of a contiguous
        one, tell a little about it.
        """
        return float(np.sqrt(self.space.fitted_to * self.space.worth))

    @cached_property
    def _shift(self) -> Floats:
        """Where this space's point lies in the one that rows are scaled in (p,)."""
        space, whole = self.space, self.whole
        return np.asarray(((space.centre - whole.centre) + (space.residual - whole.residual)) / whole.scale)

    def deviations(self, scaled: Floats) -> Floats:
        """Of scaled rows (k, p) from the rules (k, m)."""
        # Rule after rule, as their tails are looked at.
        found = np.asarray(thinned(self.table.loadings).T @ scaled.T).T
        found -= self._shift @ self.table.loadings
        return np.asarray(np.clip(found, -_LARGEST, _LARGEST, out=found))

    def scores(self, scaled: Floats, deviations: Floats) -> Floats:
        """Of scaled rows (k, p) with these deviations (k, m), without what rules held exactly (k,)."""
        varying = ~self.table.exact
        some = deviations if varying.all() else deviations[:, varying]
        weighted = some @ self.weights[np.ix_(varying, varying)]
        inside = np.square(np.clip(weighted, -_LARGEST, _LARGEST, out=weighted), out=weighted).sum(axis=1)
        if not _rank(self.beside):
            return np.asarray(inside)
        seen = scaled if self.space is self.whole else scaled - self._shift
        if isinstance(self.beside, OutsideForm):
            squares = self.beside.squares(seen, some)
        else:
            beside = seen @ self.beside
            squares = np.square(np.clip(beside, -_LARGEST, _LARGEST, out=beside), out=beside).sum(axis=1)
        return np.asarray(inside + tempered(squares, self.outside_limit, self.outside_share))

    @cached_property
    def units(self) -> Floats:
        """The variances of the rules (m,); one where nothing varies."""
        return np.asarray(np.where(self.table.variances > 0.0, self.table.variances, 1.0))

    def limit(self, level: float) -> float | None:
        """What the law lets expect of a score; None where there are too few rows to tell."""
        return self.law.quantile(level) if self.rows - self.law.fitted >= _ENOUGH_FREEDOM else None

    @cached_property
    def law(self) -> ScoreLaw:
        """The law of normal rows' scores."""
        inside, outside = int((~self.table.exact).sum()), _rank(self.beside)
        fitted = max(inside + outside, self.space.n_varying)
        return ScoreLaw(inside, outside, self.rows, self.outside_limit, self.outside_share, fitted)

    def widths(self) -> Floats:
        """What the laws let expect of each rule's squared deviation (m,), over its variance."""
        terms = (self.table.loadings != 0.0).sum(axis=0)
        known = {many: few_rows_quantile(_LEVEL, self.rows, int(many)) for many in np.unique(terms)}
        return np.array([known[many] for many in terms])

    def without_outside(self) -> Measure:
        """The same rules alone: of many features the covariance and what lies outside are large, and done with."""
        nothing = np.zeros((self.space.n_features, 0))
        return replace(self, space=self.space.without_covariance(), beside=nothing, weights=np.zeros((0, 0)))

    def with_rules_of(self, other: Measure) -> Measure:
        """As many rows as here, and the rules of another."""
        return replace(self, table=other.table)


def _rank(beside: OutsideForm | Floats) -> int:
    return beside.rank if isinstance(beside, OutsideForm) else int(beside.shape[1])


def on_same_features(table: RuleTable, before: ScaledSpace, space: ScaledSpace) -> RuleTable:
    """Each rule as tight as other rows have it on its features: one step of inverse iteration from where it is.

    Those that were given, and those that hold exactly, are what they are.
    """
    loadings = np.array(table.loadings)
    fixed = len(table.given)
    used = (loadings != 0.0) & (space.variances > 0.0)[:, None]
    used[:, :fixed] = False
    used[:, table.exact] = False
    sizes = used.sum(axis=0)
    # Rules of one size are solved together.
    pulls = np.asarray(thinned(np.where(used, loadings, 0.0)).T @ before.covariance)
    for size in np.unique(sizes[sizes >= 2]):
        rules = np.flatnonzero(sizes == size)
        step = max(_TOGETHER // int(size) ** 2, 1)
        for start in range(0, rules.size, step):
            some = rules[start : start + step]
            features = np.nonzero(used[:, some].T)[1].reshape(some.size, size)
            moved = _solved(space, features, pulls[some[:, None], features])
            lengths = np.linalg.norm(loadings[features, some[:, None]], axis=1) / np.linalg.norm(moved, axis=1)
            loadings[features, some[:, None]] = moved * lengths[:, None]
    return RuleTable.of(space, loadings, table.sparsest, table.given, chance=False)


# Values of the matrices solved at once: 2 MiB.
_TOGETHER = 2**18


def _solved(space: ScaledSpace, features: Ints, pulls: Floats) -> Floats:
    """x (g, k) of g systems C x = pull, each of the covariances of some features (g, k)."""
    size = features.shape[1]
    inner = features[:, :, None] * space.n_features + features[:, None, :]
    deviations = np.sqrt(space.variances[features])
    # In units of the columns, so that a ridge of rounding is one for each of them.
    now = space.covariance.reshape(-1).take(inner)
    now /= deviations[:, :, None]
    now /= deviations[:, None, :]
    now[:, np.arange(size), np.arange(size)] += 4.0 * size * float(np.finfo(np.float64).eps)
    return np.asarray(np.linalg.solve(now, (pulls / deviations)[:, :, None])[:, :, 0] / deviations)
