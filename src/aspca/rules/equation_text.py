"""Equations as people write them, and as rules are printed, read into numbers: sums, or products, of columns.

``total = a + b``, ``debit = 1.19 * net - fee``, ``2 a - b = 5``, ``x = 0``; names that are no plain words stand in
brackets as in rules (``[disk % used]``), and what a printed rule says of its spread, ``(± 0.3)``, is passed over. Of
columns that are taken as logarithms, products: ``cost = 1.2 * price * amount``. Nothing is evaluated but this grammar:

    rule = sum "=" sum;  sum = product {("+" | "-") product};  product = factor {["*" | "/"] factor}
    factor = ["-" | "+"] (number | column ["^" number] | "(" sum ")")
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fractions import Fraction
from math import log

import numpy as np

from aspca.harmless import name_text, quoted
from aspca.preparation.feature import Feature
from aspca.preparation.transforms import TRANSFORMS

LONGEST, _DEEPEST = 20_000, 40
# Of numbers; of coefficients the root, so that they may be multiplied by values.
_LARGEST, _SMALLEST, _DIGITS = 1e300, 1e-300, 400
_TOKEN = re.compile(
    r"\s*(?:(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}:[0-9]{2})?)(?![0-9.])"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d][\w.]*|\[(?:[^\]]|\]\])*\])"
    r"|(?P<sign>[-+*/^()=\u2212\u00b7\u00d7])"
    r"|(?P<end>$))"
)
_NUMBER = re.compile(r"\s*(?P<number>[0-9]+)")
_SIGNS = {"\u2212": "-", "\u00b7": "*", "\u00d7": "*"}
# What a printed rule says of itself, from its bracket to the end.
_REMARK = re.compile(
    # A blank stands before words, or the column that a function is of would be one.
    r"\s*(?:\(\s*(?:±|\+-|\+/-|within a factor of\s)|(?<=\s)\(\s*(?:exactly|constant|given)\s*(?=[;)])).*\)\s*$",
    re.DOTALL,
)
_ALLOWED = (
    "a rule is one equation of columns and numbers with +, - and *, as in total = a + 1.19 b; names that are no plain "
    "words stand in brackets, as in [disk % used]"
)
NO_COLUMN = "there is no such column to make rules of"
_LINEAR = 'rules are linear: columns may be added, and multiplied only where they are all prepared as "log"'
_FUNCTIONS = (*TRANSFORMS, "days", "code")


class RuleError(ValueError):
    """A rule that cannot be used, in one sentence; `column` is the name that it calls for in vain, if that is why."""

    def __init__(self, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True, eq=False)
class Linear:
    """terms . features = constant; no coefficient is zero."""

    terms: dict[int, Fraction]
    constant: Fraction


def equation_of(text: str, features: Sequence[Feature]) -> Linear:
    """The equation that a text means, over these features.

    Raises
    ------
    RuleError
        What cannot be read, where, and what is allowed.
    """
    return _Reader(text, features).equation()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int
    feature: int = -1


@dataclass
class _Value:
    """A sum (terms and a constant), or a product (powers of features and a factor)."""

    terms: dict[int, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)


class _Reader:
    def __init__(self, text: str, features: Sequence[Feature]) -> None:
        self.text, self.features = text, features
        if len(text) > LONGEST:
            raise RuleError(f"The rule {quoted(text, 60)} is longer than {LONGEST:,} characters; {_ALLOWED}.")
        self.by_text = {feature.text: j for j, feature in enumerate(features) if feature.kind != "level"}
        self.by_column: dict[str, list[int]] = {}
        for j, feature in enumerate(features):
            for called in {feature.column, name_text(feature.column)}:
                self.by_column.setdefault(called, []).append(j)
        self.dates = any(feature.kind == "date" for feature in features)
        self.tokens = self._resolved(self._tokens())
        self.products = any(map(self._multiplies, self.tokens))
        self.position = self.depth = 0
        other = next((one for one in self.tokens if one.kind == "name" and not self._multiplies(one)), None)
        if self.products and other is not None:
            raise self._refused(other, 'it stands beside columns that are prepared as "log", which are multiplied.')

    def _multiplies(self, token: _Token) -> bool:
        """Whether it is a column that is taken as a logarithm, called by its own name."""
        return token.kind == "name" and self.features[token.feature].kind == "log" and not token.text.endswith(")")

    # ---- words

    def _error(self, token: _Token, why: str) -> RuleError:
        """Something that cannot be read."""
        return self._refused(token, f"{why}; {_ALLOWED}.")

    def _refused(self, token: _Token, why: str, column: str | None = None) -> RuleError:
        where = "its end" if token.kind == "end" else f"position {token.at + 1} ({quoted(token.text)})"
        return RuleError(f"The rule {quoted(self.text, 80)} cannot be used at {where}: {why}", column)

    def _tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        at, text = 0, self.text
        while at < len(text):
            if tokens and _REMARK.match(text, at):
                break
            found = _TOKEN.match(text, at)
            if found is not None and found["end"] is not None:
                break
            if found is None or (found["date"] is not None and not self.dates):
                # Where nothing is a date, its signs are minus.
                found = _NUMBER.match(text, at)
            if found is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise self._error(_Token("sign", text[at], at), "this sign has no meaning there")
            kind = str(found.lastgroup)
            word = found[kind]
            tokens.append(_Token(kind, _SIGNS.get(word, word), found.start(kind)))
            at = found.end()
        return [*tokens, _Token("end", "", len(text))]

    def _resolved(self, tokens: list[_Token]) -> list[_Token]:
        """The same, names of columns and functions of them with the features they are."""
        made: list[_Token] = []
        k = 0
        while k < len(tokens):
            token = tokens[k]
            if token.kind == "name" and _is_function(tokens[k : k + 4]):
                # As features are called: log(price).
                whole = _Token("name", f"{token.text}({tokens[k + 2].text})", token.at)
                made.append(replace(whole, feature=self._function(whole, tokens[k + 2])))
                k += 4
                continue
            unit = token.text in ("day", "days") and self.dates and token.text not in self.by_text
            if not (unit and made and made[-1].kind == "number"):
                made.append(replace(token, feature=self._column(token)) if token.kind == "name" else token)
            k += 1
        return made

    def _function(self, whole: _Token, inner: _Token) -> int:
        if whole.text in self.by_text:
            return self.by_text[whole.text]
        j = self._column(inner, any_kind=True)
        column = self.features[j]
        raise self._refused(whole, f"{_LINEAR}, and column {quoted(column.column)} is taken as {column.text}.")

    def _column(self, token: _Token, *, any_kind: bool = False) -> int:
        """The feature of a column that is called by its name."""
        own = self.by_column.get(token.text, [])
        if token.text.startswith("["):
            own = own or self.by_column.get(_unquoted(token.text), [])
        if not own:
            columns = list(dict.fromkeys(feature.column for feature in self.features))
            name = _unquoted(token.text) if token.text.startswith("[") else token.text
            raise self._refused(token, f"{NO_COLUMN}; {_hint(name, columns)}", name)
        columns_meant = {self.features[j].column for j in own}
        if len(columns_meant) > 1:
            raise self._refused(token, "two columns are called so; rename one of them.")
        feature = self.features[own[0]]
        if not any_kind and feature.kind not in ("number", "boolean", "date", "log"):
            if feature.kind == "level":
                raise self._refused(token, "the column is taken as categories, and rules are given about numbers.")
            raise self._refused(token, f"the column is taken as {feature.text}, so write that.")
        return own[0]

    # ---- grammar

    @property
    def _now(self) -> _Token:
        return self.tokens[self.position]

    def _takes(self, *signs: str) -> str | None:
        if self._now.kind == "sign" and self._now.text in signs:
            self.position += 1
            return self.tokens[self.position - 1].text
        return None

    def equation(self) -> Linear:
        left = self._sum()
        if self._takes("=") is None:
            raise self._error(self._now, "an = was expected")
        right = self._sum()
        if self._now.kind != "end":
            raise self._error(self._now, "the rule should be over here")
        terms = _added(left.terms, right.terms, -1)
        why = ""
        if not terms:
            why = "says nothing of rows, since its columns cancel" if left.terms or right.terms else "names no column"
        elif not all(map(_moderate, [*(a * a for a in terms.values()), left.constant, right.constant])):
            why = f"has coefficients beyond {_LARGEST**0.5:g} or below {_SMALLEST**0.5:g}"
        if why:
            raise RuleError(f"The rule {quoted(self.text, 80)} {why}; {_ALLOWED}.")
        if self.products:
            return Linear(terms, Fraction(log(right.constant) - log(left.constant)))
        return Linear(terms, right.constant - left.constant)

    def _sum(self) -> _Value:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._error(self._now, f"brackets may be at most {_DEEPEST} deep")
        total = self._product()
        while (sign := self._takes("+", "-")) is not None:
            token = self.tokens[self.position - 1]
            if self.products:
                raise self._refused(token, 'columns that are prepared as "log" are multiplied, not added.')
            part, times = self._product(), 1 if sign == "+" else -1
            total = _Value(_added(total.terms, part.terms, times), total.constant + times * part.constant)
        self.depth -= 1
        return total

    def _product(self) -> _Value:
        value = self._factor()
        while True:
            token = self._now
            sign = self._takes("*", "/")
            if sign is None and not (token.kind in ("number", "name") or (token.kind == "sign" and token.text == "(")):
                return value
            other = self._factor()
            value = (self._of_logarithms if self.products else self._linear)(value, other, sign == "/", token)

    def _linear(self, one: _Value, other: _Value, divided: bool, token: _Token) -> _Value:
        if divided and not other.terms and other.constant == 0:
            raise self._error(token, "nothing can be divided by zero")
        if (one.terms and other.terms) or (divided and other.terms):
            raise self._refused(token, f"{_LINEAR}.")
        if not divided and not one.terms:
            one, other = other, one
        times = 1 / other.constant if divided else other.constant
        return _Value({j: times * a for j, a in one.terms.items() if times * a}, times * one.constant)

    def _of_logarithms(self, one: _Value, other: _Value, divided: bool, token: _Token) -> _Value:
        factor = one.constant / other.constant if divided else one.constant * other.constant
        return _Value(_added(one.terms, other.terms, -1 if divided else 1), factor)

    def _factor(self) -> _Value:
        token = self._now
        sign = self._takes("-", "+")
        if sign is not None:
            if self.products:
                raise self._refused(token, 'columns that are prepared as "log" are multiplied, not added.')
            value = self._factor_deeper()
            return value if sign == "+" else self._linear(value, _Value(constant=Fraction(-1)), False, token)
        if self._takes("(") is not None:
            value = self._sum()
            if self._takes(")") is None:
                raise self._error(self._now, "a ) was expected")
            return value
        if token.kind in ("number", "date"):
            self.position += 1
            return _Value(constant=self._number(token))
        if token.kind == "name":
            self.position += 1
            power = self._power()
            return _Value({token.feature: power}, Fraction(1 if self.products else 0))
        raise self._error(token, "a column or a number was expected")

    def _factor_deeper(self) -> _Value:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._error(self._now, f"signs may be at most {_DEEPEST} deep")
        value = self._factor()
        self.depth -= 1
        return value

    def _power(self) -> Fraction:
        token = self._now
        if self._takes("^") is None:
            return Fraction(1)
        if not self.products:
            raise self._refused(token, f"{_LINEAR}.")
        times = -1 if self._takes("-") is not None else 1
        if self._now.kind != "number":
            raise self._error(self._now, "a number was expected")
        self.position += 1
        return times * self._number(self.tokens[self.position - 1])

    def _number(self, token: _Token) -> Fraction:
        if token.kind == "date":
            seconds = np.datetime64(token.text.replace(" ", "T"), "s").astype(np.int64)
            return Fraction(int(seconds), 86400)
        digits, _, exponent = token.text.lower().partition("e")
        # As written, before an exponent of nine digits is computed.
        short = len(digits) <= _DIGITS and len(exponent) <= 4
        value = Fraction(token.text) if short else Fraction(0)
        if not (short and _moderate(value)):
            raise self._error(token, f"numbers lie between {_SMALLEST:g} and {_LARGEST:g} in size, or are 0")
        if self.products and value == 0:
            raise self._refused(token, 'a product of columns that are prepared as "log" is never 0.')
        return value


def _unquoted(name: str) -> str:
    return name[1:-1].replace("]]", "]")


def _is_function(tokens: Sequence[_Token]) -> bool:
    """Whether these are as in ``log(price)``."""
    kinds = [one.text if one.kind == "sign" else one.kind for one in tokens]
    return kinds == ["name", "(", "name", ")"] and tokens[0].text in _FUNCTIONS


def _moderate(value: Fraction) -> bool:
    return value == 0 or _SMALLEST <= abs(value) <= _LARGEST


def _added(one: dict[int, Fraction], other: dict[int, Fraction], times: int) -> dict[int, Fraction]:
    terms = dict(one)
    for j, a in other.items():
        terms[j] = terms.get(j, Fraction(0)) + times * a
    return {j: a for j, a in terms.items() if a}


def _hint(name: str, columns: Sequence[str]) -> str:
    """The column that may be meant, as a rule calls it."""
    close = get_close_matches(name, columns, n=1)
    folded = [column for column in columns if column.casefold() == name.casefold()]
    begins = [column for column in columns if column.startswith(f"{name} ")]
    found = next(iter([*folded, *close, *begins]), None)
    if found is not None:
        return f"did you mean {name_text(found)}?"
    shown = ", ".join(name_text(column) for column in columns[:8])
    return f"there are {shown}{' and more' if len(columns) > 8 else ''}."
