"""A relation of columns that is known to hold, and what rounding can do to it.

    y = constant + sum_k coefficient_k f_k(x_k)      or, as a product,      y = constant * prod_k x_k^coefficient_k

A row satisfies it if |y - prediction| is at most half a step of y, plus |d prediction / d x| half a step for every
other column with decimals (whole numbers are taken as exact), plus the noise of float64. The step of a column is its
decimal resolution: the last decimal, or the last significant digit, that at least 99 % of its values are written with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

FLOAT_NOISE = 1e-9
_MOST_DECIMALS, _MOST_SIGNIFICANT = 12, 9
_WRITTEN = 0.99
FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda v: v,
    "log": lambda v: np.log(np.where(v > 0, v, np.nan)),
    "square": lambda v: v * v,
    "sqrt": lambda v: np.sqrt(np.where(v >= 0, v, np.nan)),
    "reciprocal": lambda v: 1.0 / np.where(v != 0, v, np.nan),
}
SLOPES: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda v: np.ones_like(v),
    "log": lambda v: 1.0 / np.abs(v),
    "square": lambda v: 2.0 * np.abs(v),
    "sqrt": lambda v: 0.5 / np.sqrt(np.abs(v)),
    "reciprocal": lambda v: 1.0 / (v * v),
}


def half_steps(X: Floats) -> Floats:
    """Half a unit of the last place of every cell (n, p); zero in columns of unrounded results."""
    return np.column_stack([_half_steps(column) for column in X.T])


def _half_steps(column: Floats) -> Floats:
    values = np.unique(np.abs(column[np.isfinite(column)]))
    values = values[values > 0][:: max(1, len(values) // 3000)]
    size = np.where(np.isfinite(column) & (column != 0), np.abs(column), 1.0)
    if not len(values):
        return np.full(len(column), 0.5)
    exponent = np.floor(np.log10(values) + 1e-12)
    mantissa = values / 10.0**exponent
    decimals = _first_digits(values, range(-6, _MOST_DECIMALS + 1))
    significant = _first_digits(mantissa, range(_MOST_SIGNIFICANT))
    single = np.abs(values.astype(np.float32) - values) <= 1e-12 * values
    if significant is None and single.mean() >= _WRITTEN:
        return 2.0**-23 * size  # computed from, and stored as, single-precision numbers
    steps = np.zeros(len(column))
    if decimals is not None:
        steps = np.maximum(steps, 10.0**-decimals)
    if significant is not None:
        steps = np.maximum(steps, 10.0 ** (np.floor(np.log10(size) + 1e-12) - significant))
    return 0.5 * steps


def _first_digits(values: Floats, choices: range) -> int | None:
    """The least number of digits that nearly all values are written with."""
    for digits in choices:
        if (np.abs(np.round(values, digits) - values) <= 4e-15 * values).mean() >= _WRITTEN:
            return digits
    return None


@dataclass(frozen=True, eq=False)
class Relation:
    """The first of `columns` is determined by the others; functions and coefficients are those of the others."""

    columns: tuple[int, ...]
    functions: tuple[str, ...]
    coefficients: tuple[float, ...]
    constant: float
    product: bool = False
    share: float = 1.0

    def predict(self, X: Floats) -> tuple[Floats, Floats]:
        """The first column as the others give it, and the absolute size of the parts."""
        total = np.full(len(X), float(self.constant))
        size = np.abs(total)
        with np.errstate(all="ignore"):
            for j, function, factor in zip(self.columns[1:], self.functions, self.coefficients, strict=True):
                if self.product:
                    total = total * np.power(X[:, j], factor)
                    size = np.abs(total)
                else:
                    part = factor * FUNCTIONS[function](X[:, j])
                    total, size = total + part, size + np.abs(part)
        return total, size

    def residual(self, X: Floats) -> Floats:
        """NaN where a cell is missing, infinite where the relation cannot hold (the logarithm of a negative number)."""
        value = X[:, self.columns[0]] - self.predict(X)[0]
        known = np.isfinite(X[:, list(self.columns)]).all(axis=1)
        return np.where(known, np.where(np.isfinite(value), value, np.inf), np.nan)

    def tolerance(self, X: Floats, H: Floats) -> Floats:
        """What rounding and float64 allow; H (n, p) are the half steps."""
        y = self.columns[0]
        predicted, size = self.predict(X)
        with np.errstate(all="ignore"):
            allowed = H[:, y] + FLOAT_NOISE * (size + np.abs(X[:, y]))
            for j, function, factor in zip(self.columns[1:], self.functions, self.coefficients, strict=True):
                fraction = np.where(H[:, j] < 0.5, H[:, j], 0.0)
                if self.product:
                    slope = np.abs(factor * predicted / X[:, j])
                else:
                    slope = np.abs(factor) * SLOPES[function](X[:, j])
                allowed = allowed + np.where(fraction > 0, slope * fraction, 0.0)
        return np.nan_to_num(allowed, nan=0.0, posinf=0.0)

    def satisfied(self, X: Floats, H: Floats) -> Flags:
        return np.asarray(np.abs(self.residual(X)) <= self.tolerance(X, H), dtype=np.bool_)

    def text(self, names: tuple[str, ...]) -> str:
        """For people: ``total = a + 2 b - 3``."""
        y = names[self.columns[0]]
        if self.product:
            parts = [f"{names[j]}^{c:g}" for j, c in zip(self.columns[1:], self.coefficients, strict=True)]
            return f"{y} = {self.constant:.6g} * " + " * ".join(part.removesuffix("^1") for part in parts)
        terms = zip(self.columns[1:], self.functions, self.coefficients, strict=True)
        shown = [f"{c:.6g} " + (names[j] if f == "identity" else f"{f}({names[j]})") for j, f, c in terms]
        return f"{y} = " + " + ".join([*shown, f"{self.constant:.6g}"])
