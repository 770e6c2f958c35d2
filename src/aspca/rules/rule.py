"""Rules with noise, and the sentences that say them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aspca.escaping import for_terminal, name_text
from aspca.identities.identity import Identity, write_number
from aspca.linalg.arrays import Floats, Ints
from aspca.preparation.feature import Feature
from aspca.rules.numbers import USUAL, Equation, simplify_equation
from aspca.rules.wording import (
    SMALL,
    Sum,
    are_alike,
    columns_of_levels,
    list_levels,
    round_number,
    round_within,
    write_power,
    write_term,
)
from aspca.sparse_pca.certificate import Certificate

# The numbers of a rule's text may be off by this share of its spread, wherever its features usually are.
_ROUNDING_SHARE = 0.5
# A rule whose spread on new rows is more than this many times the one it promised was fitted to chance.
_WIDE = 2.0
# Beyond this a spread in logarithms reads better as a factor than in per cent.
_SMALL_LOG = 0.2


@dataclass(frozen=True, eq=False)
class UserRuleFit:
    """How a rule that the user gave stands in the rows learned from."""

    text: str  # As it was written.
    equation: Equation  # In the numbers it was written in; with the constant that rows are judged by.
    # Whether that is the constant that was given. If not, most rows are off at the same side: then they are judged by
    # the level that they have.
    holds: bool
    offset: float  # How far the average row was off what was given, in its numbers.
    kept: float | None  # The share of the rows that keep it within the rule's limit; None where no rows were at hand.
    share: float  # Its variance as a share of what that of unrelated columns would be.


@dataclass(frozen=True, eq=False)
class Rule:
    """A linear relation that normal rows obey: coefficients . x = centre, give or take `spread`.

    Attributes
    ----------
    origins : tuple of k Feature
        The features it relates, and what they are in the table.
    coefficients : ndarray of shape (k,)
        Exact, in the original units of the features, scaled to unit length; the text shows `equation`.
    means, deviations : ndarray of shape (k,)
        The features' own means and standard deviations.
    spread : float
        Standard deviation of coefficients . x over the training rows; never below what float64 resolves.
    limit : float or None
        The |coefficients . x - centre| above which a row breaks the rule.
    exact : bool
        Whether the rule holds to within what a covariance in float64 resolves: a duplicate, a total, a constant.
    certificate : tuple of Certificate
        What is proved about the steps that span the subspace the rule belongs to; empty if nobody asked.
    widening : float or None
        Spread on rows that were not fitted, over `spread`: measured where rows were held out, otherwise as expected
        (`rules.chance`); None if nobody asked.
    sparsest : bool
        False where no sparser rule was found for its part of the subspace: then it is one of the components.
    standing : UserRuleFit or None
        For a rule that the user gave, how it stands in the table; None for one that was found.
    """

    origins: tuple[Feature, ...]
    coefficients: Floats
    means: Floats
    deviations: Floats
    spread: float
    limit: float | None = None
    exact: bool = False
    certificate: tuple[Certificate, ...] = ()
    widening: float | None = None
    sparsest: bool = True
    standing: UserRuleFit | None = None

    @property
    def given(self) -> bool:
        """Whether the user gave it, and it was not found."""
        return self.standing is not None

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features it relates."""
        return tuple(feature.name for feature in self.origins)

    @property
    def centre(self) -> float:
        """Mean of coefficients . x over the training rows; of a rule that was given, what was given."""
        return float(self.coefficients @ self.means)

    @property
    def constant(self) -> bool:
        """Whether it says that one feature never varies."""
        return len(self.features) == 1 and bool(self.deviations[0] ** 2 < np.finfo(np.float64).tiny)

    @cached_property
    def kind(self) -> str:
        """What it says: "relation" between columns, "range" of the one column it shows, or "constant"."""
        if self.constant:
            return "constant"
        columns = {self.origins[int(k)].column for k in self.shown_terms}
        return "relation" if len(columns) > 1 else "range"

    @property
    def looks_like_chance(self) -> bool:
        """Whether it may hold by chance, for the few rows it was fitted to: on others it is over twice as wide."""
        return self.widening is not None and self.widening > _WIDE

    @cached_property
    def equation(self) -> Equation:
        """The rule in the simplest numbers that move it by at most half its spread, where its features usually are; one
        that was given in the numbers it was written in.
        """
        if self.standing is not None:
            return self.standing.equation
        # A category that is rare hardly varies, but is there or not: it moves by one.
        level = np.array([feature.kind == "level" for feature in self.origins])
        deviations = np.maximum(self.deviations, 0.5 * level)
        return simplify_equation(self.coefficients, self.means, deviations, self.rounding, pivots=~level)

    @property
    def rounding(self) -> float:
        """What the numbers of its sentence may be off by, wherever its features usually are."""
        return _ROUNDING_SHARE * self.spread

    # ---- the sentence

    @property
    def text(self) -> str:
        """As in ``D = A + C (± 0.1)``, ``cost = 1.2 * price * amount (± 3 %)`` or ``colour is red or blue``.

        Terms too small to matter are left out, what the features add up to at their means comes last, and names that
        are not plain words stand in brackets.
        """
        said = self._sum
        if said.kinds == {"log"}:
            return f"{self._product} ({self._remark(logarithms=True)})"
        if "level" in said.kinds:
            return self._categories
        if said.are_dates:
            return f"{said.dates} ({self._remark(unit=' days')})"
        return f"{said.equality} ({self._remark()})"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Rule({self.text})"

    @cached_property
    def shown_terms(self) -> Ints:
        """Positions of the features that the sentence shows.

        Where all categories of a column stand together and the other terms are small beside them, these alone: the rule
        says that the column has one of them, and the rest is what other rules left in it.
        """
        a = self.equation.coefficients
        named = np.flatnonzero(a)
        for column in columns_of_levels(self.origins):
            terms = [int(k) for k in named if self.origins[k].kind == "level" and self.origins[k].column == column]
            if terms and len(terms) == len(self.origins[terms[0]].levels) and are_alike(a[terms]):
                rest = [int(k) for k in named if k not in terms]
                small = SMALL * float(np.abs(a[terms]).min())
                if float(np.abs(a[rest]) @ (USUAL * self.deviations[rest])) <= small:
                    return np.array(terms, dtype=np.intp)
        return named

    @cached_property
    def _sum(self) -> Sum:
        """The terms that the sentence shows."""
        named = self.shown_terms
        features = tuple(self.origins[int(k)] for k in named)
        return Sum(self.equation.coefficients[named], features, float(self.equation.intercept))

    @property
    def of_categories(self) -> bool:
        """Whether its sentence is about categories alone."""
        return self._sum.kinds == {"level"}

    @property
    def has_spread(self) -> bool:
        """Whether it makes sense to count a row's deviation in spreads: not of exact rules, or of categories alone."""
        return not self.exact and not self.of_categories

    @property
    def left_side_up(self) -> bool:
        """Whether the left side of its sentence is the larger one where a row's deviation is positive."""
        return self._sum.reads_forward == (self.equation.unit > 0.0)

    def off_by(self, deviation: float) -> str:
        """How far off a deviation is, in the numbers of the text: ``0.5``, ``0.5 too high``, ``a factor of 1.3``."""
        said = self._sum
        if self.of_categories:
            return "another value"
        size = abs(deviation) * abs(self.equation.unit)
        if said.kinds == {"log"}:
            factor = round_number(np.exp(min(size, 700.0)), 3)
            text = f"{100 * size:.2g} %" if size < _SMALL_LOG else f"a factor of {factor}"
        else:
            text = f"{size:,.0f}" if 1000 <= size < 1e7 else f"{size:.3g}"
            text += " days" if said.are_dates else ""
        if len(said.features) == 1:
            text += f" too {'high' if deviation * self.coefficients[self.shown_terms[0]] > 0 else 'low'}"
        return text

    def breach(self, deviation: float) -> str:
        """The same as a clause: ``it is 0.5 too high``, ``its sides differ by 0.5``."""
        verb = "it has" if self.of_categories else "it is" if len(self._sum.features) == 1 else "its sides differ by"
        return f"{verb} {self.off_by(deviation)}"

    def _remark(self, *, logarithms: bool = False, unit: str = "") -> str:
        given = ""
        if self.standing is not None:
            given = "; given" if self.standing.holds else f"; given as {for_terminal(self.standing.text.strip())}"
        if self.constant:
            return f"constant{given}"
        rest = given if self.sparsest else f"; no shorter rule found{given}"
        if self.exact:
            return f"exactly{rest}"
        spread = self.spread * self.equation.unit
        if not logarithms:
            return f"± {round_number(spread, 2)}{unit}{rest}"
        small = f"± {round_number(100 * spread, 2)} %"
        return f"{small if spread < _SMALL_LOG else f'within a factor of {np.exp(spread):.2g}'}{rest}"

    @property
    def _product(self) -> str:
        """A sum of logarithms, without them."""
        left, right = self._sum.sides(write_power, " * ")
        factor = self._factor(1.0 if self._sum.reads_forward else -1.0)
        return f"{left} = {right if right and factor == '1' else ' * '.join(filter(None, [factor, right]))}"

    def _factor(self, sign: float) -> str:
        """The constant of a product, as short as the rule's rounding allows."""
        a, equation = self.equation.coefficients, self.equation
        exact = sign * (equation.intercept if self.given else float(a @ self.means))
        # What the sum may be off by in all, less what its coefficients use up; what was given is written as it was.
        used = float(np.abs(a - equation.unit * self.coefficients) @ (USUAL * self.deviations))
        room = 0.0 if self.given else self.rounding * equation.unit - used
        room = max(room, 8.0 * np.finfo(np.float64).eps * float(np.abs(a) @ np.abs(self.means)))
        value = float(np.exp(np.clip(exact, -700.0, 700.0)))
        for digits in range(1, 17):
            short = float(f"{value:.{digits}g}")
            if short > 0.0 and abs(np.log(short) - exact) <= room:
                return write_number(short)
        return write_number(value)

    @property
    def _categories(self) -> str:
        """A sum in which some terms are categories of a column."""
        said = self._sum
        # All categories of a column together say nothing but that it has one of them.
        for column in columns_of_levels(said.features):
            terms = [k for k, f in enumerate(said.features) if f.kind == "level" and f.column == column]
            if len(terms) == len(said.features[terms[0]].levels) and are_alike(said.coefficients[terms]):
                rest = [k for k in range(len(said.features)) if k not in terms]
                said = replace(said.only(rest), intercept=said.intercept - float(said.coefficients[terms[0]]))
        if not said.features:
            levels = {feature.column: feature.levels for feature in self._sum.features}
            return " and ".join(f"{name_text(column)} is {list_levels(known)}" for column, known in levels.items())
        levels_at = [k for k, feature in enumerate(said.features) if feature.kind == "level"]
        others = [k for k, feature in enumerate(said.features) if feature.kind != "level"]
        if len({said.features[k].column for k in levels_at}) == 1:
            if others:
                return f"{self._by_case(said.only(others), said.only(levels_at))} ({self._remark()})"
            if len(set(said.coefficients)) == 1:
                return self._is_or_is_not(said)
        return f"{said.equality} ({self._remark()})"

    def _is_or_is_not(self, said: Sum) -> str:
        """That a column has one of some categories, or none of them: whichever most rows do."""
        names = {feature.name for feature in said.features}
        share = float(sum(mean for name, mean in zip(self.features, self.means, strict=True) if name in names))
        column, levels = name_text(said.features[0].column), tuple(feature.level for feature in said.features)
        # With as many digits as it takes to tell the share from all.
        rest = float(f"{100 * min(share, 1 - share):.2g}")
        rows = "all" if rest <= 0.0 else f"{write_number(float(f'{100 - rest:.12g}'))} % of"
        return f"{column} {'is' if share >= 0.5 else 'is not'} {list_levels(levels)} (in {rows} rows)"

    def _by_case(self, numbers: Sum, levels: Sum) -> str:
        """A sum whose constant depends on the category."""
        left, right = numbers.sides(write_term, " + ")
        sign = 1.0 if numbers.reads_forward else -1.0
        column, known = name_text(levels.features[0].column), levels.features[0].levels
        values = self._cases(numbers, levels.features[0].column)
        named = {feature.level for feature in levels.features}
        rest = [level for level in known if level not in named]
        cases: dict[float, list[str]] = {}
        for level in known:
            # One that is left over is named like the others.
            if level in named or len(rest) == 1:
                cases.setdefault(sign * values.get(level, numbers.intercept), []).append(level)
        said = [f"{write_number(value)} if {column} is {list_levels(tuple(names))}" for value, names in cases.items()]
        if len(rest) > 1:
            said.append(f"{write_number(sign * numbers.intercept)} otherwise")
        return f"{left} = {right} + ({', '.join(said)})" if right else f"{left} = {', '.join(said)}"

    def _cases(self, numbers: Sum, column: str) -> dict[str, float]:
        """What the numbers add up to in each category, as short as a quarter of the rule's spread allows."""
        unit, mean = self.equation.unit, dict(zip(self.features, self.means.tolist(), strict=True))
        terms = {
            feature.level: (unit * float(value), mean[feature.name])
            for feature, value in zip(self.origins, self.coefficients, strict=True)
            if feature.kind == "level" and feature.column == column
        }
        usual = sum(a * mean[feature.name] for a, feature in zip(numbers.coefficients, numbers.features, strict=True))
        usual += sum(value * share for value, share in terms.values())
        room = 0.5 * self.rounding * unit
        return {level: round_within(float(usual) - value, room) for level, (value, _) in terms.items()}


# Exact, or with noise.
AnyRule = Rule | Identity
