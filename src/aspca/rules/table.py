"""The rules of a model as numbers: directions of the scaled space, and how the training rows lay along them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints, frozen
from aspca.linalg.small import form_of
from aspca.moments.space import ScaledSpace, unresolved_variance, unresolved_variances
from aspca.rules.chance import EXCLUDED, bound_chances, estimate_widening
from aspca.rules.forward import NEW, finds_short_only
from aspca.rules.numbers import Equation, simplify_equation
from aspca.rules.rule import Rule, UserRuleFit
from aspca.rules.user_rules import GivenRule, stack_loadings
from aspca.rules.wording import shorten_float
from aspca.sparse_pca.certificate import Certificate
from aspca.sparse_pca.defaults import bound_little_variance

# Numbers of so many digits are no coincidence in a rule that holds exactly.
_SHORT = 4
# How far a term may be moved, as a share of the widest one's spread, where rounder numbers are tried.
_ROUNDER = (1e-2, 1e-4, 1e-6)


@dataclass(frozen=True, eq=False)
class RuleTable:
    """Rules as directions of the scaled space; the first of them those that the user gave."""

    loadings: Floats  # (p, m) Of unit length; a row's deviations are its scaled values times these.
    covariance: Floats  # (m, m) Of the deviations of the training rows.
    unresolved: Floats  # (m,) The variance of each that rounding of the covariance alone may show.
    sparsest: Bools  # (m,) False where no sparser basis was found, so that an orthonormal component stands as a rule.
    chances: Floats  # (m,) How likely unrelated columns hold a rule as tight as each.
    given: tuple[GivenRule, ...] = ()

    @classmethod
    def of(
        cls, space: ScaledSpace, loadings: Floats, sparsest: Bools | None = None, given: tuple[GivenRule, ...] = ()
    ) -> RuleTable:
        """The table of these directions (p, m), the first of them those of the rules given."""
        if sparsest is None:
            sparsest = np.ones(loadings.shape[1], dtype=np.bool_)
        inside = form_of(space.covariance, loadings)
        unresolved = unresolved_variances(loadings, space.covariance)
        likely = bound_chances(space, loadings, np.maximum(np.diag(inside), unresolved))
        # What somebody knows was not found by chance.
        likely[: len(given)] = 0.0
        return cls(frozen(loadings), frozen(inside), frozen(unresolved), sparsest, frozen(likely), given)

    def only(self, rules: Ints) -> RuleTable:
        """The table of some of the rules."""
        return RuleTable(
            self.loadings[:, rules],
            self.covariance[np.ix_(rules, rules)],
            self.unresolved[rules],
            self.sparsest[rules],
            self.chances[rules],
            tuple(self.given[k] for k in rules if k < len(self.given)),
        )

    def __len__(self) -> int:
        return int(self.loadings.shape[1])

    @cached_property
    def exact(self) -> Bools:
        """Which hold to within what a covariance in float64 resolves (m,)."""
        return np.asarray(np.diag(self.covariance) <= self.unresolved)

    @cached_property
    def variances(self) -> Floats:
        """Of the deviations (m,), never below what is resolved."""
        return np.asarray(np.maximum(np.diag(self.covariance), self.unresolved))

    def rule(
        self,
        k: int,
        space: ScaledSpace,
        *,
        limit: float | None = None,
        widening: float | None = None,
        certificate: tuple[Certificate, ...] = (),
        kept: float | None = None,
    ) -> Rule:
        """Rule k in the original names and units.

        `limit` is the size of the deviation, in the scaled space, above which a row breaks it; `widening` as measured,
        None: as expected; `kept`, for a rule that was given, the share of rows that keep it.
        """
        used = np.flatnonzero(self.loadings[:, k])
        column = self.loadings[used, k]
        raw = column / space.scale[used]
        # Units from 1e-150 to 1e150 may meet in one rule: no square must overflow.
        largest = float(np.abs(raw).max())
        raw = raw / largest
        length = float(np.linalg.norm(raw))
        variance = float(self.variances[k])
        spread = float(np.sqrt(variance)) / length / largest
        standing = None
        if k < len(self.given):
            # Nothing was fitted to chance.
            widening = 1.0 if widening is None else widening
            standing = self._fit_of_given(k, space, used, 1.0 / length / largest, spread, kept)
        if widening is None:
            parts = column**2 * space.variances[used]
            widening = estimate_widening(variance, parts, space.n_rows, float(self.chances[k]))
        return Rule(
            origins=tuple(space.features[j] for j in used),
            coefficients=frozen(raw / length),
            means=frozen(space.mean[used]),
            deviations=frozen(space.deviations[used]),
            spread=spread,
            limit=None if limit is None else limit / length / largest,
            exact=bool(self.exact[k]),
            certificate=certificate,
            widening=widening,
            sparsest=bool(self.sparsest[k]),
            standing=standing,
        )

    def _fit_of_given(
        self, k: int, space: ScaledSpace, used: Ints, unit: float, spread: float, kept: float | None
    ) -> UserRuleFit:
        """What became of a rule that was given; `unit` is one of the scaled space, in those of the rule."""
        given = self.given[k]
        # From the rule's own length to the numbers that it was written in.
        times = given.loading(space)[1] / unit
        off = given.off(space.plain)
        constant = given.constant
        if not given.holds:
            level = constant + off
            constant = float(f"{level if self.exact[k] else shorten_float(level, level + spread * times):.12g}")
        equation = Equation(frozen(given.coefficients[used]), constant, times, 0.0)
        unrelated = float(np.square(self.loadings[:, k]) @ space.variances)
        return UserRuleFit(given.text, equation, given.holds, off, kept, float(self.variances[k]) / (unrelated or 1.0))


def add_given_rules(found: RuleTable, space: ScaledSpace, given: tuple[GivenRule, ...], most: int | None) -> RuleTable:
    """The rules given, and those found that say more than these; of the latter the tightest, `most` rules in all.

    Simple ones are asked first: beside ``D = B + C``, what is new in ``A = B`` and ``D = A + C`` is ``A = B``.
    """
    if not given:
        return found
    loadings = stack_loadings(given, space)
    deviations = np.sqrt(space.variances)
    # A column that never varies is as good a direction as any.
    units = np.where(deviations > 0.0, deviations, deviations.mean() or 1.0)[:, None]
    known = np.linalg.qr(loadings * units)[0]
    directions = found.loadings * units
    directions = directions / np.linalg.norm(directions, axis=0)
    terms = (found.loadings != 0.0).sum(axis=0)
    new: list[int] = []
    for k in np.lexsort((found.variances, terms)):
        rest = directions[:, k]
        # Twice: what rounding left along the others.
        for _ in range(2):
            rest = rest - known @ (known.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > NEW:
            known = np.column_stack([known, rest / size])
            new.append(int(k))
    # They come tightest first.
    new = sorted(new)[: None if most is None else max(most - len(given), 0)]
    sparsest = np.concatenate([np.ones(len(given), dtype=np.bool_), found.sparsest[new]])
    return RuleTable.of(space, np.hstack([loadings, found.loadings[:, new]]), sparsest, given)


def find_rules(space: ScaledSpace, many: int) -> RuleTable:
    """The readable rules of the `many` directions with the least variance; exact ones in the numbers they are read in.

    A total is found as 0.99999999 a + 1.00000001 b, as far as a covariance can tell. Where the simplest numbers fit it
    as well, these are the rule: what is read is what judges, and a lawful row far out does not break it by the ninth
    digit.

    Rows that span r directions obey an exact rule among any r + 1 features, whatever they mean. Such a rule is left out
    unless its numbers are short or there are many rows: nothing is known along it.

    See `drop_chance_rules` for rules that unrelated columns may hold as well.
    """
    # These load scipy, which scoring by a stored model need not wait for.
    from aspca.linalg.eigen import find_lowest_pairs
    from aspca.rules.readable import find_readable_basis, find_short_loadings

    C, rows = space.covariance, space.fitted_to
    if not many:
        return RuleTable.of(space, np.zeros((space.n_features, 0)))
    short_only = finds_short_only(space)
    if short_only:
        found = RuleTable.of(space, find_short_loadings(C, bound_little_variance(C), rows)[:, :many])
    else:
        values, directions = find_lowest_pairs(C, many)
        found = RuleTable.of(space, *find_readable_basis(directions, C, rows))
    table, plain = shorten_numbers(found, space)
    empty = table.exact & ~plain & _by_lack_of_rows(space, table.loadings)
    if not empty.any():
        return table
    if short_only:
        return table.only(np.flatnonzero(~empty))
    parts = [table.only(np.flatnonzero(table.exact & ~empty))]
    varying = directions[:, values > unresolved_variances(directions, C)]
    if varying.size:
        parts.append(shorten_numbers(RuleTable.of(space, *find_readable_basis(varying, C, rows)), space)[0])
    loadings, sparsest = zip(*((part.loadings, part.sparsest) for part in parts), strict=True)
    return RuleTable.of(space, np.hstack(loadings), np.concatenate(sparsest))


def drop_chance_rules(table: RuleTable, space: ScaledSpace) -> RuleTable:
    """The rules of a table that chance does not explain; what the others are about lies outside the rules then.

    Of few rows all terms of a rule but one may be nothing but chance: a column by itself keeps to a range only if it
    varies as little as a rule does.
    """
    if not len(table):
        return table
    alone = (table.loadings != 0.0).sum(axis=0) == 1
    kept = (table.chances <= EXCLUDED) & ~(alone & (table.variances > bound_little_variance(space.covariance)))
    return table if kept.all() else table.only(np.flatnonzero(kept))


def shorten_numbers(table: RuleTable, space: ScaledSpace) -> tuple[RuleTable, Bools]:
    """The table with its exact rules in the numbers they are read in, and for which rules (m,) these are short."""
    loadings = np.array(table.loadings)
    plain = np.zeros(len(table), dtype=np.bool_)
    for k in np.flatnonzero(table.exact):
        rule = table.rule(int(k), space)
        found_numbers = _in_simplest_numbers(rule, loadings[:, k], space)
        if found_numbers is not None:
            loadings[:, k], plain[k] = found_numbers
    return RuleTable.of(space, loadings, table.sparsest), plain


def _by_lack_of_rows(space: ScaledSpace, loadings: Floats) -> Bools:
    """Which rules (m,) rows as few as these may obey whatever their features mean."""
    terms = ((loadings != 0.0) & (space.variances > 0.0)[:, None]).sum(axis=0)
    # Of so many features the few that nearly do can be chosen too: half as many terms are enough.
    if not space.short_of_rows or space.spans_more_than(2 * int(terms.max(initial=0)) - 1):
        return np.zeros(terms.size, dtype=np.bool_)
    return np.asarray(2 * terms > space.rank)


def _in_simplest_numbers(rule: Rule, loading: Floats, space: ScaledSpace) -> tuple[Floats, bool] | None:
    """An exact rule in the shortest numbers that hold exactly too, and whether they are short; None if there are none.

    Where features hang together closely, a covariance does not tell the rule from one a millionth off: so rounder
    numbers are tried than the rule's own resolution asks for, and the rows are asked whether they hold.
    """
    used = np.flatnonzero(loading)
    widest = float((np.abs(rule.coefficients) * rule.deviations).max())
    for tolerance in (*(share * widest for share in _ROUNDER), rule.rounding):
        equation = simplify_equation(rule.coefficients, rule.means, rule.deviations, tolerance)
        snapped = np.zeros(loading.size)
        snapped[used] = equation.coefficients * space.scale[used]
        # Units far apart: the largest first, so that no square overflows.
        snapped /= np.abs(snapped).max()
        snapped /= np.linalg.norm(snapped)
        inside = space.covariance[used[:, None], used]
        variance = float(snapped[used] @ inside @ snapped[used])
        # On its own features, with the rounding of sums over all of them.
        unresolved = unresolved_variance(np.abs(snapped[used]), inside) * loading.size / used.size
        if variance <= unresolved:
            short = all(float(f"{a:.{_SHORT}g}") == a for a in equation.coefficients)
            return (snapped if float(snapped @ loading) > 0.0 else -snapped), short
    return None
