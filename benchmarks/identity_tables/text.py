"""Evaluates the printed text of an identity, from the text alone: `y = 100 a / b`, `log(y) = 2 log(x) - 3`.

    sides      expression = expression
    expression product, then any number of: + product, - product
    product    factor, then any number of: * factor, / factor, factor (written side by side)
    factor     atom, or atom ^ factor; a leading sign
    atom       number, column, pi, ( expression ), function of an atom: log, log10, log2, log1p, sqrt, exp, abs
Names of columns hold no spaces and no operators (`loading.simplify_names`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from .closure import differentiate
from .relation import FLOAT_NOISE, Flags, Floats

PRINTED = 1e-8  # coefficients are printed with about ten digits
_FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "log": lambda v: np.log(np.where(v > 0, v, np.nan)),
    "log10": lambda v: np.log10(np.where(v > 0, v, np.nan)),
    "log2": lambda v: np.log2(np.where(v > 0, v, np.nan)),
    "log1p": np.log1p,
    "sqrt": lambda v: np.sqrt(np.where(v >= 0, v, np.nan)),
    "exp": np.exp,
    "abs": np.abs,
}
_SIGNS = str.maketrans({"−": "-", "·": "*", "×": "*", "²": "^2", "³": "^3", "√": "sqrt "})  # noqa: RUF001
_TOKEN = re.compile(r"\s*(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|[A-Za-z_][A-Za-z0-9_.]*|\*\*|[-+*/^()=])")


class TextError(ValueError):
    """The text is not an identity in the grammar above."""


class Claimed:
    """The relation that a text states, as another reader would compute it."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text, self.names = text, list(names)
        self._tokens = _split(text.translate(_SIGNS))
        self.columns = tuple(dict.fromkeys(self.names.index(t) for t in self._tokens if t in self.names))
        if self._tokens.count("=") != 1 or not self.columns:
            raise TextError(f"{text!r} has no two sides with columns")
        self.residual(np.ones((1, len(self.names))))

    def residual(self, X: Floats) -> Floats:
        """Left minus right side; NaN where a cell is missing, infinite where it cannot be computed."""
        with np.errstate(all="ignore"):
            value = _Reader(self._tokens, self.names, X).read()
        known = np.isfinite(X[:, list(self.columns)]).all(axis=1)
        return np.where(known, np.where(np.isfinite(value), value, np.inf), np.nan)

    def satisfied(self, X: Floats, H: Floats) -> tuple[Flags, Flags]:
        """Rows that can be evaluated, and rows that satisfy it to the rounding of their cells."""
        residual = self.residual(X)
        allowed = np.full(len(X), FLOAT_NOISE)
        with np.errstate(all="ignore"):
            for j in self.columns:
                slope = np.abs(differentiate(self, X, j))
                slope = np.where(np.isfinite(slope), slope, 0.0)
                allowed += slope * (1.01 * H[:, j] + PRINTED * np.abs(np.nan_to_num(X[:, j])))
        return ~np.isnan(residual), np.abs(residual) <= allowed


def _split(text: str) -> list[str]:
    tokens, at = [], 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise TextError(f"{text[at:]!r} is not understood")
        tokens.append(match.group(1).replace("**", "^"))
        at = match.end()
    return tokens


class _Reader:
    def __init__(self, tokens: list[str], names: list[str], X: Floats) -> None:
        self.tokens, self.names, self.X, self.at = tokens, names, X, 0

    def read(self) -> Floats:
        left = self._expression()
        self._take("=")
        right = self._expression()
        if self.at < len(self.tokens):
            raise TextError(f"{self.tokens[self.at]!r} is not expected here")
        return left - right

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self, symbol: str) -> None:
        if self._next() != symbol:
            raise TextError(f"{symbol!r} is missing before {self._next()!r}")
        self.at += 1

    def _expression(self) -> Floats:
        value = self._product()
        while self._next() in ("+", "-"):
            sign = 1.0 if self._next() == "+" else -1.0
            self.at += 1
            value = value + sign * self._product()
        return value

    def _product(self) -> Floats:
        value = self._factor()
        while (symbol := self._next()) not in ("", "+", "-", "=", ")"):
            if symbol in ("*", "/"):
                self.at += 1
            factor = self._factor()
            value = value / np.where(factor != 0, factor, np.nan) if symbol == "/" else value * factor
        return value

    def _factor(self) -> Floats:
        if self._next() in ("+", "-"):
            sign = 1.0 if self._next() == "+" else -1.0
            self.at += 1
            return sign * self._factor()
        value = self._atom()
        if self._next() == "^":
            self.at += 1
            value = np.power(value, self._factor())
        return value

    def _atom(self) -> Floats:
        symbol = self._next()
        self.at += 1
        if symbol in self.names:
            return self.X[:, self.names.index(symbol)]
        if symbol in _FUNCTIONS:
            return _FUNCTIONS[symbol](self._atom())
        if symbol == "(":
            value = self._expression()
            self._take(")")
            return value
        if symbol == "pi":
            return np.full(len(self.X), np.pi)
        try:
            return np.full(len(self.X), float(symbol))
        except ValueError:
            raise TextError(f"{symbol!r} is neither a number nor a column") from None
