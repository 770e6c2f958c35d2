"""What an equation says: a polynomial that is zero where its condition holds, and which column it is solved for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from aspca.escaping import quoted
from aspca.identities.formula import Condition, Factor, Formula, Term
from aspca.rules.equation_words import RuleError
from aspca.rules.polynomial import Base, Polynomial, Product, moderate, without_below


@dataclass(frozen=True, eq=False)
class Linear:
    """terms . features = constant; no coefficient is zero."""

    terms: dict[int, Fraction]
    constant: Fraction


@dataclass(frozen=True, eq=False)
class Equation:
    """polynomial = 0, where the condition holds.

    Attributes
    ----------
    text : str
    polynomial : dict of Product to Fraction
        No coefficient is zero, and it is not constant.
    sides : tuple of Product
        Those sides that are one product, the left one first.
    condition : Condition or None
    """

    text: str
    polynomial: Polynomial
    sides: tuple[Product, ...] = ()
    condition: Condition | None = None

    @classmethod
    def of(
        cls, text: str, polynomial: Polynomial, sides: tuple[Product, ...] = (), condition: Condition | None = None
    ) -> Equation:
        """The equation, without divisors where it could not be solved for a factor otherwise: a / b = 2 is a = 2 b."""
        if not any(len(product) == 1 for product in polynomial):
            polynomial = without_below(polynomial)
        return cls(text, polynomial, sides, condition)

    @cached_property
    def linear(self) -> Linear | None:
        """The same as a sum of features; None: it is none, or holds only under a condition."""
        terms = {}
        for product, value in self.polynomial.items():
            if product and product != ((Base(product[0][0].column), Fraction(1)),):
                return None
            if product:
                terms[product[0][0].column] = value
        return None if self.condition is not None else Linear(terms, -self.polynomial.get((), Fraction(0)))

    @cached_property
    def key(self) -> object:
        """The same for equations that say the same in other words: moved, multiplied by a number, or by a divisor."""
        terms = without_below(self.polynomial)
        scale = terms[max(terms)]
        return frozenset((product, _digits(value / scale)) for product, value in terms.items()), self.condition

    @cached_property
    def formula(self) -> Formula:
        """Solved for the side that is a factor alone, else for a term that is, else for a product.

        Raises
        ------
        RuleError
            Its numbers are too far apart.
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


def _digits(value: Fraction) -> str:
    """A number as far as the rounding of roots and logarithms leaves it."""
    return f"{float(value):.12g}" if moderate(value) else str(value)


def _factors(product: Product) -> tuple[Factor, ...]:
    return tuple(Factor(base.column, base.function, float(power), float(base.sign)) for base, power in product)
