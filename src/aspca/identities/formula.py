"""Equations between columns as data: one factor on the left, a sum of products on the right, and what rounding allows.

``lwage = log(wage)``, ``prate = 100 totpart / totelg``, ``total = a + b + c``: left = constant + sum of terms, a term
being a coefficient times factors f(x)^e. A row satisfies an equation if its residual is no larger than what half a
unit of the last digit of each cell can do to it (`Formula.tolerances`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from aspca.identities.resolution import Cells
from aspca.linalg.arrays import Bools, Floats

# What computing in float64 may leave of a term of size 1: 1e7 roundings, room for cancellation in an author's own sums.
FLOAT = 1e-9
# The same where an author computed with, or printed, six digits (C's %g; R prints seven).
PRINTED = 5e-6
# Tolerances from tight to wide; see `Formula.tolerances`.
FLOATS, FRACTIONS, DIGITS, WHOLE = range(4)
# A reciprocal of what may be zero is bounded by this share of the value.
_NEAREST_ZERO = 1e-3


class Function(NamedTuple):
    """A function of a column, its inverse, and what moving the value by h can do to it."""

    apply: Callable[[Floats], Floats]
    invert: Callable[[Floats], Floats]
    spread: Callable[[Floats, Floats], Floats]


def _log(values: Floats) -> Floats:
    return np.asarray(np.log(np.where(values > 0.0, values, np.nan)))


def _log1p(values: Floats) -> Floats:
    return np.asarray(np.log1p(np.where(values > -1.0, values, np.nan)))


FUNCTIONS = {
    "x": Function(lambda v: v, lambda v: v, lambda v, h: h),
    "log": Function(_log, np.exp, lambda v, h: np.log1p(h / np.abs(v))),
    "log1p": Function(_log1p, np.expm1, lambda v, h: np.log1p(h / np.abs(1.0 + v))),
    "exp": Function(np.exp, _log, lambda v, h: np.exp(v) * np.expm1(h)),
}


class Factor(NamedTuple):
    """``function(sign * x)^exponent`` of a column."""

    column: int
    function: str = "x"
    exponent: float = 1.0
    sign: float = 1.0

    def value(self, X: Floats) -> Floats:
        base = X[:, self.column]
        found = FUNCTIONS[self.function].apply(base if self.sign > 0.0 else -base)
        return found if self.exponent == 1.0 else np.asarray(np.power(found, self.exponent))

    def spread(self, X: Floats, steps: Floats) -> Floats:
        """What half a step of the cell (n, p) can do to the value."""
        base, h = self.sign * X[:, self.column], steps[:, self.column]
        step = FUNCTIONS[self.function].spread(base, h)
        if self.exponent == 1.0:
            return np.asarray(step)
        size = np.abs(FUNCTIONS[self.function].apply(base))
        if self.exponent > 0.0:
            return np.asarray(np.power(size + step, self.exponent) - np.power(size, self.exponent))
        nearest = np.maximum(size - step, _NEAREST_ZERO * size)
        return np.asarray(np.power(nearest, self.exponent) - np.power(size, self.exponent))

    def solve(self, value: Floats, now: Floats) -> Floats:
        """The values of the column for which the factor is `value` (n,), of two the one with the sign it has now."""
        found = value
        if self.exponent != 1.0:
            root = np.power(np.abs(value), 1.0 / self.exponent)
            odd = float(self.exponent).is_integer() and self.exponent % 2 == 1
            with_sign = np.sign(value) if odd else np.where(self.sign * now < 0.0, -1.0, 1.0)
            found = np.where((value < 0.0) & (not odd), np.nan, root * with_sign)
        return np.asarray(self.sign * FUNCTIONS[self.function].invert(found))


class Term(NamedTuple):
    """A coefficient times factors."""

    coefficient: float
    factors: tuple[Factor, ...]

    def value(self, X: Floats, without: Factor | None = None) -> Floats:
        found = np.full(len(X), self.coefficient)
        for factor in self.factors:
            if factor is not without:
                found = found * factor.value(X)
        return found


class Condition(NamedTuple):
    """The rows in which a column has a value, or has not."""

    column: int
    value: float
    negated: bool = False

    def holds(self, X: Floats) -> Bools:
        values = X[:, self.column]
        return np.asarray((values == self.value) != self.negated) & ~np.isnan(values)


@dataclass(frozen=True)
class Formula:
    """left = constant + sum of terms, where the condition holds."""

    left: Term  # With coefficient 1; one factor, but where a user wrote a product there.
    terms: tuple[Term, ...]
    constant: float = 0.0
    condition: Condition | None = None

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Those of the left side first, each once."""
        return tuple(dict.fromkeys(factor.column for _, factor in self._factors()))

    @property
    def determined(self) -> int:
        """The column that the others determine."""
        return self.left.factors[0].column

    @property
    def all_terms(self) -> tuple[Term, ...]:
        return self.left, *self.terms

    @property
    def is_product(self) -> bool:
        """Whether the right side is one product."""
        return self.constant == 0.0 and len(self.terms) == 1

    @property
    def is_sum(self) -> bool:
        """Whether its terms are columns as they are."""
        return all(
            len(term.factors) == 1 and term.factors[0] == Factor(term.factors[0].column) for term in self.all_terms
        )

    def _factors(self) -> Iterator[tuple[Term, Factor]]:
        return ((term, factor) for term in self.all_terms for factor in term.factors)

    def with_columns(self, columns: Sequence[int]) -> Formula:
        """The same of other columns: those at `columns` of these."""

        def moved(term: Term) -> Term:
            return Term(term.coefficient, tuple(f._replace(column=int(columns[f.column])) for f in term.factors))

        condition = self.condition
        if condition is not None:
            condition = condition._replace(column=int(columns[condition.column]))
        return Formula(moved(self.left), tuple(map(moved, self.terms)), self.constant, condition).sorted()

    def sorted(self) -> Formula:
        """The same, terms and factors in the order of their columns."""
        terms = [Term(term.coefficient, tuple(sorted(term.factors))) for term in self.terms]
        return replace(self, terms=tuple(sorted(terms, key=lambda term: term.factors)))

    # ---- rows

    def right(self, X: Floats) -> Floats:
        """The right side (n,) of rows (n, p)."""
        total = np.full(len(X), self.constant)
        for term in self.terms:
            total = total + term.value(X)
        return total

    def residual(self, X: Floats) -> Floats:
        """Left less right side (n,): infinite where a side does not exist (the logarithm of a negative), NaN where a
        value is missing, 0 / 0 is computed, or the condition does not hold."""
        with np.errstate(all="ignore"):
            residual = self.left.value(X) - self.right(X)
            known = ~np.isnan(X[:, list(self.columns)]).any(axis=1)
            residual = np.where(np.isfinite(residual), residual, np.inf)
            logarithms = [factor for _, factor in self._factors() if factor.function == "log"]
            if len(logarithms) > 1:
                # So is a difference of logarithms of zero.
                known &= sum((X[:, factor.column] == 0.0).astype(np.intp) for factor in logarithms) < 2
            for term in self.all_terms:
                # 0 / 0 is anything.
                plain = [factor for factor in term.factors if factor.function == "x"]
                above, below = ([one.column for one in plain if one.exponent * side > 0.0] for side in (1.0, -1.0))
                if above and below:
                    known &= ~((X[:, above] == 0.0).any(axis=1) & (X[:, below] == 0.0).any(axis=1))
        if self.condition is not None:
            known &= self.condition.holds(X)
        return np.where(known, residual, np.nan)

    def noise(self, X: Floats) -> Floats:
        """The tightest tolerance (n,) of rows (n, p): what computing in float64 may leave."""
        with np.errstate(all="ignore"):
            size = np.full(len(X), abs(self.constant))
            for term in self.all_terms:
                size = size + np.abs(term.value(X))
        return np.nan_to_num(FLOAT * size, nan=0.0, posinf=0.0)

    def tolerances(self, cells: Cells) -> tuple[Floats, Floats, Floats, Floats]:
        """Four tolerances (n,) of residuals, from tight to wide.

        The noise of floats; with the rounding of fine columns; with six digits; with the rounding of coarse columns, of
        which only the one that matters most counts: two of them near each other are no identity.
        """
        X = cells.X
        with np.errstate(all="ignore"):
            size = np.full(len(X), abs(self.constant))
            rounding, whole = np.zeros(len(X)), np.zeros(len(X))
            for term in self.all_terms:
                parts = [factor.value(X) for factor in term.factors]
                product = np.full(len(X), abs(term.coefficient))
                for part in parts:
                    product = product * np.abs(part)
                size = size + product
                for k, factor in enumerate(term.factors):
                    rest = np.full(len(X), abs(term.coefficient))
                    for other, part in enumerate(parts):
                        rest = rest if other == k else rest * np.abs(part)
                    moved = rest * factor.spread(X, cells.steps)
                    if cells.coarse[factor.column]:
                        whole = np.maximum(whole, moved)
                    else:
                        rounding = rounding + moved
            floats = FLOAT * size
            fractions = floats + rounding
        bounded = (floats, fractions, fractions + (PRINTED / FLOAT) * floats, fractions + whole)
        first, second, third, last = (np.nan_to_num(one, nan=0.0, posinf=0.0) for one in bounded)
        return first, second, third, last

    def solve(self, X: Floats, column: int) -> Floats:
        """The value of a column (n,) for which rows (n, p) satisfy the equation, the other cells as they are.

        NaN where there is none, and where the column stands in the equation more than once.
        """
        found = [(term, factor) for term, factor in self._factors() if factor.column == column]
        if len(found) != 1:
            return np.full(len(X), np.nan)
        term, factor = found[0]
        with np.errstate(all="ignore"):
            if term is self.left:
                value = self.right(X)
            else:
                others = replace(self, terms=tuple(one for one in self.terms if one is not term))
                value = self.left.value(X) - others.right(X)
            value = value / term.value(X, without=factor)
            solved = factor.solve(value, X[:, column])
        return np.where(np.isfinite(solved), solved, np.nan)


def as_product(formula: Formula) -> Formula | None:
    """A sum of logarithms that are features by themselves as the product of what these are of; None: it is no such."""
    if not formula.is_sum:
        return None
    factors = tuple(Factor(term.factors[0].column, "x", term.coefficient) for term in formula.terms)
    value = float(np.exp(np.clip(formula.constant, -700.0, 700.0)))
    # Its logarithm was told to so many digits.
    short = (float(f"{value:.{digits}g}") for digits in range(1, 13))
    near = FLOAT * (1.0 + abs(formula.constant))
    constant = next((one for one in short if abs(np.log(one) - formula.constant) <= near), value)
    return Formula(formula.left, (Term(constant, factors),) if factors else (), 0.0 if factors else constant)


def convert_units(formula: Formula, slopes: Floats, offsets: Floats) -> Formula | None:
    """The formula of columns x as one of columns t, x = slopes * t + offsets; None where it has no such form."""
    terms, used = formula.all_terms, list(formula.columns)
    if formula.is_sum:
        left = formula.left.factors[0].column
        columns = [term.factors[0].column for term in formula.terms]
        constant = formula.constant - float(offsets[left])
        constant += sum(term.coefficient * float(offsets[j]) for term, j in zip(formula.terms, columns, strict=True))
        size = abs(formula.constant) + float(np.abs(offsets[used]).sum())
        made = tuple(
            Term(_shortest(term.coefficient * float(slopes[j] / slopes[left])), term.factors)
            for term, j in zip(formula.terms, columns, strict=True)
        )
        none = abs(constant) <= FLOAT * size
        return replace(formula, terms=made, constant=0.0 if none else _shortest(constant / float(slopes[left])))
    powers = [factor for term in terms for factor in term.factors if factor.function == "x"]
    if offsets[used].any() or len(powers) < sum(len(term.factors) for term in terms):
        return None if offsets[used].any() or (slopes[used] != 1.0).any() else formula
    scales = [float(np.prod([float(slopes[f.column]) ** f.exponent for f in term.factors])) for term in terms]
    made = tuple(
        term._replace(coefficient=_shortest(term.coefficient * scale / scales[0]))
        for term, scale in zip(formula.terms, scales[1:], strict=True)
    )
    return replace(formula, terms=made, constant=_shortest(formula.constant / scales[0]))


def _shortest(value: float) -> float:
    """The shortest number that is this one but for what computing left in it twice."""
    short = (float(f"{value:.{digits}g}") for digits in range(1, 15))
    return next((one for one in short if abs(one - value) <= 1e-11 * abs(value)), value)


def change_signs(formula: Formula, signs: Floats) -> Formula:
    """A formula of columns times their signs (p,) as one of the columns themselves."""
    left, times = _turn_term(formula.left, signs)
    terms = []
    for term in formula.terms:
        turned, sign = _turn_term(term, signs)
        terms.append(turned._replace(coefficient=turned.coefficient * sign * times))
    return replace(formula, left=left, terms=tuple(terms), constant=formula.constant * times + 0.0)


def _turn_term(term: Term, signs: Floats) -> tuple[Term, float]:
    """The term without its sign, and its sign."""
    sign, factors = 1.0, []
    for factor in term.factors:
        if signs[factor.column] > 0.0:
            factors.append(factor)
        elif factor.function == "x" and float(factor.exponent).is_integer():
            sign *= -1.0 if factor.exponent % 2 else 1.0
            factors.append(factor)
        else:
            factors.append(factor._replace(sign=-factor.sign))
    return Term(term.coefficient, tuple(factors)), sign
