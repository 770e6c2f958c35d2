"""Rules that the user knows: equations as written, and the point of the scaled space that they are judged from.

A rule that is given is the truth, its constant too: a row is off by how far it is from what was written, not from the
average of the table, of which some rows may be wrong. All that judges rows is measured from one point, the average row;
so that point is moved onto the rules that were given, along what goes with them: it is the row to be expected of those
that keep them, and what lies outside of the rules stays where it was.

But where the average row is off by more than the rule's own spread, more than half of the rows are off at that side
(mean and median are at most one deviation apart): then it is not single rows that are wrong, but all of them, or the
rule. That is said once, and rows are judged by the level that they have.

Notation: C the covariance, R (p, g) the rules as directions, o (g,) how far the average row is off each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from aspca.escaping import quoted
from aspca.identities.formula import Formula
from aspca.linalg.arrays import Floats, frozen
from aspca.moments.space import ScaledSpace, unresolved_variances
from aspca.preparation.feature import Feature
from aspca.rules.equation_text import parse_equation
from aspca.rules.equations import Equation, RuleError


@dataclass(frozen=True, eq=False)
class GivenRule:
    """coefficients . x = constant, as somebody wrote it."""

    text: str
    coefficients: Floats  # (p,) Of all features, in the numbers of the text.
    constant: float
    holds: bool = True  # Whether rows are judged by this constant; if not, by the average of the rows learned from.

    def loading(self, space: ScaledSpace) -> tuple[Floats, float]:
        """Its direction (p,) in the scaled space, of unit length, and how much of its own units that length is."""
        raw = self.coefficients * space.scale
        # Units from 1e-150 to 1e150 may meet in one rule: no square must overflow.
        largest = float(np.abs(raw).max())
        length = float(np.linalg.norm(raw / largest))
        return raw / largest / length, length * largest

    def off(self, space: ScaledSpace) -> float:
        """How far the average row is off, in the numbers of the text; exact, however large the means are."""
        used = np.flatnonzero(self.coefficients)
        mean = sum(
            Fraction(float(self.coefficients[j]))
            * (Fraction(float(space.centre[j])) + Fraction(float(space.residual[j])))
            for j in used
        )
        return float(mean - Fraction(self.constant))


def is_linear(text: str, features: Sequence[Feature]) -> bool:
    """Whether a text means a sum of features that holds in all rows: then it may be a relation with noise.

    RuleError: it cannot be read.
    """
    return parse_equation(text, features).linear is not None


def parse_linear_rules(texts: Sequence[str], features: Sequence[Feature]) -> tuple[GivenRule, ...]:
    """The rules that texts mean, all of them sums of features.

    RuleError: one cannot be read, is no such sum, is there twice, or follows from others or contradicts them.
    """
    rules = []
    for equation in _parse_all(texts, features):
        if equation.linear is None:
            raise RuleError(
                f"The rule {quoted(equation.text, 80)} is no sum of columns that holds in all rows, so it can only be "
                "checked row by row, which needs the rows: use fit, not fit_moments or partial_fit, with rows more "
                "than half of which satisfy it, or leave it out."
            )
        terms, constant = equation.linear
        coefficients = np.zeros(len(features))
        for j, value in terms.items():
            coefficients[j] = float(value)
        rules.append(GivenRule(equation.text, frozen(coefficients), float(constant)))
    return tuple(rules)


def parse_formulas(texts: Sequence[str], features: Sequence[Feature]) -> tuple[tuple[str, Formula], ...]:
    """The equations that texts mean, linear or not, each with its text; RuleError as above."""
    return tuple((equation.text, equation.formula) for equation in _parse_all(texts, features))


def _parse_all(texts: Sequence[str], features: Sequence[Feature]) -> list[Equation]:
    equations = [parse_equation(text, features) for text in texts]
    _refuse_dependent(equations)
    first: dict[object, int] = {}
    for number, equation in enumerate(equations):
        other = first.setdefault(equation.key, number)
        if other != number:
            _refuse(texts, number, [other], agrees=True)
    return equations


def _refuse_dependent(equations: Sequence[Equation]) -> None:
    """Raise RuleError for a sum that the ones before it already say, or deny; fractions are exact."""
    texts = [equation.text for equation in equations]
    known: list[tuple[int, dict[int, Fraction], Fraction, frozenset[int]]] = []
    for number, equation in enumerate(equations):
        if equation.linear is None:
            continue
        (terms, constant), used = equation.linear, frozenset[int]()
        scale = 1 + abs(constant)
        for pivot, others, level, made_of in known:
            times = terms.get(pivot, Fraction(0))
            if times:
                terms = {j: a for j in {*terms, *others} if (a := terms.get(j, Fraction(0)) - times * others.get(j, 0))}
                constant, used = constant - times * level, used | made_of
        if not terms:
            # Constants of products are logarithms, which are rounded.
            _refuse(texts, number, sorted(used), agrees=abs(constant) <= Fraction(1, 10**12) * scale)
        pivot = min(terms)
        known.append((pivot, {j: a / terms[pivot] for j, a in terms.items()}, constant / terms[pivot], used | {number}))


def _refuse(texts: Sequence[str], number: int, others: Sequence[int], *, agrees: bool) -> None:
    told = " and ".join(quoted(texts[k], 80) for k in others[:3]) + (" and others" if len(others) > 3 else "")
    if not agrees:
        raise RuleError(f"The rule {quoted(texts[number], 80)} contradicts {told}; leave one of them out.")
    if len(others) == 1:
        raise RuleError(f"The rule {quoted(texts[number], 80)} says the same as {told}; leave one of them out.")
    raise RuleError(f"The rule {quoted(texts[number], 80)} follows from {told}; leave one of them out.")


# ---- the point that rows are judged from


def place_rules(rules: tuple[GivenRule, ...], space: ScaledSpace) -> tuple[tuple[GivenRule, ...], ScaledSpace]:
    """The rules, each with whether it holds in these rows, and the space seen from a point that keeps them."""
    if not rules:
        return rules, space
    loadings, off = _directions(rules, space)
    spreads = np.sqrt(np.maximum(np.einsum("ij,ij->j", loadings, space.covariance @ loadings), 0.0))
    decided = tuple(
        replace(rule, holds=bool(abs(distance) <= spread))
        for rule, distance, spread in zip(rules, off, spreads, strict=True)
    )
    return decided, move_onto_rules(decided, space)


def move_onto_rules(rules: tuple[GivenRule, ...], space: ScaledSpace) -> ScaledSpace:
    """The space seen from the row to be expected where the rules that hold are kept: E(x | R'x = -o)."""
    if not rules:
        return space
    loadings, off = _directions(rules, space)
    inside = loadings.T @ (space.covariance @ loadings)
    varying = np.diag(inside) > unresolved_variances(loadings, space.covariance)
    wanted = np.where([rule.holds for rule in rules], off, 0.0) * varying
    if not wanted.any():
        return space
    chosen = np.flatnonzero(varying)
    spreads = np.sqrt(np.diag(inside)[chosen])
    correlation = inside[np.ix_(chosen, chosen)] / spreads[:, None] / spreads
    # Correlations of rules below this are rounding.
    steps = np.linalg.pinv(correlation, rcond=1e-9, hermitian=True) @ (wanted[chosen] / spreads)
    return space.moved(np.asarray(space.covariance @ loadings[:, chosen] @ (steps / spreads)))


def stack_loadings(rules: Sequence[GivenRule], space: ScaledSpace) -> Floats:
    """The directions of rules in the scaled space (p, g), of unit length."""
    return np.column_stack([np.zeros((space.n_features, 0)), *(rule.loading(space)[0] for rule in rules)])


def _directions(rules: Sequence[GivenRule], space: ScaledSpace) -> tuple[Floats, Floats]:
    """Loadings (p, g), and how far the average row is off each (g,); zero where rounding alone explains it."""
    loadings = stack_loadings(rules, space)
    off = np.array([rule.off(space) / rule.loading(space)[1] for rule in rules])
    rounding = np.abs(loadings).T @ space.rounding + np.sqrt(unresolved_variances(loadings, space.covariance))
    return loadings, np.where(np.abs(off) > rounding, off, 0.0)
