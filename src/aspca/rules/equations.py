"""What an equation says, exactly: a polynomial that is zero where its condition holds, and the column it is solved for.

A product is a coefficient times bases ``function(sign * x)`` with exponents; a polynomial is a sum of products. What a
text may say beyond that, division by a sum, is kept as a ratio of two polynomials. Numbers are fractions: decimals mean
what they say, and nothing is rounded but logarithms, roots, and what has thousands of digits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from aspca.escaping import quoted
from aspca.identities.formula import Condition, Factor, Formula, Term

LARGEST, SMALLEST = 1e300, 1e-300
# Whole powers of sums, and how many products multiplying two sums may make.
_POWER, _PRODUCTS = 6, 1000
# Fractions longer than this are rounded.
_BITS = 10_000

_LOG_OF_SUM = (
    "log is of a column, a product, or a column + 1, as in log(a * b) or log(x + 1): give any other sum a column of "
    "its own"
)
_EXP_OF_MORE = (
    "exp is of one column, as in exp(x) or exp(-x): write exp(a + b) as exp(a) * exp(b), and exp(2 x) as exp(x)^2"
)
_POWER_OF_SUM = (
    f"of a sum only whole powers up to {_POWER} are allowed, and no roots: raise both sides to a power, or give the "
    "sum a column of its own"
)
_EVEN_POWER = "it is of an even power, which loses the sign: take the column itself, as in 2 log(x) for log(x^2)"
_NEGATIVE = "it is of a negative number; change the sign inside of it"
_NESTED = "functions may not be nested: give the inner one a column of its own"
_ZERO = "nothing can be divided by zero; leave that out"
SIZES = f"numbers lie between {SMALLEST:g} and {LARGEST:g} in size, or are 0; use another unit"
_TOO_LONG = f"multiplied out it would be more than {_PRODUCTS:,} products; give a sum a column of its own"


class RuleError(ValueError):
    """A rule that cannot be used, in one sentence; `column` is the name that it calls for in vain, if that is why."""

    def __init__(self, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


class NotAllowed(ValueError):
    """What no polynomial can say: why, and what to do."""


class Base(NamedTuple):
    """``function(sign * x)`` of a column."""

    column: int
    function: str = "x"
    sign: int = 1


# Bases with their exponents, none zero, in order.
Product = tuple[tuple[Base, Fraction], ...]
Polynomial = dict[Product, Fraction]
_ONE: Polynomial = {(): Fraction(1)}


def moderate(value: Fraction) -> bool:
    """Whether a number can be computed with."""
    return value == 0 or SMALLEST <= abs(value) <= LARGEST


@dataclass(frozen=True)
class Ratio:
    """A polynomial over another, which is 1 or a sum: one product below is negative exponents above."""

    above: Polynomial
    below: Polynomial = field(default_factory=lambda: _ONE)

    @classmethod
    def number(cls, value: Fraction) -> Ratio:
        return cls({(): value} if value else {})

    @classmethod
    def of(cls, base: Base, times: Fraction = Fraction(1)) -> Ratio:
        return cls({((base, Fraction(1)),): times})

    @classmethod
    def total(cls, parts: Iterable[tuple[int, Ratio]]) -> Ratio:
        """The sum of parts, each with its sign."""
        above, below = dict[Product, Fraction](), _ONE
        for sign, part in parts:
            added = part.above
            if part.below != below:
                added, above = _multiplied(part.above, below), _multiplied(above, part.below)
                below = _multiplied(below, part.below)
            for product, value in added.items():
                above[product] = _short(above.get(product, Fraction(0)) + sign * value)
                if not above[product]:
                    del above[product]
        return _ratio(above, below)

    @property
    def product(self) -> tuple[Product, Fraction] | None:
        """The product that it is, with its coefficient; None: it is a sum, or zero."""
        return next(iter(self.above.items())) if len(self.above) == 1 and self.below == _ONE else None

    def times(self, other: Ratio) -> Ratio:
        return _ratio(_multiplied(self.above, other.above), _multiplied(self.below, other.below))

    def over(self, other: Ratio) -> Ratio:
        if not other.above:
            raise NotAllowed(_ZERO)
        return _ratio(_multiplied(self.above, other.below), _multiplied(self.below, other.above))

    def power(self, exponent: Fraction) -> Ratio:
        if not self.above:
            if exponent < 0:
                raise NotAllowed(_ZERO)
            return self.number(Fraction(0 if exponent else 1))
        if self.product is not None:
            return _product_power(*self.product, exponent)
        if exponent.denominator != 1 or abs(exponent) > _POWER:
            raise NotAllowed(_POWER_OF_SUM)
        found = self.number(Fraction(1))
        for _ in range(abs(int(exponent))):
            found = found.times(self) if exponent > 0 else found.over(self)
        return found

    def log(self) -> Ratio:
        """Of a product the sum of logarithms; of x + 1 what float64 computes more exactly."""
        if not self.above:
            raise NotAllowed(_NEGATIVE)
        if self.product is None:
            return self._log_of_one_more()
        bases, value = self.product
        if value < 0:
            bases, value = _turned(bases), -value
        parts = [(1, _log_of_number(value))]
        for base, exponent in bases:
            if base.function == "exp":
                inner, times = Base(base.column), exponent * base.sign
            elif base.function == "x" and exponent % 2 == 0:
                raise NotAllowed(_EVEN_POWER)
            elif base.function == "x":
                inner, times = base._replace(function="log"), exponent
            else:
                raise NotAllowed(_NESTED)
            parts.append((1, self.of(inner, times)))
        return self.total(parts)

    def _log_of_one_more(self) -> Ratio:
        """Of c + c x: log(c) + log(1 + x)."""
        constant = self.above.get((), Fraction(0))
        others = [product for product in self.above if product]
        if self.below != _ONE or constant <= 0 or len(others) != 1 or abs(self.above[others[0]]) != constant:
            raise NotAllowed(_LOG_OF_SUM)
        (base, exponent), *more = others[0]
        if more or base != Base(base.column) or exponent != 1:
            raise NotAllowed(_LOG_OF_SUM)
        sign = 1 if self.above[others[0]] > 0 else -1
        return self.total([(1, self.of(Base(base.column, "log1p", sign))), (1, _log_of_number(constant))])

    def exp(self) -> Ratio:
        if self.product is None:
            if self.above:
                raise NotAllowed(_EXP_OF_MORE)
            return self.number(Fraction(1))
        bases, value = self.product
        if not bases:
            return self.number(_of_float(math.exp(value) if abs(value) < 700 else math.inf))
        (base, exponent), *more = bases
        if more or abs(value) != 1 or base != Base(base.column) or exponent != 1:
            raise NotAllowed(_EXP_OF_MORE)
        return self.of(Base(base.column, "exp", int(value)))


def without_divisors(polynomial: Polynomial) -> Polynomial:
    """The same polynomial times what makes all exponents positive: where it is zero does not change."""
    least: dict[Base, Fraction] = {}
    for product in polynomial:
        for base, exponent in product:
            least[base] = min(least.get(base, Fraction(0)), exponent)
    lifted = tuple(sorted((base, -exponent) for base, exponent in least.items() if exponent < 0))
    return _multiplied(polynomial, {lifted: Fraction(1)})


def _ratio(above: Polynomial, below: Polynomial) -> Ratio:
    if len(below) > 1:
        return Ratio(above, below)
    ((bases, value),) = below.items()
    upside_down = tuple((base, -exponent) for base, exponent in bases)
    return Ratio(above if below == _ONE else _multiplied(above, {upside_down: 1 / value}))


def _multiplied(one: Polynomial, other: Polynomial) -> Polynomial:
    if other == _ONE:
        return dict(one)
    if min(len(one), len(other)) > 1 and len(one) * len(other) > _PRODUCTS:
        raise NotAllowed(_TOO_LONG)
    found: Polynomial = {}
    for first, a in one.items():
        for second, b in other.items():
            product, sign = first or second, 1
            if first and second:
                exponents = dict(first)
                for base, exponent in second:
                    exponents[base] = exponents.get(base, Fraction(0)) + exponent
                product, sign = _in_order(exponents)
            found[product] = _short(found.get(product, Fraction(0)) + sign * a * b)
    return {product: value for product, value in found.items() if value}


def _in_order(exponents: dict[Base, Fraction]) -> tuple[Product, int]:
    """Bases in order, whole powers of -x as powers of x, and the sign that this takes."""
    sign, found = 1, dict[Base, Fraction]()
    for base, exponent in exponents.items():
        if base.function == "x" and base.sign < 0 and exponent.denominator == 1:
            sign *= -1 if exponent % 2 else 1
            base = Base(base.column)
        found[base] = found.get(base, Fraction(0)) + exponent
    return tuple(sorted((base, exponent) for base, exponent in found.items() if exponent)), sign


def _product_power(bases: Product, value: Fraction, exponent: Fraction) -> Ratio:
    whole = exponent.denominator == 1
    if not whole and value < 0:
        bases, value = _turned(bases), -value
    if not whole and any(base.function == "x" and power % 2 == 0 for base, power in bases):
        raise NotAllowed(_EVEN_POWER)
    product, sign = _in_order({base: power * exponent for base, power in bases})
    return Ratio({product: sign * _number_power(value, exponent)})


def _turned(bases: Product) -> Product:
    """Bases of the opposite sign: of one column, that of the column."""
    if len(bases) == 1:
        base, exponent = bases[0]
        if base.function == "x" and exponent % 2 == 1:
            return ((base._replace(sign=-base.sign), exponent),)
    raise NotAllowed(_NEGATIVE)


def _number_power(value: Fraction, exponent: Fraction) -> Fraction:
    if value == 1:
        return value
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    if exponent.denominator == 1 and abs(exponent) * bits <= _BITS:
        return value ** int(exponent)
    try:
        return _of_float(float(value) ** float(exponent))
    except (OverflowError, ZeroDivisionError):
        raise NotAllowed(SIZES) from None


def _log_of_number(value: Fraction) -> Ratio:
    if not moderate(value):
        raise NotAllowed(SIZES)
    return Ratio.number(Fraction(math.log(value)))


def _of_float(value: float) -> Fraction:
    if not SMALLEST <= abs(value) <= LARGEST:
        raise NotAllowed(SIZES)
    return Fraction(value)


def _short(value: Fraction) -> Fraction:
    """The number, rounded where computing on with it would take long."""
    if value.numerator.bit_length() + value.denominator.bit_length() <= _BITS:
        return value
    if not moderate(value):
        raise NotAllowed(SIZES)
    return Fraction(float(value))


# ---- equations


@dataclass(frozen=True, eq=False)
class Equation:
    """polynomial = 0, where the condition holds."""

    text: str
    polynomial: Polynomial  # No coefficient is zero, and it is not constant.
    sides: tuple[Product, ...] = ()  # Those sides that are one product, the left one first.
    condition: Condition | None = None

    @cached_property
    def linear(self) -> tuple[dict[int, Fraction], Fraction] | None:
        """As terms . features = constant; None: it is no such sum, or holds only under a condition."""
        terms = {}
        for product, value in self.polynomial.items():
            if product and product != ((Base(product[0][0].column), Fraction(1)),):
                return None
            if product:
                terms[product[0][0].column] = value
        return None if self.condition is not None else (terms, -self.polynomial.get((), Fraction(0)))

    @cached_property
    def key(self) -> object:
        """The same for equations that say the same in other words: moved, multiplied by a number, or by a divisor."""
        terms = without_divisors(self.polynomial)
        scale = terms[max(terms)]
        shares = {product: value / scale for product, value in terms.items()}
        # As far as the rounding of roots and logarithms leaves them.
        digits = ((product, f"{float(a):.12g}" if moderate(a) else str(a)) for product, a in shares.items())
        return frozenset(digits), self.condition

    @cached_property
    def formula(self) -> Formula:
        """Solved for the side that is a factor alone, else for a term that is, else for a product.

        RuleError: its numbers are too far apart.
        """
        left = self._left()
        scale = -self.polynomial[left]
        rest = {product: value / scale for product, value in self.polynomial.items() if product != left}
        if not all(map(moderate, rest.values())):
            raise RuleError(f"The rule {quoted(self.text, 80)} has numbers too far apart; use other units.")
        terms = tuple(Term(float(value), _factors(product)) for product, value in rest.items() if product)
        return Formula(Term(1.0, _factors(left)), terms, float(rest.get((), 0)), self.condition).sorted()

    def _left(self) -> Product:
        for side in self.sides:
            if len(side) == 1 and abs(self.polynomial.get(side, 0)) == 1:
                return side
        products = [product for product in self.polynomial if product]
        columns = Counter(base.column for product in products for base, _ in product)
        alone = [product for product in products if len(product) == 1]
        if not alone:
            return next((side for side in self.sides if side in self.polynomial), min(products))

        # A column that is there once can be solved for.
        def order(product: Product) -> tuple[bool, float, Product]:
            return columns[product[0][0].column] > 1, abs(abs(float(self.polynomial[product])) - 1.0), product

        return min(alone, key=order)


def _factors(product: Product) -> tuple[Factor, ...]:
    return tuple(Factor(base.column, base.function, float(power), float(base.sign)) for base, power in product)
