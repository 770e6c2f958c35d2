"""Equations as people write them, and as rules are printed, read into numbers.

``total = a + b``, ``2 a - b = 5``, ``prate = 100 totpart / totelg``, ``lwage = log(wage)``, ``area = 3.14 r^2``,
``price = 2 weight if kind is bolt``. Both sides are multiplied out into sums of products, see `polynomial`; where a
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
from aspca.rules.equation import Equation
from aspca.rules.equation_words import ALLOWED, LONGEST, NO_COLUMN, RuleError, Token, Words
from aspca.rules.polynomial import LARGEST, SIZES, SMALLEST, NotAllowed, Polynomial, Ratio, moderate

__all__ = ["LONGEST", "NO_COLUMN", "RuleError", "equation_of"]

_DEEPEST, _LARGEST_EXPONENT = 40, 100
_MULTIPLIED = 'columns that are prepared as "log" are multiplied, not added.'
_ONE = Ratio.number(Fraction(1))
_FUNCTIONS: dict[str, Callable[[Ratio], Ratio]] = {
    "log": Ratio.log,
    "log1p": lambda value: Ratio.total([(1, value), (1, _ONE)]).log(),
    "sqrt": lambda value: value.power(Fraction(1, 2)),
    "exp": Ratio.exp,
}


def equation_of(text: str, features: Sequence[Feature]) -> Equation:
    """The equation that a text means, over these features.

    Raises
    ------
    RuleError
        What cannot be read, where, and what is allowed.
    """
    return _Reader(text, features).equation()


class _Reader:
    def __init__(self, text: str, features: Sequence[Feature]) -> None:
        self.words = Words(text, features)
        self.text, self.tokens, self.products = text, self.words.tokens, self.words.products
        self.position = self.depth = 0

    @property
    def _now(self) -> Token:
        return self.tokens[self.position]

    def _takes(self, *signs: str) -> str | None:
        if self._now.kind == "sign" and self._now.text in signs:
            self.position += 1
            return self.tokens[self.position - 1].text
        return None

    def _expects(self, sign: str) -> None:
        if self._takes(sign) is None:
            raise self.words.error(self._now, f"a{'n' if sign == '=' else ''} {sign} was expected")

    def _allowed(self, token: Token, compute: Callable[[], Ratio]) -> Ratio:
        """What is computed; a sentence with its place where that cannot be said."""
        try:
            return compute()
        except NotAllowed as why:
            raise self.words.refused(token, f"{why}.") from None

    # ---- the whole

    def equation(self) -> Equation:
        left = self._sum()
        self._expects("=")
        token = self.tokens[self.position - 1]
        right = self._sum()
        if self._now.kind != "end":
            raise self.words.error(self._now, "the rule should be over here")
        polynomial = self._allowed(token, lambda: self._difference(left, right)).above
        self._refuse_unusable(polynomial)
        sides = tuple(side.product[0] for side in (left, right) if side.product is not None)
        return Equation.of(self.text, polynomial, sides, self.words.condition)

    def _difference(self, left: Ratio, right: Ratio) -> Ratio:
        if self.products:
            left, right = _of_logarithms(left), _of_logarithms(right)
        return Ratio.total([(1, left), (-1, right)])

    def _refuse_unusable(self, polynomial: Polynomial) -> None:
        why = ""
        exponents = [abs(exponent) for product in polynomial for _, exponent in product]
        if not any(polynomial):
            named = any(token.kind == "name" for token in self.tokens)
            why = "says nothing of rows, since its columns cancel" if named else "names no column"
        elif not all(moderate(a * a if product else a) for product, a in polynomial.items()):
            why = f"has coefficients beyond {LARGEST**0.5:g} or below {SMALLEST**0.5:g}"
        elif max(exponents) > _LARGEST_EXPONENT:
            why = f"has exponents beyond {_LARGEST_EXPONENT}"
        if why:
            raise RuleError(f"The rule {quoted(self.text, 80)} {why}; {ALLOWED}.")

    # ---- grammar

    def _sum(self) -> Ratio:
        self._deeper("brackets")
        first = self._now
        parts = [(1, self._product())]
        while (sign := self._takes("+", "-")) is not None:
            if self.products:
                raise self.words.refused(self.tokens[self.position - 1], _MULTIPLIED)
            parts.append((1 if sign == "+" else -1, self._product()))
        self.depth -= 1
        return parts[0][1] if len(parts) == 1 else self._allowed(first, lambda: Ratio.total(parts))

    def _deeper(self, what: str) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.words.error(self._now, f"{what} may be at most {_DEEPEST} deep")

    def _product(self) -> Ratio:
        value = self._factor()
        while True:
            token = self._now
            sign = self._takes("*", "/")
            follows = token.kind in ("number", "name", "function") or (token.kind == "sign" and token.text == "(")
            if sign is None and not follows:
                return value
            value = self._multiplied(value, self._factor(), sign == "/", token)

    def _multiplied(self, one: Ratio, other: Ratio, divided: bool, token: Token) -> Ratio:
        return self._allowed(token, lambda: one.over(other) if divided else one.times(other))

    def _factor(self) -> Ratio:
        token = self._now
        sign = self._takes("-", "+")
        if sign is None:
            return self._power(self._atom())
        if self.products:
            raise self.words.refused(token, _MULTIPLIED)
        self._deeper("signs")
        value = self._factor()
        self.depth -= 1
        return value if sign == "+" else Ratio.total([(-1, value)])

    def _atom(self) -> Ratio:
        token = self._now
        if token.kind not in ("function", "number", "date", "name") and token.text != "(":
            raise self.words.error(token, "a column or a number was expected")
        self.position += 1
        if token.kind == "name":
            return Ratio.column(token.feature)
        if token.kind in ("number", "date"):
            value = self.words.number(token)
            if self.products and value == 0:
                raise self.words.refused(token, 'a product of columns that are prepared as "log" is never 0.')
            return Ratio.number(value)
        if token.kind == "function":
            self._expects("(")
        inner = self._sum()
        self._expects(")")
        if token.kind != "function":
            return inner
        if self.products and token.text != "sqrt":
            raise self.words.refused(token, _MULTIPLIED)
        return self._allowed(token, lambda: _FUNCTIONS[token.text](inner))

    def _power(self, value: Ratio) -> Ratio:
        token = self._now
        if self._takes("^") is None:
            return value
        exponent = self._exponent()
        if self._now.kind == "sign" and self._now.text == "^":
            raise self.words.error(self._now, "a power of a power needs brackets")
        return self._allowed(token, lambda: value.power(exponent))

    def _exponent(self) -> Fraction:
        if self._takes("(") is None:
            return self._exponent_number()
        value = self._exponent_number()
        token = self._now
        if self._takes("/") is not None:
            divisor = self._exponent_number()
            if divisor == 0:
                raise self.words.error(token, "nothing can be divided by zero")
            value /= divisor
        self._expects(")")
        return value

    def _exponent_number(self) -> Fraction:
        times = -1 if self._takes("-") is not None else 1
        if self._now.kind != "number":
            raise self.words.error(self._now, "a number was expected")
        self.position += 1
        return times * self.words.number(self.tokens[self.position - 1])


def _of_logarithms(side: Ratio) -> Ratio:
    """A product of columns as the sum of their logarithms, which are the features."""
    product, value = side.product or ((), Fraction(1))
    if not moderate(value):
        raise NotAllowed(SIZES)
    terms = [(1, Ratio({((base, Fraction(1)),): exponent})) for base, exponent in product]
    return Ratio.total([*terms, (1, Ratio.number(Fraction(log(value))))])
