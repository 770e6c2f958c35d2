"""Equations as text, in the grammar that `rules.equation_text` reads back."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aspca.identities.formula import Factor, Formula, Term

# Coefficients of more digits are written as divisors of at most this, if they are.
_LONG, _LARGEST_DIVISOR = 8, 1000


def write_number(value: float) -> str:
    """The shortest decimal that is this float64, without an exponent where it is neither huge nor tiny."""
    if value == 0.0:
        return "0"
    # Between 1e-4 and 1e16 Python writes no exponent, but a point after whole numbers.
    text = repr(float(value))
    return text.removesuffix(".0") if 1e-4 <= abs(value) < 1e16 else text


def write_formula(formula: Formula, names: Sequence[str], dates: Collection[int] = ()) -> str:
    """As in ``tenursq = tenure^2``, ``prate = 100 totpart / totelg`` or ``due = sent + 30 days``.

    `names` are as they stand in sentences; `dates` are the columns that hold days.
    """
    if len(formula.terms) > 1 and formula.constant > 0.0 and all(term.coefficient < 0.0 for term in formula.terms):
        # Shares and categories that add up.
        terms = sorted(formula.all_terms, key=lambda term: term.factors)
        left = " + ".join(_term_text(term, names) for term in terms)
        return f"{left} = {write_number(formula.constant)}"
    parts = [
        f"{'-' if term.coefficient < 0.0 else '+'} {_term_text(term, names)}"
        for term in sorted(formula.terms, key=lambda term: term.coefficient < 0.0)
    ]
    if formula.constant or not parts:
        # The time between two dates.
        days = " days" if formula.terms and all(column in dates for column in formula.columns) else ""
        parts.append(f"{'-' if formula.constant < 0.0 else '+'} {write_number(abs(formula.constant))}{days}")
    right = " ".join(parts)
    right = right.removeprefix("+ ") if right.startswith("+") else f"-{right[2:]}"
    return f"{_term_text(formula.left, names)} = {right}"


def _term_text(term: Term, names: Sequence[str]) -> str:
    """A term without its sign."""
    above = [_factor_text(factor, names) for factor in term.factors if factor.exponent > 0.0]
    below = [_factor_text(factor, names, below=True) for factor in term.factors if factor.exponent < 0.0]
    size = abs(term.coefficient)
    divisor = round(1.0 / size) if size > 0.5 / _LARGEST_DIVISOR else 0
    if above and 2 < divisor <= _LARGEST_DIVISOR and size == 1.0 / divisor and len(repr(size)) > _LONG:
        below, size = [*below, str(divisor)], 1.0
    number = [] if size == 1.0 and above else [write_number(size)]
    # One column follows its number as it does in a sum.
    product = " ".join([*number, *above]) if len(above) == 1 else " * ".join([*number, *above])
    return "".join([product, *(f" / {text}" for text in below)])


def _factor_text(factor: Factor, names: Sequence[str], *, below: bool = False) -> str:
    exponent = -factor.exponent if below else factor.exponent
    name = names[factor.column]
    inner = name if factor.sign > 0.0 else f"-{name}"
    if factor.function == "x":
        if exponent == 0.5:
            return f"sqrt({inner})"
        base = name if factor.sign > 0.0 else f"({inner})"
    elif factor.function == "log1p":
        base = f"log({inner} + 1)"
    else:
        base = f"{factor.function}({inner})"
    return base if exponent == 1.0 else f"{base}^{write_number(exponent)}"
