"""Identities of a table: exact relations, how many rows satisfy each, and how sure a violation is an error.

Their equations are written in the grammar that `rules.equation_text` reads back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from aspca.escaping import level_text, name_text
from aspca.identities.accept import ACCUSES
from aspca.identities.formula import DIGITS, FLOATS, Factor, Formula, Term, as_product, convert_units
from aspca.identities.resolution import Cells, Resolution
from aspca.linalg.arrays import Bools, Floats, Ints, round_for_ranking
from aspca.preparation.feature import Feature

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


# A rule that the user gave holds if more than this share of the rows satisfies it.
HOLDS = 0.5


@dataclass(frozen=True, eq=False)
class Identity:
    """An exact relation between columns."""

    formula: Formula  # Of columns by their positions among the features.
    table: tuple[Feature, ...]  # What all columns are.
    resolutions: tuple[Resolution, ...]  # Of all columns: in what they are written.
    tier: int  # To what it is satisfied: the noise of floats, rounding of fractions, six digits, of whole numbers.
    n_kept: int  # Rows that satisfy it, ...
    n_broken: int  # ... and that violate it.
    exceptions: str = ""  # Why rows that violate it look like another kind of rows; empty: they look like errors.
    written: str | None = None  # As the user gave it; None where it was found.
    strict: bool = True  # Whether rows that are off by less than six printed digits violate it.

    # What it has in common with relations.
    kind: ClassVar[str] = "identity"
    exact: ClassVar[bool] = True
    spread: ClassVar[float] = 0.0
    limit: ClassVar[float | None] = None
    widening: ClassVar[float | None] = None
    sparsest: ClassVar[bool] = True
    looks_like_chance: ClassVar[bool] = False
    certificate: ClassVar[tuple[()]] = ()
    standing: ClassVar[None] = None
    has_spread: ClassVar[bool] = False
    left_side_up: ClassVar[bool] = True

    @property
    def given(self) -> bool:
        """Whether the user gave it, and it was not found."""
        return self.written is not None

    @property
    def origins(self) -> tuple[Feature, ...]:
        """The features it relates."""
        return tuple(self.table[j] for j in self.columns)

    @property
    def features(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(feature.name for feature in self.origins)

    def off_by(self, residual: float) -> str:
        """How far its sides differ, in words."""
        size = abs(residual)
        if not np.isfinite(size):
            return "more than any number"
        text = f"{size:,.0f}" if 1000 <= size < 1e7 else f"{size:.3g}"
        return f"{text} days" if all(feature.kind == "date" for feature in self.origins) else text

    def breach(self, residual: float) -> str:
        """The same as a clause."""
        categories = all(feature.kind == "level" for feature in self.origins)
        return "it has another value" if categories else f"its sides differ by {self.off_by(residual)}"

    @property
    def shown_terms(self) -> Ints:
        """Positions of the features that the sentence shows: all of them."""
        return np.arange(len(self.columns))

    @property
    def columns(self) -> tuple[int, ...]:
        """Positions of its columns, the determined one first."""
        return self.formula.columns

    @property
    def share(self) -> float:
        """Of the rows in which it can be evaluated, the share that satisfies it."""
        return self.n_kept / max(1, self.n_kept + self.n_broken)

    @property
    def accuses(self) -> bool:
        """Whether violating it is evidence of an error."""
        if self.given:
            return self.share > HOLDS
        return not self.exceptions and self.share >= ACCUSES

    @cached_property
    def equation(self) -> str:
        """As in ``lwage = log(wage)``, with its condition if it has one."""
        formula, condition = self.formula, self._condition_text()
        kinds = {(feature.kind, feature.column) for feature in self.origins}
        ones = formula.is_sum and formula.constant == 1.0 and all(term.coefficient == -1.0 for term in formula.terms)
        if ones and not condition and len(kinds) == 1 and len(self.columns) == len(self.origins[0].levels):
            # One of its categories.
            levels = [level_text(level) for level in self.origins[0].levels]
            return f"{name_text(self.origins[0].column)} is {', '.join(levels[:-1])} or {levels[-1]}"
        if all(feature.kind == "log" for feature in self.origins) and (product := as_product(formula)) is not None:
            return write_formula(product, [name_text(one.column) for one in self.table]) + condition
        dates = [j for j, feature in enumerate(self.table) if feature.kind == "date"]
        names = [name_text(one.column) if one.kind == "date" else one.text for one in self.table]
        return write_formula(formula, names, dates) + condition

    def _condition_text(self) -> str:
        condition = self.formula.condition
        if condition is None:
            return ""
        feature = self.table[condition.column]
        negated, value = condition.negated, level_text(write_number(condition.value))
        if feature.kind == "code":
            value = level_text(str(feature.original(condition.value)))
        if feature.kind == "level":
            negated, value = negated != (condition.value == 0.0), level_text(feature.level)
        return f" if {name_text(feature.column)} is {'not ' if negated else ''}{value}"

    @property
    def remark(self) -> str:
        """How many rows satisfy it, and how exactly."""
        how = "exactly" if self.tier == FLOATS else "to rounding"
        given = "; given" if self.given else ""
        return f"{how}, {write_share(self.n_kept, self.n_broken)}{given}"

    @property
    def text(self) -> str:
        """As in ``lwage = log(wage) (exactly, all rows)``."""
        return f"{self.equation} ({self.remark})"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Identity({self.text})"

    def change_units(self, slopes: Floats, offsets: Floats, table: tuple[Feature, ...], values: Floats) -> Identity:
        """The same of columns (n, p) of which its own are ``slopes * t + offsets``."""
        formula = convert_units(self.formula, slopes, offsets)
        if formula is None:
            return replace(self, table=table)
        return replace(self, formula=formula, table=table, resolutions=tuple(map(Resolution.of, values.T)))

    # ---- rows

    def residual(self, X: Floats) -> Floats:
        """Left less right side (n,) of rows (n, p); NaN where it cannot be evaluated."""
        return self.formula.residual(X)

    def tolerance(self, X: Floats) -> Floats:
        """What rounding allows of the residuals (n,): beyond it a row violates the identity."""
        tolerances = self.formula.tolerances(Cells.of(X, self.resolutions, self.columns))
        allowed = tolerances[self.tier]
        # A little above it: no violation is in doubt by rounding.
        return (allowed if self.strict else np.maximum(allowed, tolerances[DIGITS])) * (1.0 + 1e-9)

    def multiples(self, X: Floats) -> Floats:
        """Residuals in multiples of the tolerance (n,): beyond one violates; NaN where a value is missing, zero where
        it says nothing: its condition does not hold, or it would divide zero by zero."""
        residual, allowed = self.residual(X), self.formula.noise(X)
        with np.errstate(all="ignore"):
            # Most rows satisfy it to the last digits, and need not be asked how they are rounded.
            others = np.flatnonzero(~(np.abs(residual) <= allowed))
            allowed[others] = self.tolerance(X[others])
            found = np.clip(residual / np.maximum(allowed, 1e-300), -1e150, 1e150)
        silent = np.isnan(residual) & ~np.isnan(X[:, list(self.columns)]).any(axis=1)
        return np.where(silent, 0.0, found)

    def p_values(self, multiples: Floats) -> Floats:
        """How often rows violate it as much (n,), by the share of rows that do at all: 1 where it is satisfied."""
        some = max(self.n_broken, 1) / max(self.n_kept + self.n_broken, 1)
        sizes = np.abs(np.nan_to_num(multiples, nan=0.0))
        return np.where(sizes > 1.0, np.minimum(some / (1.0 + sizes), 1.0), 1.0)

    def solve(self, X: Floats, column: int) -> Floats:
        """The value of a column (n,), as the column would write it, for which rows satisfy it; NaN: there is none."""
        exact = self.formula.solve(X, column)
        return np.array([self.resolutions[column].rounded(value) for value in exact.tolist()])


def write_share(n_kept: int, n_broken: int) -> str:
    """How many rows are kept, with as many digits as tell it from all."""
    if not n_broken:
        return "all rows"
    rest = float(f"{100.0 * n_broken / max(1, n_kept + n_broken):.2g}")
    return f"{write_number(float(f'{100.0 - rest:.12g}'))} % of the rows"


@dataclass(frozen=True, eq=False)
class Identities:
    """The identities of a table, none implied by those before it."""

    identities: tuple[Identity, ...] = ()
    # Of each column (p, q), ascending, by which cells are plausible or not; None where a private file left them out.
    quantiles: Floats | None = None
    n_sample: int = 0  # Rows in which they were searched for; all were counted.
    unsearched: tuple[str, ...] = ()  # What was not searched for, in sentences.
    determined: tuple[
        int, ...
    ] = ()  # A column for each that the others determine; it says nothing new. Each is there once.

    def __len__(self) -> int:
        return len(self.identities)

    def __iter__(self) -> Iterator[Identity]:
        return iter(self.identities)

    @cached_property
    def accusing(self) -> Bools:
        """Which of them are evidence of errors where they are violated (k,)."""
        return np.array([identity.accuses for identity in self.identities], dtype=np.bool_)

    def multiples(self, X: Floats) -> Floats:
        """Residuals in multiples of the tolerances (n, k), NaN where they cannot be evaluated."""
        found = np.empty((len(X), len(self)))
        for k, identity in enumerate(self.identities):
            found[:, k] = identity.multiples(X)
        return found

    def confirm(self, multiples: Floats, p: int) -> Bools:
        """Which of p columns are part of an identity that a row satisfies (n, p), by its multiples (n, k).

        A cell that is wrong by itself would violate it, if the identity is evidence of errors at all. What is made of
        one cell alone, a copy or its logarithm, does not confirm it.
        """
        used = np.zeros((len(self), p))
        for k, identity in enumerate(self.identities):
            used[k, list(identity.columns)] = identity.accuses and len(identity.columns) > 2
        with np.errstate(invalid="ignore"):
            return np.asarray((np.abs(multiples) <= 1.0).astype(np.float64) @ used > 0.0)


def choose_determined(identities: Sequence[Identity], spreads: Floats) -> tuple[int, ...]:
    """A column for each identity that the others determine, each there once.

    Of a sum the column with the largest part in it, in any unit and sign, by the spreads of the columns (p,); else
    the one that the sentence begins with.
    """
    found: list[int] = []
    for identity in identities:
        formula, columns = identity.formula, [j for j in identity.columns if j not in found]
        if formula.is_sum:
            sizes = {term.factors[0].column: abs(term.coefficient) for term in formula.all_terms}
            parts = {j: size * spreads[j] for j, size in sizes.items()}
            columns.sort(key=lambda j: -float(round_for_ranking(np.array([parts[j]]))[0]))
        if columns:
            found.append(columns[0])
    return tuple(found)


NO_IDENTITIES = Identities()
