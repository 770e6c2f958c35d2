"""A table and the identities that are known to hold in it, before anything is learned.

An identity is sum_j c_j f_j(x_j) = constant, with f_j the logarithm for columns the table takes logarithms of: then it
is a product. *Exact* ones hold in every row to what float64 resolves; the others to the digits that are printed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

# Columns with more decimals than this are results of a computation: they have no printed step.
_MOST_DECIMALS = 9
# Relative rounding of an exact identity, and of one whose columns were single-precision numbers once.
_DOUBLE, _SINGLE = 1e-12, 4e-7


@dataclass(frozen=True)
class Identity:
    """`coefficients` . f(x) = `constant`; the first column is the one that gets spoiled, usually the total."""

    coefficients: Mapping[str, float]
    constant: float | None = 0.0
    exact: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.coefficients)

    @property
    def target(self) -> str:
        return self.columns[0]


def total(name: str, *parts: str, exact: bool = True) -> Identity:
    """`name` is the sum of `parts`; in logarithms, their product."""
    return Identity({name: 1.0, **dict.fromkeys(parts, -1.0)}, exact=exact)


def product(name: str, *parts: str, exact: bool = False, free: bool = False) -> Identity:
    """`name` is the product of `parts`, all of them columns to take logarithms of; *free*: up to a unit of its own."""
    return Identity({name: 1.0, **dict.fromkeys(parts, -1.0)}, None if free else 0.0, exact)


def difference(name: str, larger: str, smaller: str, exact: bool = True) -> Identity:
    return Identity({name: 1.0, larger: -1.0, smaller: 1.0}, exact=exact)


def shares(*names: str, whole: float = 1.0, exact: bool = False) -> Identity:
    """The columns add up to `whole` in every row."""
    return Identity(dict.fromkeys(names, 1.0), whole, exact)


@dataclass(frozen=True, eq=False)
class Table:
    """`load` gives numeric columns without gaps, in the units of the package; `logs` are the columns of products."""

    name: str
    package: str
    load: Callable[[], pd.DataFrame] = field(repr=False)
    identities: tuple[Identity, ...]
    logs: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        """Whether the package that holds it is installed."""
        return importlib.util.find_spec(self.package) is not None

    @cached_property
    def frame(self) -> pd.DataFrame:
        return self.load()

    @cached_property
    def decimals(self) -> dict[str, int | None]:
        """How many decimals each column is printed with; None where the numbers are results of a computation."""
        return {name: _decimals(self.frame[name].to_numpy()) for name in self.frame.columns}

    def words(self, identity: Identity) -> str:
        """As in ``total = a + b``, or ``a * b^2`` for products."""
        logs = bool(self.logs) and identity.target in self.logs

        def term(name: str, size: float) -> str:
            if logs:
                return name if size == 1.0 else f"{name}^{size:g}"
            return name if size == 1.0 else f"{size:g} {name}"

        sides = [
            [term(name, abs(c)) for name, c in identity.coefficients.items() if (c > 0) == positive]
            for positive in (True, False)
        ]
        if identity.constant is None:
            sides[1].append("a constant")
        elif identity.constant or not sides[1]:
            sides[1].append(f"{identity.constant:g}")
        return " = ".join((" * " if logs else " + ").join(side) for side in sides)

    def step(self, column: str) -> float:
        """The smallest difference the column can show; zero where it has no printed digits."""
        decimals = self.decimals[column]
        return 0.0 if decimals is None else 10.0**-decimals

    def transformed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns as identities, and peers, take them: logarithms where they are products."""
        return frame.assign(**{name: np.log(frame[name]) for name in self.logs})

    def residual(self, identity: Identity, frame: pd.DataFrame) -> Floats:
        """By how much each row misses an identity; its constant, where free, is the middle one of the clean table."""
        value = self._left(identity, frame)
        constant = identity.constant
        if constant is None:
            constant = float(np.median(self._left(identity, self.frame)))
        return np.asarray(value - constant, dtype=np.float64)

    def _left(self, identity: Identity, frame: pd.DataFrame) -> Floats:
        part = frame[list(identity.columns)]
        taken = part.assign(**{name: np.log(part[name]) for name in identity.columns if name in self.logs})
        return np.asarray(taken.to_numpy() @ np.array(list(identity.coefficients.values())), dtype=np.float64)

    def tolerance(self, identity: Identity) -> float:
        """The largest miss among the clean rows: what no method can tell from the rounding of the table."""
        return float(np.abs(self.residual(identity, self.frame)).max())

    def resolution(self, identity: Identity, column: str, value: float) -> float:
        """How well an identity tells a value of a column: by the column's step, or by what the others' digits allow."""
        miss = self.tolerance(identity) / abs(identity.coefficients[column])
        allowed = abs(value) * float(np.expm1(miss)) if column in self.logs else miss
        return max(self.step(column), allowed, 1e-9 * abs(value))

    def check(self) -> list[str]:
        """What is wrong with the declarations: an identity that a row misses by more than its digits allow."""
        wrong = []
        for identity in self.identities:
            missed = np.abs(self.residual(identity, self.frame)) > self.rounding(identity)
            if missed.any():
                wrong.append(f"{self.name}: {self.words(identity)} is missed by {missed.sum()} of {missed.size} rows")
        return wrong

    def rounding(self, identity: Identity) -> Floats:
        """What rounding may add up to in each row."""
        relative = _DOUBLE if identity.exact else _SINGLE
        allowed = np.full(len(self.frame), 0.0)
        for name, coefficient in identity.coefficients.items():
            size = np.abs(self.frame[name].to_numpy())
            step = 0.0 if identity.exact else self.step(name)
            if name in self.logs:
                # Logarithms of large numbers: their own rounding, and what a step of the number makes of it.
                allowed += abs(coefficient) * (relative * (1.0 + np.abs(np.log(size))) + step / size)
            else:
                allowed += abs(coefficient) * (relative * size + step)
        return allowed


def _decimals(values: Floats) -> int | None:
    for decimals in range(_MOST_DECIMALS + 1):
        # The nearest number with so many decimals, as a program would read it.
        if np.array_equal(np.round(values, decimals), values):
            return decimals
    return None
