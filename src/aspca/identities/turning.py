"""Formulas of columns times their signs, and formulas as the search knows them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aspca.identities.candidate import LIFTS, Candidate
from aspca.identities.formula import Factor, Formula, Term
from aspca.linalg.arrays import Floats


def turn(formula: Formula, signs: Floats) -> Formula:
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


def candidate_of(formula: Formula) -> Candidate | None:
    """A formula as the search knows it; None where it has another form."""
    if formula.condition is not None or len(formula.left.factors) != 1:
        return None
    left = formula.left.factors[0]
    if formula.is_product and left.function == "x" and left.exponent == 1.0:
        factors = formula.terms[0].factors
        if all(factor.function == "x" for factor in factors):
            columns = left.column, *(factor.column for factor in factors)
            exponents = np.array([factor.exponent for factor in factors])
            names = ("x",) * len(columns)
            return Candidate(columns, names, exponents, formula.terms[0].coefficient, product=True)
    if any(len(term.factors) != 1 for term in formula.terms):
        return None
    factors = (left, *(term.factors[0] for term in formula.terms))
    names_of = [_lift_of(factor) for factor in factors]
    if any(name is None for name in names_of):
        return None
    coefficients = np.array([term.coefficient for term in formula.terms])
    columns = tuple(factor.column for factor in factors)
    return Candidate(columns, tuple(str(name) for name in names_of), coefficients, formula.constant)


def _lift_of(factor: Factor) -> str | None:
    return next((name for name, lifted in LIFTS.items() if lifted == (factor.function, factor.exponent)), None)
