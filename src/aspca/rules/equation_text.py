"""Equations as people write them, and as rules are printed, read into numbers.

``total = a + b``, ``2 a - b = 5``, ``prate = 100 totpart / totelg``, ``lwage = log(wage)``, ``area = 3.14 r^2``,
``price = 2 weight if kind is bolt``. Both sides are multiplied out into sums of products, see `equations`; where a
side is divided by a sum, ``pct = 100 a / (a + b)``, both are multiplied by it: ``pct * a + pct * b = 100 a``. Where
columns are taken as logarithms, products alone: ``cost = 1.2 * price * amount``. Nothing is evaluated but this grammar:

    rule = sum "=" sum [condition];  sum = product {("+" | "-") product};  product = factor {["*" | "/"] factor}
    factor = ("-" | "+") factor | (number | column | [function] "(" sum ")") ["^" exponent]
    exponent = ["-"] number | "(" ["-"] number ["/" number] ")";  function = "log" | "sqrt" | "exp"
    condition = "if" column "is" ["not"] level
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log

from aspca.escaping import quoted
from aspca.preparation.feature import Feature
from aspca.rules.equation_words import ALLOWED, Token, Words
from aspca.rules.equations import (
    LARGEST,
    SIZES,
    SMALLEST,
    Base,
    Equation,
    NotAllowed,
    Polynomial,
    Ratio,
    RuleError,
    moderate,
    without_divisors,
)

_DEEPEST, _LARGEST_EXPONENT = 40, 100
_MULTIPLIED = 'columns that are prepared as "log" are multiplied, not added.'
_ONE = Ratio.number(Fraction(1))
_FUNCTIONS: dict[str, Callable[[Ratio], Ratio]] = {
    "log": Ratio.log,
    "log1p": lambda value: Ratio.total([(1, value), (1, _ONE)]).log(),
    "sqrt": lambda value: value.power(Fraction(1, 2)),
    "exp": Ratio.exp,
}


def parse_equation(text: str, features: Sequence[Feature]) -> Equation:
    """The equation that a text means, over these features; RuleError: what cannot be read, where, what is allowed."""
    return _Reader(text, features).equation()


class _Reader(Words):
    def __init__(self, text: str, features: Sequence[Feature]) -> None:
        super().__init__(text, features)
        self.position = self.depth = 0

    @property
    def now(self) -> Token:
        return self.tokens[self.position]

    def takes(self, *signs: str) -> str | None:
        if self.now.kind == "sign" and self.now.text in signs:
            self.position += 1
            return self.tokens[self.position - 1].text
        return None

    def expects(self, sign: str) -> None:
        if self.takes(sign) is None:
            raise self.error(self.now, f"a{'n' if sign == '=' else ''} {sign} was expected")

    def allowed(self, token: Token, compute: Callable[[], Ratio]) -> Ratio:
        """What is computed; a sentence with its place where that cannot be said."""
        try:
            return compute()
        except NotAllowed as why:
            raise self.refused(token, f"{why}.") from None

    # ---- grammar

    def equation(self) -> Equation:
        left = self.sum()
        self.expects("=")
        token = self.tokens[self.position - 1]
        right = self.sum()
        if self.now.kind != "end":
            raise self.error(self.now, "the rule should be over here")
        polynomial = self.allowed(token, lambda: self.difference(left, right)).above
        self.refuse_unusable(polynomial)
        sides = tuple(side.product[0] for side in (left, right) if side.product is not None)
        if all(len(product) != 1 for product in polynomial):
            # It could not be solved for a factor otherwise: a / b = 2 is a = 2 b.
            polynomial = without_divisors(polynomial)
        return Equation(self.text, polynomial, sides, self.condition)

    def difference(self, left: Ratio, right: Ratio) -> Ratio:
        if self.products:
            left, right = _of_logarithms(left), _of_logarithms(right)
        return Ratio.total([(1, left), (-1, right)])

    def refuse_unusable(self, polynomial: Polynomial) -> None:
        why = ""
        if not any(polynomial):
            named = any(token.kind == "name" for token in self.tokens)
            why = "says nothing of rows, since its columns cancel" if named else "names no column"
        elif not all(moderate(a * a if product else a) for product, a in polynomial.items()):
            why = f"has coefficients beyond {LARGEST**0.5:g} or below {SMALLEST**0.5:g}"
        elif max(abs(exponent) for product in polynomial for _, exponent in product) > _LARGEST_EXPONENT:
            why = f"has exponents beyond {_LARGEST_EXPONENT}"
        if why:
            raise RuleError(f"The rule {quoted(self.text, 80)} {why}; {ALLOWED}.")

    def deeper(self, what: str) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(self.now, f"{what} may be at most {_DEEPEST} deep")

    def sum(self) -> Ratio:
        self.deeper("brackets")
        first = self.now
        parts = [(1, self.product())]
        while (sign := self.takes("+", "-")) is not None:
            if self.products:
                raise self.refused(self.tokens[self.position - 1], _MULTIPLIED)
            parts.append((1 if sign == "+" else -1, self.product()))
        self.depth -= 1
        return parts[0][1] if len(parts) == 1 else self.allowed(first, lambda: Ratio.total(parts))

    def product(self) -> Ratio:
        value = self.factor()
        while True:
            token = self.now
            sign = self.takes("*", "/")
            if sign is None and token.kind not in ("number", "name", "function") and token.text != "(":
                return value
            value = self.multiplied(value, self.factor(), sign == "/", token)

    def multiplied(self, one: Ratio, other: Ratio, divided: bool, token: Token) -> Ratio:
        return self.allowed(token, lambda: one.over(other) if divided else one.times(other))

    def factor(self) -> Ratio:
        token = self.now
        sign = self.takes("-", "+")
        if sign is None:
            return self.power(self.atom())
        if self.products:
            raise self.refused(token, _MULTIPLIED)
        self.deeper("signs")
        value = self.factor()
        self.depth -= 1
        return value if sign == "+" else Ratio.total([(-1, value)])

    def atom(self) -> Ratio:
        token = self.now
        if token.kind not in ("function", "number", "date", "name") and token.text != "(":
            raise self.error(token, "a column or a number was expected")
        self.position += 1
        if token.kind == "name":
            return Ratio.of(Base(token.feature))
        if token.kind in ("number", "date"):
            value = self.number(token)
            if self.products and value == 0:
                raise self.refused(token, 'a product of columns that are prepared as "log" is never 0.')
            return Ratio.number(value)
        if token.kind == "function":
            self.expects("(")
        inner = self.sum()
        self.expects(")")
        if token.kind != "function":
            return inner
        if self.products and token.text != "sqrt":
            raise self.refused(token, _MULTIPLIED)
        return self.allowed(token, lambda: _FUNCTIONS[token.text](inner))

    def power(self, value: Ratio) -> Ratio:
        token = self.now
        if self.takes("^") is None:
            return value
        if self.takes("(") is None:
            exponent = self.exponent()
        else:
            exponent, divided = self.exponent(), self.now
            if self.takes("/") is not None:
                divisor = self.exponent()
                if divisor == 0:
                    raise self.error(divided, "nothing can be divided by zero")
                exponent /= divisor
            self.expects(")")
        if self.now.kind == "sign" and self.now.text == "^":
            raise self.error(self.now, "a power of a power needs brackets")
        return self.allowed(token, lambda: value.power(exponent))

    def exponent(self) -> Fraction:
        times = -1 if self.takes("-") is not None else 1
        if self.now.kind != "number":
            raise self.error(self.now, "a number was expected")
        self.position += 1
        return times * self.number(self.tokens[self.position - 1])


def _of_logarithms(side: Ratio) -> Ratio:
    """A product of columns as the sum of their logarithms, which are the features."""
    product, value = side.product or ((), Fraction(1))
    if not moderate(value):
        raise NotAllowed(SIZES)
    terms = [(1, Ratio.of(base, exponent)) for base, exponent in product]
    return Ratio.total([*terms, (1, Ratio.number(Fraction(log(value))))])
