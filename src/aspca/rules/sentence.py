"""Rules as sentences in the original columns: sums, products where columns were taken as logarithms, and categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from aspca.escaping import for_terminal, level_text, name_text
from aspca.identities.identity import Identity
from aspca.identities.wording import number_text
from aspca.linalg.arrays import Floats, Ints
from aspca.preparation.feature import Feature, date_text
from aspca.rules.coefficients import USUAL

if TYPE_CHECKING:
    from aspca.rules.rule import Rule

# Beyond this a spread in logarithms reads better as a factor than in per cent.
_SMALL_LOG = 0.2
_MOST_LEVELS = 6
# What is smaller than this beside another is left out where that says more.
_BESIDE = 0.1


@dataclass(frozen=True)
class _Sum:
    """coefficients . features = intercept, no coefficient zero."""

    coefficients: Floats
    features: tuple[Feature, ...]
    intercept: float

    @property
    def kinds(self) -> set[str]:
        return {feature.kind for feature in self.features}

    def only(self, chosen: Sequence[int]) -> _Sum:
        return replace(self, coefficients=self.coefficients[chosen], features=tuple(self.features[k] for k in chosen))


def sentence_of(rule: Rule) -> str:
    """A rule as in ``D = A + C (± 0.1)``, ``cost = 1.2 * price * amount (± 3 %)`` or ``colour is red or blue``.

    Terms too small to matter are left out, what the features add up to at their means comes last, and names that are
    not plain words stand in brackets.
    """
    said = _said(rule)
    if said.kinds == {"log"}:
        return f"{_product(said, rule)} ({_remark(rule, logarithms=True)})"
    if "level" in said.kinds:
        return _categories(said, rule)
    if _are_dates(said):
        return f"{_dates(said)} ({_remark(rule, unit=' days')})"
    return f"{_equality(said)} ({_remark(rule)})"


def off_by(rule: Rule, deviation: float) -> str:
    """How far a row is off, in the numbers of the sentence: ``0.5``, ``0.5 too high`` or ``a factor of 1.3``."""
    said = _said(rule)
    if said.kinds == {"level"}:
        return "another value"
    size = abs(deviation) * abs(rule.equation.unit)
    if said.kinds == {"log"}:
        text = f"{100 * size:.2g} %" if size < _SMALL_LOG else f"a factor of {_shortened(np.exp(min(size, 700.0)), 3)}"
    else:
        text = f"{size:,.0f}" if 1000 <= size < 1e7 else f"{size:.3g}"
        text += " days" if _are_dates(said) else ""
    if len(said.features) == 1:
        term = shown_terms(rule)[0]
        text += f" too {'high' if deviation * rule.coefficients[term] > 0 else 'low'}"
    return text


def has_spread(rule: Rule | Identity) -> bool:
    """Whether it makes sense to count a row's deviation in spreads: not of exact rules, or of categories alone."""
    return not isinstance(rule, Identity) and not rule.exact and _said(rule).kinds != {"level"}


def breach_of(rule: Rule | Identity, deviation: float) -> str:
    """The same as a clause: ``it is 0.5 too high``, ``its sides differ by 0.5``."""
    if isinstance(rule, Identity):
        categories = all(feature.kind == "level" for feature in rule.origins)
        return "it has another value" if categories else f"its sides differ by {rule.off_by(deviation)}"
    off = off_by(rule, deviation)
    said = _said(rule)
    if said.kinds == {"level"}:
        return f"it has {off}"
    return f"it is {off}" if len(said.features) == 1 else f"its sides differ by {off}"


def left_side_up(rule: Rule | Identity) -> bool:
    """Whether the left side of its sentence is the larger one where a row's deviation is positive."""
    return isinstance(rule, Identity) or _reads_forward(_said(rule).coefficients) == (rule.equation.unit > 0.0)


def shown_terms(rule: Rule | Identity) -> Ints:
    """Positions of the features that the sentence shows.

    Where all categories of a column stand together and the other terms are small beside them, these alone: the rule
    says that the column has one of them, and the rest is what other rules left in it.
    """
    if isinstance(rule, Identity):
        return np.arange(len(rule.columns))
    a = rule.equation.coefficients
    named = np.flatnonzero(a)
    for column in dict.fromkeys(feature.column for feature in rule.origins if feature.kind == "level"):
        terms = [int(k) for k in named if rule.origins[k].kind == "level" and rule.origins[k].column == column]
        if terms and len(terms) == len(rule.origins[terms[0]].levels) and _alike(a[terms]):
            rest = [int(k) for k in named if k not in terms]
            if float(np.abs(a[rest]) @ (USUAL * rule.deviations[rest])) <= _BESIDE * float(np.abs(a[terms]).min()):
                return np.array(terms, dtype=np.intp)
    return named


def _said(rule: Rule) -> _Sum:
    """The terms that the sentence shows."""
    named = shown_terms(rule)
    return _Sum(
        rule.equation.coefficients[named], tuple(rule.origins[int(k)] for k in named), float(rule.equation.intercept)
    )


def _remark(rule: Rule, *, logarithms: bool = False, unit: str = "") -> str:
    given = _as_given(rule)
    if rule.constant:
        return f"constant{given}"
    dense = given if rule.sparsest else f"; no shorter rule found{given}"
    if rule.exact:
        return f"exactly{dense}"
    spread = rule.spread * rule.equation.unit
    if not logarithms:
        return f"± {_shortened(spread, 2)}{unit}{dense}"
    small = spread < _SMALL_LOG
    return f"{f'± {_shortened(100 * spread, 2)} %' if small else f'within a factor of {np.exp(spread):.2g}'}{dense}"


def _as_given(rule: Rule) -> str:
    if rule.standing is None:
        return ""
    return "; given" if rule.standing.holds else f"; given as {for_terminal(rule.standing.text.strip())}"


# ---- sums


def _equality(said: _Sum) -> str:
    left, right, intercept = _sides(said)
    if not right:
        return f"{' + '.join(left)} = {number_text(intercept)}"
    text = f"{' + '.join(left)} = {' + '.join(right)}"
    return f"{text} {_signed(intercept)}" if intercept else text


def _sides(said: _Sum) -> tuple[list[str], list[str], float]:
    """Terms on the left and on the right, and what is added on the right."""
    a, intercept = said.coefficients, said.intercept
    if not _reads_forward(a):
        a, intercept = -a, -intercept
    left = [_term(value, feature) for value, feature in zip(a, said.features, strict=True) if value > 0]
    right = [_term(value, feature) for value, feature in zip(a, said.features, strict=True) if value < 0]
    return left, right, intercept


def _reads_forward(a: Floats) -> bool:
    """Whether positive terms belong on the left.

    What stands alone does; of two that do, the one without a factor, or else the first. Where neither side is alone,
    the one with the largest coefficient.
    """
    above, below = a[a > 0], a[a < 0]
    if above.size == 0 or below.size == 0:
        return above.size > 0
    if above.size == 1 and below.size == 1:
        bare = float(above[0]) == 1.0, float(below[0]) == -1.0
        return bare[0] if bare[0] != bare[1] else bool(a[0] > 0)
    if above.size == 1 or below.size == 1:
        return above.size == 1
    return float(above.max()) >= -float(below.min())


def _term(value: float, feature: Feature) -> str:
    size = abs(value)
    return feature.text if size == 1.0 else f"{number_text(size)} {feature.text}"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else '-'} {number_text(abs(value))}"


# ---- dates


def _are_dates(said: _Sum) -> bool:
    """Whether the rule is one date, or the time between two."""
    a = said.coefficients
    return said.kinds == {"date"} and bool((np.abs(a) == 1.0).all()) and (a.size == 1 or (a.size == 2 and a.sum() == 0))


def _dates(said: _Sum) -> str:
    names = [name_text(feature.column) for feature in said.features]
    if len(names) == 1:
        day = said.intercept * float(said.coefficients[0])
        return f"{names[0]} = {date_text(day) or number_text(day)}"
    # The later one first.
    order = [0, 1] if said.intercept * said.coefficients[0] >= 0 else [1, 0]
    apart = f" + {number_text(abs(said.intercept))} days" if said.intercept else ""
    return f"{names[order[0]]} = {names[order[1]]}{apart}"


# ---- products


def _product(said: _Sum, rule: Rule) -> str:
    """A sum of logarithms, without them."""
    a, sign = said.coefficients, 1.0
    if not _reads_forward(a):
        a, sign = -a, -1.0
    left, right = (
        [_power(abs(value), feature) for value, feature in zip(a, said.features, strict=True) if value * side > 0]
        for side in (1, -1)
    )
    factor = _factor(rule, sign)
    if not right:
        return f"{' * '.join(left)} = {factor}"
    return f"{' * '.join(left)} = {' * '.join(right if factor == '1' else [factor, *right])}"


def _power(exponent: float, feature: Feature) -> str:
    name = name_text(feature.column)
    return name if exponent == 1.0 else f"{name}^{number_text(exponent)}"


def _factor(rule: Rule, sign: float) -> str:
    """The constant of a product, as short as the rule's rounding allows."""
    a, equation = rule.equation.coefficients, rule.equation
    exact = sign * (equation.intercept if rule.given else float(a @ rule.means))
    # What the sum may be off by in all, less what its coefficients use up.
    reach = 2.0 * rule.deviations
    room = rule.rounding * equation.unit - float(np.abs(a - equation.unit * rule.coefficients) @ reach)
    # What was given is written as it was.
    room = 0.0 if rule.given else room
    room = max(room, 8.0 * np.finfo(np.float64).eps * float(np.abs(a) @ np.abs(rule.means)))
    value = float(np.exp(np.clip(exact, -700.0, 700.0)))
    for digits in range(1, 17):
        short = float(f"{value:.{digits}g}")
        if short > 0.0 and abs(np.log(short) - exact) <= room:
            return number_text(short)
    return number_text(value)


# ---- categories


def _categories(said: _Sum, rule: Rule) -> str:
    """A sum in which some terms are categories of a column."""
    whole = said
    # All categories of a column together say nothing but that it has one of them.
    for column in dict.fromkeys(feature.column for feature in said.features if feature.kind == "level"):
        terms = [k for k, f in enumerate(said.features) if f.kind == "level" and f.column == column]
        if len(terms) == len(said.features[terms[0]].levels) and _alike(said.coefficients[terms]):
            rest = [k for k in range(len(said.features)) if k not in terms]
            said = replace(said.only(rest), intercept=said.intercept - float(said.coefficients[terms[0]]))
    if not said.features:
        return " and ".join(_one_of(column, whole) for column in dict.fromkeys(f.column for f in whole.features))
    levels = [k for k, feature in enumerate(said.features) if feature.kind == "level"]
    others = [k for k, feature in enumerate(said.features) if feature.kind != "level"]
    columns = {said.features[k].column for k in levels}
    if not others and len(columns) == 1 and len(set(said.coefficients)) == 1:
        return _is_or_is_not(said, rule)
    if others and len(columns) == 1:
        return f"{_by_case(said.only(others), said.only(levels), rule)} ({_remark(rule)})"
    return f"{_equality(said)} ({_remark(rule)})"


def _alike(coefficients: Floats) -> bool:
    """Whether coefficients differ by a tenth at most: what other rules left in them."""
    return bool(np.ptp(coefficients) <= _BESIDE * np.abs(coefficients).max())


def _one_of(column: str, said: _Sum) -> str:
    levels = next(feature.levels for feature in said.features if feature.column == column)
    return f"{name_text(column)} is {_listed(levels)}"


def _is_or_is_not(said: _Sum, rule: Rule) -> str:
    """That a column has one of some categories, or none of them: whichever most rows do."""
    names = {feature.name for feature in said.features}
    share = float(sum(mean for name, mean in zip(rule.features, rule.means, strict=True) if name in names))
    column, levels = name_text(said.features[0].column), tuple(feature.level for feature in said.features)
    verb = "is" if share >= 0.5 else "is not"
    return f"{column} {verb} {_listed(levels)} (in {_most(min(share, 1 - share))} rows)"


def _most(rest: float) -> str:
    """The share of rows but for `rest`, with as many digits as it takes to tell it from all."""
    rest = float(f"{100 * rest:.2g}")
    return "all" if rest <= 0.0 else f"{number_text(_sum_of(100 - rest))} % of"


def _by_case(numbers: _Sum, levels: _Sum, rule: Rule) -> str:
    """A sum whose constant depends on the category."""
    left, right, _ = _sides(numbers)
    sign = 1.0 if _reads_forward(numbers.coefficients) else -1.0
    column, known = name_text(levels.features[0].column), levels.features[0].levels
    values = _cases(numbers, levels.features[0].column, rule)
    named = {feature.level for feature in levels.features}
    rest = [level for level in known if level not in named]
    cases: dict[float, list[str]] = {}
    for level in known:
        # One that is left over is named like the others.
        if level in named or len(rest) == 1:
            cases.setdefault(sign * values.get(level, numbers.intercept), []).append(level)
    said = [f"{number_text(value)} if {column} is {_listed(tuple(names))}" for value, names in cases.items()]
    if len(rest) > 1:
        said.append(f"{number_text(sign * numbers.intercept)} otherwise")
    constant = ", ".join(said)
    return f"{' + '.join(left)} = {' + '.join(right)} + ({constant})" if right else f"{' + '.join(left)} = {constant}"


def _cases(numbers: _Sum, column: str, rule: Rule) -> dict[str, float]:
    """What the numbers add up to in each category, as short as a quarter of the rule's spread allows."""
    unit, mean = rule.equation.unit, dict(zip(rule.features, rule.means.tolist(), strict=True))
    terms = {
        feature.level: (unit * float(value), mean[feature.name])
        for feature, value in zip(rule.origins, rule.coefficients, strict=True)
        if feature.kind == "level" and feature.column == column
    }
    usual = sum(a * mean[feature.name] for a, feature in zip(numbers.coefficients, numbers.features, strict=True))
    usual += sum(value * share for value, share in terms.values())
    room = 0.5 * rule.rounding * unit
    return {level: _within(float(usual) - value, room) for level, (value, _) in terms.items()}


def _within(value: float, room: float) -> float:
    """The shortest decimal at most so far away."""
    if abs(value) <= room:
        return 0.0
    return next(
        (short for digits in range(1, 17) if abs((short := float(f"{value:.{digits}g}")) - value) <= room), value
    )


def _listed(levels: tuple[str, ...]) -> str:
    shown = [level_text(level) for level in levels[:_MOST_LEVELS]]
    if len(levels) > _MOST_LEVELS:
        shown.append(f"{len(levels) - _MOST_LEVELS} others")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


# ---- numbers


def _sum_of(value: float) -> float:
    """A sum of short decimals, without the rounding that float64 adds."""
    return float(f"{value:.12g}")


def _shortened(value: float, digits: int) -> str:
    return number_text(float(f"{value:.{digits}g}"))


def counted(number: int, word: str) -> str:
    """As in ``1 row`` or ``1,200 anomalies``."""
    plural = f"{word.removesuffix('y')}ies" if word.endswith("y") else f"{word}s"
    return f"{number:,} {word if number == 1 else plural}"


def short_number(value: float, unit: float) -> str:
    """A number to two digits of `unit`."""
    if not (unit > 0.0 and np.isfinite(unit)):
        return number_text(value)
    return number_text(_to_two_digits(value, unit))


def short_float(value: float, beside: float) -> float:
    """A number with enough digits to tell it from another."""
    return _to_two_digits(value, abs(value - beside))


def _to_two_digits(value: float, unit: float) -> float:
    digits = 1 - int(np.floor(np.log10(unit)))
    return round(value, digits) + 0.0 if abs(digits) < 300 else value


def count_verdicts(n_errors: int, n_anomalies: int) -> str:
    """As in ``3 errors and 12 unusual rows``."""
    unusual = n_anomalies - n_errors
    parts = [f"{n_errors:,} error{'s' * (n_errors != 1)}"] if n_errors else ["No errors"]
    parts += [f"{unusual:,} unusual row{'s' * (unusual != 1)}"] if unusual else []
    return " and ".join(parts)
